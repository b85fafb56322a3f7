#!/bin/bash
# SPDX-License-Identifier: MIT
#
# simd_test.sh    the host's vector instructions change speed only
#
# All that an operator prints, digests and cycles among it, is the same on each path that
# this host has; without ALL=1 on the plain one and the best, and on one profile. TAP on
# stdout.
set -u
. "$(dirname "$0")/../cli.sh"
unset CORES PROFILE MEM SEED TIMING TRACE SIMD
levels=(plain avx2 avx512 vnni)
profiles=(a2)
[ "${ALL:-0}" = 0 ] || profiles=(a2 ascend910 ascend310)

# same OPTION... -- ARGUMENT...    on every path the output of the plain one
same()
{
    local level

    SIMD=plain salai "$@"
    has_status 0
    says out '^digest '
    cp "$log/out" want
    for level in "${paths[@]}"; do
        SIMD=$level salai "$@"
        has_status 0
        diff want "$log/out" | sed -n "s/^[<>]/$level: &/p" | head -n 2
    done
}

work_begin simd
# Of the operators' own cases two of each; without ALL=1 one of every sixth operator.
mapfile -t rows < <("$here/golden.py" perturb |
    if [ "${ALL:-0}" = 0 ]; then sed -n 'p;n;n;n;n;n;n;n;n;n;n;n'; else cat; fi)
host=()
for level in "${levels[@]}"; do
    SIMD=$level salai empty
    [ "$status" -eq 0 ] && host+=("$level")
done
tap_check host_has_a_path "$([ "${host[0]:-}" = plain ] || echo "${host[*]}")"
tap_note "this host has ${host[*]}"
paths=("${host[@]:1}")
[ "${ALL:-0}" != 0 ] || paths=("${paths[@]: -1}")
for row in "${rows[@]}"; do
    read -ra options <<< "${row%%|*}"
    read -ra words <<< "${row#*|}"
    for profile in "${profiles[@]}"; do
        tap_check "same_on_$profile/${words[0]}_${words[*]:1}" \
            "$(same "${options[@]}" --profile "$profile" -- "${words[@]}" --check 4 --digest)"
    done
done
SIMD=sse salai empty
tap_check refuses/unknown "$(has_status 2
    says err 'simd=sse: plain, avx2, avx512, vnni are allowed')"
tap_check refuses/what_the_host_has_not "$([ ${#host[@]} -eq 4 ] || {
    SIMD=vnni salai empty
    has_status 2
    says err "simd=vnni: this host has no more than ${host[-1]}\$"
})"
tap_done
