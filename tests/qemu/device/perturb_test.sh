#!/bin/bash
# SPDX-License-Identifier: MIT
#
# perturb_test.sh    perturbed machines: operators and self-tests do not lean on the timing,
#                    a kernel that does is caught, and a seed repeats its run
#
# SEEDS=n, 1 unless the environment has others, is how many each operator runs with; with
# FULL=1 200. TAP on stdout.
set -u
. "$(dirname "$0")/../cli.sh"
SEEDS=${SEEDS:-${FULL:+200}}
SEEDS=${SEEDS:-1}
perturb=$root/tools/perturb
unset CORES PROFILE MEM SEED TIMING TRACE

perturb()
{
    timeout -k 1 600 "$perturb" "$@" > "$log/out" 2> "$log/err" < /dev/null
    status=$?
}

all_equal()
{
    has_status 0
    says out "^$SEEDS seeds: all equal"
    grep -v 'all equal' "$log/out" | head -n 6
}

same_bytes()
{
    local row options words operators

    # Of their own cases two of each; without FULL=1 one of every sixth operator.
    mapfile -t operators < <("$here/golden.py" perturb |
        if [ -n "${FULL:-}" ]; then cat; else sed -n 'n;n;n;n;p;n;n;n;n;n;n;n'; fi)
    tap_check perturb/operators_have_cases "$([ ${#operators[@]} -ge 5 ] ||
        printf '%s\n' "only:" "${operators[@]}")"
    for row in "${operators[@]}"; do
        read -ra options <<< "${row%%|*}"
        read -ra words <<< "${row#*|}"
        perturb --seeds "$SEEDS" "${options[@]}" -- "${words[@]}" --check 4 # for the digest
        tap_check "perturb/same_bytes_${words[0]}" "$(all_equal)"
        tap_note "${row//|/ }: $(tail -n 1 "$log/out")"
    done
}

# --- a kernel that is right by luck ---

caught()
{
    local in_test=(--image "$TEST_IMAGE") seeds=${FULL:+20} again

    seeds=${seeds:-6} # of which about half catch it

    salai "${in_test[@]}" race --digest
    cp "$log/out" lucky
    salai "${in_test[@]}" race --sound --digest
    tap_check perturb/race_is_right_without_a_seed "$(has_status 0
        says out '^digest race F32 '; diff lucky "$log/out")"
    perturb --seeds "$seeds" "${in_test[@]}" -- race
    tap_check "perturb/race_is_caught_within_${seeds}_seeds" "$(has_status 1
        says out "^seed [0-9]+: other bytes: 'digest race"
        says out "^$seeds seeds: [1-9][0-9]* differ or fail")"
    tap_note "$(tail -n 1 "$log/out")"
    again=$(sed -n '/^seed /{n;s/^ *//p;q}' "$log/out")
    sed -n "s/^seed .*other bytes: '\(.*\)', plain.*/\1/p;T;q" "$log/out" > told
    (eval "${again}") 2>&1 | diff - told > differ
    tap_check perturb/and_the_command_that_it_prints_shows_it "$(cat differ
        [ -s told ] || echo "no bytes were told")"
    explained
    perturb --seeds "$SEEDS" "${in_test[@]}" -- race --sound
    tap_check perturb/race_with_the_wait_is_sound "$(all_equal)"
}

# What was printed of the first seed that differs: who, and which delays are enough.
explained()
{
    local line says_first few delayed

    cp "$log/out" why
    line=$(grep -n 'PIPE_V, &cmd' "$root/tests/broken/race.c" | tail -n 1 | cut -d: -f1)
    says_first="V command [0-9]+ of core 0 \(VADD\), tests/broken/race.c:$line: "
    says_first+='dst element [0-9]+, UB at 0x[0-9a-f]+ is [^ ]+, [^ ]+ in the plain run$'
    tap_check perturb/names_the_first_other_result "$(
        grep -Eq "^    first other result: $says_first" why || cat why)"
    few=$(sed -En 's/^    of [0-9]+ delays ([0-9]+) .* the result:$/\1/p' why)
    tap_check perturb/one_or_two_delays_are_enough "$(
        [ "${few:-9}" -le 2 ] || cat why
        grep -Eq '^        (delaying|holding|letting) .* by [0-9]+ cycles$' why || cat why)"
    delayed=$(sed -n 's/^    \(.*--delays .*\)/\1/p' why)
    eval "$delayed" > few 2>&1
    tap_check perturb/those_alone_bring_other_bytes "$(grep -q '^digest race' few || cat few
        ! diff -q few lucky > differ || echo "as in the plain run")"
    salai "${in_test[@]}" --delays "$root/build/perturb/none" --seed 1 race
    tap_check perturb/no_list_of_delays "$(has_status 2; says err 'delays=')"
    salai "${in_test[@]}" --delays "$root/build/perturb" race
    tap_check perturb/delays_want_a_seed "$(has_status 2; says err 'is for a seed')"
}

# --- the same again ---

# repeats NAME ARGUMENT...    seed 7 twice alike, cycles and all, and not like seed 0
repeats()
{
    local name=$1

    shift
    salai --seed 7 "$@"
    cp "$log/out" "$name.1"
    salai --seed 7 "$@"
    tap_check "perturb/repeats_$name" "$(has_status 0; diff "$name.1" "$log/out")"
    salai --seed 0 "$@"
    cp "$log/out" "$name.0"
    tap_check "perturb/delays_$name" "$(has_status 0
        ! cmp -s "$name.0" "$name.1" || echo "seed 7 changes nothing")"
    salai "$@"
    tap_check "perturb/seed_0_is_none_$name" "$(has_status 0; diff "$name.0" "$log/out")"
}

recorded()
{
    local mode

    for mode in record replay; do
        QEMU_ICOUNT=rr=$mode,rrfile=log.rr salai --seed 7 vadd --n 100000 --check 20
        tap_check "perturb/${mode}s_alike" "$(has_status 0; diff vadd.1 "$log/out")"
    done
}

# --- what must be as ever ---

# Faults and deadlocks are told by the same lines, cycles apart.
reports()
{
    local kind seed runs=()

    for kind in align bounds overflow deadlock register; do
        runs+=(fault "$kind" + vadd --n 5 +)
    done
    salai --image "$TEST_IMAGE" "${runs[@]::${#runs[@]}-1}"
    sed 's/cycle [0-9]*/cycle/' "$log/err" > plain
    for ((seed = 1; seed <= SEEDS && seed <= 20; seed++)); do
        salai --seed "$seed" --image "$TEST_IMAGE" "${runs[@]::${#runs[@]}-1}"
        {
            has_status 3
            [ "$(grep -c '^vadd: ' "$log/out")" -eq 5 ] || cat "$log/out"
            sed 's/cycle [0-9]*/cycle/' "$log/err" | diff plain -
        } | sed "s/^/seed $seed: /"
    done > reasons
    tap_check perturb/faults_are_told_alike "$(cat reasons
        grep -q 'deadlock' plain && grep -q 'register' plain || cat plain)"
}

# All but those that want exact cycles. They write to a build/scratch of their own, which is
# not npu.so's and so no place that an image may write to.
self_tests()
{
    local seed options plain seeds=$((SEEDS < 50 ? (SEEDS + 4) / 5 : 10)) # a run takes two seconds
    local which=(--any-timing) image=$TEST_IMAGE

    mkdir -p build/scratch
    salai --image "$image" test --list "${which[@]}"
    plain=$(wc -l < "$log/out")
    for options in "" "--cores 5"; do
        for ((seed = 1; seed <= seeds; seed++)); do
            UNCONFINED=1 salai $options --seed "$seed" --image "$image" \
                test "${which[@]}"
            {
                has_status 0
                grep -B 3 '^not ok ' "$log/out"
                [ "$(grep -c '^ok ' "$log/out")" -ge "$plain" ] ||
                    echo "$(grep -c '^ok ' "$log/out") tests, $plain in the list"
            } | sed "s/^/seed $seed: /"
        done > reasons
        tap_check "perturb/self_tests${options//[- ]/_}" "$(cat reasons)"
    done
}

work_begin perturb
same_bytes
caught
repeats vadd vadd --n 100000 --check 20
repeats cores --cores 4 matmul --m 200 --n 300 --k 700 --check 20
recorded
reports
[ -z "${FULL:-}" ] || self_tests # else a run with a seed is among those of tests/run
tap_done
