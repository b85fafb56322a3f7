# SPDX-License-Identifier: MIT
#
# Run in gdb by tests/run: a tile program, by its own lines and names.
import os
import re
import sys

import gdb

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
from session import *  # noqa: E402

SOFTMAX = "tile kernels/tile/softmax.tile --m 64 --n 1024" + SPARING


def values():
    process = debug(SOFTMAX)
    one_line("npu/value_before_a_program", npu("value"), "no tile program is running")
    npu("break VEXP")
    go()
    matches("npu/stop_names_the_program", "\n".join(stopped()), r"VEXP.*issued at softmax\.tile:2$")
    text = npu("value")
    matches("npu/value_lists_names", text, r"^x: fp32 8x1024, softmax.tile:1, ub 0x\w+ 0x\w+$",
            r"^e: fp32 8x1024, softmax.tile:2, ub 0x\w+$", "^y: fp32 8x1024, softmax.tile:3, ub")
    place = re.search(r"^e: .* ub (\w+)$", text, re.M)[1]
    way = gdb.parse_and_eval("tile_played->way")
    same(npu("value e").splitlines()[1:],
         npu(f"tile ub {place} 8x1024 fp32 -p {int(way['pitch'])}").splitlines()[1:],
         "npu/value_shows_what_lies_there")
    one_line("npu/value_unknown", npu("value z"), "no value z in UB: x, e, y")
    one_line("npu/value_copy", npu("value x 9"), "x is there 2 times: 0 to 1")
    matches("npu/queue_names_the_program", npu("queue V"), r"^ +softmax\.tile:2$",
            r"^ +softmax\.tile:3$")
    npu("finish V")
    matches("npu/who_names_the_program", npu(f"who ub {place}"), "VEXP",
            r"issued at softmax\.tile:2$")
    end(process)


def lines():
    process = debug(SOFTMAX)
    npu("break softmax.tile:3")
    go()
    matches("npu/stop_at_a_line", "\n".join(stopped()),
            r"V command \d+ \(\w+\) begins at .*, issued at softmax\.tile:3$")
    npu("delete")
    npu("break kernels/tile/softmax.tile:1 MTE2")
    go()
    matches("npu/stop_at_a_line_of_a_pipe", "\n".join(stopped()),
            r"MTE2 command \d+ \(COPY_GM_UB\) begins at .*, issued at softmax\.tile:1$")
    one_line("npu/stop_at_another_program", npu("break soft.tile:2"),
             "soft.tile:2: the program that runs is softmax.tile")
    one_line("npu/stop_at_a_line_without_commands", npu("break softmax.tile:4"),
             "softmax.tile:4: of lines 1, 2, 3 are commands")
    end(process)


def all_of_it():
    values()
    lines()


gdb.execute("source tools/gdb/npu.py")
main(all_of_it)
