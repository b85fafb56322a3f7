# SPDX-License-Identifier: MIT
#
# Running the program under test and judging how it ended. To be sourced. SALAI, the
# program, is tools/salai and TEST_IMAGE, the firmware that has `crash` and `fault` as
# well, that of picolibc unless the environment has others.

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
root=$(cd "$here/../.." && pwd)
. "$here/tap.sh"
SALAI=${SALAI:-$root/tools/salai}
TEST_IMAGE=${TEST_IMAGE:-$root/build/fw-picolibc/test.elf}
status=0

# work_begin NAME    enters $work/files, a new directory that goes away in the end; $log
# keeps what the last run printed
work_begin()
{
    mkdir -p "$root/build/test"
    work=$(mktemp -d "$root/build/test/$1.XXXXXX") || exit 1
    log=$work/log
    trap work_end EXIT
    mkdir "$log" "$work/files"
    cd "$work/files" || exit 1
}

work_end()
{
    rm -rf "$work"
}

salai()
{
    timeout -k 1 60 "$SALAI" "$@" > "$log/out" 2> "$log/err" < /dev/null
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
