#!/usr/bin/python3
# SPDX-License-Identifier: MIT
#
# inject_test.py [OPERATOR]...    every call to the host and every allocation fails once
#
# Two of an operator run in one boot, and so that nothing is left out the first, the second,
# ... call or allocation fails until a run has none left. Whichever it was: one line says
# what is wrong, the exit status is 2, the operator that it hit leaves no output and the
# other one's is right. ALL=1: of every operator, and of a plan of a model where build/graph can
# make one, each of them, and not only some. TAP on stdout.
import filecmp
import os
import re
import shutil
import subprocess
import sys
import tempfile

QEMU = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
ROOT = os.path.dirname(os.path.dirname(QEMU))
sys.dont_write_bytecode = True
sys.path.insert(0, ROOT + "/tests")
from tap import check, done  # noqa: E402

SALAI = os.environ.get("SALAI", f"{ROOT}/tools/salai")
IMAGE = os.environ.get("TEST_IMAGE", f"{ROOT}/build/fw-picolibc/test.elf")
FAILS = re.compile(r"npu\.so: fail=\d+: (host call 0x[0-9a-f]+) fails\n")
LOST = "salai: standard output could not be written\n"
ALL = os.environ.get("ALL", "0") != "0"
CONSOLE = ("0x1", "0x2", "0x5")
MOST = 1000  # calls or allocations of a run: more is a run that does not end


def salai(words, npu_args=""):
    run = subprocess.run([SALAI, "--image", IMAGE, "--", *words], stdin=subprocess.DEVNULL,
                         capture_output=True, text=True, timeout=60,
                         env={**os.environ, "NPU_ARGS": npu_args})
    return run.returncode, run.stdout, run.stderr


def outputs(out):
    """What the two wrote first, or None; files of outputs that were begun, and others of one
    whose first is not there"""
    names = [f"{i}.{out}" for i in (1, 2)]
    there = [name if os.path.exists(name) else None for name in names]
    left = [name for name in os.listdir() if ".salai-" in name]
    left += [name for name in os.listdir() if re.match(r"[12]\..*\.out\.npy$", name) and
             not there[int(name[0]) - 1]]
    return there, left


def judge(status, err, out, want):
    """What is wrong with a run in which something failed"""
    problems = []
    there, left = outputs(out)
    lines = err.splitlines()
    if status != 2:
        problems.append(f"exit status {status}, want 2")
    if len(lines) != 1 or not re.match(r"[\w./]+: ", lines[0]):
        problems.append(f"not one line: {err!r}")
    problems += [f"left behind: {name}" for name in left]
    for name in there:
        if name and not filecmp.cmp(name, want, shallow=False):
            problems.append(f"{name} is not what it should be")
    lost = err == LOST or "command line" in err
    if sum(map(bool, there)) != (0 if "command line" in err else 2 if lost else 1):
        problems.append(f"outputs {there}, {err!r}")
    return problems


def clean(out):
    for name in os.listdir():
        if re.match(r"[12]\.", name) or ".salai-" in name:
            os.unlink(name)


def twice(case, out):
    words = [case[2], *case[3].split(), *case[4:]]
    case_name = out.split(".")[0]
    first, second = ([re.sub(rf"\b{case_name}(\.\d\.out\.npy)", rf"{i}.{case_name}\1", word)
                      for word in words] for i in (1, 2))
    return first, second


def each_call(case, out, want):
    first, second = twice(case, out)
    problems, seen = [], set()
    _, whole, _ = salai([*first, "+", *second])
    clean(out)
    for n in range(1, MOST, 1 if ALL else 5):
        status, said, err = salai([*first, "+", *second], f"fail={n}")
        hit = FAILS.search(err)
        if not hit:
            break
        seen.add(hit[1])
        err = FAILS.sub("", err).replace("qemu-system-riscv64: ", "")
        # A line that was written once more, open, close and write; all else is an end.
        again = hit[1][-3:] in CONSOLE and (status, said, err) == (0, whole, "")
        problems += [] if again else [f"call {n}, {hit[1]}: {text}"
                                      for text in judge(status, err, out, want)]
        clean(out)
    print(f"# less than {n} calls, of {len(seen)} kinds at least")
    if status or n < 20 or (ALL and len(seen) < 8):
        problems.append(f"after {n - 1} calls of {len(seen)} kinds: status {status}, {err!r}")
    clean(out)
    return problems


def each_allocation(case, out, want):
    first, second = twice(case, out)
    problems = []
    for n in range(1, MOST, 1 if ALL else 5):
        status, said, err = salai(["inject", str(n), "+", *first, "+", *second, "+",
                                   "inject", "0"])
        counted = re.search(r"inject: (\d+) allocations", said)
        if counted and int(counted[1]) < n:
            break
        lived = status == 0 and not err and all(outputs(out)[0])  # one that it can do without
        problems += [f"allocation {n}: {text}"
                     for text in judge(2 if lived else status, err or "x: lived", out, want)
                     if not lived or "is not what" in text]
        clean(out)
    print(f"# less than {n} allocations")
    if status or n < 4:
        problems.append(f"after {n - 1} allocations: status {status}, {err!r}")
    clean(out)
    return problems


def of_a_model():
    """A line of the list: a plan of programs, copies and an operator."""
    sys.path.insert(0, ROOT + "/tests/graph")
    import model  # pylint: disable=import-outside-toplevel
    import numpy as np  # pylint: disable=import-outside-toplevel
    x = np.linspace(-1, 1, 400).astype(np.float16).reshape(1, 16, 5, 5)
    np.save("graph.in.npy", x)
    model.write("graph.onnx", [
        ("Transpose", "x", "t", {"perm": [0, 1, 3, 2]}), ("Conv", "t w", "c"),
        ("Softmax", "c", "y", {"axis": 1})], {"x": (x.dtype, x.shape)}, "y",
                {"w": np.ones((16, 16, 3, 3), np.float16)})
    subprocess.run([f"{ROOT}/build/graph", "compile", "graph.onnx", "graph.plan"], check=True)
    return ["graph_0", "1", "graph", "-o graph_0.0.out.npy", "graph.plan", "graph.in.npy"]


def main():
    os.makedirs(f"{ROOT}/build/test", exist_ok=True)
    work = tempfile.mkdtemp(prefix="inject.", dir=f"{ROOT}/build/test")
    os.chdir(work)
    subprocess.run([f"{QEMU}/golden.py", "make", *([] if ALL else ["vadd"])], check=True)
    with open("cases") as f:
        cases = [line.rstrip("\n").split("\t") for line in f]
    if ALL and os.path.exists(f"{ROOT}/build/graph"):
        cases.append(of_a_model())
    tried, only = set(), sys.argv[1:]
    for case in cases:
        out = f"{case[0]}.0.out.npy"
        wanted = case[2] in only if only else ALL or case[2] == "vadd"
        if case[2] in tried or case[1] != "1" or not wanted:
            continue
        tried.add(case[2])
        salai([case[2], *case[3].split(), *case[4:]])
        os.rename(out, "right.npy")
        check(f"inject/{case[0]}/each_call", each_call(case, out, "right.npy"))
        check(f"inject/{case[0]}/each_allocation", each_allocation(case, out, "right.npy"))
    want = len(only) or (100 if ALL else 1)
    check("inject/operators", [] if len(tried) >= want else [f"only {tried}"])
    os.chdir("/")
    shutil.rmtree(work)
    return done()


if __name__ == "__main__":
    sys.exit(main())
