# SPDX-License-Identifier: MIT
#
# Run in gdb by tests/run: a tile program, by its own lines and names.
import os
import re
import sys
import tempfile

import gdb

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
from session import *  # noqa: E402

with open("kernels/ops/softmax.tile") as program:
    FIRST = [line.startswith("kernel") for line in program].index(True) + 1
AT = range(FIRST, FIRST + 3)  # where the program's three lines are
SOFTMAX = "tile kernels/ops/softmax.tile --m 64 --n 1024" + SPARING


def values():
    process = debug(SOFTMAX)
    one_line("npu/value_before_a_program", npu("value"), "no tile program is running")
    npu("break VEXP")
    go()
    matches("npu/stop_names_the_program", "\n".join(stopped()),
            rf"VEXP.*issued at softmax\.tile:{AT[1]}$")
    text = npu("value")
    matches("npu/value_lists_names", text,
            rf"^x: fp32 8x1024, softmax.tile:{AT[0]}, ub 0x\w+ 0x\w+$",
            rf"^e: fp32 8x1024, softmax.tile:{AT[1]}, ub 0x\w+$",
            f"^y: fp32 8x1024, softmax.tile:{AT[2]}, ub")
    place = re.search(r"^e: .* ub (\w+)$", text, re.M)[1]
    way = gdb.parse_and_eval("((struct tiles_plan *)tile_played)->way")
    same(npu("value e").splitlines()[1:],
         npu(f"tile ub {place} 8x1024 fp32 -p {int(way['pitch'])}").splitlines()[1:],
         "npu/value_shows_what_lies_there")
    one_line("npu/value_unknown", npu("value z"), "no value z in UB: x, e, y")
    one_line("npu/value_copy", npu("value x 9"), "x is there 2 times: 0 to 1")
    matches("npu/queue_names_the_program", npu("queue V"), rf"^ +softmax\.tile:{AT[1]}$",
            rf"^ +softmax\.tile:{AT[2]}$")
    npu("finish V")
    matches("npu/who_names_the_program", npu(f"who ub {place}"), "VEXP",
            rf"issued at softmax\.tile:{AT[1]}$")
    end(process)


def lines():
    process = debug(SOFTMAX)
    npu(f"break softmax.tile:{AT[2]}")
    go()
    matches("npu/stop_at_a_line", "\n".join(stopped()),
            rf"V command \d+ \(\w+\) begins at .*, issued at softmax\.tile:{AT[2]}$")
    npu("delete")
    npu(f"break kernels/ops/softmax.tile:{AT[0]} MTE2")
    go()
    matches("npu/stop_at_a_line_of_a_pipe", "\n".join(stopped()),
            rf"MTE2 command \d+ \(COPY_GM_UB\) begins at .*, issued at softmax\.tile:{AT[0]}$")
    one_line("npu/stop_at_another_program", npu("break soft.tile:2"),
             "soft.tile:2: the program that runs is softmax.tile")
    one_line("npu/stop_at_a_line_without_commands", npu(f"break softmax.tile:{AT[2] + 1}"),
             f"softmax.tile:{AT[2] + 1}: of lines {AT[0]}, {AT[1]}, {AT[2]} are commands")
    end(process)


def products():
    """Of a product and of what its operand is computed by, in one stage."""
    with tempfile.TemporaryDirectory(prefix="gdb-", dir="build/test") as folder:
        with open(folder + "/left.tile", "w", encoding="ascii") as f:
            f.write("kernel left(x: f16[m, k], w: f16[k, n]) -> y: f32[m, n]\n"
                    "    h = f16(silu(x))\n    y = h @ w\nschedule keep h in l1\n")
        process = debug(f"tile {folder}/left.tile --m 64 --k 64 --n 64" + SPARING)
        npu("break VCONV")
        go()
        npu("delete")
        npu("break left.tile:2 MTE3")
        go()
        matches("npu/stop_at_an_operand", "\n".join(stopped()),
                r"MTE3 command \d+ \(COPY_UB_L1\) begins at .*, issued at left\.tile:2$")
        npu("delete")
        npu("break left.tile:3 M")
        go()
        matches("npu/stop_at_a_product", "\n".join(stopped()),
                r"M command \d+ \(MMAD\) begins at .*, issued at left\.tile:3$")
        matches("npu/who_names_an_operand", npu("who l1 0"), "COPY_UB_L1",
                r"issued at left\.tile:2$")
        end(process)


def all_of_it():
    values()
    lines()
    products()


gdb.execute("source tools/gdb/npu.py")
main(all_of_it)
