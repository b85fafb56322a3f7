# SPDX-License-Identifier: MIT
"""npu goto CYCLE     to that cycle: forwards, in a replay backwards as well

Stops at that very cycle. Stops and breakpoints on the way do not count. While the hart sleeps
a replay stands at the last thing that an engine did by then: nothing happens in between."""
from npu import travel


def run(words, options, core):
    travel.goto(words)
