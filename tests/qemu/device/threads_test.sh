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

# What looks at memories or goes back in time has one thread, however many are asked for.
by_one()
{
    THREADS=4 salai --image "$TEST_IMAGE" -- mla_prolog --m 128 --n 128 --k 128 --digest
    has_status 0
    says err '^npu.so: 1 thread of the host$'
    diff want "$log/out" | head -n 3
}
THREADS=1 salai --image "$TEST_IMAGE" -- mla_prolog --m 128 --n 128 --k 128 --digest
cp "$log/out" want
tap_check one/under_check "$(CHECK=race by_one)"
tap_check one/under_debug "$(NPU_ARGS=debug=on by_one)"
tap_check one/for_a_post_mortem "$(CORE=1 by_one)"
tap_check one/with_broken_hardware "$(FAULT='slow:core0.Vx1' by_one)"
# Two recordings and the way there are the same bytes; what a run leaves is that by one thread.
recorded()
{
    for n in 1 16; do
        THREADS=$n "$root/tools/gdb/record" --dir "record$n" -- vadd --n 20000 --digest \
            > "$log/out" 2> "$log/err" || echo "status $?"
        cp "$log/out" "record$n/out"
    done
    says err '^npu.so: 1 thread of the host$'
    for file in out calls inputs args; do
        cmp record1/$file record16/$file 2>&1
    done
    # but for the sum of what QEMU records, which has the host's clock in it
    cmp <(grep -v '^rr ' record1/manifest) <(grep -v '^rr ' record16/manifest) 2>&1
    THREADS=16 "$root/tools/gdb/record" --dir record1 --replay 2> "$log/err" | cmp - record1/out
}
tap_check one/for_a_recording "$(recorded)"
traced()
{
    for n in 1 4; do
        mkdir "tables$n"
        THREADS=$n salai --trace "tables$n/trace.json" --tables "tables$n" -- \
            matmul --m 512 --n 512 --k 512
    done
    says err '^npu.so: 4 threads of the host$'
    diff -r tables1 tables4
}
tap_check same/trace_and_tables "$(traced)"
for bad in 0 -1 abc 10000; do
    THREADS=$bad salai empty
    tap_check "refuses/$bad" "$(has_status 2; one_line
        says err "threads=$bad: 1\.\.16 are allowed")"
done
THREADS=16 salai empty
tap_check more_than_the_host_has "$(has_status 0; [ "$(nproc)" -ge 16 ] || {
    says err 'threads=16: this host has'; says err '^npu.so: 1 thread of the host$'
    [ "$(wc -l < "$log/err")" = 2 ] || cat "$log/err"; })"
tap_done
