# SPDX-License-Identifier: MIT
#
# Run in gdb by tests/run: a session as a kernel developer has it, then what every session
# leans on: the run that is stopped and looked at is the run that is not, to the cycle.
import os
import struct
import sys

import gdb

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
from session import *  # noqa: E402

VADD = "vadd --n 100000" + SPARING  # 8 full tiles of 48 KiB and a rest
VADD_ASLEEP = "vadd --n 1000000 --buffers 1" + SPARING
MATMUL = "matmul --m 1500 --n 600 --k 700" + SPARING  # sleeps six times
CORE = "(unsigned long)NPU_CORE_BASE"
UB = 0x08080000


def pipe(name):
    return f"({CORE} + PIPE_BASE + PIPE_{name} * (unsigned long)PIPE_STRIDE)"


def core_fault():
    return load64(f"({CORE} + CORE_FAULT)")


def floats(address, n):
    memory = gdb.selected_inferior().read_memory(address, 4 * n)
    return struct.unpack(f"<{n}f", memory)


def smoke():
    quiet = run(VADD)
    process = debug(VADD)
    same(number("$pc"), 0x1000, "gdb/attaches_at_reset")
    go_to("vadd.c:compute")
    trace = gdb.execute("backtrace", to_string=True)
    ok("compute (arg" in trace and "task_entry" in trace, "gdb/backtrace_of_a_task", trace)
    same(gdb.parse_and_eval("running->name").string(), "vadd compute", "gdb/names_the_task")
    line = gdb.newest_frame().find_sal().line
    gdb.execute("next")
    gdb.execute("next")
    ok(gdb.newest_frame().function().name == "compute"
       and gdb.newest_frame().find_sal().line != line, "gdb/steps_through_a_kernel")

    x, y = (number(f"((struct share *)arg)->p->{v}") for v in "xy")
    go_to("irq_wait")
    # Two commands a tile; the last one that is complete is in UB, however many began.
    tile = load64(pipe("MTE2") + " + PMU_COMMANDS") // 2 - 1
    n, bytes_ = 12288, 49152
    ok(0 <= tile < 8, "gdb/reads_a_counter_of_a_pipe", tile)
    for name, base, slot in (("x", x, tile % 2), ("y", y, 2)):  # two tiles of x, one of y
        got = floats(UB + slot * bytes_, n)
        want = floats(base + tile * bytes_, n)
        ok(got == want and len(set(got)) > 500, f"gdb/tile_of_ub_holds_{name}",
           f"{got[:4]} {want[:4]}")
    got = gdb.execute(f"x/4f {UB + tile % 2 * bytes_:#x}", to_string=True)
    want = floats(x + tile * bytes_, 4)
    shown = tuple(float(word) for word in got.split(":")[1].split())
    same(shown, want, "gdb/x_4f_prints_the_numbers")

    for name in ("MTE2", "V", "MTE3"):
        gdb.execute(f"x/64gx {pipe(name)}")
        gdb.execute(f"x/3bx {pipe(name)} + 1")
    gdb.execute(f"x/64gx {CORE} + 0xf000")
    same(core_fault(), 0, "gdb/looking_at_registers_is_no_access")
    same(finish(process), quiet, "gdb/continues_to_the_same_end")
    same(quiet[0], 0, "gdb/exit_status_is_the_firmware's")


def wfi_ends_its_page():
    """QEMU 7.2 goes on translating behind a wfi, and counts all of that block when the wfi
    ends it, but one instruction when a step, a breakpoint in the page or a timer has cut
    the block short. Only at the end of a page does a wfi always cost the same."""
    found = gdb.execute("find /w __text_start, __text_end - 4, 0x10500073", to_string=True)
    at = int(gdb.parse_and_eval("(long)&__idle_start"))
    word = int(gdb.parse_and_eval(f"*(unsigned *){at:#x}"))
    ok("not found" in found and word == 0x10500073 and at % 4096 == 4092,
       "stops/every_wfi_ends_its_page", f"{found} {at:#x}: {word:#x}")
    return f"*{at:#x}", f"*{at + 4:#x}"


def stops_change_nothing():
    wfi, behind = wfi_ends_its_page()
    for args, step in ((MATMUL, 1), (VADD_ASLEEP, 1 if FULL else 2)):
        quiet = run(args)
        for name, command in (("break_at_issue", "break task_issue"),
                              ("hbreak_at_issue", "hbreak task_issue"),
                              ("break_at_the_wfi", f"break {wfi}"),
                              ("break_behind_the_wfi", f"break {behind}"),
                              ("watch_sleeps", "watch sleeps"),
                              ("watch_tasks", "watch running"))[::step]:
            process, stops = debug(args), 0
            go_to("sched_run")
            gdb.execute("delete")
            gdb.execute(command)
            while stops < 10 and go():
                stops += 1
            got = finish(process) if gdb.selected_inferior().pid else result(process)
            ok(got == quiet and stops >= 3, f"stops/{args.split()[0]}_{name}",
               f"{stops} stops\ngot {got}\nwant {quiet}")


def steps_change_nothing():
    quiet = run(MATMUL)
    process = debug(MATMUL)
    for _ in range(4):
        go_to("task_issue", 3)
        gdb.execute("stepi 50")
        go_to("irq_wait")
        gdb.execute("stepi 40")  # the wfi is among them
    same(finish(process), quiet, "stops/steps_over_pushes_and_sleeps")


def interrupts_change_nothing():
    """As Ctrl-C does, at instants that nobody chose: as many as fit into a run, and ten of
    them in as many runs as a busy host takes for that."""
    args = "matmul --m 512 --n 512 --k 1024 --repeat 8 --check 20"
    quiet = run(args)
    stops = runs = 0
    got = quiet
    while got == quiet and stops < 10 and runs < 10:
        process = launch(args, WITH_MONITOR)
        runs += 1
        try:
            say = monitor(process)
            while True:
                say("stop")
                say("cont")
                stops += 1
        except OSError:
            pass
        got = result(process)
    ok(got == quiet and stops >= 10, "stops/monitor_at_any_instant",
       f"{stops} stops in {runs} runs\ngot {got}\nwant {quiet}")


main(smoke, stops_change_nothing, steps_change_nothing, interrupts_change_nothing)
