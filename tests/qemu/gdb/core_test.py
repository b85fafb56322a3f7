# SPDX-License-Identifier: MIT
#
# Run in gdb by tests/run: a run that fails leaves one file, from which the npu commands
# show what they showed of the machine; a run that does not fail leaves none; neither
# is another run for it.
import glob
import os
import re
import subprocess
import sys
import tempfile

import gdb

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
from session import *  # noqa: E402

LOOK = ["status", "tasks", "sem", "pmu", "faults", "regs core", "queue V", "tile ub 0 2x2 fp32",
        "cmd 0x80000000", "who ub 0", "tile l0c 0 16x16 fp32 nz"]
KINDS = {
    "bounds": ("fault_bounds", ("faults", r"^core 0 V: BOUNDS"), ("tasks", "fault_bounds fault.c"),
               ("queue V", r"^core 0 V: STOPPED, 1 of 32")),
    "register": ("fault_register", ("faults", "^core 0 registers: READ_ONLY"),
                 ("tasks", '"register" core 0: runs')),
    "deadlock": ("report_deadlock", ("status", r"V +WAITING +1 queued"),
                 ("tasks", r'"deadlock" core 0: waits for 1 of semaphore 0'),
                 ("sem", r"V of core 0 wants 1")),
}


def cores():
    return sorted(glob.glob("build/core/*.core"))


def fails(args, options=()):
    """Status, output and the file that a run has left."""
    before = set(cores())
    ENV["CORE"] = "1"
    got = run(args, options=options)
    ENV["CORE"] = "0"
    left = [c for c in cores() if c not in before]
    text = "".join(line for line in got[1].splitlines(True) if "post mortem" not in line)
    return (got[0], text), left


def look(image, core):
    gdb.execute("file " + image)
    gdb.execute("core-file " + core, to_string=True)


def forget(core):
    gdb.execute("core-file")
    os.unlink(core)


def faults():
    for kind, (function, *shown) in KINDS.items():
        quiet = run(f"fault {kind}", options=["--image", TEST_IMAGE])
        got, left = fails(f"fault {kind}", ["--image", TEST_IMAGE])
        same((got, len(left)), (quiet, 1), f"core/{kind}_leaves_one_file")
        look(TEST_IMAGE, left[0])
        trace = gdb.execute("backtrace 3", to_string=True)
        ok(function in trace, f"core/{kind}_is_where_it_happened", trace)
        for command, pattern in shown:
            matches(f"core/{kind}_{command.split()[0]}", npu(command), pattern)
        bad = [f"npu {c}: {t}" for c in LOOK for t in [npu(c)] if t.startswith("error")]
        ok(not bad, f"core/{kind}_shows_everything", "\n".join(bad))
        forget(left[0])


def traps_and_checks():
    got, left = fails("crash null", ["--image", TEST_IMAGE])
    if got[0] == 3 and left:
        look(TEST_IMAGE, left[0])
        trace = gdb.execute("backtrace 4", to_string=True)
        ok("crash" in trace and "trap_report" not in trace, "core/trap_is_where_it_happened", trace)
        forget(left[0])
    else:
        ok(False, "core/trap_leaves_one_file", f"{got} {left}")


def success_leaves_none():
    args = "vadd --n 400000" + SPARING
    quiet = run(args)
    got, left = fails(args)
    same((got, left), (quiet, []), "core/success_leaves_none")
    got, left = fails("vadd --what")
    same((got[0], left), (2, []), "core/bad_input_leaves_none")


def asks_nothing():
    """What only a machine can do is refused in one line."""
    got, left = fails("fault bounds", ["--image", TEST_IMAGE])
    look(TEST_IMAGE, left[0])
    for command in ("break V", "step", "finish V", "watch ub 0", "trace off", "back",
                    "who ub 0 -g"):
        text = npu(command).split("\n")[-1]
        one_line("core/refuses_" + re.sub("[^a-z0-9]+", "_", command), text, "cannot be asked here")
    forget(left[0])


def who():
    """The same answer as live, of a kernel before the one that fails."""
    args = "vadd --n 100000 --check 20 + fault bounds"
    gdb.execute("file " + TEST_IMAGE)
    if os.path.exists(SOCKET):
        os.unlink(SOCKET)
    process = launch(args, options=["--gdb", "--image", TEST_IMAGE])
    until(lambda: gdb.execute(f"target remote {SOCKET}"), process, gdb.error)
    go_to("vadd")
    z = number("p->z")
    go_to("fault_bounds")
    asked = [f"who gm {z + n}" for n in (0, 40000, 399999)] + ["who ub 0", "who ub 0x2a000"]
    live = [npu(a) for a in asked]
    finish(process)
    left = fails(args, ["--image", TEST_IMAGE])[1]
    look(TEST_IMAGE, left[0])
    same([npu(a) for a in asked], live, "core/who_as_live")
    ok(all("wrote it last" in t for t in live), "core/who_knows_what_was_written", live)
    forget(left[0])
    rows = (8, (3, 2, 2), (16, 100, 1000))
    slow = {k * 1000 + j * 100 + i * 16 + b for k in range(2) for j in range(2) for i in range(3)
            for b in range(8)}
    touches = sys.modules["npu.history"].touches
    wrong = [a for a in range(1400) if touches(rows, 0, 3, a) != (a in slow)]
    ok(not wrong, "core/rows_of_an_access", wrong[:10])


def another_image():
    """A core and an image that do not belong together are told in one line."""
    got, left = fails("fault bounds", ["--image", TEST_IMAGE])
    gdb.execute("file build/salai.elf")
    text = gdb.execute("core-file " + left[0], to_string=True)
    pattern = rf"{left[0]} is of another image \(build-id \w+\) than .*/build/salai.elf \(\w+\)$"
    matches("core/tells_another_image", text, "^npu: .*" + pattern)
    one_line("core/refuses_another_image", npu("status"), pattern)
    text = gdb.execute("file " + TEST_IMAGE, to_string=True)
    ok("another" not in text and "cycle" in npu("status"), "core/takes_its_own", text)
    gdb.execute("core-file")
    done = subprocess.run(["tools/gdb/debug", "--core", left[0]], input="npu tasks\n", text=True,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    matches("core/debug_finds_its_image", done.stdout, '"bounds" core 0')
    os.unlink(left[0])


def another_contract():
    """`make debug-core` says so before gdb shows what is not there."""
    path = fails("fault bounds", ["--image", TEST_IMAGE])[1][0]
    with open(path, "rb") as f:
        core = bytearray(f.read())
    version = core.find(number("CHIP_ID_MAGIC").to_bytes(4, "little")) + 4
    for name, at, pattern in (("another_contract", version, r"version \d+ of the contract, this"),
                              ("what_is_no_core", 0, "is no core of a run with the NPU")):
        changed = bytearray(core)
        changed[at] ^= 1
        with open(path, "wb") as f:
            f.write(changed)
        done = subprocess.run(["tools/gdb/debug", "--core", path], stdin=subprocess.DEVNULL,
                              text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        ok(done.returncode == 2 and re.fullmatch(f"debug: {path}.*{pattern}.*\n", done.stdout),
           f"core/refuses_{name}", done)
    os.unlink(path)


def notes_beyond_the_end():
    """A core whose notes are said to lie where no file has an end has none."""
    with tempfile.NamedTemporaryFile() as f:
        f.write(b"\xff" * 200)
        f.flush()
        found = list(sys.modules["npu.history"].notes(f.name))
    ok(found == [], "core/notes_beyond_the_end", found)


gdb.execute("source tools/gdb/npu.py")
main(faults, traps_and_checks, success_leaves_none, asks_nothing, who,
     another_image, another_contract, notes_beyond_the_end)
