# SPDX-License-Identifier: MIT
#
# Which command wrote what: the device's history (tools/emu/qemu/history.c).
import re
import struct

import gdb

from npu import decode, device, machine


NOTE = 0x4e5055  # of a core file: entries as history.c dumps them
WORDS = "core", "pipe", "number", "begin", "end", "pushed", "ended"
ENTRY = struct.Struct("<16Q64s")


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


def core_file():
    """Path of the core file that gdb looks at, or None."""
    found = re.search(r"core dump file:\s+`(.*)', file type",
                      gdb.execute("info files", to_string=True))
    return found[1] if found else None


def notes(path):
    """(type, data) of each note of an ELF core."""
    with open(path, "rb") as f:
        head = f.read(64 + 56)
        offset, size = struct.unpack_from("<Q", head, 64 + 8)[0], struct.unpack_from(
            "<Q", head, 64 + 32)[0]
        f.seek(offset)
        data = f.read(size)
    at = 0
    while at + 12 <= len(data):
        name, length, kind = struct.unpack_from("<3I", data, at)
        at += 12 + (name + 3) // 4 * 4
        yield kind, data[at:at + length]
        at += (length + 3) // 4 * 4


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
    data = b"".join(d for kind, d in notes(path) if kind == NOTE)
    gm = machine.memory_name(memory) == "gm"
    for at in range(len(data) - ENTRY.size, -1, -ENTRY.size):
        *words, command = ENTRY.unpack_from(data, at)
        mem, base, row_bytes = words[7:10]
        if mem == memory and (gm or words[0] == core) and row_bytes and all(words[10:13]) \
                and touches((row_bytes, words[10:13], words[13:16]), base, 3, address):
            return {**dict(zip(WORDS, words)), "command": decode.Cmd(command)}
    return None


def hint():
    return "the hart, if anybody; in a replay, -g goes to where it did"


def select_issuer(pc):
    """Shows the frame of the kernel that issued the command."""
    frame = gdb.newest_frame()
    while frame and frame.pc() != pc:
        frame = frame.older()
    if frame:
        frame.select()
    gdb.execute("frame")
