# SPDX-License-Identifier: MIT
#
# Run in gdb by tests/run: the stops that the device makes are where they were asked for,
# at the same cycle live, recorded and replayed, and the run that they stop ends like
# the one that nobody watches.
import json
import os
import re
import sys

import gdb

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
from session import *  # noqa: E402
from session import DIR, ENV, FULL  # noqa: E402

MATMUL = "matmul --m 300 --n 300 --k 700 --tiling published" + SPARING
VADD = "vadd --n 400000" + SPARING
TILE = 48 << 10  # bytes, of vadd
BREAK_AT_WAITS = "irq_wait", "task_switch", "wait_as", "*$wfi", "*($wfi + 4)"


def register(pipe, name):
    return load64("(unsigned long)NPU_CORE_BASE + PIPE_BASE"
                  f" + PIPE_{pipe} * (unsigned long)PIPE_STRIDE + {name}")


def alive():
    return gdb.selected_inferior().pid != 0


def leave(process):
    if alive():
        npu("delete")
        return finish(process)
    return result(process)


def begin(args, how="live", mode=""):
    process = debug(args, *(() if how == "live" else (DRIVE, f"rr={how},{mode}")))
    npu("start")
    return process


def counts_commands():
    process = begin(VADD)
    npu("break MTE2 5")
    ok(go() and register("MTE2", "PMU_COMMANDS") == 4, "stop/before_the_fifth_command")
    cycle = here()[0]
    same(register("MTE2", "PIPE_SINCE"), cycle, "stop/where_the_command_begins")
    matches("stop/tells_why", "\n".join(stopped()),
            rf"^stopped: MTE2 command 5 \(COPY_GM_UB\) begins at cycle {cycle}, "
            r"issued at vadd\.c:\d+ copy_in$")
    matches("stop/status_has_one_reason", npu("status"), r"^  MTE2 RUNNING ")
    npu("delete")
    npu("break MTE2 +3")
    ok(go() and register("MTE2", "PMU_COMMANDS") == 7, "stop/third_from_now")
    npu("delete")
    npu("break -e MTE2 9")
    ok(go() and register("MTE2", "PMU_COMMANDS") == 9, "stop/where_the_ninth_ends")
    matches("stop/tells_the_end", "\n".join(stopped()), r"^stopped: MTE2 command 9 .* ends at")
    matches("stop/refuses_the_past", npu("break MTE2 9"), "error: .*command 9 of MTE2 has ended")
    npu("delete")
    before = [register(p, "PMU_COMMANDS") for p in ("MTE2", "V", "MTE3")]
    npu("finish MTE3")
    after = [register(p, "PMU_COMMANDS") for p in ("MTE2", "V", "MTE3")]
    ok(after[2] == before[2] + 1, "stop/finish_completes_one", f"{before} {after}")
    began = {p: register(p, "PIPE_SINCE") for p in ("MTE2", "V", "MTE3")}
    npu("step")
    now = {p: register(p, "PIPE_SINCE") for p in ("MTE2", "V", "MTE3")}
    ok(here()[0] in now.values() and here()[0] > max(began.values()) and len(stopped()) >= 1,
       "stop/step_begins_one", f"{here()} {began} {now} {stopped()}")
    npu("step V")
    same(register("V", "PIPE_SINCE"), here()[0], "stop/step_of_a_pipe")
    matches("stop/nothing_is_left", npu("break"), "^no stops$")
    npu("break")
    matches("stop/the_end_comes_first", npu("step M"), "error: .*the run has ended before that$")
    leave(process)


def numbers_of_a_run():
    """Numbers go on from launch to launch, and name one command each; counters do not."""
    process = begin(f"{VADD} + {VADD}")
    go_to("vadd")
    gdb.execute("delete")
    z = number("p->z")
    npu("break MTE3 60")
    go()
    first = register("MTE3", "PMU_COMMANDS")
    matches("stop/numbers_hold_over_launches", "\n".join(stopped()),
            r"^stopped: MTE3 command 60 \(COPY_UB_GM\) begins at cycle")
    same(first, 60 - 33 - 1, "stop/counters_are_of_a_launch")  # a launch has 33 tiles
    npu("delete")
    npu("break MTE3 +3")
    go()
    same(register("MTE3", "PMU_COMMANDS"), first + 3, "stop/third_from_now_of_a_launch")
    matches("stop/has_the_next_number", "\n".join(stopped()), "MTE3 command 63 ")
    matches("stop/the_past_is_of_the_run", npu("break MTE3 20"), "MTE3 has ended: 62 have")
    npu("delete")
    npu("finish MTE3")
    matches("stop/who_knows_it_by_that", npu(f"who {z + 29 * TILE}"), "MTE3 command 63 ")
    leave(process)


def opcodes_and_semaphores():
    process = begin(MATMUL)
    npu("break MMAD")
    ok(go(2) and register("M", "PMU_COMMANDS") == 1, "stop/on_an_opcode")
    npu("delete 1")
    npu("delete")
    npu("break sem 2 0")
    value = "*(unsigned long *)((unsigned long)NPU_CORE_BASE + SEM_VALUE + 16)"
    seen = []
    for _ in range(3):
        go()
        seen.append((number(value), len(stopped())))
    ok(all(v == 0 and n >= 1 for v, n in seen), "stop/semaphore_becomes_a_value", seen)
    matches("stop/tells_the_semaphore", "\n".join(stopped()),
            r"^stopped: semaphore 2 of core 0 is 0 at cycle \d+$")
    npu("delete")
    npu("break sem 2")
    go()
    first = number(value)
    go()
    same(abs(number(value) - first), 1, "stop/semaphore_changes")
    leave(process)


def accesses():
    process = begin(VADD)
    x, y, z = (number(f"p->{name}") for name in "xyz")
    npu(f"watch {z + 2 * TILE} 8")  # the third tile of the result
    go()
    same(register("MTE3", "PMU_COMMANDS"), 3, "stop/an_engine_writes_gm")
    matches("stop/tells_who_writes", "\n".join(stopped()),
            r"^stopped: MTE3 command 3 \(COPY_UB_GM\) ends at cycle \d+, .* copy_out$")
    npu("delete")
    npu(f"watch gm {y + 10 * TILE - 1} 2 -r")  # ends one tile, begins the next
    done = []
    while len(done) < 2 and go():
        done.append(register("MTE2", "PMU_COMMANDS"))
    same(done, [19, 21], "stop/an_engine_reads_gm")
    npu("delete")
    npu("watch ub 0x28000 -a")
    who = []
    for _ in range(4):
        go()
        who += [re.sub(r" command.*(begins|ends).*", r" \1", line) for line in stopped()]
    same(sorted(set(who)), ["stopped: MTE3 begins", "stopped: V ends"],
         "stop/engines_read_and_write_ub")
    npu("delete")
    npu(f"watch {x}")
    npu(f"watch {x} 16 -r -c 0")
    ok(not go(), "stop/what_is_past_does_not_stop")
    leave(process)


def rows_and_gaps():
    """Of a tile of the result each row is written, not what lies between."""
    process = begin(MATMUL)
    c = number("p->c")
    npu(f"watch {c + 4 * 256} 4")  # row 0, column 256: the second tile
    go()
    text = "\n".join(stopped())
    ok(register("FIX", "PMU_COMMANDS") == 2, "stop/rows_with_gaps", text)
    leave(process)


def faults():
    gdb.execute("file " + TEST_IMAGE)
    for kind, pattern in (("bounds", r"^stopped: V faults at cycle \d+: BOUNDS; "),
                          ("register", r"^stopped: registers faults at cycle \d+: READ_ONLY; ")):
        process = launch("fault " + kind, options=["--gdb", "--image", TEST_IMAGE])
        until(lambda: gdb.execute(f"target remote {SOCKET}"), process, gdb.error)
        go_to("main")
        gdb.execute("delete")
        npu("break fault")
        go()
        matches(f"stop/on_a_fault_{kind}", "\n".join(stopped()), pattern)
        matches(f"stop/fault_is_there_{kind}", npu("faults"), "BOUNDS|READ_ONLY")
        leave(process)
    gdb.execute("file build/salai.elf")


def second_destinations():
    """A sparse load writes L0B and its index."""
    gdb.execute("file " + TEST_IMAGE)
    process = launch("test multiplies_by_2_of_4", options=["--gdb", "--image", TEST_IMAGE])
    until(lambda: gdb.execute(f"target remote {SOCKET}"), process, gdb.error)
    go_to("main")
    gdb.execute("delete")
    for memory, first in ("l0b_index", 1536 // 4 + 4 * 128), ("l0b", 1536 + 4 * 512):
        npu(f"watch {memory} {first - 1} 1")
        npu(f"watch {memory} {first} 1")
    go()
    text = "\n".join(stopped())  # the last byte of each, not the first one behind it
    same(text.count("(SPARSE_L1_L0B) ends"), 2, "stop/on_both_destinations")
    matches("stop/who_wrote_a_second_destination", npu("who l0b_index 0x37f"), "SPARSE_L1_L0B")
    matches("stop/who_wrote_nothing_behind_it", npu("who l0b_index 0x380"), "no command has")
    leave(process)
    gdb.execute("file build/salai.elf")


MOST = 10 if FULL else 5  # stops


def places(args, stop, how, mode):
    """Where the first of these stops are, and how the run ends."""
    process, at = begin(args, how, mode), []
    if stop in ("step", "finish MTE2", "finish MTE3"):
        while len(at) < MOST and "error" not in npu(stop) and alive():
            at.append((here(), stopped()))
    elif stop == "breakpoints":
        for place in BREAK_AT_WAITS:
            gdb.execute(f"break {place}")
        while len(at) < MOST and go():
            at.append((here(), []))
        gdb.execute("delete")
    else:
        npu(stop)
        while len(at) < MOST and go():
            at.append((here(), stopped()))
    return at, leave(process)


def change_nothing():
    gdb.execute("set var $wfi = (char *)&__idle_start")
    for args, stops in ((MATMUL, ("step", "finish MTE2", "break sem 2", "breakpoints",
                                  "watch l0c 0x100 4 -a")),
                        (VADD, ("break -e V", "finish MTE3", "breakpoints"))):
        quiet, who = run(args), args.split()[0]
        for stop in stops[::1 if FULL else 2]:
            new_image()
            mode = f"rrfile={os.path.join(DIR, 'stops.rr')},rrsnapshot=start"
            name = who + "_" + re.sub("[^a-z0-9]+", "_", stop.lower())
            live, end_ = places(args, stop, "live", mode)
            told = all(why for _, why in live) or stop == "breakpoints"
            ok(end_ == quiet and len(live) == MOST and told, f"stop/{name}_live", f"{live}\n{end_}")
            for how in ("record", "replay"):
                at, end_ = places(args, stop, how, mode)
                differ = [(a, b) for a, b in zip(live, at) if a != b][:1]
                ok(at == live and end_ == quiet, f"stop/{name}_{how}",
                   f"{len(at)} stops, first that differs: {differ}\n{end_}")


def starve_main_loop(pidfile):
    """QEMU's main loop gets a turn when its hart has nothing left to do."""
    with open(pidfile) as f:
        pid = int(f.read())
    for thread in os.listdir(f"/proc/{pid}/task"):
        os.sched_setaffinity(int(thread), {min(os.sched_getaffinity(0))})
    os.sched_setscheduler(pid, os.SCHED_IDLE, os.sched_param(0))


def late_main_loop():
    """A recording has the same events when the main loop is late to stop the machine: only
    with FULL, for on a busy host it takes minutes."""
    pidfile = os.path.join(DIR, "pid")
    mode = f"rrfile={os.path.join(DIR, 'stops.rr')},rrsnapshot=start"
    for seed in "123":  # whose stops fall on different accesses of the hart
        ENV["SEED"] = seed
        quiet, count = run(VADD), 0
        new_image()
        process = debug(VADD, f"{DRIVE} -pidfile {pidfile}", f"rr=record,{mode}")
        npu("start")
        starve_main_loop(pidfile)
        for pipe in "MTE2", "V", "MTE3":
            npu(f"break {pipe}")
            npu(f"break -e {pipe}")
        while go():
            count += 1
        end_ = result(process)
        ok(end_ == quiet and count > 140, f"stop/late_main_loop_record_{seed}", f"{count} {end_}")
        same(leave(begin(VADD, "replay", mode)), quiet, f"stop/late_main_loop_replay_{seed}")
    ENV["SEED"] = "0"


def traces():
    path = os.path.join(DIR, "t.json")
    process = begin(VADD)
    npu("break MTE3 4")
    go()
    since = here()[0]
    same(npu(f"trace on {path}"), "", "trace/goes_on")
    npu("delete")
    npu("break MTE3 9")
    go()
    until_ = here()[0]
    npu("trace off")
    with open(path) as f:
        events = json.load(f)["traceEvents"]
    ends = [round(1000 * (e["ts"] + e["dur"])) for e in events if e["ph"] == "X"]
    copies = [e for e in events if e["name"] == "COPY_UB_GM"]
    ok(len(copies) == 5 and min(ends) > since - 1 and max(ends) <= until_,
       "trace/has_what_was_between", f"{len(copies)} {since} {min(ends)} {max(ends)} {until_}")
    matches("trace/tells_a_bad_path", npu("trace on missing/t.json"),
            "^error: npu trace: .*missing/t.json: No such file")
    matches("trace/wants_words", npu("trace"), "usage")
    matches("trace/wants_a_file", npu("trace on"), "usage")
    same(leave(process), run(VADD), "trace/changes_nothing")


MISTAKES = [
    ("break Q", "Q: no pipe .*, no opcode"), ("break V x", "No symbol"), ("break V 1 2", "usage"),
    ("break sem", "usage"), ("break sem 128", "they are 0 to 127"), ("break fault 1", "usage"),
    ("break MMAD Q", "no pipe Q"), ("break V -c 1", "no core 1"), ("watch", "usage"),
    ("watch 0x10000000 4", r"are not in any memory"), ("watch l2 0 4", "no memory l2"),
    ("watch ub 0x30000", "are not in ub"), ("watch ub 0 0", "0 bytes"),
    ("watch gm 0 4", "are not in gm"), ("watch 0xffffffffffffffff 8", "are not in any"),
    ("delete 77", "no stop 77"), ("delete x", "No symbol"), ("step Q", "no pipe Q"),
    ("finish", "usage"), ("finish V -r", "only a replay goes back"),
    ("step -r", "only a replay goes back"),
]


def mistakes():
    for command in ("break V", "watch ub 0", "delete", "step", "finish V", "trace off"):
        one_line(f"stop/{command.split()[0]}_before_the_run", npu(command), "is not running")
    process = begin(VADD)
    for command, pattern in MISTAKES:
        name = re.sub("[^a-z0-9]+", "_", command.lower())
        one_line(f"stop/refuses_{name}", npu(command), pattern)
    matches("stop/no_mistake_made_a_stop", npu("break"), "^no stops$")
    leave(process)


gdb.execute("source tools/gdb/npu.py")
main(mistakes, counts_commands, numbers_of_a_run, opcodes_and_semaphores, accesses,
     rows_and_gaps, faults, second_destinations, traces, change_nothing,
     *[late_main_loop] * bool(FULL))
