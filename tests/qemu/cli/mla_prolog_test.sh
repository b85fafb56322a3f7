#!/bin/bash
# SPDX-License-Identifier: MIT
#
# mla_prolog_test.sh    the command: the table, what fused must save against three launches,
#                       what is refused; files against NumPy are in cli_test.sh
set -u
. "$(dirname "$0")/../cli.sh"
work_begin mla_prolog

at_least()
{
    awk "BEGIN { exit !(${1:-0} >= $2) }" || echo "${1:-nothing}, want at least $2"
}

# busy COLUMN PIPE: percentage in the table; column 1 is fused
busy()
{
    sed -n "s/^  $2 *busy, % *//p" "$log/out" | awk "{ print \$$1 }"
}

fewer_cycles()
{
    sed -n 's/^fused: .* \([0-9.]*\) % fewer cycles.*/\1/p' "$log/out"
}

beyond_operands()
{
    sed -n 's/.*beyond reading.* \([0-9.]*\) % fewer$/\1/p' "$log/out"
}

refused()
{
    local name=$1 says=$2

    shift 2
    salai mla_prolog "$@"
    tap_check "mla_prolog/refuses_$name" "$(has_status 2; one_line; says err "$says")"
}

"$here/golden.py" make-mla || exit 1
salai mla_prolog a.npy b.npy bias.npy -o out.npy
tap_check mla_prolog/takes_files "$(has_status 0; says out '^verified: 4 of 75 rows of both')"
salai mla_prolog --no-separate a.npy b.npy bias.npy -o alone.npy
tap_check mla_prolog/fused_alone "$(has_status 0; cmp out.npy alone.npy 2>&1
    grep -n separate "$log/out")"
salai --cores 4 mla_prolog a.npy b.npy bias.npy -o cores.npy
tap_check mla_prolog/same_on_4_cores "$(has_status 0; cmp out.npy cores.npy 2>&1)"
salai
cp "$log/out" "$log/default"
tap_check mla_prolog/is_the_default "$(has_status 0; cat "$log/err"
    says out 'passages of 24 words from 7 texts'; says out '^  cycles '; says out '^verified: '
    awk 'length > 100 { print NR ": " length " columns" }
        END { if (NR > 24) print NR " lines" }' "$log/out")"
salai mla_prolog --text "$here/../../README.md"
tap_check mla_prolog/takes_texts "$(has_status 0; says out 'from 1 texts')"

# What a launch reads, the one before it has read or written.
columns='2 3 4'
salai mla_prolog --m 256 --n 256 --k 256 --check 1
warm=$(for c in $columns; do busy "$c" MTE2; done)
salai mla_prolog --m 256 --n 256 --k 256 --check 1 --cold
tap_check mla_prolog/l2_is_cold_before_each_launch "$(has_status 0
    for c in $columns; do busy "$c" MTE2; done | paste - <(echo "$warm") |
        awk '$1 <= $2 { print "MTE2 busy " $1 " %, warm " $2 " %" }
             END { if (NR != 3) print NR " launches" }')"

# Bars of the kernel, given in the cycles of v1.
for m in 1024 ${FULL:+4096}; do
    salai --timing v1 mla_prolog --m $m --n 1024 --k 1024 --check 2
    tap_check mla_prolog/latency_36_percent_lower_at_$m "$(has_status 0
        at_least "$(fewer_cycles)" 36)"
    tap_check mla_prolog/traffic_beyond_operands_60_percent_less_at_$m \
        "$(at_least "$(beyond_operands)" 60)"
    tap_check mla_prolog/vector_busy_82_percent_at_$m "$(at_least "$(busy 1 V)" 82)"
    tap_check mla_prolog/baseline_is_tuned_at_$m "$(at_least "$(busy 2 M)" 88
        at_least "$(busy 3 V)" 89; at_least "$(busy 4 V)" 98)"
done

refused two_files 'want 3 .npy files \(a, b, bias\), or texts, or --m, --k and --n' a.npy b.npy
refused sizes_with_files '--m is for made-up data' a.npy b.npy bias.npy --m 4
refused sizes_with_texts '--m is for made-up data' --text --m 4
refused one_size 'want 3 .npy files' --m 4
refused float32 'bias32.npy: bias is float32, want float16' a.npy b.npy bias32.npy
refused short_bias 'short.npy: bias is \(332,\), but n is 333 by b.npy' a.npy b.npy short.npy
refused wrong_b 'square.npy: b is \(333, 333\), but k is 147 by a.npy' a.npy square.npy bias.npy
refused matrix_as_bias 'square.npy: bias is \(333, 333\), want \(n,\)' a.npy b.npy square.npy
refused no_columns 'none.npy: b is \(147, 0\), which is no elements' a.npy none.npy bias.npy
refused missing_text 'mla_prolog: gone: no such file' --text gone
tap_done
