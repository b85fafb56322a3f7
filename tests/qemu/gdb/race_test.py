# SPDX-License-Identifier: MIT
#
# Run in gdb by tests/run: what the checks find is told while the machine stands still, with
# the words of the end, and stops it; a replay finds the same, and nothing twice after it
# has gone back.
import os
import re
import sys

import gdb

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
from session import *  # noqa: E402

FINDING = (r"^1: race: UB of core 0 at 0x0, once, first in cycle (\d+)$",
           r"^  tests/broken/race\.c:\d+  VADD reads src1",
           r"^  tests/broken/race\.c:\d+  COPY_GM_UB writes dst",
           r"^  missing: no semaphore goes from V to MTE2")
STOP = r"^stopped: the checks find something at cycle (\d+), number 1; `npu races` tells more$"


def begin(checks="race,hart"):
    ENV["CHECK"] = checks
    gdb.execute(f"file {TEST_IMAGE}")
    process = debug("race", image=TEST_IMAGE)
    npu("start")
    return process


def tells_and_stops():
    process = begin()
    same(npu("races").strip(), "nothing so far", "races/nothing_at_first")
    same(npu("break race").strip(), "stop 1: npu break race", "races/stop")
    go()
    matches("races/stops_at_the_first", "\n".join(stopped()), STOP)
    text = npu("races")
    matches("races/tells_it", text, *FINDING)
    same(re.findall(r"cycle (\d+)", text)[0], re.findall(r"cycle (\d+)", stopped()[0])[0],
         "races/at_its_cycle")
    one_line("races/refuses_another", npu("races 2"), "no finding 2: there are 1")
    status, out = finish(process)
    matches("races/the_end_tells_the_same", out, "^race: UB of core 0 at 0x0, 15 times")
    same(status, 1, "races/status_of_the_end")


def without_checks():
    process = begin("")
    for command in "races", "break race":
        one_line("races/refuses_" + command.replace(" ", "_"), npu(command), "run is not checked")
    over(process)


def recorded():
    """Without checks; its replay is checked."""
    ENV["CHECK"] = ""
    result(recorder("--image", TEST_IMAGE, "race"))
    ENV["CHECK"] = "race,hart"
    return replay()


def back_and_forth():
    process = recorded()
    npu("break race")
    go()
    first, text = stopped(), npu("races")
    matches("races/replay_stops_there", "\n".join(first), STOP)
    gdb.execute("reverse-stepi")
    same(npu("races"), text, "races/stay_known_after_a_step_back")
    go()
    same((stopped(), npu("races")), (first, text), "races/forward_to_it_again")
    npu("break MTE3 12")
    go()
    late = npu("races")
    ok(late != text and "12" not in late.split("times")[0], "races/more_of_it", late)
    npu("delete")
    npu("break race")
    npu("back")
    same(stopped(), first, "races/back_to_it")
    same(npu("races"), late, "races/nothing_is_found_twice_back_there")
    npu("delete")
    status, out = finish(process)
    matches("races/counted_once_at_the_end", out, "^race: UB of core 0 at 0x0, 15 times")
    matches("races/one_at_the_end", out, "checks found: 1 race$")


gdb.execute("source tools/gdb/npu.py")
main(tells_and_stops, without_checks, back_and_forth)
