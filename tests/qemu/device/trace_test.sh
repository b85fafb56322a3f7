#!/bin/bash
# SPDX-License-Identifier: MIT
#
# The trace file: complete, true to the counters, and without any effect on the run.
set -u
. "$(dirname "$0")/../cli.sh"
work_begin trace

# Counts of the trace against the report on $log/out.
agrees()
{
    /usr/bin/python3 - "$1" "$log/out" << 'END'
import json, re, sys
events = json.load(open(sys.argv[1]))["traceEvents"]
report = open(sys.argv[2]).read()
pipes = {(e["pid"], e["tid"]): e["args"]["name"] for e in events if e["name"] == "thread_name"}
for pipe in ("MTE2", "MTE1", "M", "FIX"):
    row = re.search(rf"^  {pipe} +(\d+) +\S+ % +(\d+) +(\d+) +\S+ % +(\d+)", report, re.M)
    busy, semaphores, bandwidth, count = map(int, row.groups())
    mine = [e for e in events if e["ph"] == "X" and (e["pid"], e["tid"]) in pipes
            and pipes[e["pid"], e["tid"]] == pipe]
    commands = [e for e in mine if e["name"] != "wait"]
    ran = round(sum(e["dur"] for e in commands) * 1000)
    waited = round(sum(e["dur"] for e in mine if e["name"] == "wait") * 1000)
    # A command lasts as long as its pipe is busy with it, and as it waits for bandwidth.
    if (ran, len(commands)) != (busy + bandwidth, count):
        print(f"{pipe}: {len(commands)} commands, {ran} cycles; "
              f"counters: {count}, {busy} + {bandwidth}")
    if waited != semaphores:
        print(f"{pipe}: waited {waited} cycles; counters: {semaphores}")
hart = {e["name"] for e in events if e["ph"] == "X" and e["pid"] == 32}
for name in ("matmul copy-in", "matmul compute", "matmul copy-out", "idle"):
    if name not in hart:
        print(f"the hart never did '{name}'")
shape = {tuple(e["args"]["shape"].split()[:3]) for e in events if e["name"] == "MMAD"}
if shape != {("F16", f"m={m}", f"n={n}") for m in (128, 72) for n in (128, 44)}:
    print("shapes of MMAD:", sorted(shape))
END
}

args=(matmul --m 200 --n 300 --k 700)
salai -- "${args[@]}"
cp "$log/out" plain
salai --trace "a,b c.json" -- "${args[@]}"
tap_check trace/run_is_the_same_with_it "$(diff plain "$log/out" 2>&1)"
tap_check trace/agrees_with_the_counters "$(agrees "a,b c.json" 2>&1)"
salai --trace missing/t.json -- "${args[@]}"
tap_check trace/tells_that_it_cannot_write "$(has_status 2; one_line; says err 'missing/t.json')"
tap_done
