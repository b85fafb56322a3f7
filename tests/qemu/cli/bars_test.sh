#!/bin/bash
# SPDX-License-Identifier: MIT
#
# Cycle counts that must not get worse: the README's promises that do not depend on the
# host. Host speed is for make bench-host.
set -u
. "$(dirname "$0")/../cli.sh"
work_begin bars

# busy PIPE: its percentage in the last report
busy()
{
    sed -n "s/^  $1  *[0-9]*  *\([0-9.]*\) %.*/\1/p" "$log/out"
}

at_least()
{
    awk "BEGIN { exit !(${1:-0} >= $2) }" || echo "$1, want at least $2"
}

# at_most CYCLES: of the last launch
at_most()
{
    awk -v most="$1" '/^core 0, profile a2: / { n = $5 }
        END { if (!n || n > most) print n " cycles, want at most " most }' "$log/out"
}

salai -- matmul --m 1024 --n 1024 --k 1024
tap_check bars/cube_busy_90_percent_at_1024 "$(has_status 0; at_least "$(busy M)" 90)"
salai -- vadd --n 4194304 --check 4096
tap_check bars/mte2_busy_95_percent_in_vadd "$(has_status 0; at_least "$(busy MTE2)" 95)"
salai -- matmul --m 2048 --n 2048 --k 2048 --check 8
tap_check bars/cube_busy_95_percent_at_2048 "$(has_status 0; at_least "$(busy M)" 95)"
tap_check bars/matmul_2048_sleeps_2000_times_at_most \
    "$(awk '$1 == "hart" && $6 <= 2000 && $8 == 0 { ok = 1 }
            END { if (!ok) print "slept too often, or in vain" }' "$log/out")"
map=(--pad 1 --check 16 --kh 3 --kw 3)
salai --timing v1 -- conv2d "${map[@]}" --n 1 --h 56 --w 56 --c 64 --o 64 --i 64 --type s8 --out s8
tap_check bars/int8_convolution_24000_cycles "$(has_status 0; at_most 24000)"
# What windows of 9 taps alone take of MTE1, and 15 %.
salai --timing v1 -- conv2d "${map[@]}" --n 1 --h 224 --w 224 --c 32 --o 32 --i 1 --groups 32
tap_check bars/depthwise_115_percent_of_its_windows \
    "$(has_status 0; at_most $((224 * 224 * 2 * 9 * 32 / 256 * 115 / 100)))"
# The launches' bars are cycles of v1, as in tools/bench.
salai --timing v1 --image "$TEST_IMAGE" -- bench
tap_check bars/switch_85_issue_40_wait_8_instructions "$(has_status 0)"
# Tables and verdicts are of runs that ended well.
tap_check bars/no_verdict_without_a_run "$(
    export PROFILE=none PROFILES=none
    for table in bench-ops bench-matmul "bench-matmul sweep"; do
        read -r tool how <<< "$table"
        ! "$root/tools/$tool" ${how:+"$how"} > "$log/out" 2> "$log/err" ||
            echo "$table: status 0: $(tail -n 1 "$log/out")"
        says err 'profile=none: a2, ascend910'
    done)"
tap_done
