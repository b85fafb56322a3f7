#!/bin/bash
# SPDX-License-Identifier: MIT
#
# make bench-compare: figures that moved, where two traces part, and what cannot be compared.
set -u
. "$(dirname "$0")/../qemu/cli.sh"
work_begin compare
SALAI=$root/build/compare

cat > old.csv << 'END'
machine,program,m,cycles,limit,how
a2 v2,"add, twice",1,1000,900,two buffers, no waits
a2 v2,mul,1,1000,900,one
a2 v2,mul,2,1000,900,one
a2 v2,gone,1,1000,900,one
END
sed 's/^\(a2 v2,"add, twice",1\),1000/\1,1011/; s/^\(a2 v2,mul,1\),1000/\1,1010/
    s/^\(a2 v2,mul,2\),1000,900,one/\1,990,900,two/; s/gone/come/' old.csv > new.csv
salai old.csv new.csv
tap_check compare/names_what_got_slower "$(has_status 1
    [ "$(grep -n '^slower' "$log/out" | cut -c -20)" = '1:slower  a2 v2 add,' ] ||
        cat "$log/out"
    says out '^slower +a2 v2 add, twice 1 .* 1000 -> 1011 .*[+]1.10 %$'
    says out '^more    a2 v2 mul 1 .* 1000 -> 1010 .*\+1.00 %$'
    says out '^less    a2 v2 mul 2 .* 1000 -> 990 .*-1.00 %$'
    says out '^other   a2 v2 mul 2 +how +one -> two'
    says out '^only in old.csv: a2 v2 gone 1$'
    says out '^only in new.csv: a2 v2 come 1$'
    says out '^3 of 3 rows moved, 1 figures slower by more than 1 %, 2 rows of one side$')"
salai old.csv old.csv
tap_check compare/nothing_moved "$(has_status 0
    says out '^0 of 4 rows moved, 0 figures slower by more than 1 %, 0 rows of one side$'
    [ "$(wc -l < "$log/out")" -eq 1 ] || cat "$log/out")"

sed '2,$s/^a2 v2/a2 v1/' old.csv > timing.csv
sed '3s/^a2 v2/a2 v1/' old.csv > mixed.csv
sed '1s/machine/where/' old.csv > nowhere.csv
sed '1s/,m,/,n,/' old.csv > columns.csv
sed '4s/,.*//' old.csv > short.csv
sed 's/cycles/weight/' old.csv > weight.csv
printf 'a\0b' > noise.csv
: > empty.csv
cannot() # NAME PATTERN OLD NEW: one line that has PATTERN, status 2, nothing on stdout
{
    salai "$3" "$4"
    tap_check "compare/refuses_$1" "$(has_status 2; one_line; says err "$2"
        [ ! -s "$log/out" ] || echo "something on stdout")"
}
cannot another_timing 'old.csv is of machine a2 v2, timing.csv is not' old.csv timing.csv
cannot one_machine_more 'mixed.csv is of machine a2 v1, old.csv is not' old.csv mixed.csv
cannot no_machine 'nowhere.csv: does not say of which machine' old.csv nowhere.csv
cannot other_columns 'columns.csv: has other columns' old.csv columns.csv
cannot a_short_row 'short.csv: a row has other columns' old.csv short.csv
cannot no_cycles 'weight.csv: .*no column of cycles' weight.csv old.csv
cannot noise 'noise.csv: is no table' noise.csv old.csv
cannot an_empty_file 'empty.csv: ' old.csv empty.csv
cannot a_missing_file 'none.csv: No such file' old.csv none.csv
cannot two_kinds 'none.json: is of another kind' old.csv none.json
cannot no_trace 'noise.json: ' noise.json noise.json

for run in 'two 1 --buffers 2' 'one 1 --buffers 1' 'wide 2 --buffers 2'; do
    read -r name cores options <<< "$run"
    read -ra options <<< "$options"
    mkdir $name
    "$root/tools/salai" --cores "$cores" --trace $name/trace.json.gz --tables $name -- \
        vadd --n 20000 "${options[@]}" > /dev/null
done
salai two/trace.json.gz two/trace.json.gz
tap_check compare/one_trace_with_itself "$(has_status 0
    says out '^no command at another time$'; says out '^no command that is another one$')"
# With a buffer less the second tile of x goes elsewhere, and y comes first to a free one.
salai two/trace.json.gz one/trace.json.gz
tap_check compare/where_traces_part "$(has_status 1
    says out '^first command at another time: launch 1, [0-9]+ cycles behind its call$'
    says out '^  two/trace.json.gz: MTE2 1 of core 0, COPY_GM_UB len_bytes=49152 n_blocks=1$'
    says out '^    kernels/vadd/vadd.c:[0-9]+, cycle [0-9]+: \+[0-9]+, 1044 long, pushed 0 before'
    says out '^first command that is another one: launch 1, [0-9]+ cycles behind its call$'
    says out '^  one/trace.json.gz: MTE2 2 of core 0')"
# One command that takes 7 cycles more, and nothing else.
/usr/bin/python3 - << 'END'
import gzip, json
trace = json.load(gzip.open("two/trace.json.gz"))
mine = [e for e in trace["traceEvents"] if e.get("args", {}).get("cmd") == 2 and e["tid"] == 1]
mine[0]["dur"] += 0.007
json.dump(trace, open("longer.json", "w"))
END
salai two/trace.json.gz longer.json
tap_check compare/a_command_that_takes_longer "$(has_status 1
    says out '^no command that is another one$'; says out '^  longer.json: V 2 of core 0'
    lengths=$(grep -o "[0-9][0-9]* long" "$log/out" | cut -d " " -f 1 | sort -n | paste -sd -)
    [ $((lengths)) -eq -7 ] || cat "$log/out")"
salai two one
tap_check compare/folders_of_profiles "$(has_status 1
    says out '^slower  1 vadd mix +Task Duration\(us\)'; says out '^first command at another time')"
cannot another_machine 'of machine a2 v2 with 1 cores, wide/trace.json.gz of a2 v2 with 2' two wide
tap_done
