#!/bin/bash
# SPDX-License-Identifier: MIT
#
# memory_test.sh    the memory check and the sync check: each mistake of tests/broken/memory.c
#                   is named, by its line and by what it leaves, and no twin of them is
#
# TAP on stdout.
set -u
. "$(dirname "$0")/../cli.sh"
unset CORES PROFILE MEM SEED TIMING TRACE FAULT
in_test=(--image "$TEST_IMAGE")
broken=tests/broken/memory.c

# line TEXT [N]    FILE:LINE of the line of the kernel that has the text, or N lines behind it
line()
{
    echo "$broken:$(($(grep -nF -- "$1" "$root/$broken" | head -n 1 | cut -d: -f1) + ${2:-0}))"
}

# found CLASS PLACE TEXT    a finding of that class, its place, and more of its lines
found()
{
    grep -A 4 "^$1: " "$log/err" > found
    grep -A 3 -E "${2//./[.]}[: ]" found | grep -qE "$3" || echo "no $1 at $2 with $3"
}

# checked CASE...    a run of all these in one image
checked()
{
    local words=() name

    for name; do
        words+=(${words:++} memory $name)
    done
    CHECK=${CHECKS:-memory,sync,hart} salai "${in_test[@]}" "${words[@]}"
}

local_and_engines()
{
    local in out load

    in=$(line 'c, x, from' 2) # where it is issued
    out=$(line 'task_issue(PIPE_MTE3')
    load=$(line 'vector_add(' 3)
    checked source destination local unallocated freed
    tap_check memory/status "$(has_status 1)"
    tap_check memory/source_is_too_short "$(found out-of-bounds "$in" 'block of 2048 bytes')"
    tap_check memory/destination_is_too_short \
        "$(found out-of-bounds "$out" 'COPY_UB_GM writes dst'
           found out-of-bounds "$out" 'block of 1024 bytes')"
    tap_check memory/buffer_is_too_short "$(found out-of-bounds "$in" 'queue in of 1024 bytes')"
    tap_check memory/behind_all_buffers "$(found unallocated "$load" '0 bytes behind the queue')"
    tap_check memory/before_a_block "$(found unallocated "$in" 'reads src')"
    tap_check memory/freed_before_its_end "$(found use-after-free "$in" 'was given back here')"
}

hart()
{
    checked skewed load-freed leak leak-launch
    tap_check hart/skewed "$(found misaligned "$(line 'word += *odd')" 'a load')"
    tap_check hart/loads_what_is_freed \
        "$(found use-after-free "$(line 'extra[MORE]')" '32 bytes into the block')"
    tap_check hart/leak_of_an_operator "$(found leak kernels/cli/data.c 'left when memory ends')"
    tap_check hart/leak_of_a_launch "$(found leak "$(line 'extra = malloc')" '1024 bytes')"
    checked store
    tap_check hart/stores_behind_a_block \
        "$(has_status 1; found unallocated "$(line '? TILE : 0] = 1')" 'behind the block')"
    checked no-block
    tap_check hart/frees_what_is_no_block "$(has_status 1
        found bad-free "$(line 'free(j.z + MORE)')" '32 bytes into the block')"
    checked twice
    tap_check hart/frees_twice "$(has_status 1; found double-free "$broken" 'was given back here')"
}

sync()
{
    checked post
    tap_check sync/a_unit_is_left "$(has_status 3
        says err '^leftover: semaphore 0 of core 0, which holds 1')"
    checked wait
    tap_check sync/a_wait_that_nobody_serves "$(has_status 3
        found unserved "$(line 'task_issue(PIPE_MTE3')" 'waits for 1')"
    checked mask
    tap_check sync/mask_of_another_launch "$(has_status 1
        found left-set "$(line 'vector_add(' 3)" 'VADD in memory works with it')"
}

# Half of the tile is computed, and all of it is copied out.
undefined()
{
    CHECKS=init checked half
    tap_check init/half_of_a_tile "$(has_status 1
        found init "$(line 'task_issue(PIPE_MTE3')" 'COPY_UB_GM')"
    CHECKS=init checked "half --sound"
    tap_check init/all_of_it "$(has_status 0; cat "$log/err")"
}

twins()
{
    local name all=()

    for name in source destination local unallocated freed skewed load-freed leak \
                leak-launch store twice post mask wait no-block half; do
        all+=("$name --sound")
    done
    checked "${all[@]}"
    tap_check twins/are_silent "$(has_status 0; cat "$log/err")"
}

work_begin memory
local_and_engines
hart
sync
undefined
twins
tap_done
