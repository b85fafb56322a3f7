#!/bin/bash
# SPDX-License-Identifier: MIT
#
# calibrate_test.sh    a table of msprof as rows of `make calibrate`, and an earlier run beside
#                      them; tables that are none
set -u
. "$(dirname "$0")/../cli.sh"
work_begin calibrate
SALAI=$root/tools/calibrate
example=$root/tests/qemu/cli/op_summary.csv
header=what,source,basis,path,unit,published,modelled,accepted

# refused NAME PATTERN OPTION...    one line that has PATTERN, status 2, and nothing ran
refused()
{
    local name=$1 pattern=$2

    salai "${@:3}"
    tap_check "calibrate/refuses_$name" "$(has_status 2; says err "^calibrate: $pattern"
        [ "$(wc -l < "$log/err")" -eq 1 ] || echo "more than a line"
        [ ! -s "$log/out" ] || echo "something on stdout")"
}

salai --csv "$example" --save now.csv
tap_check calibrate/rows_of_msprof "$(has_status 0
    says out '^MatMul_1 +msprof +predicted +9.5 '
    says out '^MatMul_1: M +msprof +predicted +3.1 .* pt +4$'
    says out '^Add_2 +msprof +predicted '
    says out '^predicted: [0-9]+ of 2 rows within 10 %'
    says out '^1 rows of operators that are not here$')"
sed 's/^\(MatMul_1,.*\),[0-9.]*,/\1,99,/' now.csv > before.csv
salai --csv "$example" --old before.csv
tap_check calibrate/beside_an_earlier_run "$(has_status 0
    says out '^what .* measured +before +error +modelled'
    says out '^MatMul_1 .* 9.5 +99.0 +\+942.1 %'
    says out '^before: predicted: ')"

printf 'a,b\n1,2\n' > other.csv
printf '\0\377\n' > noise.csv
sed '/^MatMul\|^Add/d' "$example" > unknown.csv
printf '%s\n1,2,3,4,5,6,x,8\n' $header > odd.csv
refused a_file_that_is_not_there 'none.csv: No such file' --csv none.csv
refused noise 'noise.csv: ' --csv noise.csv
refused another_table 'other.csv: no table of msprof' --csv other.csv
refused unknown_operators 'unknown.csv: names no operator that is here' --csv unknown.csv
refused another_table_as_old 'other.csv: was not saved by make calibrate' --old other.csv
refused odd_numbers_in_old 'odd.csv: was not saved by make calibrate' --old odd.csv
refused an_option 'usage' --new odd.csv
tap_done
