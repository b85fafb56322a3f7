# SPDX-License-Identifier: MIT
"""npu finish PIPE [-c CORE]     runs to where a command of PIPE ends next

-r: back to where the last one ended (in a replay). Other stops and breakpoints count."""
from npu import machine, stops

OPTIONS = "r"


def run(words, options, core):
    machine.wants(words, 1, 1, "npu finish PIPE [-r]")
    pipe = machine.pipe_number(words[0])
    stops.once("ends", "npu finish", "-r" in options, core=core, pipe=pipe)
