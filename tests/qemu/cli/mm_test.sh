#!/bin/bash
# SPDX-License-Identifier: MIT
#
# Products by the Matmul object, and by matmul() with operands and results that the Vector
# makes: random ones against their definition, the same bytes on any
# number of cores and under other timings, without findings of the checker; strategies that
# cannot do a shape. FULL=1: 2000 random products and 600 under 100 seeds, more cores.
set -u
. "$(dirname "$0")/../cli.sh"
work_begin mm

# right COUNT SEED OPTION...    random products
right()
{
    local count=$1 seed=$2

    shift 2
    salai "$@" --image "$TEST_IMAGE" -- "${random:-mmrandom}" "$count" "$seed"
    has_status 0
    says out "^$count products are right$"
}

# digest NAME OPTION... -- ARGUMENT...    of matmul, as it was the first time for that name
digest()
{
    local name=$1

    shift
    salai "$@" --digest --check 4
    has_status 0
    grep '^digest' "$log/out" > "$log/now"
    [ -f "$log/$name" ] || cp "$log/now" "$log/$name"
    cmp "$log/$name" "$log/now" 2>&1
}

# refused NAME TEXT ARGUMENT...    before anything is run
refused()
{
    local name=$1 text=$2

    shift 2
    salai -- matmul "$@"
    tap_check "mm/refuses_$name" "$(has_status 2; one_line; says err "$text")"
}

profiles=(a2 ascend910 ascend310)
types=() # of operands and results, transposed, many; all but the last one
for what in 'matmul --type s8' 'matmul --type u8,u8 --out s8 --scale 1e-3' \
    matmul_sparse 'matmul_tn --type bf16' 'matmul_nt --type f32 --hf32' \
    'matmul_batch --h 5 --out f16'; do
    read -ra what <<< "$what --m 70 --n 130 --k 90 --digest --check 4"
    types+=("${what[@]}" +)
done
count=20
[ -z "${FULL:-}" ] || count=40
for cores in 1 7 ${FULL:+2 24 32}; do
    for part in 1 ${FULL:+$(seq 2 10)}; do
        tap_check "mm/random_products_${part}_on_${cores}_cores" \
            "$(right "$count" "$((cores * 100 + part))" --cores "$cores")"
    done
    tap_check "mm/same_bytes_on_${cores}_cores" \
        "$(digest tiles --cores "$cores" -- matmul --m 300 --n 500 --k 200)"
    tap_check "mm/same_bytes_of_types_on_${cores}_cores" \
        "$(digest types --cores "$cores" -- "${types[@]}" matmul --m 1 --n 900 --k 300)"
    tap_check "mm/same_sums_of_parts_on_${cores}_cores" \
        "$(digest parts --cores "$cores" -- matmul --m 20 --n 60 --k 3000 --strategy split-k)"
done
for seed in 1 3 ${FULL:+2 $(seq 4 100)}; do
    tap_check "mm/same_bytes_with_seed_$seed" \
        "$(digest tiles --seed "$seed" --cores 3 -- matmul --m 300 --n 500 --k 200)"
    tap_check "mm/same_sums_of_parts_with_seed_$seed" "$(digest parts --seed "$seed" --cores 7 \
        -- matmul --m 20 --n 60 --k 3000 --strategy split-k)"
done
for seed in 5 ${FULL:+$(seq 6 105)}; do
    tap_check "mm/random_products_with_seed_$seed" \
        "$(right 6 "$seed" --seed "$seed" --cores "$((seed % 24 + 1))")"
done
tap_check mm/no_findings "$(right 7 5 --cores 3 --sanitize race,hart,memory,sync,init)"
tap_check mm/no_findings_of_what_is_made "$(random=matmulrandom
    right 5 3 --cores 3 --seed 4 --sanitize race,hart,memory,sync,init)"
for part in ${FULL:+$(seq 24)}; do
    tap_check "mm/random_products_made_on_${part}_cores" "$(random=matmulrandom
        right 40 "$part" --cores "$part" --profile "${profiles[part % 3]}")"
done
tap_check mm/no_race_for_bias "$(right 6 77 --seed 77 --cores 6 --sanitize race)"
tap_check mm/no_findings_in_parts "$(digest parts --cores 2 --sanitize race,hart,memory,sync,init \
    -- matmul --m 20 --n 60 --k 3000 --strategy split-k)"
for cores in 2 24; do # MTE2 of a core may have loaded all before the zeros are there
    tap_check "mm/same_sums_of_parts_again_on_${cores}_cores" \
        "$(digest again --cores "$cores" -- matmul --m 35 --n 700 --k 2048 --repeat 3)"
done
# made NAME OPTION... -- ARGUMENT...    operands that the Vector makes first
made()
{
    local name=$1

    shift
    tap_check "mm/makes_$name" "$(salai --sanitize race,hart,memory,sync,init "$@"
        has_status 0; says out 'equal the definition bit for bit$')"
}

made floats --cores 3 --profile ascend910 -- matmul --m 33 --n 70 --k 129 --type f32 --check 200
floats=(--type f32 --m 20 --n 33 --k 40 --check 100)
made floats_however_they_lie --profile ascend310 -- matmul_nt "${floats[@]}" + \
    matmul_tn "${floats[@]}" + matmul_batch --h 2 "${floats[@]}"
made both_bytes --cores 3 -- matmul --m 150 --n 200 --k 90 --type u8,u8
made both_bytes_of_smaller_tiles --cores 1 -- matmul_nt --m 880 --n 299 --k 39 --type u8,u8
made bytes_of_a_batch --cores 5 -- \
    matmul_batch --h 4 --m 35 --n 70 --k 90 --type u8,u8 --out u8 --scale 1e-3
made half_of_b --cores 3 -- matmul_sparse --m 70 --n 150 --k 333 --repeat 3
made half_of_b_without_the_command --profile ascend310 -- matmul_sparse --m 7 --n 15 --k 33
made bytes --cores 3 -- matmul_nt --m 35 --n 70 --k 90 --type u8 --out u8 --scale 1e-3
tap_check mm/planes_without_a_cube_of_floats "$(
    salai --profile ascend310 --image "$TEST_IMAGE" test matmul_made/floats
    has_status 0; says out '^ok 1 ')"
salai --profile ascend910 -- matmul --m 4 --n 4 --k 4 --type f32 --data bits
tap_check mm/refuses_floats_that_no_half_holds "$(has_status 2; one_line
    says err 'has no F32, and F16, which it has, ends at 65504')"
[ -z "${FULL:-}" ] || tap_check mm/more_cores_are_never_slower \
    "$(CORES='1 2 4 8 12 16 24 32' tools/bench-matmul sweep > "$log/out"; has_status_of $?)"
refused gemv_of_rows 'strategy gemv wants m = 1' --m 4 --n 4 --k 4 --strategy gemv
refused gemv_of_bytes_without_a_sign 'strategy gemv wants .* no Vector behind it' \
    --m 1 --n 4 --k 4 --type s8,u8 --strategy gemv
refused split_of_a_short_k 'strategy split-k wants a long k' --m 4 --n 4 --k 4 --strategy split-k
refused batch_of_one 'strategy batch wants a batch' --m 4 --n 4 --k 4 --strategy batch
refused small_of_a_large_c 'strategy small: no tiling of 4000 x 400 x 40 fits' \
    --m 4000 --n 400 --k 40 --strategy small
tap_done
