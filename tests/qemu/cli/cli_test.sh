#!/bin/bash
# SPDX-License-Identifier: MIT
#
# cli_test.sh    the command line as a user meets it: files in and out, several operators,
#                faults, the demonstration
#
# TAP on stdout. What is refused is in bad_input_test.sh.
set -u
. "$(dirname "$0")/../cli.sh"
in_test=(--image "$TEST_IMAGE") # for operators that users do not have
declare -A why                  # NAME of a golden: what is wrong with its run, or nothing

# --- files in, files out ---

# golden CORES CASES    runs these lines in one boot, or, if that does not end well, one
# after the other: then it shows which is to blame. NumPy says what is right; that the hart
# says so, too, is operator/cases_equal_the_definition
golden()
{
    local name operator options files words all=() names=()

    while IFS=$'\037' read -r name _ operator options files; do
        read -ra words <<< "$options"
        IFS=$'\037' read -ra files <<< "$files"
        all+=("$operator" "${files[@]}" "${words[@]}" --check 0 +)
        names+=("$name")
    done < <(tr '\t' '\037' < "$2") # a tab would swallow empty options
    salai --cores "$1" "${all[@]:0:${#all[@]}-1}"
    { has_status 0; sed 's/^/stderr: /' "$log/err"; } > reasons
    if [ -s reasons ] && [ ${#names[@]} -gt 1 ]; then
        while IFS= read -r name; do
            golden "$1" <(echo "$name")
        done < "$2"
    else
        for name in "${names[@]}"; do
            why[$name]=$(< reasons)
        done
    fi
}

goldens()
{
    local name reasons part cores n=0

    for cores in $(cut -f 2 cases | sort -u); do
        awk -F '\t' -v cores="$cores" '$2 == cores { # as many as a command line has words for
            used += n = split($4, words, " ") + NF
            if (used > 250) { part++; used = n }
            print > "on." cores "." part + 0
        }' cases
        for part in on."$cores".*; do
            golden "$cores" "$part"
        done
    done
    while IFS=$'\t' read -r name reasons; do
        n=$((n + 1))
        tap_check "golden/$name" "$reasons${why[$name]-it has not run}"
    done < <("$here/golden.py" compare)
    tap_check golden/all_are_compared "$([ $n -eq "$(wc -l < cases)" ] || echo "$n only")"
    tap_check golden/no_part_is_left "$(find . -name '.*.salai-*')"
}

replacing()
{
    local x=matmul_1.a.npy y=matmul_1.b.npy

    cp $x both.npy
    salai matmul both.npy $y -o both.npy
    tap_check output/may_replace_an_input "$(has_status 0
        cmp both.npy matmul_1.0.out.npy 2>&1)"
    salai matmul $x $y
    tap_check output/is_none_without_o "$(has_status 0
        find . -newer both.npy ! -path . ! -name both.npy)"
}

# An operator with two results, whose shapes are its own.
results()
{
    local x=vadd_f32_f32_3x5x7.x.npy

    /usr/bin/python3 -c "import numpy as np; x = np.load('$x').reshape(-1)
np.save('line.npy', x); np.save('want.npy', x[-9:])"
    salai "${in_test[@]}" ends line.npy --count 9 -o tail=tail.npy
    tap_check output/by_its_name_alone "$(has_status 0; cmp want.npy tail.npy 2>&1
        says out '^ends: x \(105,\) F32 -> head \(9,\) F32 tail \(9,\) F32$'
        find . -newer want.npy -type f ! -name tail.npy)"
    salai "${in_test[@]}" ends line.npy --count 9 -o tail=2.npy -o head=1.npy
    tap_check output/in_any_order "$(has_status 0; cmp want.npy 2.npy 2>&1
        ls 1.npy 2>&1 > /dev/null)"
}

# --- several operators in one boot ---

several()
{
    salai empty + matmul missing.npy b.npy + vadd --n 5
    tap_check several/later_ones_run "$(has_status 2; one_line
        says err 'missing.npy'; says out '^vadd: x \(5,\)')"
    salai matmul a.npy b.npy -o one.npy + matmul b.npy a.npy --out f16 -o two.npy
    tap_check several/each_writes "$(has_status 0; ls one.npy two.npy 2>&1 > /dev/null)"
    salai "${in_test[@]}" crash exit 1 + crash exit 3 + crash exit 2 + empty
    tap_check several/worst_wins "$(has_status 3)"
    salai "${in_test[@]}" crash exit 1 + empty + crash exit 0
    tap_check several/failed_check_stays "$(has_status 1)"
    salai vadd --n 5 + nonsense + empty
    tap_check several/names_are_checked_first "$(has_status 2; one_line
        says err nonsense; cat "$log/out")"
    salai "${in_test[@]}" crash switch
    tap_check several/careless_task_is_named "$(has_status 3
        says err "sched.c:[0-9]+: switch_away: assertion '!irq_taken\(\)' failed, task careless")"
    salai "${in_test[@]}" crash null + empty
    tap_check several/trap_is_reported "$(has_status 3
        says err 'store access fault'; says err 'mtval +0x0+$'; says err 'addr2line')"
}

# --- faults ---

# A command that breaks a rule: the report tells which field of which command, the rule
# and the line of source, and the next operator runs.
fault()
{
    local pc

    salai "${in_test[@]}" fault "$1" + vadd --n 5
    pc=$(sed -n 's/^ *issued at pc.*addr2line.* \(0x[0-9a-f]*\)$/\1/p' "$log/err")
    tap_check "fault/$1" "$(has_status 3; says err "$2"; says err "^ +$3: "
        says out '^vadd: x \(5,\)'
        "${CROSS:-riscv64-unknown-elf-}addr2line" -fe "$TEST_IMAGE" "$pc" |
            tr '\n' ' ' | grep -qE "fault_$1 .*/fault.c:[0-9]+" ||
            echo "'$pc' is not in fault_$1")"
}

faults()
{
    local core='^fault: core 0'

    fault align "$core pipe MTE2: COPY_GM_UB.dst = 16 " ALIGN
    fault bounds "$core pipe V: VADD\." BOUNDS
    fault gm "$core pipe MTE2: COPY_GM_UB.src" GM
    fault pipe "$core pipe MTE2: COPY_UB_GM\." PIPE
    fault type "$core pipe M: MMAD\." TYPE
    fault overflow "$core pipe V: NOP\." SEM_OVERFLOW
    salai "${in_test[@]}" fault register + vadd --n 5
    tap_check fault/register "$(has_status 3; says err "$core: register access at offset 0x"
        says err '^ +READ_ONLY: '; says out '^vadd: x \(5,\)')"
    salai "${in_test[@]}" fault deadlock + vadd --n 5
    tap_check fault/deadlock "$(has_status 3; says err '^fault: deadlock at cycle [0-9]+'
        says err '^ +task deadlock waits since [^:]+ semaphore 0 of core 0: 0 of 1, tests/broken'
        says err '^ +pipe V of core 0 waits'; says out '^vadd: x \(5,\)')"
    salai "${in_test[@]}" fault align + matmul a.npy b.npy -o after.npy + fault bounds + empty
    tap_check fault/two_in_a_boot "$(has_status 3; ls after.npy 2>&1 > /dev/null
        says err '^ +ALIGN'; says err '^ +BOUNDS')"
}

# --- the demonstration ---

demonstration()
{
    local first

    salai demo
    cp "$log/out" "$log/demo"
    first=$(sed '/^$/,$d' "$log/out")
    tap_check demo/succeeds "$(has_status 0; cat "$log/err"
        says out '^GPL-2 '; says out '^ +MTE2 '; says out '^verified: ')"
    tap_check demo/fits_a_screen "$(awk 'length > 100 { print NR ": " length " columns" }
        END { if (NR > 24) print NR " lines" }' "$log/out")"
    tap_check demo/each_text_is_all_in_itself "$(awk 'NR > 2 && /^$/ { exit }
        NR > 2 && $NR != 0 && $(NR - 1) != 100 { print }' "$log/out")"
    salai demo
    tap_check demo/is_the_same_again "$(diff "$log/demo" "$log/out")"
    salai --cores 2 --profile ascend310 demo
    tap_check demo/table_is_the_same_on_another_chip "$(has_status 0
        diff <(echo "$first") <(sed '/^$/,$d' "$log/out"))"
}

work_begin cli
"$here/golden.py" make && "$here/golden.py" make-bad || exit 1
goldens
replacing
results
several
faults
demonstration
# Of several results each says how many of its elements were compared.
salai adamw --shapes 256x128,256x128,256x128,256x128
tap_check run/verified_of_each_result "$(has_status 0
    says out '^verified: 2040 of 32768 of q, 2040 of 32768 of a, 2040 of 32768 of b, 256 of 256')"
tap_done
