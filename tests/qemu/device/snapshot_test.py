# SPDX-License-Identifier: MIT
#
# Run in gdb by tests/run. A snapshot is taken while engines are busy, and a fresh QEMU
# that loads it ends with the same bits and cycles (the operator checks the bits itself
# and prints the cycles). Likewise a recording and its replay, also backwards.
import hashlib
import os
import re
import sys

import gdb

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
from session import *  # noqa: E402

MANY = "task_issue_many_at"  # by which the Matmul object issues
MATMUL = "matmul --m 300 --n 600 --k 1400 --strategy general" + SPARING
VADD = "vadd --n 800000 --buffers 1" + SPARING
RUNS = (MATMUL, VADD) if FULL else (MATMUL,)
COUNTS = (1, 2, 4, 16) if FULL else (1, 4)  # threads of the host
BUSY = "*(unsigned long *)((unsigned long)NPU_CORE_BASE + CORE_STATUS)"


def load(args, name, options=()):
    return run(args, f"{DRIVE} -loadvm {name}", "", options)


def save(name, problems):
    problems.append(gdb.execute(f"monitor savevm {name}", to_string=True).strip())


def in_a_kernel():
    gdb.execute("set var $wfi = (char *)&__idle_start")
    for args in RUNS:
        issue = MANY if args == MATMUL else "task_issue"
        places = (("issuing", issue, 20), ("issuing_later", issue, 90),
                  ("going_to_sleep", "irq_wait", 1), ("awake", issue, 40),
                  ("looking", "irq_wait", 2), ("at_the_wfi", "*$wfi", 1),
                  ("behind_the_wfi", "*($wfi + 4)", 1))
        quiet, problems, taken = run(args), [], []
        new_image()
        process = debug(args, DRIVE)
        go_to("sched_run")
        for name, where, hits in places:
            if not go_to(where, hits) or not number(BUSY):
                break
            save(name, problems)
            taken.append(name)
        live = finish(process) if gdb.selected_inferior().pid else result(process)
        who = args.split()[0]
        ok(not any(problems) and len(taken) >= 3, f"snapshot/{who}_is_taken",
           f"{taken} {problems}")
        same(live, quiet, f"snapshot/{who}_goes_on_behind_savevm")
        for name in taken:
            same(load(args, name), quiet, f"snapshot/{who}_loaded_{name}")


def between_two_lines():
    """The console's handle does not survive; its text must."""
    quiet = run(MATMUL)
    new_image()
    process = debug(MATMUL, DRIVE)
    go_to("report_launch")
    save("printing", [])
    finish(process)
    status, text = load(MATMUL, "printing")
    rest = quiet[1][quiet[1].index("core 0"):]  # what report_launch() prints
    same((status, text), (0, rest), "snapshot/output_goes_on")


def in_a_line():
    """Between the calls that print one: what is loaded goes on with a handle that is not there.
    The line is there once, if it was not written before."""
    quiet = run(MATMUL)
    first, rest = quiet[1].split("\n", 1)
    for where, text in (("host_write_some", quiet[1]), ("host_close", rest)):
        new_image()
        process = debug(MATMUL, DRIVE)
        go_to(where)
        save("line", [])
        same(finish(process), quiet, f"snapshot/in_a_line_at_{where}_goes_on")
        same(load(MATMUL, "line"), (0, text), f"snapshot/in_a_line_at_{where}_loaded")
    ok(first and rest, "snapshot/in_a_line_is_tested", quiet)


def cycle_of_fault(process):
    go_to("fault_text")
    cycle = number("*(unsigned long *)((unsigned long)NPU_CHIP_BASE + CHIP_CYCLE)")
    finish(process)
    return cycle


def before_a_fault():
    """A command that will fail is queued; the report comes in the same cycle."""
    new_image()
    process = debug(VADD, DRIVE)
    go_to("task_issue", 13)
    gdb.execute("set var cmd->head.opcode = 0xffff")
    problems = []
    save("bad", problems)
    live = cycle_of_fault(process)
    loaded = cycle_of_fault(debug(VADD, f"{DRIVE} -loadvm bad"))
    same((loaded, problems), (live, [""]), "snapshot/fault_comes_in_the_same_cycle")


def at_any_instant():
    """When the monitor gets its turn, nobody chose; engines are busy all the time."""
    args = "matmul --m 512 --n 512 --k 1024 --repeat 5 --check 20"
    quiet, taken = run(args), 0
    new_image()
    process = launch(args, f"{DRIVE} {WITH_MONITOR}")
    say = monitor(process)
    try:
        while True:
            say("stop")
            say(f"savevm s{taken}")
            say("cont")
            taken += 1
            for _ in range(20):
                say("info status")
    except OSError:
        pass
    same(result(process), quiet, "snapshot/at_any_instant_goes_on")
    bad = [i for i in range(min(taken, 6 if FULL else 2)) if load(args, f"s{i}") != quiet]
    ok(taken >= 1 and not bad, "snapshot/at_any_instant_loaded", f"{bad} of {taken}")


def perturbed():
    """Delays under way are in the snapshot, and so is the seed."""
    ENV["SEED"] = "7"
    quiet, taken = run(MATMUL), []
    new_image()
    process = debug(MATMUL, DRIVE)
    for name, where, hits in (("early", MANY, 30), ("later", MANY, 60),
                              ("asleep", "irq_wait", 3)):
        if go_to(where, hits) and number(BUSY):
            save(name, [])
            taken.append(name)
    same(finish(process), quiet, "snapshot/with_a_seed_goes_on_behind_savevm")
    for name in taken:
        same(load(MATMUL, name), quiet, f"snapshot/with_a_seed_loaded_{name}")
    ok(len(taken) == 3, "snapshot/with_a_seed_is_taken", taken)
    ENV["SEED"] = "0"


def pages(data):
    """Of a snapshot's stream all pages of memory: docs/devel/migration.rst and ram.c of QEMU.
    How they are spread over sections is a matter of the time that writing them took."""
    block, found = b"", {}
    at = data.index(b"riscv_virt_board.ram", data.index(b"riscv_virt_board.ram") + 1) - 9
    while True:
        head, at = int.from_bytes(data[at:at + 8], "big"), at + 8
        if head & 0x10:  # the end of a section: its footer, then another one of memory
            at += 5 if data[at] == 0x7e else 0
            if data[at] not in (2, 3):
                return found, data[at:]
            at += 5
            continue
        if not head & 0x20:  # of another block than the last page
            block, at = data[at + 1:at + 1 + data[at]], at + 1 + data[at]
        size = 1 if head & 2 else 4096  # one byte that fills it
        found[block, head >> 12] = hashlib.sha256(data[at:at + size]).digest()
        at += size


def machine():
    """What the one snapshot of the disk has of the machine's memory and the device's state;
    the rest has clocks of the host's."""
    with open(IMAGE, "rb") as f:
        memory, rest = pages(f.read())
    state = max(int(re.search(rb"state=([0-9]+)", block)[1]) for block, _ in memory
                if b"state=" in block)
    device = rest.index(b"salai")
    everything = repr(sorted(memory.items())).encode() + rest[device:device + state]
    return hashlib.sha256(everything).hexdigest()


def with_threads():
    """While other threads of the host work; they are not told of a debugger of QEMU's own."""
    args = "mla_prolog --m 256 --n 256 --k 256 --check 20 --digest"
    phases, found = os.path.join(DIR, "phases"), {}
    for threads in COUNTS:
        ENV.update(THREADS=str(threads), NPU_ARGS=f"host={phases}")
        new_image()
        if os.path.exists(SOCKET):
            os.unlink(SOCKET)
        process = launch(args, f"{DRIVE} -seed 1 -S -gdb unix:path={SOCKET},server=on,wait=off")
        until(lambda: gdb.execute(f"target remote {SOCKET}"), process, gdb.error)
        problems = []
        busy = go_to("irq_wait") and number(BUSY) != 0
        save("midway", problems)
        taken = machine()
        status, text = finish(process)
        text = "\n".join(line for line in text.splitlines() if "npu.so:" not in line)
        with open(phases, encoding="ascii") as f:
            used = dict(line.split() for line in f)["threads"]
        same((used, busy, problems), (str(threads), True, [""]),
             f"snapshot/by_{threads}_threads_is_taken")
        found[threads] = (taken, status, text)
    del ENV["THREADS"], ENV["NPU_ARGS"]
    for threads in COUNTS[1:]:
        same(found[threads], found[1], f"snapshot/by_{threads}_threads_is_that_by_one")


def replayed():
    for args in RUNS:
        who, quiet = args.split()[0], run(args)
        log = os.path.join(DIR, f"{who}.rr")
        new_image()
        mode = f"rrfile={log},rrsnapshot=start"
        same(run(args, DRIVE, "rr=record," + mode), quiet, f"record/{who}")
        same(run(args, DRIVE, "rr=replay," + mode), quiet, f"replay/{who}")
        backwards(args, who, quiet, "rr=replay," + mode)


def here():
    cycle = number("*(unsigned long *)((unsigned long)NPU_CHIP_BASE + CHIP_CYCLE)")
    return (gdb.execute("monitor info replay", to_string=True).split()[-1], cycle,
            number("$pc"), number("$sp"))


def backwards(args, who, quiet, mode):
    process = debug(args, DRIVE, mode)
    go_to("sched_run")
    gdb.execute("delete")
    gdb.execute("finish")  # the end of the kernel
    end, stop = here(), number("$pc")
    gdb.execute("stepi 5")
    gdb.execute("reverse-stepi 5")
    same(here(), end, f"replay/{who}_reverse_stepi")
    gdb.execute("break task_issue")
    gdb.execute("reverse-continue")
    last = here()
    gdb.execute("reverse-continue")
    before = here()
    ok(gdb.newest_frame().name() == "task_issue" and before < last < end
       and load64("(unsigned long)NPU_CORE_BASE + CORE_STATUS"),
       f"replay/{who}_reverse_continue", f"{before} {last} {end}")
    gdb.execute("continue")
    same(here(), last, f"replay/{who}_continue_comes_back")
    gdb.execute("delete")
    gdb.execute(f"tbreak *{stop}")
    gdb.execute("continue")
    gdb.execute("break *$wfi")
    gdb.execute("break *($wfi + 4)")
    gdb.execute("reverse-continue")  # to the last sleep
    ok(number("$pc - (unsigned long)$wfi") in (0, 4), f"replay/{who}_stops_at_the_wfi", here())
    gdb.execute("delete")
    gdb.execute(f"break *{end[2]:#x}")
    gdb.execute("continue")
    same(here(), end, f"replay/{who}_the_end_again")
    same(finish(process), quiet, f"replay/{who}_same_output")


main(in_a_kernel, between_two_lines, in_a_line, at_any_instant, before_a_fault, perturbed,
     with_threads, replayed)
