#!/bin/bash
# SPDX-License-Identifier: MIT
#
# cli_test.sh    the command line as a user meets it: files in and out, refusals, statuses
#
# TAP on stdout. Works in build/test/cli, where `log` keeps what the last run printed.
# SALAI, the program under test, is tools/salai unless the environment has another.
# What is refused must leave one line that names the file and the reason, exit status 2,
# no output and no *.part, and an older output as it was.
set -u
here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$here/../.." && pwd)
. "$here/tap.sh"
SALAI=${SALAI:-$root/tools/salai}
work=$root/build/test/cli
log=$work/log
status=0

salai()
{
    timeout -k 1 20 "$SALAI" "$@" > "$log/out" 2> "$log/err" < /dev/null
    status=$?
}

# --- what a run must have done; each prints what is wrong ---

has_status()
{
    [ "$status" -eq "$1" ] || {
        echo "exit status $status, want $1"
        head -n 3 "$log/err"
    }
}

says()
{
    grep -qE -- "$2" "$log/$1" || echo "no '$2' on std$1: $(head -n 2 "$log/$1")"
}

one_line()
{
    local n

    n=$(wc -l < "$log/err")
    [ "$n" -eq 1 ] || echo "$n lines on stderr, want 1: $(head -n 3 "$log/err")"
}

# Names, inodes, sizes and times of all files, to see that nothing came, went or changed.
files()
{
    find . ! -type d -printf '%i %s %T@ %p\n' | sort
}

# refused NAME PATTERN ARGUMENT...
refused()
{
    local name=$1 pattern=$2 before

    shift 2
    before=$(files)
    salai "$@"
    tap_check "$name" "$(
        has_status 2
        one_line
        says err "$pattern"
        diff <(echo "$before") <(files) | sed -n 's/^[<>]/files changed:&/p'
    )"
}

# As refused, with an output that is new and with one that is there.
refused_output()
{
    refused "$1/no_output" "$2" "${@:3}" -o new.npy
    refused "$1/old_output" "$2" "${@:3}" -o old.npy
}

# --- results ---

goldens()
{
    local name operator options x y words reasons

    mkdir -p "$work/golden" && cd "$work/golden" || exit 1
    "$here/golden.py" make || tap_check golden/files_are_made "golden.py failed"
    while IFS=$'\t' read -r name operator options x y; do
        read -ra words <<< "$options"
        salai --cores 3 "$operator" "$x" "$y" "${words[@]}" -o "$name.out.npy"
        { has_status 0; sed 's/^/stderr: /' "$log/err"; } > "$name.reasons"
    done < <(sed 's/\t\t/\t \t/' cases)
    while IFS=$'\t' read -r name reasons; do
        reasons+=$(cat "$name.reasons")
        tap_check "golden/$name" "$reasons"
    done < <("$here/golden.py" compare)
}
