# SPDX-License-Identifier: MIT
"""npu races [N]     what the checks have found so far, or finding N of that

Both accesses with their lines, and what is missing, as at the end of the run; a missing
wait is tried on what has run, so more is known later. For a run that is checked, as
`make debug CHECK=race,hart` is. `npu break race` stops at each new one."""
import os
import sys

import gdb

from npu import device, machine

TOOLS = os.path.dirname(os.path.dirname(os.path.dirname(os.path.dirname(
    os.path.abspath(__file__)))))


def found():
    """[the lines of a finding], those of a class together."""
    sys.path.insert(0, TOOLS)
    try:
        import report
    finally:
        sys.path.remove(TOOLS)
    image = gdb.current_progspace().filename
    return [report.message(f) for f in report.located(device.findings(), image)]


def run(words, options, core):
    machine.wants(words, 0, 1, "npu races [N]")
    all_of = found()
    wanted = machine.number(words[0]) if words else None
    if wanted is not None and not 1 <= wanted <= len(all_of):
        raise machine.Error(f"no finding {wanted}: there are {len(all_of)}")
    for n, lines in enumerate(all_of, 1):
        if wanted in (None, n):
            print(f"{n}: " + "\n".join(lines))
    if not all_of:
        print("nothing so far")
