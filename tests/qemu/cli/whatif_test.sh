#!/bin/bash
# SPDX-License-Identifier: MIT
#
# make whatif: what other prices bring, and what is no price. The bytes of a result and what
# the firmware reads of the machine stay.
set -u
. "$(dirname "$0")/../cli.sh"
work_begin whatif

whatif()
{
    timeout -k 1 60 "$root/tools/whatif" "$@" > "$log/out" 2> "$log/err" < /dev/null
    status=$?
}

of_changed() # what the run has printed, without what every line has to say
{
    sed -n "s/^what if $1: //p" "$log/out"
}

# What may not change: digests and what the machine allows by the profile.
facts()
{
    grep -E '^(digest|  the machine allows [0-9]* cycles)' | sed 's/: .*//'
}

salai --tables . -- vadd --n 20000 --digest
plain=$(sed -n 's/.*launch 1: \([0-9]*\) cycles call.*/\1/p' "$log/out")
facts < "$log/out" > bytes
changes=UB_GM_RATE=10+hart=0+banks=0+queue=0
NPU_ARGS=set=$changes salai -- vadd --n 20000 --digest
tap_check whatif/results_and_limits_stay "$(has_status 0
    of_changed $changes | facts | diff bytes - 2>&1
    [ "$(wc -l < bytes)" -eq 2 ] || cat bytes)"

tap_check whatif/every_line_says_so "$(grep -v "^what if $changes: " "$log/out"
    [ "$(wc -l < "$log/out")" -gt 10 ] || cat "$log/out")"

price=$(sed -n 's/^COST_V2(LAUNCH, \([0-9]*\),.*/\1/p' "$root/hal/contract/profile.def")
whatif --set LAUNCH=0,LAUNCH=x2 -- vadd --n 20000
tap_check whatif/price_of_a_launch_is_what_it_saves "$(has_status 0
    says out "^as it is, from call to return +$plain cycles$"
    says out "^what if LAUNCH=0 +$((plain - price)) +$price fewer "
    says out "^what if LAUNCH=x2 +$((plain + price)) +$price more "
    says out '^what if LAUNCH=0\+LAUNCH=x2 '
    grep -v -e '^as it is, from call' -e '^what if' "$log/out")"
# Of a launch that costs nothing and a hart that takes no time the engines' span is left.
NPU_ARGS=set=hart=0 salai -- vadd --n 20000
span=$(sed -n 's/.*profile a2: \([0-9]*\) cycles.*/\1/p' "$log/out")
whatif --set hart=0+LAUNCH=0 -- vadd --n 20000
tap_check whatif/free_hart_leaves_the_engines "$(has_status 0
    says out "^what if hart=0\+LAUNCH=0 +$span +$((plain - span)) fewer")"
whatif --set queue=0 -- vadd --n 20000
tap_check whatif/queues_without_an_end "$(has_status 0
    says out "^what if queue=0 +$plain +0 fewer ")" # it never had 32 commands in a queue
salai --tables . -- vadd --n 20000 --buffers 1
single=$(sed -n 's/.*launch 1: \([0-9]*\) cycles call.*/\1/p' "$log/out")
whatif --set --buffers=1 -- vadd --n 20000 --buffers 2
tap_check whatif/takes_options_of_the_operator "$(has_status 0
    says out "^as it is, from call to return +$plain cycles"
    says out "^what if --buffers=1 +$single +$((single - plain)) more")"
for bad in 'FOO=1 FOO is no price' 'UB_BYTES=1 UB_BYTES is no price' 'UB_GM_RATE=0 1\.\.1000000' \
    'UB_GM_RATE=x want a number' 'hart=1 0 is allowed' \
    'queue=64 0 is allowed' 'HBM_RATE want a number'; do
    read -r set pattern <<< "$bad"
    whatif --set "$set" -- vadd --n 100
    tap_check "whatif/refuses_$set" "$(has_status 2; one_line; says err "$pattern")"
done
tap_done
