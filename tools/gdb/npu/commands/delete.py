# SPDX-License-Identifier: MIT
"""npu delete [N]     removes stop N of `npu break`, or all"""
from npu import machine, stops


def run(words, options, core):
    machine.wants(words, 0, 1, "npu delete [N]")
    stops.delete(stops.one(words[0]) if words else None)
