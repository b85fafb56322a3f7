# SPDX-License-Identifier: MIT
#
# To a cycle. A replay counts instructions: QEMU has snapshots by them, and goes on to one from
# there. Which instruction it was is worked out from the commands that ended around that cycle,
# and looked for between them where the hart has slept there.
import contextlib
import re

import gdb

from npu import device, machine, stops


@contextlib.contextmanager
def nothing_counts():
    """No stop and no breakpoint but that at the end of the run, which is npu.py's own."""
    off = [b for b in gdb.breakpoints() if b.enabled and b.number > 0]
    for b in off:
        b.enabled = False
    device.ask("gate when=0")
    try:
        yield
    finally:
        device.ask("gate")
        for b in off:
            b.enabled = True


def snapshots():
    """{instructions: name}"""
    found = {}
    for line in device.monitor("info snapshots").splitlines():
        words = line.split()
        if len(words) > 4 and re.fullmatch(r"\d+", words[-1]):
            found[int(words[-1])] = next(w for w in words if re.match("start|npu", w))
    return found


def seek(icount, when):
    """To where the hart has retired so many instructions; it may be asleep there by `when`."""
    now = device.instructions()
    if icount < now or stops.head()["now"] > when:
        have = snapshots()
        at = max((n for n in have if n <= icount), default=None)
        if at is None:
            raise machine.Error("the recording has no snapshot before that")
        device.monitor(f"loadvm {have[at]}")
        gdb.execute("maintenance flush register-cache", to_string=True)
        now = at
    if icount > now:
        said = device.monitor(f"replay_break {icount}")
        if said:
            raise machine.Error(said)
        stops.quietly("continue")


def instruction_of(around, when):
    """Goes to the last instruction by `when` (ns). The hart may sleep but is never faster than
    its clock, which bounds it from above."""
    low, at, high = around["icount"], around["ns"], around["next_icount"]
    slept = False
    while low < high and at < when:
        guess = min(low + when - at, (low + high + 1) // 2 if slept else high)
        seek(guess, when)
        now = stops.head()["now"]
        if now <= when:
            low, at = guess, now
        else:
            high, slept = guess - 1, True
    seek(low, when)


def in_sleep(when):
    """The hart sleeps: on to the last that an engine did by then."""
    begin = stops.head()["now"]
    number = stops.add("begins ends", "npu goto")
    try:
        stops.through_gate(f"until={when + 1}")
        found = stops.head()
        if begin < found["when"] <= when:
            stops.quietly("reverse-stepi")
            stops.through_gate(f"when={found['when']}")
    finally:
        stops.delete(number)


def replayed(cycle):
    around = device.pairs(device.ask(f"before cycle={cycle}"))
    when = around["when"]
    with nothing_counts():
        if stops.head()["now"] < when:
            stops.through_gate(f"until={when}")
            around = device.pairs(device.ask(f"before cycle={cycle}"))
        if stops.head()["now"] < when:
            raise machine.Error("the run has ended before that")
        around["next_icount"] = around["next_icount"] or device.instructions()
        instruction_of(around, when)
        if stops.head()["now"] < when and stops.head()["halted"]:
            in_sleep(when)


def goto(words):
    machine.wants(words, 1, 1, "npu goto CYCLE")
    cycle, now = machine.number(words[0]), machine.chip("CHIP_CYCLE")
    if device.replaying():
        if cycle != now:
            replayed(cycle)
        now = machine.chip("CHIP_CYCLE")
        print(f"cycle {now}" if now == cycle else
              f"cycle {now}, and nothing happens until {cycle}: the hart sleeps")
    elif cycle < now:
        raise machine.Error("only a replay goes back: `make record`, then `make replay`")
    elif cycle > now:
        device.ask(f"at cycle={cycle}")
        stops.quietly("continue")
        if gdb.selected_thread() is None:
            raise machine.Error("the run has ended before that")
        print(f"cycle {machine.chip('CHIP_CYCLE')}")
    gdb.execute("frame")
