# SPDX-License-Identifier: MIT
"""npu delete [N]     removes stop N of `npu break`, or all"""
from npu import machine, stops


def run(words, options, core):
    machine.wants(words, 0, 1, "npu delete [N]")
    number = machine.number(words[0]) if words else None
    if words and number not in stops.known():
        raise machine.Error(f"no stop {number}: `npu break` lists them")
    stops.delete(number)
