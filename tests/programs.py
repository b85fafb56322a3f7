# SPDX-License-Identifier: MIT
#
# Which programs tests/run runs. A script that lies under tests/qemu/ and a *_test.c of the host
# are found; what else there is stands in the tables here.
import collections
import glob
import os
import re
import shlex
import subprocess
import sys

# name; command; what make has to build; files that have its tests; whether it wants the packages
# of `tools/setup graph`, which are not there where nothing may be installed
Program = collections.namedtuple("Program", "name command needs sources graph", defaults=[False])

HOST = "build/san/host-tests"
CALIBRATE = "build/bench/calibrate"
TARGET = {libc: f"build/fw-{libc}/test.elf" for libc in ("picolibc", "newlib")}
# What it has read of an image is there for the next one.
GDB = ["gdb-multiarch", "-nx", "-batch", "-iex", "set index-cache directory build/test/index",
       "-iex", "set index-cache enabled on", "-x"]
IN_QEMU = f"all {TARGET['picolibc']}"
CORES_32 = "--cores 32 --profile ascend310"

# Scripts that are not around QEMU alone: path, what make has to build, what --full adds to it,
# and of "full", only then, and "graph", the packages that read models. Those of tests/graph
# without a row are as GRAPH says.
SCRIPTS = [
    ("tests/check/race_test.py", "build/check-streams", "--full", ""),
    ("tests/check/edge_test.py", "build/check-streams", "", ""),
    ("tests/check/same_test.py", IN_QEMU, "--full", ""),
    ("tests/check/findings_test.py", IN_QEMU, "--full", ""),
    ("tests/host/output_test.py", "build/report", "", ""),
    ("tests/profile/report_test.py", f"{IN_QEMU} build/report", "", ""),
    ("tests/profile/compare_test.sh", f"{IN_QEMU} build/compare", "", ""),
    ("tests/profile/page_test.py", "all build/report", "", "full"),
    ("tests/profile/damage_test.py", "all build/report build/san/report", "", "full"),
    ("tests/serve/serve_test.py", IN_QEMU, "", ""),
    ("tests/graph/decisions_test.py", "all build/graph", "", "full graph"),
    ("tests/graph/real_test.py", "all build/graph", "", "full graph"),
]
GRAPH = ("all build/graph", "", "graph")
# With --full the same for longer: name, command, what make has to build.
LONGER = [
    ("fuzz-long", f"{HOST} --times 200 fuzz/", HOST),
    ("tile-long", f"{HOST} --times 20 tile/mutations init/programs", HOST),
    ("touch-long", f"{HOST} --times 20 touch/", HOST),
    ("numeric-long", f"{HOST} --times 120 numeric/", HOST),
    ("shapes-long", f"{HOST} --times 6 load3d/ fixpipe/ later/", HOST),
    ("threads-tsan", "env TSAN_OPTIONS=exitcode=1 build/tsan/host-tests", "build/tsan/host-tests"),
    ("soak", "sh -c 'tools/soak 1 && echo ok 1 - soak && echo 1..1'", IN_QEMU),
    ("inject-long", "env ALL=1 tests/qemu/cli/inject_test.py", IN_QEMU),
    ("threads-long", "env ALL=1 tests/qemu/device/threads_test.sh", IN_QEMU),
    ("simd-long", "env ALL=1 tests/qemu/device/simd_test.sh", IN_QEMU),
    ("coverage", "tests/coverage", "all build/fw-cov/test.elf build/cov/host-tests "
     "build/cov/check-streams build/cov/fuzz-program build/cov/fuzz-snapshot"),
    ("determinism-long", "tests/determinism 200", "all"),
    ("check", "sh -c 'tools/check && echo ok 1 - check && echo 1..1'", ""),
]


def find(*patterns):
    return sorted(path for p in patterns for path in glob.glob(p, recursive=True))


def read(path):
    try:
        with open(path, errors="replace") as f:
            return f.read()
    except OSError:
        return ""


def short(path):
    """tests/qemu/gdb/look_test.py -> qemu/gdb/look"""
    return re.sub(r"^tests/|_test\.\w+$", "", path)


def around_qemu():
    for path in find("tests/qemu/**/*_test.sh", "tests/qemu/**/*_test.py"):
        in_gdb = re.search("^import gdb$", read(path), re.M)
        yield Program(short(path), [*GDB, path] if in_gdb else [path],
                      ["all", *TARGET.values(), "build/fw-newlib/salai.elf"], [path])
    yield Program("qemu/device/plumbing", ["build/plumbing"], ["build/plumbing", "build/npu.so"],
                  ["tests/qemu/device/plumbing.c"])


def on_target(full):
    """Where picolibc has gone through all shapes one brief run has whatever else may differ:
    library, cores, profile and, so without the tests of cycles, a seed. With --full each has a
    run of its own; those with seeds are qemu/device/perturb's."""
    others = [("cores-32", "picolibc", CORES_32, []), ("newlib", "newlib", "", [])] if full else [
        ("cores-32", "newlib", CORES_32 + " --seed 1", ["--any-timing", "--brief"])]
    for name, libc, options, words in [("picolibc", "picolibc", "", ["--long"] * full), *others]:
        yield Program(name, ["tools/salai", "--mem", "512M", *options.split(), "--image",
                             TARGET[libc], "test",
                             *words], ["all", TARGET[libc]], find("tests/target/**/*.c"))


def on_host(full):
    for path in find(*(f"tests/{room}/**/*_test.c" for room in ("model", "host", "fuzz", "check"))):
        # The products of thousands: without sanitizers in a sixth of the time.
        host = CALIBRATE if "calibrate" in path and not full else HOST
        yield Program(short(path), [host, path], [host], [path])


def scripts(full):
    listed = {row[0] for row in SCRIPTS}
    others = [(path, *GRAPH) for path in find("tests/graph/*_test.py") if path not in listed]
    for path, needs, longer, words in SCRIPTS + others:
        if full or "full" not in words:
            yield Program(short(path), [path, *longer.split() * full], needs.split(), [path],
                          "graph" in words)


def can_read_models(install):
    """Whether the packages that tests of models want are there; those that are not are installed
    first if they may be."""
    environment = os.environ if install else dict(os.environ, NO_INSTALL="1")
    return subprocess.run(["tools/setup", "graph"], env=environment, check=False,
                          stdout=sys.stderr if install else subprocess.DEVNULL,
                          stderr=None if install else subprocess.DEVNULL).returncode == 0


def tests_of(program):
    """How many tests a usual run of a program in Python has, by its source: those behind @test, or
    what it tells done()."""
    text = read(program.sources[0])
    told = re.search(r"\bdone\((\d+)\)", text)
    return int(told[1]) if told else len(re.findall(r"^@test$", text, re.M))


def programs(full):
    yield from around_qemu()
    yield from on_target(full)
    yield from on_host(full)
    yield from scripts(full)
    for name, command, needs in LONGER * full:
        yield Program(name, shlex.split(command), needs.split(), [])
