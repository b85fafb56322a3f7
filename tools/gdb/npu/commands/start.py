# SPDX-License-Identifier: MIT
"""npu start [-b] [SOCKET]     runs to the first line of the operator of the command line

Connects to QEMU first, at SOCKET or build/gdb.sock, if gdb is not connected: `make debug`.
That is the function of that name, the kernel, if there is one, else what reads the
operator's arguments. Stops nowhere if the firmware refuses its arguments. A replay then
stops at its end, once more. -b: does not run, for a front end that does so itself."""
import time

import gdb

from npu import device, machine, stops

NEEDS_MACHINE = False
OPTIONS = "b"
PATIENCE = 10  # seconds for QEMU to open its socket


def leave(_):
    """gdb would leave the machine running."""
    gdb.events.gdb_exiting.disconnect(leave)
    if gdb.selected_thread() is not None:
        gdb.execute("kill", to_string=True)


def connect(path):
    end = time.monotonic() + PATIENCE
    while True:
        try:
            gdb.execute(f"target remote {path}", to_string=True)
            return
        except gdb.error as e:
            if time.monotonic() > end:
                raise machine.Error(f"no QEMU at {path}: {e}") from None
            time.sleep(0.05)


class EndOfRun(gdb.Breakpoint):
    """Where a replay would leave gdb without a machine to go back in."""
    made = None

    def __init__(self):
        super().__init__("host_exit", internal=True)
        self.silent = not stops.speaks_mi()

    def stop(self):
        print("stopped: " + stops.END.format("the run"))
        return True


class Begin(gdb.Breakpoint):
    """Where an operator begins; the first that does is the one."""
    made, posts = [], False  # posts: nobody waits for the stop, to forget them then

    def __init__(self, where):
        super().__init__(where, internal=True)
        self.silent = not stops.speaks_mi()
        Begin.made.append(self)

    def stop(self):
        if Begin.posts:
            gdb.post_event(Begin.forget)  # not here, gdb says
        return True

    @staticmethod
    def forget():
        while Begin.made:
            breakpoint_ = Begin.made.pop()
            if breakpoint_.is_valid():
                breakpoint_.delete()


def operators():
    """{name: address of its entry}"""
    at = gdb.parse_and_eval("&__operators_start[0]")
    end = gdb.parse_and_eval("&__operators_end[0]")
    found = {}
    while at < end:
        found[at["name"].string()] = int(at["run"]) or int(at["command"])
        at += 1
    return found


def is_function(name):
    symbol = gdb.lookup_global_symbol(name)
    return symbol is not None and symbol.type.code == gdb.TYPE_CODE_FUNC


def to_breakpoints():
    """On to those that are set here, and without them."""
    try:
        gdb.execute("continue")
    except gdb.error:  # QEMU may close the line before it says that it ends
        pass
    finally:
        Begin.forget()
    if gdb.selected_thread() is None:
        raise machine.Error("the firmware has ended before its operator began")


def named():
    """What the firmware has been told to run, nothing if it stops somewhere before. A
    breakpoint slows all of its page down, which is a second where an operator's data is
    made up: so none is set for an operator that nobody wants."""
    Begin("*op_command_line")
    to_breakpoints()
    if machine.number("$pc") != machine.number("(unsigned long)op_command_line"):
        return set()
    argv = gdb.parse_and_eval("(char **)$a1")
    return {argv[i].string() for i in range(machine.number("$a0"))}


def run(words, options, core):
    machine.wants(words, 0, 1, "npu start [-b] [SOCKET]")
    if gdb.selected_thread() is None:
        connect(words[0] if words else "build/gdb.sock")
    gdb.events.gdb_exiting.connect(leave)
    machine.check()
    Begin.forget()
    Begin.posts = "-b" in options
    entries = operators()
    kernels = {name for name in entries if is_function(name)}
    behind = {entries[name] for name in kernels}  # each leads to such a kernel
    wanted = entries if Begin.posts else named()
    reached = {entries[name] for name in wanted if name in entries}
    for name in [name for name, entry in entries.items() if entry in reached]:
        if name in kernels or entries[name] not in behind:
            Begin(name if name in kernels else f"*{entries[name]:#x}")
    if Begin.made and not Begin.posts:
        to_breakpoints()
    stops.in_replay = device.replaying()
    if EndOfRun.made and EndOfRun.made.is_valid():
        EndOfRun.made.delete()
    EndOfRun.made = EndOfRun() if stops.in_replay else None
    if not Begin.posts:
        gdb.execute("frame")
