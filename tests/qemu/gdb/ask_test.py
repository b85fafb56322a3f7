# SPDX-License-Identifier: MIT
#
# Run in gdb by tests/run: what stops can be told besides where: conditions, counts, commands;
# what is noted without a stop; who posted, took and read; to a cycle and back.
import os
import re
import sys

import gdb

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
from session import *  # noqa: E402
from session import FULL  # noqa: E402

VADD = "vadd --n 400000" + SPARING
TILE = 48 << 10  # bytes
COMMANDS = "(unsigned long)NPU_CORE_BASE + PIPE_BASE + PIPE_{} * (unsigned long)PIPE_STRIDE" \
    " + PMU_COMMANDS"


def done(pipe):
    return load64(COMMANDS.format(pipe))


def cycle():
    return load64("(unsigned long)NPU_CHIP_BASE + CHIP_CYCLE")


def conditions():
    npu("break V if $npu_number == 3 || $npu_number > 4")
    seen = []
    for _ in range(3):
        go()
        seen.append(done("V"))
    same(seen, [2, 4, 5], "ask/condition_of_a_stop")
    matches("ask/condition_is_listed", npu("break"), r"^\d+: npu break V if \$npu_number == 3 \|\|")
    number_ = npu("break").split(":")[0]
    matches("ask/condition_changes", npu(f"condition {number_} nothing_of_this_name"), "if nothing")
    go()
    same(done("V"), 6, "ask/bad_condition_stops")
    npu(f"condition {number_}")
    npu(f"ignore {number_} 2")
    go()
    same(done("V"), 9, "ask/ignores_two")
    npu("delete")
    npu(f"watch ub 0 {TILE} -r if $npu_number > 12")
    go()
    matches("ask/condition_of_a_watch", "\n".join(stopped()), "^stopped: V command 1[3-9] ")
    npu("delete")


def attached():
    npu("break V")
    number_ = npu("break").split(":")[0]
    npu(f'commands {number_} "set var $seen = $seen + 1" "set var $at = 1"')
    gdb.execute("set var $seen = 0")
    go(2)
    same(int(gdb.convenience_variable("seen")), 2, "ask/commands_run_at_each_stop")
    npu(f"commands {number_}")
    go()
    same(int(gdb.convenience_variable("seen")), 2, "ask/commands_can_go")
    npu("delete")
    for command in "ignore 99 1", "condition 99 1", "commands 99 x":
        one_line(f"ask/refuses_{command.split()[0]}_of_no_stop", npu(command), "no stop 99")


def noted():
    npu("log MTE3")
    first = done("MTE3") + 1
    npu("break MTE3 +4 -e")
    go()
    lines = npu("log").splitlines()
    ok(lines == ["nothing was noted"], "ask/log_came_with_the_stop", lines)
    npu("delete")
    npu("log -e MTE3")
    npu("finish V")
    npu("break V +4")
    gdb.execute("set var $text = 0")
    out = gdb.execute("continue", to_string=True)
    found = [int(n) for n in re.findall(r"^log: MTE3 command (\d+) .* ends at cycle", out, re.M)]
    ok(found and found == list(range(found[0], found[0] + len(found))), "ask/log_without_stops",
       f"{first} {out}")
    npu("delete")
    one_line("ask/log_has_no_condition", npu("log V if 1"), "has no condition")


def semaphores_and_readers():
    sem = int(re.search(r"waits sem (\d+)", npu("queue V"))[1])
    moves = npu(f"history {sem} 6").splitlines()
    move = re.compile(r"cycle \d+: (\w+ command \d+ of core 0|the hart) (posted|took) 1, "
                      r"then \d+; vadd\.c:\d+ \w+$")
    ok(len(moves) == 6 and all(map(move.match, moves)), "ask/history_of_a_semaphore", moves)
    cycles = [int(m.split()[1].strip(":")) for m in moves]
    same(cycles, sorted(cycles), "ask/history_is_in_order")
    value = load64(f"(unsigned long)NPU_CORE_BASE + SEM_VALUE + {8 * sem}")
    same(int(re.search(r"then (\d+)", moves[-1])[1]), value, "ask/history_ends_with_the_value")
    matches("ask/history_of_none", npu("history 40"), "^nobody has posted or taken semaphore 40")
    one_line("ask/history_refuses", npu("history 128"), "no semaphore 128")
    matches("ask/who_reads", npu("who -r ub 0"), r"^  VADD F32",
            r"^ub 0x0: V command \d+ of core 0 read it, cycle \d+ to \d+$",
            r"^  issued at vadd\.c:\d+ compute$")
    matches("ask/who_reads_what_nobody_has", npu("who -r l1 0"), "^no command has read l1 0x0")


def live():
    """All on one run, each from where the last has stopped."""
    process = debug(VADD)
    npu("start")
    conditions()
    semaphores_and_readers()
    attached()
    noted()
    to = cycle() + 777
    npu(f"goto {to}")
    same(cycle(), to, "ask/goes_to_a_cycle")
    one_line("ask/goes_back_in_a_replay_only", npu(f"goto {to - 1}"), "only a replay goes back")
    status, text = finish(process)
    same((status, text), run(VADD), "ask/the_run_is_the_same")


def to_cycles():
    """What stood there when the run came through stands there again, whichever way."""
    if not FULL:
        return
    result(recorder("--", *VADD.split()))
    process, been = replay(), []
    for stop in "break V", "break -e MTE2", "break sem 61":
        npu(stop)
        for _ in range(4):
            go()
            been.append(here())
        npu("delete")
    end_ = been[-1][0] + 5000
    order = [been[i] for i in (11, 0, 5, 6, 1, 10, 3)]
    for at in order:
        npu(f"goto {at[0]}")
        same(here(), at, f"ask/goes_to_{order.index(at)}")
    # The hart works: each cycle is an instruction of its own.
    npu(f"goto {been[0][0]}")
    go_to("copy_out")
    gdb.execute("delete")
    first = here()
    steps = []
    for _ in range(12):
        gdb.execute("stepi")
        steps.append(here())
    for at in steps[7], steps[2], first:
        npu(f"goto {at[0]}")
        same(here(), at, "ask/goes_to_an_instruction")
    npu(f"goto {end_}")
    ok(cycle() <= end_, "ask/goes_forwards", cycle())
    npu("break V if $npu_number % 4 == 1")
    numbers = []
    for _ in range(2):
        npu("back")
        numbers.append(int(re.search(r"V command (\d+) ", "\n".join(stopped()))[1]))
    ok(numbers[0] == numbers[1] + 4 and numbers[0] % 4 == 1, "ask/conditions_hold_backwards",
       numbers)
    npu("delete")
    matches("ask/knows_the_end", npu("goto 99999999999"), "the run has ended before that")
    over(process)


def backwards_from_a_long_end():
    """Each step at the end of four hundred million instructions."""
    if not FULL:
        return
    result(recorder("--", *"mla_prolog --m 1024 --n 1024 --k 1024".split()))
    process = replay()
    go()
    for command in "reverse-stepi", "reverse-step", "reverse-next":
        in_two_seconds(command, f"ask/{command}_at_a_long_end_in_2_s")
    over(process)


gdb.execute("source tools/gdb/npu.py")
main(live, to_cycles, backwards_from_a_long_end)
