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

salai -- matmul --m 1024 --n 1024 --k 1024
tap_check bars/cube_busy_90_percent_at_1024 "$(has_status 0; at_least "$(busy M)" 90)"
salai -- vadd --n 4194304 --check 4096
tap_check bars/mte2_busy_95_percent_in_vadd "$(has_status 0; at_least "$(busy MTE2)" 95)"
salai -- matmul --m 2048 --n 2048 --k 2048 --check 8
tap_check bars/cube_busy_95_percent_at_2048 "$(has_status 0; at_least "$(busy M)" 95)"
tap_check bars/matmul_2048_sleeps_2000_times_at_most \
    "$(awk '$1 == "hart" && $6 <= 2000 && $8 == 0 { ok = 1 }
            END { if (!ok) print "slept too often, or in vain" }' "$log/out")"
# The launches' bars are cycles of v1, as in tools/bench.
salai --timing v1 --image "$TEST_IMAGE" -- bench
tap_check bars/switch_85_issue_40_wait_8_instructions "$(has_status 0)"
tap_done
