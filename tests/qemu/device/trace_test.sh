#!/bin/bash
# SPDX-License-Identifier: MIT
#
# The trace file and the tables of a profile: complete, true to the counters, by the rules of
# their formats, and without any effect on the run.
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
for name in ("matmul", "idle"):
    if name not in hart:
        print(f"the hart never did '{name}'")
# The shapes of the Cube's commands are those of their work, and all of it is there.
ops = 0
for args in (e["args"] for e in events if e["name"] == "MMAD"):
    m, n, k = map(int, re.fullmatch(r"F16 m=(\d+) n=(\d+) k=(\d+)\b.*", args["shape"]).groups())
    ops += args["ops"]
    if m * n * k != args["ops"]:
        print("MMAD:", args["shape"], args["ops"])
if not 300 * 300 * 700 <= ops < 1.2 * 300 * 300 * 700:
    print(f"MMAD: {ops} multiply-adds in all")
END
}

# The Trace Event Format's rules, and what is promised of each command: reasons, if any.
follows_rules()
{
    /usr/bin/python3 - "$@" << 'END'
import collections, gzip, json, sys
path = sys.argv[1]
with open(path, "rb") as f:
    packed = f.read(2) == b"\x1f\x8b"
with (gzip.open if packed else open)(path, "rt") as f:
    events = json.load(f)["traceEvents"]
WANTED = ("cmd", "core", "pipe", "op", "line", "issued")
named, depth, arrows, last = set(), 0, collections.defaultdict(dict), collections.defaultdict(list)
def wrong(*text):
    print(*text)
for e in events:
    ph = e["ph"]
    if ph not in "MXBEsfCi":
        wrong("phase", e)
    if ph == "M":
        named.add((e["pid"], e.get("tid", 0)))
        if e["args"].get("name") == "?":
            wrong("a track has no name", e)
        continue
    if not isinstance(e["ts"], (int, float)) or e["ts"] < 0 or "pid" not in e:
        wrong("when, where", e)
    if ph != "C" and (e["pid"], e["tid"]) not in named:
        wrong("on a track that nobody has named", e)
    if ph == "X":
        last[e["pid"], e["tid"]].append(e)
    depth += {"B": 1, "E": -1}.get(ph, 0)
    if depth < 0:
        wrong("an end without a begin", e)
    if ph in "sf":
        arrows[e["id"]][ph] = e
    if ph == "C" and not all(isinstance(v, (int, float)) for v in e["args"].values()):
        wrong("a counter that is no number", e)
if depth:
    wrong(depth, "ranges do not end")
for track, slices in last.items():
    end = 0
    for e in sorted(slices, key=lambda e: (round(1000 * e["ts"]), -round(1000 * e["dur"]))):
        if round(1000 * e["ts"]) < end:
            wrong("two slices of a track at once", e)
        end = round(1000 * (e["ts"] + e["dur"]))
def within(e):
    at = round(1000 * e["ts"])
    return any(round(1000 * s["ts"]) <= at < round(1000 * (s["ts"] + s["dur"]))
               for s in last[e["pid"], e["tid"]])
for i, both in arrows.items():
    if set(both) != {"s", "f"} or both["s"]["ts"] > both["f"]["ts"]:
        wrong("an arrow without two ends in order", i, both)
    elif not within(both["s"]) or not within(both["f"]):
        wrong("an arrow that begins or ends at no slice", both)
commands = [e for e in events if "cmd" in e.get("args", {})]
by = {f"{e['args']['core']}.{e['args']['pipe']}.{e['args']['cmd']}": e for e in commands}
if len(by) != len(commands) or not commands:
    wrong(len(commands), "commands have", len(by), "numbers")
for e in commands:
    a = e["args"]
    if not all(key in a for key in WANTED):
        wrong("lacks", set(WANTED) - set(a), e)
    if a["issued"] > round(1000 * e["ts"]):
        wrong("begins before it is pushed", e)
    if "from" not in a and "to" not in a and a["op"] not in ("NOP",) and a.get("bytes"):
        wrong("bytes of nowhere", e)
    for w in a.get("waited", ()):
        if w["by"] != "hart" and (w["by"] not in by and len(sys.argv) == 2):
            wrong("posted by nobody", e)
        if w["by"] in by and "barrier" not in w and w["cycles"]:
            post = by[w["by"]]
            if round(1000 * (post["ts"] + post["dur"])) > round(1000 * e["ts"]):
                wrong("takes what is not yet posted", e, post)
END
}

# What there is beside commands: tracks, counters with their values, ranges, interrupts of a
# product of 300 x 700 with 700 x 300; reasons, if any.
has_the_rest()
{
    /usr/bin/python3 - "$1" << 'END'
import collections, json, sys
events = json.load(open(sys.argv[1]))["traceEvents"]
tracks, counters = collections.defaultdict(set), collections.defaultdict(list)
for e in events:
    if e["ph"] == "M" and e["name"] == "thread_name":
        tracks[e["pid"]].add(e["args"]["name"])
    if e["ph"] == "C":
        counters[e["name"]].append((round(1000 * e["ts"]), *e["args"].values()))
for pid, names in ((0, "core,V,MTE1,MTE2,MTE3,M,FIX,interrupt line"), (32, "hart,ranges"),
                   (33, "matmul")):
    if not set(names.split(",")) <= tracks[pid]:
        print("process", pid, "has", tracks[pid])
def mean(name):  # that times the cycles it is of
    rows = counters[name]
    return sum(v * (b - a) for (a, v), (b, _) in zip(rows, rows[1:]))
for name, pipe, key in (("GM read", "MTE2", "read"), ("GM written", "FIX", "bytes")):
    args = [e["args"] for e in events if e.get("args", {}).get("pipe") == pipe]
    bytes_ = sum(a.get(key, a["bytes"]) for a in args)
    if not bytes_ or abs(mean(name) / bytes_ - 1) > 0.05:
        print(name, mean(name), "commands", bytes_)
peak = max(v for _, v in counters["GM in use"])
if not 1200000 <= peak < 1240000:
    print("GM in use", peak)
for pipe in ("MTE2", "MTE1", "M", "FIX"):
    depth = [v for _, v in counters[f"queue {pipe}"]]
    if not depth or depth[-1] != 0 or not 1 <= max(depth) <= 32:
        print("queue", pipe, depth)
held = {name: [v for _, v in rows] for name, rows in counters.items() if name.startswith("sem ")}
if len(held) < 4 or any(min(v) < 0 or max(v) < 1 or v[-1] for v in held.values()):
    print("semaphores", held)
up = [e for e in events if (e["ph"], e["pid"], e.get("tid")) == ("X", 0, 8) and e["dur"] > 0]
ends = [e for e in events if e["ph"] == "E" and "return" in e.get("args", {})]
if not up or len(ends) != 1 or ends[0]["args"]["return"] <= ends[0]["args"]["call"]:
    print("interrupts", len(up), "launches", ends)
END
}

# Of what launches take by their own reports the steps of the critical paths, which are lines
# of $1 without a gap; reasons, if any. $2: how many launches.
is_exact()
{
    /usr/bin/python3 - "$1" "$2" "$log/out" << 'END'
import collections, csv, re, sys
rows = list(csv.DictReader(open(sys.argv[1] + "/critical.csv")))
said = [int(n) for n in re.findall(r"(\d+) cycles call to return", open(sys.argv[3]).read())]
launches = collections.defaultdict(list)
for row in rows:
    launches[row["launch"]].append(row)
    if int(row["to"]) - int(row["from"]) != int(row["cycles"]) or row["cycles"] == "0":
        print("a step of", row)
found = []
for steps in launches.values():
    found.append(int(steps[-1]["to"]) - int(steps[0]["from"]))
    if any(a["to"] != b["from"] for a, b in zip(steps, steps[1:])):
        print("a gap in launch", steps[0]["launch"])
if len(found) != int(sys.argv[2]) or (said and sum(said) != sum(found)):
    print(f"call to return: {said}; critical paths: {found}")
# What a command's step ends by is there; the last but the hart's returns.
if any(steps[-1]["via"] != "return" for steps in launches.values()):
    print("a path that does not end with a return")
if not any(row["kind"] == "command" for row in rows):
    print("no command on the way")
info = list(csv.DictReader(open(sys.argv[1] + "/OpBasicInfo.csv")))
for row, cycles in zip(info, found):
    us = cycles / float(row["Current Freq"])
    if abs(float(row["Task Duration(us)"]) - us) > 0.0006:
        print("duration", row, us)
END
}

# A pipe's busy time in the tables against the report's.
tables_agree()
{
    /usr/bin/python3 - "$1" "$log/out" << 'END'
import csv, re, sys
row = next(csv.DictReader(open(sys.argv[1] + "/PipeUtilization.csv")))
memory = next(csv.DictReader(open(sys.argv[1] + "/Memory.csv")))
waits = next(csv.DictReader(open(sys.argv[1] + "/ResourceConflictRatio.csv")))
report = open(sys.argv[2]).read()
span = int(re.search(r"profile a2: (\d+) cycles", report)[1])
near = lambda a, b: abs(a - b) < 1e-9
for name, pipe in (("aic_mte2", "MTE2"), ("aic_mte1", "MTE1"), ("aic_cube", "M")):
    busy, sem, shared, n, = map(int, re.search(
        rf"^  {pipe} +(\d+) +\S+ % +(\d+) +(\d+) +\S+ % +(\d+)", report, re.M).groups())
    if not near(float(row[name + "_ratio"]), (busy + shared) / span):
        print(pipe, row[name + "_ratio"], busy + shared, span)
    if not near(float(waits[name + "_wait_ratio"]), sem / span):
        print(pipe, "waits", waits[name + "_wait_ratio"], sem, span)
    if pipe != "M" and int(memory[name + "_instructions"]) != n:
        print(pipe, "instructions", memory[name + "_instructions"], n)
for pipe, column, which in (("MTE2", "GM_to_L1", 1), ("FIX", "L0C_to_GM", 2)):
    kib = float(re.search(rf"^  {pipe} .* (\S+) +(\S+)$", report, re.M)[which])
    if abs(float(memory[column + "_datas(KB)"]) - kib) > 0.05:
        print(column, memory[column + "_datas(KB)"], kib)
END
}

args=(matmul --m 300 --n 300 --k 700 --digest)
salai -- "${args[@]}"
cp "$log/out" plain
mkdir tables
salai --trace "a,b c.json" --tables tables -- "${args[@]}"
tap_check trace/run_is_the_same_with_it "$(diff plain "$log/out" 2>&1)"
tap_check trace/agrees_with_the_counters "$(agrees "a,b c.json" 2>&1)"
tap_check trace/follows_the_rules "$(follows_rules "a,b c.json" 2>&1)"
tap_check trace/has_tracks_counters_and_ranges "$(has_the_rest "a,b c.json" 2>&1)"
tap_check trace/tables_agree_with_the_report "$(tables_agree tables 2>&1)"
tap_check trace/appears_when_it_is_complete "$(ls | grep -v -x -e plain -e tables -e 'a,b c.json')"
# Loads of a and b, of L0, products and the way out are lines of their own.
tap_check trace/lines_of_products "$(grep -o '"line":"kernels/mm/[a-z]*.c:[0-9]*"' "a,b c.json" |
    sort -u | awk 'END { if (NR < 5) print NR, "lines" }')"
tap_check path/is_as_long_as_the_launch_of_matmul "$(is_exact tables 1 2>&1)"

# Others, on one core and on seven: NAME CORES LAUNCHES ARGUMENT...; mla_prolog tells no
# cycles of launches.
tile=$root/kernels/ops/softmax.tile
line=$(grep -n 'e = exp' "$tile" | cut -d: -f1)
runs=('vadd 7 1 --n 60000 --digest' 'mla_prolog 1 4 --m 64 --n 256 --k 64 --digest'
    "tile 7 1 $tile --m 64 --n 2048")
[ -z "${FULL:-}" ] || runs=('vadd 1 1 --n 60000' 'matmul 7 1 --m 300 --n 300 --k 700'
    'mla_prolog 7 4 --m 64 --n 256 --k 64' "tile 1 1 $tile --m 64 --n 256" "${runs[@]}")
for run in "${runs[@]}"; do
    read -r name cores launches options <<< "$run"
    read -ra options <<< "$options"
    salai --cores "$cores" -- "$name" "${options[@]}"
    cp "$log/out" plain
    salai --cores "$cores" --trace t --tables tables -- "$name" "${options[@]}"
    tap_check "trace/same_run_of_${name}_on_$cores" "$(has_status 0; diff plain "$log/out" 2>&1)"
    tap_check "trace/rules_of_${name}_on_$cores" "$(follows_rules t 2>&1)"
    tap_check "path/is_as_long_as_the_launch_of_${name}_on_$cores" \
        "$(is_exact tables "$launches" 2>&1)"
done
tap_check trace/lines_of_tile_programs "$(gzip -dc < t | grep -q "\"line\":\"$tile:$line\"" ||
    echo "no line $line of $tile: $(gzip -dc < t | grep -m1 -o '"line":"[^"]*"')")"

# A part of a run.
export TRACE_PIPES=m+Mte1 TRACE_CORES=0..1 TRACE_COMMANDS=2..9
salai --cores 3 --trace part.json -- matmul --m 300 --n 300 --k 700
unset TRACE_PIPES TRACE_CORES TRACE_COMMANDS
tap_check window/has_its_commands_alone "$(has_status 0; follows_rules part.json part 2>&1
    /usr/bin/python3 - << 'END'
import json
args = [e["args"] for e in json.load(open("part.json"))["traceEvents"]
        if "cmd" in e.get("args", {})]
found = {(a["core"], a["pipe"], a["cmd"]) for a in args}
want = {(c, p, n) for c in (0, 1) for p in ("M", "MTE1") for n in range(2, 10)}
if found != want:
    print("too many:", sorted(found - want)[:5], "missing:", sorted(want - found)[:5])
END
)"
for bad in 'TRACE_CYCLES=9..1 9\.\.1: want' 'TRACE_PIPES=X X: want' 'TRACE_CORES=32 32: want' \
    'TRACE_COMMANDS=-1 -1: want'; do
    read -r variable pattern <<< "$bad"
    export "${variable?}"
    refused "window/refuses_$variable" "$pattern" --trace no.json -- vadd --n 100
    unset "${variable%%=*}"
done
export TRACE_CORES=0
refused window/refused_without_a_trace 'are for trace=' vadd --n 100
unset TRACE_CORES

salai --trace fault.json --image "$TEST_IMAGE" fault align
tap_check trace/shows_a_fault "$(has_status 3; follows_rules fault.json part 2>&1 | grep -v numbers
    grep -q '"fault","ph":"i".*"error":"ALIGN"' fault.json || echo 'no fault')"

refused trace/tells_that_it_cannot_write 'missing/t.json' --trace missing/t.json -- vadd --n 100
refused trace/refuses_tables_without_a_folder 'missing/.*csv: No such file' --tables missing -- \
    vadd --n 100

# A run that is checked as well: the same tables, the trace, and what it found. `race` has one.
"$root/tools/profile/profile" --out plain_profile --image "$TEST_IMAGE" -- race > "$log/out" \
    2> "$log/err"
"$root/tools/profile/profile" --out checked --sanitize race,hart --image "$TEST_IMAGE" -- race \
    > "$log/out" 2> "$log/err"
status=$?
tap_check profile/with_checks "$(has_status 1; says err 'checks found: 1 race'
    diff -r -x report.html plain_profile checked
    [ -s checked/report.html ] && [ -s checked/trace.json.gz ] || echo 'no report or no trace')"
salai --trace names.json -- vadd --n 20000
tap_check trace/names_buffers "$(has_status 0
    grep -q '"to":"UB 0x[0-9a-f]* (x and y)"' names.json || echo 'no operand has the name'
    grep -q '"name":"UB: x and y","ph":"C"' names.json || echo 'no counter has')"

# The folder of a profile that cannot be made; one without room.
touch taken
"$root/tools/profile/profile" --out taken/here -- vadd --n 100 > "$log/out" 2> "$log/err"
status=$?
tap_check profile/refuses_a_folder_that_cannot_be "$(has_status 2; one_line
    says err 'taken/here: cannot be written to'; [ -s "$log/out" ] && cat "$log/out")"
"$root/tools/profile/profile" --out nobody -- nothing --n 100 > "$log/out" 2> "$log/err"
status=$?
tap_check profile/refuses_an_operator "$(has_status 2; one_line; says err "no operator 'nothing'"
    ls nobody/*.html nobody/.*.salai-* 2> /dev/null)"
trap '' XFSZ
ulimit -S -f 2
"$root/tools/profile/profile" --out small -- vadd --n 9000 > /dev/null 2> "$log/err"
status=$?
ulimit -S -f unlimited
tap_check profile/leaves_nothing_of_a_full_disk "$(has_status 2; one_line
    says err 'could not be written completely'
    ls small/trace* small/.*.salai-* small/*.html 2> /dev/null)"

# A disk that is full in the middle: nothing is left under the name.
ulimit -S -f 64
salai --trace full.json -- matmul --m 300 --n 300 --k 700
ulimit -S -f unlimited
tap_check trace/leaves_nothing_of_a_full_disk "$(has_status 2; one_line
    says err 'full.json: could not be written completely'; ls full.json* 2> /dev/null)"
tap_done
