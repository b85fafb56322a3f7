# SPDX-License-Identifier: MIT
#
# Run in gdb by tests/run: what gdb shows of tasks that do not run, held against the
# kernels' own sources, and that going on from there is right.
import os
import re
import sys

import gdb

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
from session import *  # noqa: E402

VADD = "vadd --n 1000000 --buffers 1" + SPARING  # some sleeps with every queue full
# Its task issues from inlined functions.
MATMUL = "matmul --m 900 --n 600 --k 700 --tiling published" + SPARING


def all_wait(args):
    """Asleep with full queues, every task waiting."""
    process = debug(args)
    go_to("irq_wait", 2)
    gdb.execute("delete")
    return process


def waits_of_tasks():
    """Every way to wait, in the tests of sched/, at the sleep that it leads to."""
    gdb.execute("file " + TEST_IMAGE)
    one, two = "waits for 1 of semaphore 20", "2 of semaphore 21"
    for test, waits in (
            ("waits_give_up", [f"{one}, until cycle {{}}", f"{one} or {two}, until cycle {{}}",
                               f"{one} and {two}, until cycle {{}}"]),
            ("for_room_with", ["waits for 32 slots of V, until cycle {}"]),
            ("sleeps_until", ["sleeps until cycle {}"]),
            ("supervisor_gets", ["waits for a fault of core 0, until cycle {}"])):
        process = debug("test " + test, image=TEST_IMAGE)
        for i, wait in enumerate(waits):
            go_to("irq_wait")
            # The only deadline of these runs is what the hart has set the alarm to.
            alarm = load64("(unsigned long)NPU_CORE_BASE + CORE_ALARM")
            shows(f"tasks_{test}_{i}", npu("tasks"),
                  f'^ *0 "one" core 0: {wait.format(alarm)}, stack ')
            if two in wait:
                shows(f"sem_tells_of_several_{i}", npu("sem"),
                      '^ *20 .*; task "one" wants 1$', '^ *21 .*; task "one" wants 2$')
        over(process)
    process = debug("test deadlock_of_a_join", image=TEST_IMAGE)
    go_to("report_deadlock")
    shows("tasks_join", npu("tasks"), '^ *0 "one" core 0: waits for task 0 "one", stack ')
    over(process)
    gdb.execute("file build/salai.elf")


def tasks_and_views():
    quiet = run(VADD)
    process = all_wait(VADD)
    text = npu("tasks")
    shows("tasks_waits_stacks_and_traces", text,
          r'^ *0 "vadd" core 0: waits for task 1 "vadd copy-in", stack ',
          r'^ *1 "vadd copy-in" core 0: waits for 16 slots of MTE2, stack \d+ of 16384$',
          r'^ *2 "vadd compute" .* slots of V\b', r'^ *3 "vadd copy-out"',
          r"^ +copy_in vadd\.c:\d+$",
          r"^ +compute vadd\.c:\d+$", r"^ +task_entry sched\.c:\d+$")
    used = [int(n) for n in re.findall(r"stack (\d+) of", text)]
    depth = [number(f"'sched.c'::tasks[{i}].stack + 16384 - 'sched.c'::tasks[{i}].context.sp")
             for i in range(4)]
    ok(all(d <= u < 4096 for d, u in zip(depth, used)), "npu/tasks_stack_use", f"{used} {depth}")
    before = gdb.execute("info registers", to_string=True)
    shows("task_selects_the_kernel", npu("task 2"),
          '^task 2 "vadd compute": waits for 16 slots of V',
          r"compute \(arg=.*\) at kernels/vadd/vadd\.c:\d+$")
    same(gdb.selected_frame().name(), "compute", "npu/task_is_where_it_waits")
    shows("task_has_locals", gdb.execute("info locals", to_string=True), "^cmd = VADD F32",
          r"^i = \d+$")
    trace = gdb.execute("backtrace", to_string=True)
    shows("task_backtrace", trace, "^#0 .*irq_wait", r"^#1 .*wait_as.*state=TASK_WAIT_ROOM",
          " compute ")
    npu("status")
    npu("tasks")
    same(gdb.selected_frame().name(), "compute", "npu/task_stays_selected")
    npu("task")
    same(gdb.execute("info registers", to_string=True), before, "npu/task_changes_no_register")
    npu("task 2")
    gdb.execute("delete")
    gdb.execute("down")
    gdb.execute("finish")
    same(gdb.parse_and_eval("'sched.c'::running->name").string(), "vadd compute",
         "npu/finish_comes_back_in_that_task")
    text = npu("tasks")
    shows("tasks_the_running_one", text, '^ *2 "vadd compute" core 0: runs, ', "^ +compute vadd")
    npu("task 1")
    gdb.execute("next")
    same(gdb.newest_frame().name(), "compute", "npu/going_on_ends_the_view")
    shows("print_task", gdb.execute("print *'sched.c'::running", to_string=True),
          'task "vadd compute" = {core = 0, state = TASK_READY,')
    same(finish(process), quiet, "npu/views_change_nothing")


def traces():
    """{task: its backtrace} as `npu tasks` has it; a task that runs has another each time."""
    found = re.split(r'^ *\d+ "', npu("tasks"), flags=re.M)[1:]
    return {text.split('"')[0]: text.split("\n", 1)[1] for text in found if ": runs" not in text}


def in_inlined_functions():
    """The hart has several frames where functions are inlined."""
    process, levels = all_wait(VADD), 50 if FULL else 16
    want, level, wrong = traces(), 0, []
    while gdb.selected_thread() and level < levels:
        gdb.execute("stepi", to_string=True)
        if gdb.newest_frame().type() != gdb.INLINE_FRAME:
            continue
        level += 1
        now, text = traces(), npu("task 2")
        trace = gdb.execute("backtrace", to_string=True)
        wrong += [f"{n}\n{t}" for n, t in now.items() if t != want.get(n)]
        wrong += [] if gdb.selected_frame().name() == "compute" else [text]
        wrong += [] if re.search(r"^#\d+ .* compute .*\n#\d+ .* task_entry ", trace, re.M) else \
            [trace]
    same((level, wrong), (levels, []), "npu/task_while_the_hart_is_in_an_inlined_function")
    over(process)


def finishes(args, task, downs, function, caller, returned):
    """`finish` in a task that waits comes to its caller, in that task."""
    process = all_wait(args)
    name = re.search('"(.*?)"', npu(f"task {task}"))[1]
    for _ in range(downs):
        gdb.execute("down")
    what = gdb.selected_frame().name()
    kind = gdb.selected_frame().type() == gdb.INLINE_FRAME
    try:
        text = gdb.execute("finish", to_string=True)
    except gdb.error as e:
        text = str(e)
    now = gdb.newest_frame().name(), gdb.parse_and_eval("'sched.c'::running->name").string()
    same((what, now), (function, (caller, name)), f"npu/finish_of_{function}")
    ok((text == f"{function} has returned") == returned, f"npu/finish_of_{function}_tells", text)
    over(process)
    return kind


def finish_of_a_task():
    inlined = [finishes(MATMUL, 0, 0, "load", "tile", False),
               finishes(VADD, 0, 2, "wait_as", "task_join_all", True)]
    same(inlined, [True, True], "npu/finish_of_inlined_functions")
    finishes(VADD, 2, 0, "compute", "task_entry", True)
    finishes(VADD, 2, 1, "task_issue", "compute", False)
    process = all_wait(VADD)
    npu("task 2")
    gdb.execute("break task_switch")
    try:
        text = gdb.execute("finish", to_string=True)
    except gdb.error as e:
        text = str(e)
    same((text, gdb.newest_frame().name()), ("stopped before that", "task_switch"),
         "npu/finish_is_stopped_by_a_breakpoint")
    over(process)


gdb.execute("source tools/gdb/npu.py")
main(waits_of_tasks, tasks_and_views, in_inlined_functions, finish_of_a_task)
