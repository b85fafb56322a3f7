# SPDX-License-Identifier: MIT
"""npu who [MEM] ADDRESS [-g] [-c CORE]     which command wrote that byte last
npu who -r [MEM] ADDRESS [-c CORE]       which have read it since, the last first

With its cycles and the line that issued it. MEM: gm, l1, ub, l0a, l0b, l0b_index, l0c, bt,
fb, with an offset in it; without MEM, an address as the hart sees it. Elements that a mask leaves
out do not count. -g: goes back, in a replay, to where the hart issued that command, or wrote the
byte itself if it did so later."""
import gdb

from npu import decode, device, history, machine, stops

OPTIONS = "gr"
READERS = 8  # at most


def hart_watch(memory, address):
    """A watchpoint on the hart's own writes, or None where it cannot write."""
    if machine.memory_name(memory) in ("l0a", "l0b", "l0b_index", "l0c", "bt", "fb"):
        return None
    return gdb.Breakpoint(f"*(unsigned char *){address:#x}", gdb.BP_WATCHPOINT, gdb.WP_WRITE,
                          internal=True)


def go(found, where, memory, address):
    if not device.replaying():
        raise machine.Error("only a replay goes back: `make record`, then `make replay`")
    if found and found["icount"] == device.instructions():
        to_issuer(found)  # the hart has done nothing since
        return
    watch = hart_watch(memory, address)
    try:
        if found:
            stops.once("ends", "npu who", True, found["ended"], core=found["core"],
                       pipe=found["pipe"], number=found["number"])
        else:
            stops.back()
    finally:
        if watch:
            watch.delete()
    if found and stops.head()["here"]:
        to_issuer(found)
    elif device.instructions() == 0:
        print(f"nobody wrote {where}; a file that was read into it, or a reset, is not seen")
    elif stops.head()["here"]:
        print("another stop came first")
    else:
        print(f"the hart wrote {where} last, here")


def to_issuer(found):
    if found["pushed"]:
        stops.once("pushed", "npu who", True, found["pushed"], core=found["core"],
                   pipe=found["pipe"])
        history.select_issuer(history.issuer(found))
    else:
        print("where it was issued is not known: before the snapshot that this run began with")


def described(found, did):
    pipe = machine.pipes()[found["pipe"]]
    return (f"{pipe} command {found['number']} of core {found['core']} {did}, cycle "
            f"{found['begin']} to {found['end']}\n  {found['command'].line()}\n  issued at "
            + decode.issued(history.issuer(found), found["command"].tag))


def readers(owner, memory, first, where):
    """They read where they begin, so not before the writer has ended."""
    written = history.last_writer(owner, memory, first)
    since = written["end"] if written else 0
    found = [f for f in history.last_readers(owner, memory, first, READERS)
             if f["begin"] >= since]
    for f in found:
        print(f"{where}: " + described(f, "read it"))
    if not found:
        print(f"no command has read {where}" + (" since it was written" if written else ""))


def run(words, options, core):
    machine.wants(words, 1, 2, "npu who [-r] [MEM] ADDRESS [-g]")
    owner, memory, first = machine.locate(words, core)
    where = f"{machine.memory_name(memory)} {first:#x}"
    if "-r" in options:
        readers(owner, memory, first, where)
        return
    found = history.last_writer(owner, memory, first)
    if found:
        print(f"{where}: " + described(found, "wrote it last"))
    else:
        print(f"no command has written {where}: {history.hint()}")
    if "-g" in options:
        go(found, where, memory, machine.hart_address(owner, memory, first))
