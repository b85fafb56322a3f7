#!/usr/bin/python3
# SPDX-License-Identifier: MIT
#
# race_test.py [--full]    the race check (tools/emu/check) against an oracle
#
# Random commands on random pipes, semaphores and units of L0C go through a random legal
# schedule (programs.py). What happens is told to build/check-streams and to the oracle;
# both must find the same pairs of accesses. Small programs, with one producer and one
# consumer for each semaphore, also go through all their schedules: two accesses that
# conflict are a race exactly if both can be under way at one time. TAP on stdout.
import os
import random
import subprocess
import sys

from oracle import Oracle
from programs import Small, random_stream, small_program

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
from tap import done, ok, say  # noqa: E402

STREAMS = os.environ.get("STREAMS") or (
    os.path.dirname(os.path.abspath(__file__)) + "/../../build/check-streams")


def ask(streams):
    """(pairs, mixed semaphores) of each stream, as the check finds them."""
    text = "".join(" ".join(map(str, event)) + "\n"
                   for events in streams for event in events + [("q",)])
    ran = subprocess.run([STREAMS], input=text, capture_output=True, text=True)
    if ran.returncode:
        raise RuntimeError(f"check-streams: {ran.returncode}: {ran.stderr[-2000:]}")
    answers, now = [], (set(), set())
    for line in ran.stdout.splitlines():
        if line == "q":
            answers.append(now)
            now = set(), set()
        elif line[0] == "~":
            now[1].add(tuple(map(int, line.split()[1:])))
        else:
            a, i, b, k, inexact = map(int, line.split())
            now[0].add((a, i if a else 0, b, k if b else 0, inexact))
    return answers


def oracle(events):
    o = Oracle(events[0][1])
    for event in events[1:]:
        o.happens(*event)
    return o


def agree(seed, count, problems):
    rng = random.Random(seed)
    races = 0
    streams = [random_stream(rng) for _ in range(count)]
    for i, (events, (found, _)) in enumerate(zip(streams, ask(streams))):
        o = oracle(events)
        races += bool(o.found)
        told = {(place, p) for place, p in o.pairs if p in found}
        if found != o.found:
            problems.append(f"seed {seed} stream {i}: check only {sorted(found - o.found)}, "
                            f"oracle only {sorted(o.found - found)}")
        elif {place for place, _ in told} != set(o.first):
            problems.append(f"seed {seed} stream {i}: a byte's first race is not found")
    return races


def enumerate_all(seed, count, problems):
    rng = random.Random(seed)
    programs, streams, races = [], [], 0
    while len(programs) < count:
        small = Small(*small_program(rng))
        programs.append(small)
        streams.append(small.one_schedule(rng))
    for i, (small, events, (found, mixed)) in enumerate(zip(programs, streams, ask(streams))):
        want = small.together()
        o = oracle(events)
        # What this schedule never came to is not known; what it came to is.
        came = {(p, k + 1) for p in small.pipes for k in range(
            sum(e[:1] == ("e",) and e[2] == p for e in events))} | {(0, 0)}
        want = {(at, two) for at, two in want if two <= came}
        got = {(place[2] // 32 * 32, frozenset(((p[0], p[1]), (p[2], p[3]))))
               for place, p in o.pairs}
        races += bool(want)
        if got != want:
            problems.append(f"seed {seed} program {i}: graph only {got - want}, "
                            f"schedules only {want - got}")
        elif bool(found) != bool(want) or mixed:
            problems.append(f"seed {seed} program {i}: {len(found)} found of {len(want)}, "
                            f"mixed {mixed}")
    return races


def main():
    full = "--full" in sys.argv
    for name, work, count, rounds in (
            ("streams_agree", agree, 250, 400 if full else 1),
            ("small_programs_agree_with_all_schedules", enumerate_all, 250,
             40 if full else 1)):
        problems, races = [], 0
        for seed in range(rounds):
            races += work(seed, count, problems)
        say(f"# {rounds * count} of them, {races} with a race")
        ok(not problems and races > count * rounds // 5, f"race/{name}",
           "\n".join(problems[:5]))
    return done()


sys.exit(main())
