# SPDX-License-Identifier: MIT
"""npu commands N [COMMAND]...     what gdb does where stop N has stopped; none: nothing more

Each in quotes, as npu commands 1 "npu status" "print sleeps"; `continue` as the last goes on."""
from npu import machine, stops, wanted


def run(words, options, core):
    machine.wants(words, 1, 100, "npu commands N [COMMAND]...")
    number = stops.one(words[0])
    wanted.set_commands(number, words[1:])
    print(f"stop {number}: " + ("; ".join(words[1:]) or "no commands"))
