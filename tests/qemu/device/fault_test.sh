#!/bin/bash
# SPDX-License-Identifier: MIT
#
# fault_test.sh    hardware that is broken on purpose: what the machine tells of it, and that
#                  the same fault does the same again
#
# TAP on stdout.
set -u
. "$(dirname "$0")/../cli.sh"
unset CORES PROFILE MEM SEED TIMING TRACE FAULT
vadd=(vadd --n 20000 --digest --check 0)

# broken FAULT ARGUMENT...    a run with it, twice alike; without FULL=1 the first of each kind
broken()
{
    local kind=${1%%:*}

    FAULT=$1 salai "${@:2}"
    [ -n "${FULL:-}" ] || [ ! -e "again.$kind" ] || return
    : > "again.$kind"
    cp "$log/out" first
    cp "$log/err" first.err
    FAULT=$1 salai "${@:2}"
    diff first "$log/out" | head -n 1
    diff first.err "$log/err" | head -n 1
}

digest()
{
    grep '^digest ' "${1:-$log/out}"
}

told()
{
    tap_check told/dead_core "$(broken dead:core0 "${vadd[@]}"; has_status 3
        says err 'deadlock at cycle'
        says err '^ +pipe MTE2 of core 0 waits with .* COPY_GM_UB of task vadd copy-in'
        says err '^ +has all that it needs: the engine does not begin it')"
    tap_check told/lost_post "$(broken drop:post@3 "${vadd[@]}"; has_status 3
        says err 'semaphore 6[0-9] \(.*\) of core 0')"
    tap_check told/stuck_semaphore "$(broken stuck:sem61,stuck:sem62,stuck:sem60,stuck:sem59 \
        "${vadd[@]}"; has_status 3; says err 'deadlock at cycle|semaphore')"
    tap_check told/other_core_is_well "$(broken dead:core1 --cores 2 "${vadd[@]}" --cores 1
        has_status 0; diff <(digest) <(digest sound))"
}

changed()
{
    tap_check changed/slow_pipe "$(broken slow:MTE2x10 "${vadd[@]}"; has_status 0
        diff <(digest) <(digest sound)
        cmp -s "$log/out" sound && echo 'not slower')"
    # Semaphore 5 of matmul is MM_L0_FULL: the Cube begins before its operands are there.
    tap_check changed/result_is_told_by_row_column_and_address "$(broken skip:sem5 \
        matmul --m 300 --n 300 --k 300; has_status 1; one_line
        says err '^matmul: c\[[0-9]+, [0-9]+\] is .* \(0x[0-9a-f]{8}\), want .*; at 0x8[0-9a-f]+$')"
    tap_check changed/flip_of_an_unused_byte "$(broken bitflip:l0c+0@1000 "${vadd[@]}"
        has_status 0; diff "$log/out" sound)"
    tap_check changed/flip_before_the_launch "$(broken bitflip:ub+4096@17500 "${vadd[@]}"
        has_status 0; diff "$log/out" sound)"
    tap_check changed/flip_as_the_launch_counts "$(broken bitflip:ub+4096@+17500 "${vadd[@]}"
        has_status 0; cmp -s <(digest) <(digest sound) && echo 'the same bytes')"
    tap_check changed/flip_that_never_comes "$(broken bitflip:gm+0@99999999999 "${vadd[@]}"
        has_status 0; diff "$log/out" sound)"
}

# A launch in place that is begun again (tests/broken/retry.c).
retried()
{
    local in_test=(--image "$TEST_IMAGE" retry) post

    salai "${in_test[@]}" 3
    tap_check retry/not_needed "$(has_status 0; says out 'done, begun again 0 times, 0 wrong')"
    FAULT=drop:post@20 salai "${in_test[@]}"
    tap_check retry/not_asked_for "$(has_status 3
        says out 'begun again 0 times, [1-9][0-9]* wrong')"
    for post in 1 ${FULL:+2 3} 20 ${FULL:+46} 48; do
        FAULT=drop:post@$post salai "${in_test[@]}" 1
        tap_check "retry/lost_post_$post" "$(has_status 0
            says out 'done, begun again 1 times, 0 wrong')"
    done
    FAULT=drop:post@20,drop:post@50 salai "${in_test[@]}" 3
    tap_check retry/twice "$(has_status 0; says out 'done, begun again 2 times, 0 wrong')"
    FAULT=dead:core0 salai "${in_test[@]}" 3
    tap_check retry/for_nothing "$(has_status 3; says out 'begun again 3 times')"
}

refused()
{
    local fault

    for fault in bitflip x:y dead:core3 dead:core stuck:sem128 stuck:5 drop:post@0 drop:5 slow:Vx0 \
        slow:MTE9x2 bitflip:l2@5 bitflip:ub bitflip:ub@+ bitflip:ub@+x \
        bitflip:ub+999999999@5 core:ub@5 '' , \
        stuck:core1.sem5 bitflip:corex.ub@5 seed:x,dead:core0 \
        "$(printf 'dead:core0,%.0s' {1..9})"; do
        [ -n "$fault" ] || continue
        FAULT=$fault salai empty
        tap_check "refused/$fault" "$(has_status 2; says err 'npu.so: fault=.*: '
            [ "$(wc -l < "$log/err")" -eq 1 ] || cat "$log/err")"
    done
}

# The table of make faults, to which make gives CORES empty.
table()
{
    CORES='' "$root/tools/faults" --each 1 -- vadd --n 1000 > "$log/out" 2> "$log/err"
    status=$?
    tap_check faults/table "$(has_status 0; says out '^drop post .* 1 ')"
    CORES=x "$root/tools/faults" -- vadd > "$log/out" 2> "$log/err"
    status=$?
    tap_check faults/cores_are_a_number "$(has_status 2; says err 'want a number')"
}

work_begin fault
salai "${vadd[@]}"
cp "$log/out" sound
told
changed
retried
refused
table
tap_done
