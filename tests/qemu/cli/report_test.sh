#!/bin/bash
# SPDX-License-Identifier: MIT
#
# report_test.sh    what an operator tells of its launches: all of the time from call to
#                   return, the chip's span, and what limits
set -u
. "$(dirname "$0")/../cli.sh"
work_begin report

# Of one core: before + span + after = call to return, a pipe's cycles make up the span.
adds_up()
{
    awk '/^core 0, profile/ { span = $5 }
        /^  launch 1:/ { call = $3; before = $8; after = $13 }
        $1 == "MTE2" { empty = $7; known = $2 + $5 + $6 }
        END {
            if (call != before + span + after || !before || !after)
                print "call " call ", before " before ", span " span ", after " after
            d = span * empty / 100 - (span - known)
            if (d * d > (span / 1000) ^ 2) print "empty " empty " %, others " known " of " span
        }' "$log/out"
}

# The chip's span is longer than that of its slowest core, and its shares are of the chip.
wide()
{
    awk '/^[0-9]+ of 24 cores, profile/ { cores = $1; span = $7 }
        / the slowest: / { slowest = $5 }
        / the fastest: / { fastest = $5 }
        $1 == "M" && !busy { busy = $2; share = $3 }
        END {
            if (!(span > slowest && slowest >= fastest && fastest > 0))
                print "span " span ", slowest " slowest ", fastest " fastest
            d = share - 100 * busy / span / cores
            if (d * d > 0.01) print "M " share " %, want " 100 * busy / span / cores
        }' "$log/out"
    [ "$(grep -c '^  MTE2 ' "$log/out")" -eq 3 ] || echo "not three tables"
}

salai -- vadd --n 1000000 --check 100
tap_check report/time_adds_up "$(has_status 0; adds_up)"
tap_check report/pipe_is_the_limit "$(says out '^  limit: MTE2, busy 9[0-9.]* % of the span$')"
tap_check report/hart_is_told_by_task "$(says out '^  hart: awake [0-9.]+ % of that, '
    says out 'vadd copy-in [0-9.]+ %')"
# error_of PATH    what accuracy.def has of it is said
error_of()
{
    local row

    row=$(sed -n "s/^PATH($1, \"\(.*\)\", \([0-9]*\), .*/\1: \2 predicted/p" \
        "$root/hal/contract/accuracy.def")
    says out "^  error: ${row:-no $1} rows?, the middle one within"
}
tap_check report/error_of_what_limits "$(error_of HBM)"
salai -- vadd --n 1000000 --check 100 --repeat 4
tap_check report/error_of_what_l2_has "$(error_of MTE2)"
salai -- vadd --n 100000 --repeat 2 --past-l2 --check 100
tap_check report/nothing_stays_in_l2_that_passes_it \
    "$(has_status 0; says out 'L2: 0.0 % hits, cold$')"
salai --profile ascend910 -- vadd --n 3000 --past-l2
tap_check report/refuses_a_hint_that_the_chip_has_not "$(has_status 2
    says err '^vadd: --past-l2: profile ascend910 has no hints for L2$'
    [ "$(wc -l < "$log/err")" -eq 1 ] || echo "more than a line")"
salai --timing v1 -- vadd --n 3000
tap_check report/timing_that_is_not_the_default "$(has_status 0
    says out '^core 0, profile a2: .*, TIMING=v1$'
    ! grep -q '^  error:' "$log/out" || echo "an error bar of v2")"
salai --profile ascend310 -- vadd --n 100000 --check 100
tap_check report/error_of_a_chip_without_a_card "$(has_status 0
    says out '^  error: not known, no card was measured for ascend310$')"
salai -- vadd --n 2000 --repeat 3
tap_check report/launches_are_counted "$(has_status 0; says out '^  launches 1 to 3: ')"
tap_check report/hart_is_the_limit \
    "$(says out "^  limit: the hart: MTE2's queue was empty [0-9.]+ % of the span while")"
salai --cores 24 -- matmul --m 700 --n 600 --k 500 --check 100
tap_check report/of_many_cores_is_short "$(has_status 0; wide
    [ "$(wc -l < "$log/out")" -le 30 ] || echo "$(wc -l < "$log/out") lines")"
salai --cores 24 -- matmul --m 2048 --n 2048 --k 256 --check 100
tap_check report/fits_100_columns "$(awk 'length > 100 { print NR ": " length }' "$log/out")"
salai --cores 24 -- vadd --n 300000 --check 100
tap_check report/limit_knows_hbm "$(says out '^  the machine allows 3062 cycles \(HBM\): ')"
salai --cores 24 -- vadd --n 300000 --repeat 2 --check 100
tap_check report/limit_of_what_l2_has "$(says out '^  the machine allows [0-9]+ cycles \(L2\): ')"
salai --cores 32 -- vadd --n 5
tap_check report/limit_is_at_least_a_cycle \
    "$(has_status 0; says out '^  the machine allows [1-9][0-9]* cycles? \(.*: 0\.[1-9] % of')"
tap_done
