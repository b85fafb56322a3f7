# SPDX-License-Identifier: MIT
"""npu condition N [EXPRESSION]     stop N stops only where EXPRESSION is not 0; without: always

It is worked out in the hart's frame, and knows $npu_cycle, $npu_number of a command and
$npu_value of a semaphore. What cannot be worked out stops, and is told."""
from npu import machine, stops, wanted


def run(words, options, core):
    machine.wants(words, 1, 100, "npu condition N [EXPRESSION]")
    number = stops.one(words[0])
    wanted.set_condition(number, " ".join(words[1:]))
    print(f"stop {number}: {wanted.described(number)}")
