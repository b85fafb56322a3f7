#!/bin/bash
# SPDX-License-Identifier: MIT
#
# help_test.sh    what the descriptions of operators tell: help, and the pages in kernels/, whose
#                 table and code must be theirs; the code of sched/README.md likewise
set -u
. "$(dirname "$0")/../cli.sh"
work_begin help
page=$root/kernels/OPERATORS.md
in_test=(--image "$TEST_IMAGE")

# code_differs PAGE EXAMPLE...    blocks of C of the page whose lines are not, one after the
# other, in one of the examples.
code_differs()
{
    local page=$1 block example

    shift
    rm -f code.*
    awk '/^```/ { code = $0 == "```c"; n += code; next } code { print > "code." n }' "$page"
    for block in code.*; do
        for example; do
            awk 'NR == FNR { want[++n] = $0; next } at < n && $0 == want[at + 1] { at++ }
                END { if (!n || at != n) print "not in " FILENAME ": " want[at + 1] }' \
                "$block" "$example" > differ 2>&1
            [ -s differ ] || continue 2
        done
        cat differ
    done
}

# What the build says of the comments at the front of a tile program.
printf '# a sum\n# csae --m 1\n# NumPy x\n# x --m 2\n# case --m 3\n# of x\n' > bad.tile
awk -f "$root/kernels/ops/tags.awk" bad.tile > tags
tap_check help/misspelt_case_is_named "$([ $? = 1 ] || echo "status is not 1"
    [ "$(cut -d: -f1,2 tags | tr '\n' ' ')" = "bad.tile:2 bad.tile:3 bad.tile:4 " ] || cat tags)"

salai help
tap_check help/lists_all "$(has_status 0; for name in demo empty help matmul mla_prolog vadd; do
    says out "^  $name\b"
done)"
salai help matmul
tap_check help/of_one "$(has_status 0
    says out '^  matmul a.npy b.npy \[-o c.npy\] \| --m M --k K --n N$'
    says out '^    shapes  a\[m,k\] b\[k,n\] -> c\[m,n\]$'
    says out '^    --repeat 1..1000 .* \(1\)$')"
salai "${in_test[@]}" help scale
tap_check help/of_options "$(has_status 0
    says out '^    --alpha -1000000..1000000 +factor \(1\)$')"
salai --help
tap_check help/of_the_launcher "$(has_status 0
    says out '^salai \[--cores N\]'
    [ "$(tail -n 1 "$log/out")" = 'a lone %. QEMU takes a doubled comma for one.' ] ||
        tail -n 1 "$log/out")"
salai help --markdown
tap_check help/table_of_the_page "$(has_status 0
    sed -n '/^<!-- table of/,/^<!-- end/{/^<!--/!p}' "$page" | diff - "$log/out")"
tap_check help/code_of_an_operator "$(code_differs "$root/kernels/cli/README.md" \
    "$root/tests/target/kernels/scale.c")"
tap_check help/code_of_a_product "$(code_differs "$root/kernels/mm/README.md" \
    "$root/tests/target/kernels/mm_test.c")"
tap_check help/code_of_sequences "$(code_differs "$root/sched/README.md" \
    "$root/tests/target/sched/negate_test.c")"
salai help --json
tap_check help/json "$(has_status 0; /usr/bin/python3 -c '
import json, sys
all = {op["name"]: op for op in json.load(open(sys.argv[1]))}
vadd = all["vadd"]
assert vadd["io"] == "x[...] y[...] -> z[...]" and vadd["cases"][0] == "--n 1", vadd
assert vadd["options"][0]["name"] == "--buffers" and vadd["options"][0]["max"] == 2, vadd
assert "\n" in all["mla_prolog"]["numpy"] and "help" not in all' "$log/out" 2>&1)"
salai "${in_test[@]}" scale --n 40 --alpha -0.5 --beta 1e-5 -o y.npy
tap_check help/example_runs "$(has_status 0; says out '^verified: 40 of 40'
    ls y.npy 2>&1 > /dev/null)"
salai "${in_test[@]}" scale --n 40 --alpha nan
tap_check help/example_refuses "$(has_status 2; one_line
    says err '^scale: --alpha nan: want a number from -1e.06 to 1e.06$')"
tap_done
