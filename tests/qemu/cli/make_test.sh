#!/bin/bash
# SPDX-License-Identifier: MIT
#
# make_test.sh    what `make` makes of its targets and variables, in a copy of the tree
#
# TAP on stdout. The copy has another path than the tree, so that what an image carries of
# its directory shows; nothing is installed.
set -u
. "$(dirname "$0")/../cli.sh"
work_begin make
export NO_INSTALL=1 MAKEFLAGS=-j2
unset OPERATORS IMAGE_KIB T V LIBC IMAGE ARGS

image=build/fw-picolibc/salai
size=${CROSS:-riscv64-unknown-elf-}size
readelf=${CROSS:-riscv64-unknown-elf-}readelf

# made STATUS ARGUMENT...    make in the copy; prints what is wrong about how it ended
made()
{
    local want=$1

    shift
    make "$@" > "$log/out" 2> "$log/err" < /dev/null
    status=$?
    has_status "$want"
}

# at_most KIB IMAGE [BYTES]    of text and rodata, BYTES of them left out
at_most()
{
    "$size" -A "$2" | awk -v kib="$1" -v n="-${3:-0}" '
        $1 == ".text" || $1 == ".rodata" { n += $2 }
        END { if (n <= 0 || n > kib * 1024) print n " bytes of text + rodata, not " kib " KiB" }'
}

# of_room ROOM IMAGE    bytes of text and rodata from a room, as the linker's map has them
of_room()
{
    local bytes=0 size

    while read -r size; do
        bytes=$((bytes + size))
    done < <(awk -v room="/$1/" '/^Linker script and memory map/ { laid_out = 1 }
        NF == 1 { name = $1; next }
        NF == 3 { $0 = name " " $0 }
        laid_out && $1 ~ /^\.(text|rodata)/ && $2 !~ /^0x0+$/ && index($4, room) { print $3 }
        { name = "" }' "${2%.elf}.map")
    echo "$bytes"
}

# What an image may come to. The Matmul object is a library, as tile programs are: it, later
# operators and tile programs have what is left of 768, so it is not counted before that.
# mla_prolog has four kernels, 22 KiB that its pipes wait for and that are compiled to be fast.
sizes()
{
    local kib operators elf

    while read -r kib operators; do
        elf=$image-${operators// /-}.elf
        tap_check "image/${operators// /_}_within_${kib}_kib" "$(
            made 0 OPERATORS="$operators" IMAGE_KIB="$((kib + 64))" "$elf"
            at_most "$kib" "$elf" "$(of_room kernels/mm "$elf")")"
    done <<< '96 vadd
96 matmul
112 mla_prolog
128 vadd matmul mla_prolog'
    tap_check image/all_within_768_kib "$(at_most 768 $image.elf)"
}

alone()
{
    tap_check image/has_what_an_operator_uses "$(made 0 OPERATORS=demo $image-demo.elf
        "$SALAI" --image $image-demo.elf help | grep "^  matmul" > "$log/out" ||
            echo "no matmul")"
    tap_check image/unknown_operator_is_refused "$(made 2 OPERATORS=none $image.elf
        says err 'OPERATORS: no folder kernels/none')"
    tap_check image/limit_names_its_knobs "$(rm -f $image-vadd.elf
        made 2 OPERATORS=vadd IMAGE_KIB=20 $image-vadd.elf
        says err 'OPERATORS=.*IMAGE_KIB='; ls $image-vadd.elf 2> /dev/null)"
}

anywhere()
{
    tap_check image/same_in_any_directory "$(made 0 $image.elf
        cmp $image.elf "$root/$image.elf" 2>&1)"
    # Else a recording would be refused by another checkout.
    tap_check image/plugin_names_no_directory "$(! grep -qF -- "$root/tools" "$root/build/npu.so" ||
        "$readelf" --debug-dump=info "$root/build/npu.so" | grep -m 3 comp_dir)"
    tap_check image/has_a_build_id "$("$readelf" -n $image.elf |
        grep -q 'Build ID: [0-9a-f]\{40\}' || echo none)"
}

targets()
{
    rm -f build/salai.elf
    tap_check target/image_is_made "$(made 0 build/salai.elf; cmp build/salai.elf $image.elf 2>&1
        says out 'COPY salai.elf of build/fw-picolibc')"
    tap_check target/image_that_is_there_is_told "$(made 0 build/salai.elf
        says out 'build/salai.elf is up to date')"
    tap_check target/image_is_of_this_libc_again "$(echo another > build/salai.elf
        made 0 build/salai.elf; cmp build/salai.elf $image.elf 2>&1)"
    tap_check target/each_that_runs_the_image_makes_it "$(for goal in run profile whatif debug \
            record perturb faults bench-launches; do
            made 0 -n OPERATORS=vadd ARGS=vadd $goal
            says out 'salai-vadd.elf' | sed "s/^/$goal: /"
        done)"
    tap_check target/of_another_folder "$(makefile=$PWD/Makefile
        cd / && made 0 -f "$makefile" help; says out 'make run')"
    tap_check target/unknown_is_an_error "$(made 2 build/no.such; says err 'build/no.such')"
    tap_check target/left_over_is_an_error "$(touch build/left.over
        made 2 build/left.over; says err 'no rule makes build/left.over')"
}

# On a machine that has no package at all, as its dpkg-query says.
wants()
{
    local kind=$1 pattern=$2 not=$3

    PATH=$PWD/empty:$PATH tools/setup "$kind" > "$log/out" 2> "$log/err"
    status=$?
    tap_check "setup/$kind" "$(has_status 1; says err "apt-get update && .*$pattern"
        grep -wE -- "$not" "$log/err")"
}

setup()
{
    mkdir empty
    printf '#!/bin/sh\nexit 1\n' > empty/dpkg-query
    chmod +x empty/dpkg-query
    wants run qemu-system-misc 'gdb|clang|libopenblas'
    wants debug gdb-multiarch 'clang|newlib|libmpfr|libopenblas'
    wants test gdb-multiarch.*clang libopenblas
    wants bench libopenblas-dev 'gdb|clang'
    tap_check setup/unknown_kind "$(tools/setup all 2> "$log/err"; status=$?
        has_status 2; says err usage)"
    tap_check setup/make_debug_wants_no_more "$(rm build/packages-run
        made 0 -n debug
        says out 'tools/setup debug'; grep 'setup test' "$log/out")"
}

# The same on a machine that has no compiler and no Python either.
bare()
{
    mkdir bare
    ln -s /usr/bin/* bare/
    rm -f bare/*gcc* bare/*python* bare/cc bare/c99 bare/c89 bare/gdb* bare/dpkg-query
    cp empty/dpkg-query bare/
    rm -f build/packages-run
    PATH=$PWD/bare made 2 run > /dev/null
    tap_check setup/first_lines_name_what_is_missing "$(has_status 2
        head -n 1 "$log/err" | grep -v '^setup: packages are missing; install them'
        grep 'No such file\|not found' "$log/err")"
    touch build/packages-run
}

# Tests whose packages are not there are skipped, and counted.
skips()
{
    PATH=$PWD/empty:$PATH tests/run --needs fold_test.py > "$log/out" 2> "$log/err"
    tap_check skip/is_not_built "$(says err 'libonnx-dev'; grep . "$log/out")"
    PATH=$PWD/empty:$PATH tests/run fold_test.py > "$log/out" 2> "$log/err"
    tap_check skip/is_told_and_counted "$(says out '^skipped: 2, models cannot .*: graph/fold$'
        tail -n 1 "$log/out" | grep -vx '0 passed, 0 failed, 2 skipped'; cat "$log/err")"
}

# A QEMU whose interfaces nobody has looked at: a line, before any compiler.
other_qemu()
{
    printf '#!/bin/sh\necho "QEMU emulator version 8.2.2 (Other 1:8.2.2)"\n' > empty/qemu
    chmod +x empty/qemu
    made 2 QEMU="$PWD/empty/qemu" build/npu.so > /dev/null
    tap_check qemu/unknown_version "$(has_status 2
        says err '^headers: QEMU 8.2.2 .* is not supported: 7.2 .* and 10.0 .* are$'
        grep 'error:' "$log/err")"
}

# The launcher, from elsewhere: then QEMU sees the name of the directory.
elsewhere()
{
    local salai=$PWD/tools/salai

    mkdir build/qemu
    cp "$root/build/npu.so" build/
    cp "$root/build/qemu/stamp" build/qemu/
    cd /
    "$salai" vadd --n 5 > "$log/out" 2> "$log/err" < /dev/null
    status=$?
    tap_check launcher/runs_from_elsewhere "$(has_status 0; says out '^vadd: x .5,. F32')"
}

# A name that make, the shell, gcc and ld could each take for more than a name.
tree='a, tree=copy'
mkdir -p "$tree/build"
(cd "$root" && tar cf - --exclude=./build --exclude=./.git .) | tar xf - -C "$tree"
cd "$tree" || exit 1
touch build/packages-run
# Of each way to compile something is compiled here; with FULL=1 everything.
if [ -z "${FULL:-}" ]; then
    cp -a "$root/build/fw-picolibc" build/
    rm -rf build/fw-picolibc/{*.elf,boot,kernels/vadd,hal/host.c.o,sched/sched.c.o}
fi
anywhere
sizes
alone
targets
setup
bare
skips
other_qemu
elsewhere
tap_done
