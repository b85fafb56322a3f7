#!/bin/bash
# SPDX-License-Identifier: MIT
#
# threads_test.sh    more threads of the host change speed only
#
# All that an operator prints, digests and cycles among it, is the same with THREADS=2, 4 and
# 16; so is what the hart sees of local memories while the engines work there. ALL=1: with all
# of the operators' own cases. TAP on stdout.
set -u
. "$(dirname "$0")/../cli.sh"
unset CORES PROFILE MEM SEED TIMING TRACE SIMD THREADS

# same OPTION... -- ARGUMENT...    with more threads the output of one, and there are so many
same()
{
    local n

    THREADS=1 salai "$@"
    has_status 0
    cp "$log/out" want
    for n in ${threads:-2 4}; do
        NPU_ARGS=host=phases THREADS=$n salai "$@"
        has_status 0
        diff want "$log/out" | head -n 3
        grep -qE "${jobs:-^jobs [1-9][0-9]}" phases || echo "no jobs: $(grep jobs phases)"
        if grep -q '^jobs [1-9]' phases; then
            grep -qx "threads $n" phases || echo "$(grep threads phases) of $n"
            says err "^npu.so: $n threads of the host\$"
        fi
    done
}

work_begin threads
rows=('--cores 24|matmul --m 300 --n 600 --k 500' '|mla_prolog --m 128 --n 384 --k 200')
[ "${ALL:-0}" = 0 ] || mapfile -t -O 2 rows < <("$here/golden.py" perturb)
for row in "${rows[@]}"; do
    read -ra options <<< "${row%%|*}"
    read -ra words <<< "${row#*|}"
    tap_check "same/${words[*]}_on_${options[1]:-1}" \
        "$(jobs='^jobs ' same "${options[@]}" -- "${words[@]}" --digest)"
done
tap_check same/work_is_apart "$(threads='2 4 16' same -- matmul --m 512 --n 512 --k 512 --digest)"
tap_check same/with_a_seed \
    "$(SEED=7 same -- mla_prolog --m 128 --n 128 --k 128 --digest)"
tap_check same/hart_looks_at_memories \
    "$(jobs='^jobs ' same --image "$TEST_IMAGE" -- test mte cube)"
one_processor()
{
    first=$(taskset -cp $$ | sed 's/.*: \([0-9]*\).*/\1/')
    NPU_ARGS=host=phases THREADS=auto taskset -c "$first" "$SALAI" \
        matmul --m 512 --n 512 --k 512 > "$log/out" 2>&1
    grep -qx 'jobs 0' phases || grep jobs phases
}
tap_check auto/one_on_one_processor "$(one_processor)"
for bad in 0 -1 abc 10000; do
    THREADS=$bad salai empty
    tap_check "refuses/$bad" "$(has_status 2; one_line
        says err "threads=$bad: 1\.\.16 are allowed")"
done
THREADS=16 salai empty
tap_check more_than_the_host_has "$(has_status 0; [ "$(nproc)" -ge 16 ] || {
    one_line; says err 'threads=16: this host has'; })"
tap_done
