#!/bin/bash
# SPDX-License-Identifier: MIT
#
# Launches measured by a schedule: what is printed of them, that their metrics are those of
# make profile's tables, and what is refused.
set -u
. "$(dirname "$0")/../cli.sh"
work_begin prof

# One launch of `profile` is the one launch of the tables.
salai --tables . -- profile --warmup 0 --active 1 --print steps --still matmul --m 200 --n 300 \
    --k 700 --cold
tap_check prof/metrics_are_those_of_the_tables "$(has_status 0
    /usr/bin/python3 - "$log/out" << 'END'
import csv, sys
row = next(csv.DictReader(open(sys.argv[1])))
tables = {}
for name in ("PipeUtilization", "ResourceConflictRatio", "L2Cache"):
    tables |= next(csv.DictReader(open(name + ".csv")))
shared = [c for c in row if c[:4] in ("aic_", "aiv_")]
for c in shared:
    if c not in tables or abs(float(row[c]) - float(tables[c])) > 1e-5 * float(tables[c]):
        print(c, row[c], tables.get(c))
if len(shared) < 15 or float(row["aic_cube_ratio"]) == 0:
    print(shared)
path = sum(int(r["cycles"]) for r in csv.DictReader(open("critical.csv")))
if int(row["call to return"]) != path:
    print(row["call to return"], path)
END
)"
salai -- profile --wait 1 --warmup 2 --active 3 --repeat 2 --print steps vadd --n 5000
tap_check prof/steps_of_a_schedule "$(has_status 0
    [ "$(cut -d , -f 3 "$log/out" | paste -sd ' ')" = 'step 3 4 5 9 10 11' ] || cat "$log/out")"
salai -- profile --active 20 --print summary vadd --n 5000
tap_check prof/summary "$(has_status 0
    says out '^cores,operator,launches,p50 cycles,.*,per second$'
    says out '^1,"vadd --n 5000",20,[0-9]+,[0-9]+,[0-9]+,[0-9.]+,[0-9.]+,')"
salai -- profile --active 5 vadd --n 5000
tap_check prof/table "$(has_status 0; says out '^  p50 [0-9]+, p90 [0-9]+, p99 [0-9]+, mean '
    says out '^  aiv_vec_ratio +0\.[0-9]+$')"
# Data that is another each time, in tile programs and where weights are packed once; each ends
# with the comparison of its last result.
salai -- profile --active 3 --warmup 1 softmax --m 40 --n 100
tap_check prof/tile_programs "$(has_status 0
    says out '^softmax --m 40 --n 100: 3 launches on 1 core,')"
salai -- profile --active 2 --warmup 0 conv2d --h 8 --w 8 --c 16 --o 16 --kh 3 --kw 3 --n 1 --i 16
tap_check prof/packed_weights "$(has_status 0; says out '^  p50 ')"
# Each launch takes its operands from other places, with what lies there, unless it is told not to.
places()
{
    salai --trace launches.json -- profile --warmup 0 --active 4 --print summary "$@" vadd --n 5000
    /usr/bin/python3 - << 'END'
import json
seen = set()
for e in json.load(open("launches.json"))["traceEvents"]:
    if e["name"] == "COPY_GM_UB":
        seen.add(e["args"]["from"])
print(len(seen))
END
}
tap_check prof/data_and_places_vary "$(moving=$(places) still=$(places --still)
    [ "$still" -ge 2 ] && [ "$moving" -ge $((2 * still)) ] || echo "places: $moving, still $still")"
refused prof/refuses_no_operator 'nothing: no operator' profile --active 3
refused prof/refuses_a_command 'help: no operator' profile help
refused prof/refuses_an_option '--actve: no such option' profile --actve 3 vadd --n 5
refused prof/refuses_no_value '--active: wants a value' profile --active
refused prof/refuses_too_many 'more than 100000' profile --active 60000 --repeat 2 vadd --n 5
refused prof/refuses_what_the_operator_does '--nn' profile vadd --nn 5

cd "$root" || exit
SALAI=$root/tools/bench-launches
export WARMUP=1 LAUNCHES=3
BATCH='1 4' salai vadd --n {4096}
tap_check prof/bench_by_batch "$(has_status 0; says out '^vadd --n 16384 +4 '
    says out '^sweet spot: batch 4,'; head -n 1 build/bench-launches.csv |
        grep -q '^machine,batch,cores,operator,launches,p50 cycles,' || echo 'another header')"
for one in 1 2; do
    LAUNCHES=20 "$SALAI" vadd --n 4 > "$log/at_once.$one" 2>&1 &
done
wait -n; first=$?
wait -n; second=$?
tap_check prof/bench_twice_at_once "$([ $first$second = 00 ] || cat "$log"/at_once.*)"
LAUNCHES=30000 setsid "$SALAI" vadd --n 4 > /dev/null 2>&1 &
until csv=$(readlink /proc/$!/fd/1) && [ "${csv##*/}" = csv ]; do sleep 0.02; done
kill -TERM -- -$!
wait $!
tap_check prof/bench_leaves_nothing "$([ $? -eq 143 ] || echo "not ended"
    ls -d "${csv%/csv}" 2> /dev/null)"
BATCH=2 salai vadd --n 4
tap_check prof/bench_refuses_a_batch_of_nothing "$(has_status 2; one_line; says err 'wants {N}')"
LAUNCHES=many salai vadd --n 4
tap_check prof/bench_refuses_words "$(has_status 2; one_line; says err 'are numbers')"
tap_done
