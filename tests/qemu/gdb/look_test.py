# SPDX-License-Identifier: MIT
#
# Run in gdb by tests/run: each npu command at stops in real kernels, held against what
# gdb reads without it; then that looking changes nothing and that mistakes are one line.
import ast
import os
import re
import struct
import subprocess
import sys

import gdb

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
from session import *  # noqa: E402
from session import DIR  # noqa: E402

VADD = "vadd --n 1000000 --buffers 1" + SPARING  # some sleeps with every queue full
MATMUL = "matmul --m 900 --n 600 --k 700" + SPARING
TILE = 48 << 10  # bytes, of vadd
LOOK = ["status", "tasks", "sem", "pmu", "faults", "tile ub 0 8x8 fp32", "tile l0c 0 16x16 fp32 nz",
        "cmd &vadd"] + [f"regs {b} -a" for b in "core sem pmu chip queue MTE2 V M".split()] \
    + [f"queue {p}" for p in "V MTE1 MTE2 MTE3 M FIX".split()]


def register(pipe, name):
    return load64("(unsigned long)NPU_CORE_BASE + PIPE_BASE"
                  f" + PIPE_{pipe} * (unsigned long)PIPE_STRIDE + {name}")


def arrays(kernel, *members):
    go_to(kernel)
    return [number(f"p->{m}") for m in members]


def mid_vadd():
    """vadd with full queues and all three tasks waiting: process, address of x and y."""
    process = debug(VADD)
    x, y = arrays("vadd", "x", "y")
    go_to("irq_wait", 2)
    return process, x, y


def status_queue_sem():
    process, x, y = mid_vadd()
    text = npu("status")
    patterns = [rf"^cycle {load64('NPU_CHIP_BASE + CHIP_CYCLE')}, 1 core\(s\) as a2$",
                "^hart: no task"]
    states = gdb.lookup_type("enum pipe_state").fields()
    for pipe in "V MTE1 MTE2 MTE3 M FIX".split():
        status = register(pipe, "PIPE_STATUS")
        state = states[status & 255].name.removeprefix("PIPE_")
        patterns.append(rf"^  {pipe} +{state} +{status >> 8} queued")
    shows("status_tells_what_every_pipe_does", text, *patterns)

    done, depth = register("MTE2", "PMU_COMMANDS"), register("MTE2", "PIPE_STATUS") >> 8
    since = rf"since {register('MTE2', 'PIPE_SINCE')}"
    text = npu("queue mte2 0")
    head = [(x, y)[n % 2] + n // 2 * TILE for n in range(done, done + depth)]
    shows("queue_shows_every_command", text, rf"^core 0 MTE2: \w+, {depth} of 32 {since}",
          *[rf"^ *{i} COPY_GM_UB src={a:#x} dst=\w+ len_bytes=0xc000 "
            rf"[^\n]*\n +vadd\.c:\d+ copy_in$" for i, a in enumerate(head)])
    ok(depth > 15 and len(text.splitlines()) == 1 + 2 * depth, "npu/queue_ends_with_its_depth",
       text)
    shows("queue_names_semaphores_as_the_kernel", npu("queue V"),
          "waits sem 61 x and y FULL, sem 60 z FREE "
          "posts sem 62 x and y FREE, sem 59 z FULL")
    shows("queue_of_an_idle_pipe", npu("queue FIX"), r"^core 0 FIX: EMPTY, 0 of 32$")
    label = "'sched/report.c'::labels[0][61].name"
    gdb.execute(f"set var $label = {label}")
    gdb.execute(f"set var {label} = 0")
    shows("queue_names_them_as_they_are_now", npu("queue V"), "waits sem 61, sem 60 z FREE ")
    gdb.execute(f"set var {label} = $label")
    machine = sys.modules["npu.machine"]
    machine.has, kept = lambda _: False, machine.has
    shows("queue_without_the_window", npu("queue V"), "^error: .*device does not show its queues")
    machine.has = kept

    text, base = npu("sem"), "(unsigned long)NPU_CORE_BASE + SEM_VALUE"
    for i, name in enumerate(["z FULL", "z FREE", "x and y FULL", "x and y FREE"], 59):
        value = load64(f"{base} + {8 * i}")
        shows(f"sem_{i}", npu(f"sem {i}"), rf"^ *{i} = *{value} {name}\b")
    waiting = states[register("V", "PIPE_STATUS") & 255].name == "PIPE_WAITING"
    ok(waiting == bool(re.search(r"; V of core 0 wants 1", text)), "npu/sem_tells_who_waits", text)
    shows("pmu_counts", npu("pmu"), rf"^COMMANDS +{register('V', 'PMU_COMMANDS')} +0 +{done} ",
          rf"^BYTES_WRITTEN .* {register('MTE3', 'PMU_BYTES_WRITTEN')} ")
    over(process)


def names_of_each_core():
    ENV["CORES"] = "2"
    process = debug(VADD)
    ENV["CORES"] = "1"
    go_to("irq_wait")
    gdb.execute("set var 'sched/report.c'::labels[1][61].name = 0")
    shows("queue_names_those_of_core_0", npu("queue V"),
          "waits sem 61 x and y FULL, sem 60 z FREE ")
    shows("queue_names_those_of_core_1", npu("queue V -c 1"), "waits sem 61, sem 60 z FREE ")
    over(process)


def wants_of_tasks():
    gdb.execute("file " + TEST_IMAGE)
    process = debug("fault deadlock", image=TEST_IMAGE)
    go_to("report_deadlock")
    shows("sem_names_a_waiting_task", npu("sem"), r'^ +\d = +0 .*; task "deadlock" wants 1')
    shows("tasks_tell_the_semaphore", npu("tasks"), r"waits for 1 of semaphore \d")
    over(process)
    for kind, patterns in (
            ("bounds",
             [r"^core 0 V: BOUNDS: ", r"VADD\.\w+: value 0x\w+", r"at fault\.c:\d+ fault_b"]),
            ("register",
             [r"^core 0 registers: READ_ONLY: ", "register access at offset 0x0, value 0x1"])):
        process = debug(f"fault {kind}", image=TEST_IMAGE)
        go_to("fault_text")
        shows(f"faults_{kind}", npu("faults"), *patterns)
        shows(f"print_fault_{kind}", gdb.execute("print *f", to_string=True),
              patterns[0].replace("^", "").strip())
        over(process)
    gdb.execute("file build/salai.elf")


def commands():
    process = debug(VADD)
    go_to("task_issue", 2)
    text = npu("cmd cmd")
    shows("cmd_decodes", text, r"^COPY_GM_UB: ", r"^  posts +sem 61 x and y FULL$",
          r"^  type +NONE$",
          rf"^  src +{number('cmd->copy_in.src'):#x} +\S", r"^  len_bytes +0xc000 +\S")
    shows("cmd_prints_on_one_line", gdb.execute("print *cmd", to_string=True),
          r"^\$\d+ = COPY_GM_UB src=0x\w+ dst=0xc000 .*posts sem 61 x and y FULL$")
    go_to("vadd.c:compute")
    go_to("task_issue", 1)
    shows("cmd_flags", npu("cmd cmd"), r"^SET_MASK: ", r"^  flags +COUNTER$")
    shows("print_states", gdb.execute("print (enum task_state)0x53", to_string=True),
          "= TASK_WAIT_ROOM$")
    shows("print_no_state", gdb.execute("print (enum task_state)1", to_string=True),
          "0x1, no task_state")
    status = load64("(unsigned long)NPU_CORE_BASE + CORE_STATUS")
    shows("regs_core", npu("regs core"), rf"^CORE_STATUS +{status:#x}  BUSY={status & 255} ",
          "^CORE_FAULT +0x0  CODE=NONE SIZE=0 WRITE=0$")
    depth = register("MTE2", "PIPE_STATUS") >> 8 & 255
    shows("regs_of_a_pipe", npu("regs mte2"),
          rf"^PIPE_STATUS .* STATE=\w+ DEPTH={depth:#x} UNITS=0$",
          rf"^PMU_COMMANDS +{register('MTE2', 'PMU_COMMANDS'):#x}$")
    shows("regs_rows", npu("regs sem -a"), r"^SEM_VALUE\(127\) +0x0  COUNT=0$", r"^SEM_READY\(1\) ")
    shows("regs_chip", npu("regs chip"), r"^CHIP_COST\(UB_BYTES\) +0x30000 ", "NUMBER=a2$")
    over(process)
    process = debug(MATMUL)
    go_to("task_issue")
    shows("cmd_decodes_waits", npu("cmd cmd"), r"^ND2NZ_GM_L1: ", r"^  waits for +sem 0$",
          r"^  posts +sem 1$")
    go_to("irq_wait")
    shows("queue_names_semaphores_as_the_source", npu("queue MTE2"),
          r"waits sem 2 MM_B_FREE posts sem 3 MM_B_FULL\n")
    over(process)


def saved(command, name):
    path = os.path.join(DIR, name)
    shows(f"tile_saves_{name}", npu(f"{command} -o {path}"), f"^written to {path}$")
    with open(path, "rb") as f:
        return f.read()


def tiles(args, kind, sizes, out):
    """Operands in every layout of the Cube's memories against GM; m, n, k are odd ones."""
    m, n, k = sizes
    process = debug(f"{args} --m {m} --n {n} --k {k}")
    a, b, c = arrays("matmul", "a", "b", "c")
    go_to("report_launch")
    in_l1 = number("2 * 'published.c'::L1_A")  # b's slots, behind two of a
    for name, tile, reference in (
            ("l1_nz", f"l1 0 {m}x{k} {kind} nz", a),
            ("l1_nz_pitch", f"l1 {in_l1} {k}x{n} {kind} nz -p {k}", b),
            ("l0a_zz", f"l0a 0 {m}x{k} {kind} zz", a), ("l0b_zn", f"l0b 0 {k}x{n} {kind} zn", b),
            ("l0c_nz", f"l0c 0 {m}x{n} {out} nz", c)):
        text = npu(f"diff {tile} {reference}")
        rows, columns = tile.split()[2].split("x")
        shows(f"diff_{kind}_{name}", text, f": equal, {int(rows) * int(columns)} elements$")
    text = npu(f"diff l1 0 {m}x{k} {kind} zn {a}")
    shows(f"diff_{kind}_counts_differences", text,
          rf"\d+ of {m * k} elements differ, by .* at most; "
          r"rows \d+\.\.\d+, columns \d+\.\.\d+$", r"^  \(\d+, \d+\)  \S+  want \S+$")
    return process, a


def tile_values():
    process, a = tiles("matmul --tiling published --type f16", "fp16", (20, 40, 24), "fp32")
    memory = bytes(gdb.selected_inferior().read_memory(a, 20 * 24 * 2))
    want = struct.unpack("<480e", memory)
    text = npu(f"tile gm {a:#x} 20x24 fp16 -a").splitlines()
    rows = [[float(w) for w in line.split()[1:]] for line in text[2:]]
    ok(len(rows) == 20 and all(abs(v - w) < 1e-4 for v, w in zip(sum(rows, []), want)),
       "npu/tile_prints_all", "\n".join(text[:4]))
    names = {"fp16": "f16 F16 float16 half FP16", "fp32": "f32 F32 float32 Float32",
             "int8": "s8 S8 INT8", "uint8": "u8", "int32": "s32", "int16": "s16",
             "bf16": "BF16 bfloat16"}
    wrong = [n for kind, more in names.items() for n in more.split()
             if npu(f"tile gm {a} 4x4 {n}") != npu(f"tile gm {a} 4x4 {kind}")
             or "equal, 16" not in npu(f"diff gm {a} 4x4 {n} {a} -r {n}")]
    same(wrong, [], "npu/tile_knows_every_name_of_a_type")
    shows("tile_prints_a_part", npu(f"tile gm {a} 20x24 fp16"), r"^ +0 +1 .* \.\.\. +23$",
          r"^ +\.\.\. ", "^ +19 ")
    shows("tile_with_a_pitch", npu(f"tile gm {a} 2x2 fp16 -p 24"), rf"^ +1 +{want[24]:.5g} ")
    data = saved("tile l1 0 20x24 fp16 nz", "t.npy")
    length = struct.unpack("<H", data[8:10])[0]
    header = ast.literal_eval(data[10:10 + length].decode())
    ok(data[:8] == b"\x93NUMPY\1\0" and (10 + length) % 64 == 0 and data[10 + length:] == memory
       and header == {"descr": "<f2", "fortran_order": False, "shape": (20, 24)},
       "npu/npy_is_right", header)
    grey = saved("tile l1 0 20x24 fp16 nz", "t.pgm")
    pixels = grey[13:]
    ends = pixels[want.index(min(want))], pixels[want.index(max(want))]
    same((grey[:13], len(pixels), ends), (b"P5\n24 20\n255\n", 480, (0, 255)), "npu/pgm_is_right")
    data = saved(f"tile gm {a} 1x240 bf16", "b.npy")
    half = struct.unpack("<240H", memory[:480])
    same(data[-960:], b"".join(struct.pack("<I", h << 16) for h in half),
         "npu/bf16_becomes_float32")
    gdb.execute(f"set var $one = {a}")
    shows("diff_has_a_tolerance", npu(f"diff gm {a} 2x24 fp16 {a}+48 -t 100"), "equal, 48 elements")
    shows("diff_of_two_types", npu(f"diff gm $one 1x4 fp16 $one -r int16"),
          "4 of 4 elements differ")
    over(process)
    process, _ = tiles("matmul --tiling published --type s8", "int8", (20, 40, 40), "int32")
    over(process)


def looking_changes_nothing():
    for args in (VADD, MATMUL):
        quiet = run(args)
        process, bad = debug(args), []
        npu("start")
        for where, hits in (("task_issue", 3), ("irq_wait", 1), ("task_switch", 3),
                            ("irq_wait", 2))[::1 if FULL else 3]:
            go_to(where, hits)
            bad += [f"npu {c}: {t}" for c in LOOK for t in [npu(c)] if t.startswith("error")]
        ok(not bad, f"npu/{args.split()[0]}_shows_everything", "\n".join(bad))
        same(load64("(unsigned long)NPU_CORE_BASE + CORE_FAULT"), 0,
             f"npu/{args.split()[0]}_no_access_fault")
        same(finish(process), quiet, f"npu/{args.split()[0]}_ends_alike")


def writes_are_dropped():
    """A debugger's store to a register does nothing, whether or not QEMU says so."""
    process = debug(VADD)
    go_to("irq_wait", 2)
    register = "(unsigned long)NPU_CORE_BASE + CORE_IRQ_ENABLE"
    before = load64(register)
    try:
        gdb.execute(f"set *(unsigned long *)({register}) = {before ^ 1}")
    except gdb.MemoryError:
        pass
    gdb.execute("maintenance flush dcache")
    same(load64(register), before, "npu/registers_are_not_written")
    over(process)


ALL = ["status", "tasks", "sem", "pmu", "faults", "tile ub 0 1x1 fp32", "cmd 0x80000000",
       "regs core",
       "queue V", "task 0", "diff ub 0 1x1 fp32 0x80000000"]
HELP = ("start break watch delete step finish trace back who goto history log condition ignore "
        "commands").split()
MISTAKES = [
    ("queue", "usage: npu queue PIPE"), ("queue Q", "no pipe Q: V, MTE1"),
    ("queue V 9", "no core 9: .* has 1"),
    ("status -c 1", "no core 1"), ("status -x", "option -x not recognized"), ("status 1", "usage"),
    ("cmd 0x10000000", "not within one memory"),
    ("cmd 0xffffffffffffffff", "not within one memory"),
    ("cmd 0x0c200004", "not within one memory"),  # a read of the PLIC would claim
    ("cmd nothing", 'No symbol "nothing"'), ("cmd", "usage"), ("sem 128", "they are 0 to 127"),
    ("sem x", "No symbol"), ("task 99", "no task 99"), ("regs uart", "no block uart: chip, core"),
    ("regs", "usage"), ("tile", "usage"), ("tile l2 0 4x4 fp32", "no memory l2: .*ub"),
    ("tile ub 0 4x4 fp8", "no type fp8: fp32"), ("tile ub 0 4x4 fp32 nn", "no layout nn: nd"),
    ("tile ub 0 4 fp32", "want a shape"), ("tile ub 0 0x4 fp32", "1 to 1048576 elements"),
    ("tile ub 0 9999x9999 fp32", "1 to 1048576 elements"),
    ("tile ub 196600 4x4 fp32", "does not lie in ub"),
    ("tile ub -- -4 4x4 fp32", "does not lie in ub"),
    ("tile gm 0x1000 4x4 fp32", "does not lie in gm"),
    ("tile ub 0 4x4 fp32 -p x", "No symbol"),
    ("tile ub 0 4x4 fp32 -o t.txt", "ends in .npy or .pgm"),
    ("tile ub 0 4x4 fp32 -o missing/t.npy", "No such file"),
    ("tile ub (1 4x4 fp32", "syntax error"),
    ("diff ub 0 4x4 fp32", "usage"), ("diff ub 0 4x4 fp32 nothing", "No symbol"),
    ("diff ub 0 4x4 fp32 0", "does not lie in gm"),
    ("diff ub 0 4x4 fp32 0x80000000 -t x", "want a number"),
    ("what", "Undefined npu command"),
]


def refused(name, command, pattern):
    one_line(f"npu/{name}_{re.sub('[^a-z0-9]+', '_', command.lower())}", npu(command), pattern)


def mistakes():
    for command in ALL:
        refused("before_the_run", command, "the machine is not running: `make debug`")
    process = debug(VADD)
    same(npu("tasks"), "no tasks now\n", "npu/tasks_at_reset")
    go_to("irq_wait", 2)
    for command, pattern in MISTAKES:
        refused("refuses", command, pattern)
    shows("usable_after_mistakes", npu("status"), "^cycle ")
    for command in sorted(set(c.split()[0] for c in ALL + HELP)):
        text = gdb.execute(f"help npu {command}", to_string=True)
        ok(text.startswith(f"npu {command}") and len(text.splitlines()) <= 12,
           f"npu/help_{command}", text)
    gdb.execute("delete")
    gdb.execute("continue &")
    refused("while_it_runs", "status", "the machine is running: stop it first")
    over(process)
    gdb.execute("file")
    process = debug(VADD)
    refused("without_an_image", "status", "load it with")
    over(process)
    gdb.execute("file build/salai.elf")


def no_npu():
    os.unlink(SOCKET)
    process = subprocess.Popen(
        ["qemu-system-riscv64", "-M", "virt", "-S", "-gdb",
         f"unix:{SOCKET},server=on,wait=off",
         "-display", "none", "-bios", "none"], stdout=subprocess.PIPE, start_new_session=True)
    running.append(process)
    until(lambda: gdb.execute(f"target remote {SOCKET}"), process, gdb.error)
    refused("another_machine", "status", "no NPU at 0x7f00000")
    over(process)


def readme():
    """The session in tools/gdb/README.md, as it is printed there."""
    with open("tools/gdb/README.md") as f:
        block = f.read().split("<!-- session -->")[1]
    lines = [line.split("   ")[0] for line in block.replace("\n    ", "\n").splitlines()]
    make, *lines = [line for line in lines if line]
    process, texts = debug(re.search('ARGS="(.*)"', make)[1]), {}
    npu("start")
    for line in lines:
        texts[line.split()[0] + " " + line.split()[-1]] = gdb.execute(line, to_string=True)
    shows("readme_status", texts["npu status"],
          r"^  MTE2 +(RUNNING|WAITING) .*\n.* waits sem 2 MM_B_FREE")
    shows("readme_task", texts["npu 0"],
          r'^task 0 "matmul": (runs|ready|waits for \d+ slots of \w+)$',
          r"push \(.*record\.[ch]:\d+$")
    shows("readme_tile_equals_a", texts["npu matmul_last.p.a"], ": equal, 131072 elements$")
    shows("readme_print", texts["print mm->shape"], r"m = 128, n = 4096, k = 1024")
    same(len(texts), 8, "npu/readme_has_all_lines")
    over(process)


gdb.execute("source tools/gdb/npu.py")
main(mistakes, no_npu, commands, status_queue_sem, names_of_each_core, wants_of_tasks,
     tile_values, looking_changes_nothing, writes_are_dropped, readme)
