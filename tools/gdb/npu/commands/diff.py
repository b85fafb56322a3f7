# SPDX-License-Identifier: MIT
"""npu diff MEM ADDRESS ROWSxCOLS TYPE [nd|nz|zz|zn] REFERENCE

Options: [-p PITCH] [-r TYPE] [-q PITCH] [-t TOL] [-c CORE]. Compares a tile (see `help
npu tile`) with a matrix in DRAM, row after row: REFERENCE is an array, or an expression
for its address. -r: its type, if not the same; -q: elements from row to row of it; -t:
largest difference that counts as equal, 0 if left out."""
import math

import gdb

from npu import machine, numbers

OPTIONS = "p:q:t:r:"
SHOWN = 10


def differs(a, b, tolerance):
    if a != a or b != b:
        return (a == a) != (b == b)
    return a != b and not abs(a - b) <= tolerance


def reference(text):
    """Address of an array, or what the expression gives."""
    value = gdb.parse_and_eval(text)
    if value.type.strip_typedefs().code == gdb.TYPE_CODE_ARRAY:
        return str(int(value.address))
    return str(machine.number(text))


def run(words, options, core):
    machine.wants(words, 5, 6, "npu diff MEM ADDRESS ROWSxCOLS TYPE [nd|nz|zz|zn] REFERENCE")
    try:
        tolerance = float(options.get("-t", "0"))
    except ValueError:
        raise machine.Error(f"-t {options['-t']}: want a number") from None
    got = numbers.Tile(words[:-1], core, machine.number(options.get("-p", "0")))
    kind = options.get("-r", words[3])
    want = numbers.Tile(["gm", reference(words[-1]), words[2], kind], core,
                        machine.number(options.get("-q", "0")))
    wrong, largest = [], 0
    for r in range(got.rows):
        for c, (a, b) in enumerate(zip(got.values[r], want.values[r])):
            if differs(a, b, tolerance):
                wrong.append((r, c, a, b))
                largest = max(largest, abs(a - b) if math.isfinite(a - b) else math.inf)
    total = got.rows * got.columns
    if not wrong:
        print(f"{got.what}: equal, {total} elements")
        return
    rows, columns = {w[0] for w in wrong}, {w[1] for w in wrong}
    print(f"{got.what}: {len(wrong)} of {total} elements differ, by {largest:.5g} at most; "
          f"rows {min(rows)}..{max(rows)}, columns {min(columns)}..{max(columns)}")
    for r, c, a, b in wrong[:SHOWN]:
        print(f"  ({r}, {c})  {got.text(a)}  want {got.text(b)}")
