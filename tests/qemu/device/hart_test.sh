#!/bin/bash
# SPDX-License-Identifier: MIT
#
# hart_test.sh    the work of one core takes the same cycles however many cores idle, where
#                 engines limit and where the hart does
set -u
. "$(dirname "$0")/../cli.sh"
work_begin hart

# cycles CORES ARGS...: of the span
cycles()
{
    salai --cores "$1" --timing v2 -- "${@:2}"
    sed -n 's/^core 0, profile.*: \([0-9]*\) cycles = .*/\1/p' "$log/out"
}

# alike NAME ARGS...
alike()
{
    local one many

    one=$(cycles 1 "${@:2}")
    for cores in 8 24 32; do
        many=$(cycles $cores "${@:2}")
        tap_check "hart/$1_on_$cores" "$(has_status 0
            [ $((100 * (${many:-0} - ${one:-1}) / ${one:-1})) -eq 0 ] || echo "$many, alone $one")"
    done
}

alike small_product matmul --m 64 --n 80 --k 96 --cores 1
alike many_short_copies vadd --n 20000 --cores 1
tap_done
