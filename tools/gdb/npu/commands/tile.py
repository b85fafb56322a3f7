# SPDX-License-Identifier: MIT
"""npu tile MEM ADDRESS ROWSxCOLS TYPE [nd|nz|zz|zn] [-p PITCH] [-o FILE] [-a] [-c CORE]

A piece of memory as a matrix of numbers. MEM: gm, l1, ub, l0a, l0b, l0b_index, l0c, bt, fb.
ADDRESS: an expression without blanks, or in quotes; in gm an address, else an offset. TYPE:
fp32, fp16, bf16, int32, int16, int8, uint8, by any usual name (f16, F16, float16). Layouts
as in hal/contract/mte.md; nd, row after row, if left out. -p: elements from row to row
(nd), or rows of a column block (nz). -o writes FILE.npy, or FILE.pgm as a picture. -a
prints all of a large tile."""
from npu import files, machine, numbers

OPTIONS = "p:o:a"
ROWS, COLUMNS = 16, 10  # of a tile that is too large to print


def some(count, most, everything):
    """Indices to print; None stands for those that are left out."""
    if everything or count <= most:
        return list(range(count))
    return list(range(most - 2)) + [None, count - 1]


def table(tile, everything):
    rows, columns = (some(tile.rows, ROWS, everything), some(tile.columns, COLUMNS, everything))
    yield "     " + "".join(f"{'...' if c is None else c:>11}" for c in columns)
    for r in rows:
        cells = (("..." if r is None or c is None else tile.text(tile.values[r][c]))
                 for c in columns)
        yield f"{'...' if r is None else r:>5}" + "".join(f"{cell:>11}" for cell in cells)


def run(words, options, core):
    machine.wants(words, 4, 5, "npu tile MEM ADDRESS ROWSxCOLS TYPE [nd|nz|zz|zn]")
    tile = numbers.Tile(words, core, machine.number(options.get("-p", "0")))
    print(tile.what)
    if "-o" in options:
        files.save(tile, options["-o"])
        print(f"written to {options['-o']}")
    else:
        print("\n".join(table(tile, "-a" in options)))
