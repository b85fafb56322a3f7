#!/bin/bash
# SPDX-License-Identifier: MIT
#
# hostile_test.sh    images that try to leave their box
#
# guest.c is the image: bare RISC-V, built here. Whatever it does, the files around its outputs are
# as they were, and QEMU ends in order. With FULL=1 links are swapped for longer. TAP on stdout.
set -u
. "$(dirname "$0")/../cli.sh"
work_begin hostile
image=$work/guest.elf

"${CROSS:-riscv64-unknown-elf-}gcc" -march=rv64gc -mabi=lp64d -mcmodel=medany -O1 -ffreestanding \
    -fno-builtin -nostdlib -static -Wall -Wextra -Werror -Wl,-e,_start,--build-id=none \
    -Wl,--section-start=.first=0x80000000,-Ttext=0x80001000 -o "$image" \
    "$root/tests/qemu/hostile/guest.c" || exit 1

# A folder with what is to stay, beside an output that may be made.
scene()
{
    rm -rf box
    mkdir -p box/below
    echo secret > box/secret
    echo secret > box/below/secret
    echo mine > .bashrc
    echo secret > secret
    ln -s secret box/link
}

# What is there, but for the one output.
content()
{
    find . -path ./box/se -prune -o \( -type f -printf '%p %s ' -exec cksum {} \; \) -o \
        -printf '%p %y %l\n' | sort
}

guest()
{
    salai --image "$image" "$@"
}

# untouched NAME CASE [ARGUMENT...]    it runs to its end, nothing comes through, and no file is
# another one
untouched()
{
    local name=$1 before

    shift
    scene
    before=$(content)
    guest "$@"
    tap_check "$name" "$(has_status 0; says out '^done$'
        grep -a 'came through\|not tested' "$log/out"
        diff <(echo "$before") <(content))"
}

# What reads the UART's FIFO while it is judged, and page tables of any kind.
translation()
{
    untouched walk/parts_of_a_path walk @box/se @cret -o box/se
    tap_check walk/says_why "$(says err 'refused: the image makes host call 0xe, .*page tables')"
    untouched walk/a_file_below walk @box/be @low/secret -o box/be
    untouched walk/a_new_file walk @./.bash @_profile -o ./.bash
    untouched translation/one_stage translated @box/secret
    untouched translation/two_stages two_stages @box/secret
}

arguments()
{
    local p paths=()

    untouched arguments/every_number_and_pointer numbers @box/secret -o box/se
    untouched arguments/every_place places @box/secret -o box/se
    for p in box/secret "$PWD/secret" box/../secret box/below/../secret box/link box/ box .. / . \
        /etc/passwd /proc/self/mem /proc/self/environ /proc/self/fd/0 /proc/self/exe; do
        paths+=("@$p")
    done
    untouched arguments/paths paths "${paths[@]:0:8}" -o box/se
    untouched arguments/more_paths paths "${paths[@]:8}" -o box/se
}

# swap COMMAND ARGUMENT...    runs the command again and again while the guest goes on, from when
# it has begun: a link that is there before is the user's, and is followed
swap()
{
    local command=$1

    shift
    scene
    mkdir real out
    : > "$log/out" # an earlier run has begun there too
    timeout -k 1 60 "$SALAI" --image "$image" "$@" > "$log/out" 2> "$log/err" < /dev/null &
    until grep -q begin "$log/out" || ! kill -0 $! 2> /dev/null; do
        :
    done
    while kill -0 $! 2> /dev/null; do
        eval "$command"
    done
    wait $!
    status=$?
}

# Another process swaps what follows -o, and its folder, for links that lead elsewhere.
swapping()
{
    local i

    for i in $(seq $((${FULL:-0} ? 10 : 1))); do
        swap 'ln -sfn ../secret out/se; ln -sfn ../box/secret out/se; rm -f out/se' \
            busy @out/se -o out/se
        tap_check "swapped/the_output_$i" "$(has_status 0; says out done; kept)"
        rm -rf real out
        swap 'mv out away; ln -s box out; rm out; mv away out' busy @out/secret -o out/secret
        tap_check "swapped/its_folder_$i" "$(has_status 0; says out done; kept)"
        rm -rf real out
        swap 'ln -sfn ../secret box/input; ln -sfn link box/input' busy @box/input box/input
        tap_check "swapped/an_input_$i" "$(has_status 0; says out done; kept)"
        rm -rf real out
    done
}

kept()
{
    grep -qx secret secret || echo "secret: $(cat secret)"
    grep -qx secret box/secret || echo "box/secret: $(cat box/secret)"
    find . -name '.*.salai-*'
}

# A kernel without Landlock, as a library makes one of this one.
without_landlock()
{
    cc -shared -fPIC -D_GNU_SOURCE -o "$work/old.so" "$root/tests/qemu/hostile/old.c" || exit 1
    scene
    export LD_PRELOAD=$work/old.so
    guest paths @box/secret -o box/se
    tap_check without_landlock/says_so "$(has_status 0; says err 'no Landlock'
        grep 'came through' "$log/out")"
    refused without_landlock/strict 'npu.so: confine=strict: this kernel has no Landlock' \
        --strict vadd
    STRICT=1 refused without_landlock/strict_by_environment 'has no Landlock' vadd
    unset LD_PRELOAD
    UNCONFINED=1 refused strict/and_unconfined '^salai: --strict and UNCONFINED=1: one of them' \
        --strict vadd
    salai --strict vadd --n 5
    if grep -q Landlock "$log/err"; then
        tap_skip strict/runs "this kernel has no Landlock"
    else
        tap_check strict/runs "$(has_status 0)"
    fi
}

quota()
{
    local at="$root/build/scratch/hostile.$$"

    guest fill_disk "@$at"
    tap_check quota/bytes_and_files "$(has_status 0; says out '64 MiB are written'
        says out '^no more files$'; grep 'came through' "$log/out"
        says err 'npu.so: refused: .*build/scratch are more than 256 MiB or 256 '
        [ "$(wc -l < "$log/err")" -eq 1 ] || cat "$log/err"
        du --apparent-size -scm "$at"* | awk 'END { if ($1 > 256) print $1 " MiB" }')"
    rm -f "$at"*
}

# Where somebody looks no byte reaches the terminal that it would obey; elsewhere all do.
terminal()
{
    guest print
    tap_check print/a_file_gets_the_bytes "$(has_status 0
        cmp <(printf 'one \033[31mred \233 \302\233 \177 \303\244\t.\r\ndone\n') "$log/out" 2>&1
        cmp <(printf 'two \033]0;title\007\nthree \033c\n') "$log/err" 2>&1)"
    script -qec "'$SALAI' --image '$image' print" /dev/null < /dev/null > "$log/out" 2>&1
    tap_check print/a_terminal_gets_text "$(says out 'one .x1b\[31mred .x9b .xc2.x9b .x7f '
        says out 'two .x1b\]0;title.x07'; says out 'three .x1bc'
        LC_ALL=C grep -ao $'[\001-\010\013\014\016-\037\177]' "$log/out" | od -c | head -n 2 |
            grep -v '^0000000$')"
}

# Under tools/whatif each line goes through another thread.
marked()
{
    script -qec "NPU_ARGS=set=hart=0 '$SALAI' --image '$image' print" /dev/null < /dev/null \
        > "$log/out" 2>&1
    tap_check print/a_marked_line_is_text "$(says out 'what if .*one .x1b\[31mred .x9b ')"
}

translation
arguments
swapping
without_landlock
quota
terminal
marked
tap_done
