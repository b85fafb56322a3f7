# SPDX-License-Identifier: MIT
"""npu break PIPE [N|+N]     stops where a command of the pipe begins: each, the N-th, or
                             the N-th from now; N counts from power-on
npu break OPCODE [PIPE]      where such a command begins, as MMAD
npu break FILE:LINE [PIPE]   where a command of that line of a tile program begins
npu break sem N [VALUE]      where semaphore N changes, or becomes VALUE
npu break fault              where a command or an access breaks a rule
npu break race               where a check finds something new; `npu races` shows it
npu break ... if EXPRESSION  only where that is not 0: see `help npu condition`
npu break                    lists all stops; `npu delete` removes them

The machine stops at that very cycle, which no stop changes. -e: where the command ends."""
from npu import asked, stops, wanted

OPTIONS = "e"
CONDITIONAL = True
USAGE = ("npu break [PIPE [N|+N] | OPCODE [PIPE] | FILE:LINE [PIPE] | sem N [VALUE] | fault "
         "| race] [if EXPRESSION]")


def run(words, options, core):
    if words:
        asked.add("npu break", words, options, core, USAGE)
    else:
        print("\n".join(f"{n}: {wanted.described(n)}" for n in stops.known()) or "no stops")
