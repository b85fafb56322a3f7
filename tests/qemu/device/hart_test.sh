#!/bin/bash
# SPDX-License-Identifier: MIT
#
# hart_test.sh    the work of one core takes the same cycles however many cores idle, where
#                 engines limit and where the hart does; what it does is charged to the
#                 core whose task it runs
set -u
. "$(dirname "$0")/../cli.sh"
work_begin hart

# cycles CORES ARGS...: of the span, and from call to return
cycles()
{
    salai --cores "$1" --timing v2 -- "${@:2}"
    sed -n 's/^core 0, profile.*: \([0-9]*\) cycles = .*/\1/p
        s/^  launch 1: \([0-9]*\) cycles call to return.*/\1/p' "$log/out"
}

# differ MANY ONE    by 1 % and more
differ()
{
    local d=$((100 * (${1:-0} - ${2:-1})))

    [ ${d#-} -ge "${2:-1}" ]
}

# alike NAME ARGS...
alike()
{
    local one many

    mapfile -t one < <(cycles 1 "${@:2}")
    for cores in 8 24 32; do
        mapfile -t many < <(cycles $cores "${@:2}")
        for i in 0 1; do
            ! differ "${many[i]}" "${one[i]}" || echo "${many[*]}, alone ${one[*]}"
        done > "$log/differ"
        tap_check "hart/$1_on_$cores" "$(has_status 0; cat "$log/differ")"
    done
}

alike small_product matmul --m 64 --n 80 --k 96 --cores 1
alike many_short_copies vadd --n 20000 --cores 1
# Whom its time is charged to, in cores that work and idle side by side.
for cores in 1 2 7 24 32; do
    salai --cores $cores --timing v2 --image "$TEST_IMAGE" -- test charge/
    tap_check "hart/is_charged_to_its_core_on_$cores" \
        "$(has_status 0; grep '^#.*test.c' "$log/out")"
done
tap_done
