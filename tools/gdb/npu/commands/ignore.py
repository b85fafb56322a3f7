# SPDX-License-Identifier: MIT
"""npu ignore N COUNT     goes past stop N the next COUNT times; on the way forward

What a condition of the stop would let pass is counted as well."""
from npu import device, machine, stops


def run(words, options, core):
    machine.wants(words, 2, 2, "npu ignore N COUNT")
    number, times = stops.one(words[0]), machine.number(words[1])
    device.ask(f"ignore id={number} times={times}")
    print(f"stop {number}: {times} times not")
