# SPDX-License-Identifier: MIT
#
# The words of `npu break` and `npu log`: at what the device is to stop, or what to note.
import os

from npu import decode, device, machine, queues, stops, wanted


def nth(core, pipe, text):
    value = machine.number(text.lstrip("+"))
    ended = queues.ended(core, pipe)
    if text.startswith("+"):
        value += ended + queues.running(core, pipe)
    if value <= ended and not device.replaying():
        raise machine.Error(f"command {value} of {machine.pipes()[pipe]} has ended: "
                            f"{ended} have")
    return value


def opcode(text):
    for number, command in decode.commands().items():
        if command[0] == text.upper():
            return number
    raise machine.Error(f"{text}: no pipe ({', '.join(machine.pipes().values())}), no opcode, "
                        "no FILE:LINE, nor sem, fault or race")


def semaphore(text):
    value, count = machine.number(text), machine.param("SEM_COUNT")
    if value >= count:
        raise machine.Error(f"no semaphore {value}: they are 0 to {count - 1}")
    return value


def line(text):
    """The tag of a line's commands. The program that runs tells which lines have some."""
    file, _, number = text.rpartition(":")
    number, plan = machine.number(number), decode.played()
    if plan is not None:
        name, lines = decode.program(plan)
        if os.path.basename(file) != name:
            raise machine.Error(f"{text}: the program that runs is {name}")
        if number not in lines:
            raise machine.Error(f"{text}: of lines {', '.join(map(str, lines))} are commands")
    return number


def keys(words, core, usage):
    """What the words ask for, as keys of the device."""
    kind = words[0].lower()
    if kind in ("fault", "race"):
        machine.wants(words, 1, 1, usage)
        if kind == "race":
            device.findings()  # there are checks
        return {}
    machine.wants(words, 2 if kind == "sem" else 1, 3 if kind == "sem" else 2, usage)
    if kind == "sem":
        value = {"value": machine.number(words[2])} if len(words) > 2 else {}
        return {"core": core, "sem": semaphore(words[1]), **value}
    if kind.upper() in machine.pipes().values():
        pipe = machine.pipe_number(kind)
        number = {"number": nth(core, pipe, words[1])} if len(words) > 1 else {}
        return {"core": core, "pipe": pipe, **number}
    pipe = {"pipe": machine.pipe_number(words[1])} if len(words) > 1 else {}
    if ":" in words[0]:
        return {"core": core, "tag": line(words[0]), "bits": decode.LINE, **pipe}
    return {"core": core, "opcode": opcode(words[0]), **pipe}


def add(verb, words, options, core, usage, **more):
    """Makes a stop of them; what stands behind `if` is its condition."""
    words, condition = (words[:-2], words[-1]) if "if" in words[-2:-1] else (words, "")
    if not words:
        raise machine.Error("usage: " + usage)
    event = {"sem": "sem", "fault": "faults", "race": "found"}.get(
        words[0].lower(), "ends" if "-e" in options else "begins")
    text = " ".join([verb, *words] + ["-e"] * ("-e" in options))
    number = stops.add(event, text, **keys(words, core, usage), **more)
    wanted.set_condition(number, condition)
    print(f"stop {number}: {wanted.described(number)}")
