# SPDX-License-Identifier: MIT
#
# Which command wrote what: the device's history (tools/emu/qemu/debug/history.c).
import re
import struct

import gdb

from npu import decode, device, machine


NOTE = 0x4e5055  # of a core file: entries as history.c dumps them
BUILD_ID = 3  # NT_GNU_BUILD_ID
WORDS = "core", "pipe", "number", "begin", "end", "pushed", "ended", "pc", "ra"
ENTRY = struct.Struct("<18Q64s")


def last_writer(core, memory, address):
    """The entry of the last command that wrote a byte, or None."""
    path = core_file()
    if path:
        return from_core(path, core, memory, address)
    found = device.pairs(device.ask(f"who core={core} mem={memory} addr={address}"))
    if "none" in found:
        return None
    found["command"] = decode.Cmd(bytes.fromhex(found["cmd"]))
    return found


def last_readers(core, memory, address, most):
    """Entries of the last commands that read a byte, the last first."""
    if core_file():
        raise machine.Error("a core file does not know who read")
    found = [device.pairs(line) for line in device.ask(
        f"who core={core} mem={memory} addr={address} readers={most}").splitlines()]
    return [{**f, "command": decode.Cmd(bytes.fromhex(f["cmd"]))} for f in found]


def core_file():
    """Path of the core file that gdb looks at, or None."""
    found = re.search(r"core dump file:\s+`(.*)', file type",
                      gdb.execute("info files", to_string=True))
    return found[1] if found else None


def notes(path):
    """(owner, type, data) of each note of an ELF core."""
    with open(path, "rb") as f:
        head = f.read(64 + 56).ljust(64 + 56, b"\0")
        at, size = (struct.unpack_from("<Q", head, 64 + n)[0] for n in (8, 32))
        end = min(at + size, f.seek(0, 2))
        while at + 12 <= end:
            f.seek(at)
            note = f.read(12)
            if len(note) < 12:  # the file is cut off
                return
            owner, length, kind = struct.unpack("<3I", note)
            name = f.read((owner + 3) // 4 * 4)[:owner].rstrip(b"\0")
            yield name.decode("ascii", "replace"), kind, f.read(length)
            at += 12 + (owner + 3) // 4 * 4 + (length + 3) // 4 * 4


told = None  # the last pair that was told not to fit


def other_image():
    """Why the core file and the image that gdb has do not belong together, or ''."""
    path = core_file()
    image = gdb.current_progspace().filename
    if not path or not image:
        return ""
    ids = [data.hex() for owner, kind, data in notes(path) if (owner, kind) == ("GNU", BUILD_ID)]
    mine = [o.build_id for o in gdb.objfiles() if o.filename == image and o.build_id]
    if not ids or not mine or mine[0] == ids[0]:
        return ""
    return f"{path} is of another image (build-id {ids[0][:8]}) than {image} ({mine[0][:8]})"


def tell_other_image(_=None):
    """Once for each two."""
    global told
    text = other_image()
    if text != told and text:
        print("npu: " + text)
    told = text


def check_image():
    text = other_image()
    if text:
        raise machine.Error(text)


def touches(rows, base, level, address):
    """Whether rows (row_bytes, n, stride) at base hold the address; as npu_touches()."""
    row_bytes, n, stride = rows
    if level == 0:
        return base <= address < base + row_bytes
    extent = row_bytes + sum((n[i] - 1) * stride[i] for i in range(level - 1))
    step = stride[level - 1]
    first = max(0, -(-(address - base - extent + 1) // step)) if step else 0
    last = min(n[level - 1] - 1, (address - base) // step) if step else n[level - 1] - 1
    return any(touches(rows, base + i * step, level - 1, address)
               for i in range(first, last + 1))


def from_core(path, core, memory, address):
    data = b"".join(d for _, kind, d in notes(path) if kind == NOTE)
    gm = machine.memory_name(memory) == "gm"
    for at in range(len(data) - ENTRY.size, -1, -ENTRY.size):
        *words, command = ENTRY.unpack_from(data, at)
        mem, base, row_bytes = words[9:12]
        if mem == memory and (gm or words[0] == core) \
                and touches((row_bytes, words[12:15], words[15:18]), base, 3, address):
            return {**dict(zip(WORDS, words)), "command": decode.Cmd(command)}
    return None


def hint():
    return "the hart, if anybody; in a replay, -g goes to where it did"


def issuer(found):
    """Where the command comes from: built there, or, of several that were built before, pushed
    by what was called there."""
    return found["ra"] or found["pc"]


def select_issuer(pc):
    """Shows the frame of the kernel that issued the command."""
    frame = gdb.newest_frame()
    while frame and frame.pc() != pc:
        frame = frame.older()
    if frame:
        frame.select()
    gdb.execute("frame")


for event in (gdb.events.new_objfile, gdb.events.new_thread):
    event.connect(tell_other_image)
tell_other_image()
