# SPDX-License-Identifier: MIT
"""npu log PIPE [N|+N], OPCODE, ...     notes what `npu break` would stop at, and goes on
npu log                             what was noted since the last stop

With the words of `npu break`; the lines come at the next stop. Costs the run nothing; `npu
delete N` ends it."""
from npu import asked, machine, stops

OPTIONS = "e"
USAGE = "npu log [PIPE [N|+N] | OPCODE [PIPE] | FILE:LINE [PIPE] | sem N [VALUE] | fault | race]"


def run(words, options, core):
    if words:
        if "if" in words:
            raise machine.Error("what is noted has no condition: usage: " + USAGE)
        asked.add("npu log", words, options, core, USAGE, log=1)
    else:
        print("\n".join(stops.noted()) or "nothing was noted")
