#!/bin/bash
# SPDX-License-Identifier: MIT
#
# confine_test.sh    what an image may do to the host, and what not
#
# tests/broken/escape.c is the image. Each way out is closed, opens where an argument names
# the file and the way is the right one, and opens with UNCONFINED=1. TAP on stdout.
set -u
. "$(dirname "$0")/../cli.sh"
work_begin confine
escape=(--image "$TEST_IMAGE" escape)

# comes_through WAY, is_refused WAY    how the last run ended, and that it said so
comes_through()
{
    has_status 0
    says out "^$1: came through\$"
    cat "$log/err"
}

is_refused()
{
    has_status 0
    says out "^$1: refused\$"
    says err '^(salai: )?.*npu.so: refused: the image .*UNCONFINED=1'
    [ "$(wc -l < "$log/err")" -eq 1 ] || cat "$log/err"
}

echo secret > secret
mkdir other out
echo far > other/far
ln -s ../secret other/link
ln -s secret here

ways()
{
    local way

    salai "${escape[@]}"
    tap_check list "$(has_status 0; for way in $all; do says out "^$way\$"; done
        [ "$(wc -l < "$log/out")" -eq "$(wc -w <<< "$all")" ] || cat "$log/out")"
}

# What a file can have done to it, and with which words on the command line that is right.
files()
{
    local way

    for way in read input update write append output remove rename long_name no_length; do
        salai "${escape[@]}" $way @secret
        tap_check "closed/$way" "$(is_refused $way; grep -qx secret secret || echo changed)"
    done
    for way in write output update append remove; do
        salai "${escape[@]}" $way @secret secret
        tap_check "closed/${way}_of_an_input" "$(is_refused $way
            grep -qx secret secret || echo changed)"
    done
    for way in read input; do
        salai "${escape[@]}" $way @./other/../secret secret
        tap_check "open/${way}_of_an_input" "$(comes_through $way)"
        salai "${escape[@]}" $way @secret x=here
        tap_check "open/${way}_of_a_link" "$(comes_through $way)"
        salai "${escape[@]}" $way @other/../../confine/secret other
        tap_check "closed/${way}_above_a_folder" "$(is_refused $way)"
    done
    for way in write output append; do
        salai "${escape[@]}" $way @new -o new
        tap_check "open/${way}_of_an_output" "$(comes_through $way; ls new 2>&1 | grep -v new)"
        rm -f new
        salai "${escape[@]}" $way @fresh -o new
        tap_check "closed/${way}_beside_an_output" "$(is_refused $way; ls | grep fresh)"
    done
    salai "${escape[@]}" output @new -o z=new
    tap_check open/output_by_name "$(comes_through output)"
}

# Whatever an argument says, except by UNCONFINED.
calls()
{
    local way

    for way in name unknown nowhere; do
        salai "${escape[@]}" $way @secret secret -o secret
        tap_check "closed/$way" "$(is_refused $way)"
    done
    echo a > a
    salai "${escape[@]}" clock @a a
    tap_check closed/clock "$(has_status 0; says out '^clock: refused$')"
    UNCONFINED=1 salai "${escape[@]}" clock @a a
    tap_check unconfined/clock "$(comes_through clock)"
    salai "${escape[@]}" system "@touch ran" "touch ran"
    tap_check closed/system "$(is_refused system; ls | grep ran)"
    for way in /proc/self/mem /proc/self/environ /dev/tty /etc/passwd "$root/build/npu.so" \
        "$root/build/scratch/../npu.so" "$TEST_IMAGE.none" other/link; do
        salai "${escape[@]}" update "@$way"
        tap_check "closed/update_${way##*/}" "$(is_refused update)"
    done
    ln -s "$PWD/secret" "$root/build/scratch/link.$$"
    salai "${escape[@]}" write "@$root/build/scratch/link.$$"
    tap_check closed/link_in_scratch "$(is_refused write; grep -qx secret secret || echo changed)"
    rm "$root/build/scratch/link.$$"
}

# The second wall alone: there is nobody to say why.
kernel()
{
    local way

    export NPU_ARGS=confine=kernel
    salai "${escape[@]}" read @secret secret
    if grep -q Landlock "$log/err"; then
        tap_skip kernel "this kernel has no Landlock" 9
        return
    fi
    tap_check kernel/open "$(comes_through read)"
    for way in read write append input output remove rename; do
        salai "${escape[@]}" $way @other/far -o out/new
        tap_check "kernel/$way" "$(says out "^$way: refused\$"; cat other/far 2>&1 | grep -vx far)"
    done
    salai "${escape[@]}" system "@touch $PWD/ran" -o out/new
    tap_check kernel/system "$(has_status 0; ls | grep ran)"
    unset NPU_ARGS
}

unconfined()
{
    export UNCONFINED=1
    salai "${escape[@]}" read @secret
    tap_check unconfined/read "$(comes_through read)"
    salai "${escape[@]}" system "@touch ran"
    tap_check unconfined/system "$(comes_through system; ls ran 2>&1 | grep -v '^ran$')"
    unset UNCONFINED
    NPU_ARGS=confine=perhaps salai vadd
    tap_check bad_option "$(has_status 2
        says err 'confine=perhaps: off, kernel, on, strict are allowed')"
}

all="read update write append input output remove rename system name unknown long_name
    no_length nowhere clock"
ways
files
calls
kernel
unconfined
tap_done
