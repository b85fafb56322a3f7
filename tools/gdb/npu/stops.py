# SPDX-License-Identifier: MIT
#
# Stops that the device makes: what has been asked for, and the line that tells why the
# machine stands still. The device has them; only their texts are kept here.
import functools
import itertools
import os

import gdb

from npu import decode, device, machine

texts = {}  # number: the command that made it
numbers = itertools.count(1)
told = 0  # sequence of the last hits that were shown
quiet = False  # the machine goes on for what it is to come to, not for who has asked
gated = False  # the next stop is one that settle_by_stops() goes to
in_replay = False  # npu start has seen that
END = "{} ends here; `npu back`, `npu who -g` and reverse-continue go back"


def known():
    """{number: text} of those that the device still has."""
    left = {int(n) for n in device.ask("list").split()}
    return {n: t for n, t in texts.items() if n in left}


def one(text):
    """The number of a stop that is there."""
    number = machine.number(text)
    if number not in known():
        raise machine.Error(f"no stop {number}: `npu break` lists them")
    return number


def add(events, text, **keys):
    number = next(numbers)
    device.ask(f"stop {events} id={number} " + " ".join(f"{k}={v}" for k, v in keys.items()))
    texts[number] = text
    return number


def delete(number=None):
    device.ask("delete" if number is None else f"delete id={number}")


def forward():
    try:
        gdb.execute("continue")
    except gdb.error:  # QEMU may close the line before it says that it ends
        if gdb.selected_thread() is not None:
            raise
    if gdb.selected_thread() is None:
        raise machine.Error("the run has ended before that")


def once(events, text, backwards, when=None, **keys):
    """Goes to a stop, forwards or backwards, and forgets it."""
    if backwards and not device.replaying():
        raise machine.Error("only a replay goes back: `make record`, then `make replay`")
    number = add(events, text, **keys)
    try:
        back(when) if backwards else forward()
    finally:
        if gdb.selected_thread() is not None:
            delete(number)


def who(hit):
    pipe = machine.pipes().get(hit["pipe"], "registers")
    return pipe if machine.chip("CHIP_CORES") == 1 else f"core {hit['core']} {pipe}"


def line(hit):
    at = f"at cycle {hit['cycle']}"
    if hit["what"] == "time":
        return f"here it is cycle {hit['cycle']}"
    if hit["what"] == "sem":
        return f"semaphore {hit['sem']} of core {hit['core']} is {hit['value']} {at}"
    if hit["what"] == "found":
        return f"the checks find something {at}, number {hit['number']}; `npu races` tells more"
    if hit["what"] == "faults":
        error = machine.texts("error_names")[hit["fault"]]
        return f"{who(hit)} faults {at}: {error}; `npu faults` tells more"
    command = decode.commands().get(hit["opcode"], (f"opcode {hit['opcode']:#x}",))[0]
    what = {"pushed": "is issued"}.get(hit["what"], hit["what"])
    return f"{who(hit)} command {hit['number']} ({command}) {what} {at}" \
        + (f", issued at {decode.issued(hit['pc'], hit['tag'])}" if hit["pc"] else "")


def hits():
    """What the machine stands at, as pairs."""
    head_, *found = device.get("stopped").splitlines()
    return [device.pairs(h) for h in found] if device.pairs(head_)["here"] else []


def noted():
    """Lines of `npu log` since they were asked for last."""
    if not any(text.startswith("npu log") for text in texts.values()):
        return []
    left, *found = device.ask("log").splitlines()
    more = device.pairs(left)["left_out"]
    return ["log: " + line(device.pairs(h)) for h in found] \
        + ([f"log: {more} more"] if more else [])


def lines(always):
    """What stopped the machine here; unless `always`, only if that has not been told. What
    gdb passed while it stepped is told as that."""
    global told
    head, *hits = device.get("stopped").splitlines()
    head = device.pairs(head)
    new, told = head["sequence"] != told, head["sequence"]
    end = ["stopped: " + END.format("the recording, by a signal,")] if head["end"] else []
    if not head["here"] and (always or not new):
        return end
    word = "stopped" if head["here"] else "passed"
    more = [f"{word}: {head['left_out']} more"] if head["left_out"] else []
    return [f"{word}: {line(device.pairs(h))}" for h in hits] + more + end


def head():
    return device.pairs(device.get("stopped").splitlines()[0])


@functools.lru_cache(None)
def speaks_mi():
    """Whether gdb's own output is MI, which a front end reads: it takes a stop that it is
    not told of for none."""
    with open("/proc/self/cmdline") as f:
        words = f.read().split("\0")
    for word, next_ in zip(words, words[1:]):
        name, _, value = word.lstrip("-").partition("=")
        if word[:1] == "-" and name and "interpreter".startswith(name):
            return (value or next_).startswith("mi")
    return False


def quietly(command):
    """gdb tells of every stop, past gdb.execute's to_string. A front end hears of them: it
    would wait for ever for an answer that was lost with them."""
    if speaks_mi():
        gdb.execute(command, to_string=True)
        return
    global quiet
    gdb.flush()
    kept, nothing = os.dup(1), os.open(os.devnull, os.O_WRONLY)
    os.dup2(nothing, 1)
    quiet = True
    try:
        gdb.execute(command, to_string=True)
        gdb.flush()
    finally:
        quiet = False
        os.dup2(kept, 1)
        os.close(kept)
        os.close(nothing)


def settle():
    """After a way backwards: QEMU counts instructions, so it comes to the beginning of the
    sleep in which engines did what was looked for. Goes on to that very cycle."""
    thread = gdb.selected_thread()
    if not texts or thread is None or thread.is_running():
        return
    found = head()
    if found["settle"]:
        if found["now"] > found["when"]:
            quietly("reverse-stepi")
        through_gate(f"when={found['when']}")


def settle_by_stops():
    """One step of settle() a stop, because behind an event of MI gdb waits for none. False:
    there is none to do."""
    global gated
    thread = gdb.selected_thread()
    if not texts or thread is None or thread.is_running():
        return True
    found = head()
    if found["settle"] and found["now"] > found["when"]:
        gdb.execute("reverse-stepi")
    elif found["settle"]:
        gated = True
        device.ask(f"gate when={found['when']}")
        gdb.execute("continue")
    return found["settle"]


def ungate():
    """At the stop that settle_by_stops() went to."""
    global gated
    if gated:
        gated = False
        device.ask("gate")


def through_gate(gate):
    try:
        device.ask("gate " + gate)
        quietly("continue")
    finally:
        device.ask("gate")


def back_in_sleep():
    """Goes back to the last stop within the sleep that the hart is in; False if there is
    none. One instruction back, then forward: first to find it, then to stop there."""
    begin = head()
    if not begin["halted"]:
        return False
    quietly("reverse-stepi")
    asleep = head()["now"]
    through_gate(f"until={begin['now']}")
    found = head()
    if not found["back"] or not asleep < found["when"] < begin["now"]:
        return False
    quietly("reverse-stepi")
    through_gate(f"when={found['when']}")
    return True


def back_once(when=None):
    """Goes back to the last stop, or breakpoint; to one at an instant (ns), which may be
    this one."""
    before = head()
    if when != before["now"] and (when is not None or not back_in_sleep()):
        try:
            device.ask("gate" if when is None else f"gate when={when}")
            quietly("reverse-continue")
        finally:
            device.ask("gate")
    # From the end of a recording that a signal has cut QEMU may stop on its way there.
    found = head()
    if found["back"] and found["now"] < found["when"] != before["when"]:
        through_gate(f"when={found['when']}")


def back(when=None):
    back_once(when)
    show()


def show():
    for line_ in lines(True):
        print(line_)
    gdb.execute("frame")
