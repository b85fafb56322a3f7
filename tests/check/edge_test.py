#!/usr/bin/python3
# SPDX-License-Identifier: MIT
#
# edge_test.py    for each edge of tools/emu/check/race/edge.def a small program that is free of
#                 races by that edge alone: it is silent, and named when build/check-streams
#                 leaves the edge out. For a rule the other way round. TAP on stdout.
import os
import subprocess
import sys

from oracle import (ATOMIC, BARRIER, FIX, GM, GM_BASE, HART, INEXACT, L0C, M, MEM, MTE1, MTE2,
                    MTE3, READ, UB, V, WRITE)

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
from tap import check, done, ok  # noqa: E402

STREAMS = os.environ.get("STREAMS") or (
    os.path.dirname(os.path.abspath(__file__)) + "/../../build/check-streams")
CHIP_SEM = 64  # the first of the chip's


def push(pipe, core=0):
    return [("p", core, pipe)]


def runs(pipe, *ops, core=0, takes=None, posts=None):
    """A command at the head of its queue; ops: (kind, memory)."""
    events = [("-", core, pipe, takes, 1)] if takes is not None else []
    events += [("b", core, pipe), ("e", core, pipe)]
    for kind, mem in ops:
        events += [("o", core, pipe, kind, MEM[mem], 0), *where(mem)]
    return events + ([("+", core, pipe, posts, 1)] if posts is not None else [])


def command(pipe, *ops, core=0, **sems):
    return push(pipe, core) + runs(pipe, *ops, core=core, **sems)


def where(mem):
    return [("r", GM_BASE if mem == GM else 0, 32)]


def hart(does, mem):
    return [("h", int(does == WRITE), 0, MEM[mem], GM_BASE if mem == GM else 0, 8)]


def multiply(end=True, takes=None):
    """An Mmad that hands on unit 0 when it begins; it reads L0A."""
    begin = [("b", 0, M), ("w", 0, M, 1), ("u", 0, M, 1), ("o", 0, M, WRITE, MEM[L0C], 1),
             ("r", 0, 32)]
    return push(M) + begin + (multiplied() if end else [])


def multiplied():
    return [("e", 0, M), ("o", 0, M, READ, MEM["L0A"], 0), ("r", 0, 32)]


def fixpipe(posts=None):
    """The fixpipe takes unit 0 and gives it back."""
    return push(FIX) + [("b", 0, FIX), ("w", 0, FIX, 1), ("e", 0, FIX),
                        ("o", 0, FIX, READ, MEM[L0C], 0), ("r", 0, 32), ("u", 0, FIX, 1)] + (
                            [("+", 0, FIX, posts, 1)] if posts is not None else [])


def hart_takes(sem, core=0):
    return [("-", core, HART, sem, 1)]


RUN, END = [("t", 1)], [("t", 0)]
IN, OUT = (WRITE, UB), (READ, UB)  # what MTE2 does, what V does
HANDED = RUN + command(MTE2, IN, posts=0) + command(V, OUT, takes=0)
# A result in GM that the hart has waited for as core 0 and that core 1 reads then.
RESULT = command(MTE3, (WRITE, GM), posts=0) + hart_takes(0)
READER = command(MTE2, (READ, GM), core=1)

TWINS = {
    "PROGRAM": RUN + command(V, IN) + command(V, OUT),
    "PUSH": RUN + command(MTE2, IN, posts=0) + hart_takes(0) + command(V, OUT),
    # What waits in a queue keeps the hart's accesses from being passed over.
    "STORED": RUN + push(V) + hart(WRITE, GM) + command(MTE2, (READ, GM)),
    "ENDED": HANDED,
    "TAKEN": HANDED,
    "HART_TAKEN": RUN + push(V) + command(MTE2, IN, posts=0) + hart_takes(0) + hart(READ, UB),
    "HART_POSTED": RUN + push(V) + command(MTE2, IN, posts=0) + hart_takes(0) + [
        ("+", 0, HART, 1, 1)] + runs(V, OUT, takes=1),
    "BARRIER": RUN + push(MTE2, 1) + command(MTE3, (WRITE, GM), posts=CHIP_SEM) + [
        ("-", 0, BARRIER, CHIP_SEM, 1), ("+", 1, BARRIER, 3, 1)] + runs(
            MTE2, (READ, GM), core=1, takes=3),
    "DRAINED": RUN + command(MTE3, (WRITE, GM)) + [("d", 0, MTE3)] + hart(READ, GM),
    "RESET": RUN + command(MTE3, (WRITE, GM)) + [("x", 0, MTE3)] + hart(READ, GM),
    "LAUNCH": RUN + RESULT + END + RUN + READER,
    "OUTSIDE": RESULT + READER,
    "HANDED_ON": RUN + multiply() + fixpipe(),
    "GIVEN_BACK": RUN + multiply() + fixpipe() + multiply(),
    "COMMUTE": RUN + command(MTE3, (ATOMIC, GM)) + command(MTE3, (ATOMIC, GM), core=1),
    # V needs what MTE2 posted first; MTE3 posts the same semaphore behind it.
    "OLDEST": RUN + push(V) + command(MTE2, IN, posts=0) + command(MTE3, posts=0) + runs(
        V, OUT, takes=0),
    # After the reset V needs what MTE2 posts, not what was left of MTE3.
    "EMPTIED": RUN + command(MTE3, posts=0) + [("x", 0, HART)] + push(V) + command(
        MTE2, IN, posts=0) + runs(V, OUT, takes=0),
    "RESULTS": RUN + multiply(end=False) + push(MTE1) + fixpipe(posts=0) + multiplied() + runs(
        MTE1, (WRITE, "L0A"), takes=0),
    "SCALARS": RUN + RESULT + READER,
    "INEXACT": RUN + command(MTE3, (INEXACT | ATOMIC, GM)) + command(
        MTE3, (INEXACT | ATOMIC, GM), core=1),
}
RULES = {"RESULTS", "SCALARS", "INEXACT"}


def races(edges, left_out):
    """Numbers of races of each twin, with that edge left out or none."""
    text = ""
    for name in edges:
        number = edges.index(name) if left_out else len(edges)
        events = [("l", number), ("n", 2), *TWINS.get(name, []), ("q",)]
        text += "".join(" ".join(map(str, event)) + "\n" for event in events)
    ran = subprocess.run([STREAMS], input=text, capture_output=True, text=True, check=True)
    return [len([line for line in part.splitlines() if line[0] != "~"])
            for part in ran.stdout.split("q\n")[:-1]]


def main():
    edges = subprocess.run([STREAMS, "--edges"], capture_output=True, text=True,
                           check=True).stdout.split()
    check("edge/each_has_a_twin", [f"{name} has no {'edge' if name in TWINS else 'twin'}"
                                   for name in sorted(set(edges) ^ set(TWINS))]
          or len(edges) <= 15 and [f"only {edges}"])
    for name, holds, without in zip(edges, races(edges, False), races(edges, True)):
        want = (1, 0) if name in RULES else (0, 1)
        ok((min(holds, 1), min(without, 1)) == want, f"edge/{name.lower()}",
           f"{holds} races, {without} without it")
    return done()


sys.exit(main())
