# SPDX-License-Identifier: MIT
"""npu step [PIPE] [-c CORE]     runs to where the next command begins, of PIPE or of any

-r: back to where the last one began (in a replay). Other stops and breakpoints count."""
from npu import machine, stops

OPTIONS = "r"


def run(words, options, core):
    machine.wants(words, 0, 1, "npu step [PIPE] [-r]")
    pipe = {"pipe": machine.pipe_number(words[0])} if words else {}
    stops.once("begins", "npu step", "-r" in options, core=core, **pipe)
