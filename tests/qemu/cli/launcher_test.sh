#!/bin/bash
# SPDX-License-Identifier: MIT
#
# launcher_test.sh    what tools/salai and npu.so refuse before or while the firmware starts
#
# One line and status 2 for what would hang, spin or end with a text of QEMU's; and a tree
# in a folder of any name, or one that cannot be written to, works. TAP on stdout.
set -u
. "$(dirname "$0")/../cli.sh"

# --- inputs that are no files ---

inputs()
{
    mkfifo fifo
    refused input/fifo_without_a_writer 'vadd: fifo: is not a regular file' vadd fifo a.npy
    refused input/second_is_a_fifo 'vadd: fifo: is not a regular file' vadd a.npy fifo
    refused input/text_is_a_fifo 'demo: fifo: is not a regular file' demo fifo fifo
    ln -s fifo link
    refused input/link_to_a_fifo 'vadd: link: is not a regular file' vadd link a.npy
    refused input/device 'vadd: /dev/zero: is not a regular file' vadd /dev/zero a.npy
    refused input/folder 'vadd: .: is a directory' vadd . a.npy
    # With a disk, as a host that is busy makes QEMU look for one.
    SALAI=$root/tools/gdb/record salai --dir rec vadd fifo a.npy
    tap_check input/fifo_in_a_recording "$(has_status 2; one_line
        says err 'vadd: fifo: is not a regular file')"
    rm -rf fifo link rec
}

# --- outputs of the emulator ---

lost_outputs()
{
    local name

    [ -c /dev/full ] || return
    salai --trace /dev/full empty
    tap_check lost/trace "$(has_status 2; one_line; says err '/dev/full: could not be written')"
    salai --trace /dev/full --image "$TEST_IMAGE" fault align
    tap_check lost/trace_of_a_run_that_fails "$(has_status 3
        says err '/dev/full: could not be written')"
    for name in calls inputs; do
        mkdir record
        ln -s /dev/full record/$name
        NPU_ARGS=record=record salai vadd a.npy a.npy
        sed -i '/no block device can store vmstate/d' "$log/err" # a slow host wants a snapshot
        tap_check "lost/$name" "$(has_status 2; one_line; says err 'recording could not be')"
        rm -rf record
    done
    # Long enough that a snapshot is tried, for which there is no disk.
    mkdir record
    NPU_ARGS=record=record salai vadd --n 400000 --check 0
    tap_check lost/snapshot "$(has_status 0)"
    rm -rf record
    refused lost/trace_is_a_folder 'trace=.: Is a directory' --trace . empty
    NPU_ARGS=trace salai empty # QEMU itself warns as well
    tap_check lost/trace_without_a_value "$(has_status 2; says err 'trace= wants a value'
        ls on 2> /dev/null)"
    (ulimit -n 8 && salai vadd --n 5 -o z.npy; exit "$status")
    status=$?
    tap_check lost/too_few_open_files "$(has_status 2; one_line
        says err '[Tt]oo many open files')"
    FAULT=melted refused lost/no_such_fault 'dead:, skip: and seed: are known' empty
    NPU_ARGS=trace= refused lost/trace_without_a_name 'trace=: No such file' empty
}

# --- machines that would not start ---

machines()
{
    local q zfa=

    for q in 100G 9999G 99999999999999999999G; do
        refused "machine/memory_of_$q" "(-m|--mem) $q" --mem $q empty
    done
    # QEMU 10 has Zfa in its rv64 and does not start one that has Zfa without F.
    QEMU_ARGS='-cpu rv64,f=off,d=off' salai empty
    ! grep -q 'Zfa extension requires F' "$log/err" || zfa=,zfa
    for q in d "f,d$zfa" c m; do
        QEMU_ARGS="-cpu rv64,${q//,/=off,}=off" \
            refused "machine/without_${q%$zfa}" 'is for rv64gc' empty
    done
    # Only from QEMU 10 on does this one say what it has.
    [ -z "${FULL:-}" ] || QEMU_ARGS='-cpu sifive-e51' refused machine/without_a_word_about_f \
        '(salai.elf does not start.* pc 0x|is for rv64gc)' empty
    QEMU_ARGS='-semihosting-config enable=off' \
        refused machine/no_semihosting 'semihosting-config enable=on' empty
    QEMU_ARGS="-plugin $root/build/../build/npu.so" \
        refused machine/npu_twice 'is loaded already' empty
    NPU_ARGS=record=.,replay=. refused machine/record_and_replay 'one of them' empty
}

images()
{
    local elf=${CROSS:-riscv64-unknown-elf-}

    echo 'no image' > text.elf
    : > empty.elf
    head -c 100000 /dev/urandom > noise.elf
    head -c 40 "$TEST_IMAGE" > half.elf
    refused image/text 'text.elf: is not an ELF file' --image text.elf empty
    refused image/empty 'empty.elf: is not an ELF file' --image empty.elf empty
    refused image/noise 'noise.elf: is not an ELF file' --image noise.elf empty
    refused image/half_a_header 'half.elf: is not an ELF file' --image half.elf empty
    refused image/of_the_host 'is not for a 64-bit RISC-V' --image "$(type -P bash)" empty
    "${elf}objcopy" -I binary -O elf64-littleriscv text.elf object.elf
    refused image/object_file 'is no firmware' --image object.elf empty
    "${elf}objcopy" --set-start 0x80000004 "$TEST_IMAGE" start.elf
    refused image/other_entry 'is no firmware' --image start.elf empty
    printf '.globl _start\n_start: j _start\n' > spin.S
    "${elf}gcc" -march=rv64gc -mabi=lp64d -nostdlib -Wl,-Ttext=0x80000000 spin.S -o spin.elf
    refused image/spins 'spin.elf does not start.* pc 0x80000000' --image spin.elf empty
    printf '.globl _start\n_start: wfi; j _start\n' > asleep.S
    "${elf}gcc" -march=rv64gc -mabi=lp64d -nostdlib -Wl,-Ttext=0x80000000 asleep.S -o asleep.elf
    refused image/sleeps 'sleeps at pc 0x80000004 for ever' --image asleep.elf empty
    refused image/folder 'no .*' --image . empty
    [ -n "${FULL:-}" ] || return
    printf '.globl _start\n_start: .word 0\n' > trap.S
    "${elf}gcc" -march=rv64gc -mabi=lp64d -nostdlib -Wl,-Ttext=0x80000000 trap.S -o trap.elf
    refused image/traps_for_ever 'trap.elf does not start' --image trap.elf empty
}

# --- trees ---

# What a run needs of the tree, in a folder of this name.
copy_tree()
{
    mkdir -p "$1/tools" "$1/build/qemu"
    cp "$root/tools/salai" "$1/tools"
    cp "$root/build/npu.so" "$root/build/salai.elf" "$TEST_IMAGE" "$1/build"
    cp "$root/build/qemu/stamp" "$1/build/qemu"
}

trees()
{
    local name from names=('x,,y=1,cores=3' "a' b\"c")

    [ -z "${FULL:-}" ] || names+=('a,b' 'a=b' 'a b' "a'b\"c" '*' -o)
    for name in "${names[@]}"; do
        copy_tree "./$name"
        for from in . "./$name" /; do
            SALAI=$PWD/$name/tools/salai
            (cd "$from" && salai vadd --n 1000; echo $status > "$log/status")
            status=$(cat "$log/status")
            tap_check "tree/$name/from_$from" "$(has_status 0; cat "$log/err"
                says out '^vadd: x .1000,. F32')"
        done
        CORE=1 salai --image "./$name/build/test.elf" fault align
        tap_check "tree/$name/core" "$(has_status 3
            ls "./$name/build/core"/*.core 2>&1 > /dev/null)"
        "$SALAI" --gdb empty > "$log/out" 2> "$log/err" &
        for _ in {1..100}; do
            [ ! -S "./$name/build/gdb.sock" ] || break
            sleep 0.02
        done
        tap_check "tree/$name/socket" "$([ -S "./$name/build/gdb.sock" ] || cat "$log/err")"
        kill $! && wait $! 2> /dev/null
        rm -rf "./$name"
    done
    SALAI=$root/tools/salai
}

# Runs as a program of its own, whose mounts end with it; prints only reasons.
read_only()
{
    log=$1/log
    tap_check() { [ -z "$2" ] || echo "$1: $2"; }
    cd "$1/files" && mount --bind read-only read-only &&
        mount -o remount,bind,ro read-only || return
    SALAI=$PWD/read-only/tools/salai
    salai vadd --n 1000
    tap_check run "$(has_status 0)"
    CORE=1 salai vadd --n 1000
    tap_check core "$(has_status 2; one_line; says err 'CORE=1: .*build/core cannot be written')"
    (cd read-only && "$root/tests/run" a=true > "$log/out" 2> "$log/err")
    status=$?
    tap_check test "$(has_status 2; one_line; says err 'build/test.* cannot be written')"
}

read_only_tree()
{
    copy_tree read-only
    if unshare -rm true 2> /dev/null; then
        tap_check tree/read_only "$(unshare -rm bash "$root/tests/qemu/cli/launcher_test.sh" \
            read_only "$work" 2>&1 || echo "ended with status $?")"
    else
        tap_skip tree/read_only "nothing can be mounted"
    fi
}

# tests/run where nothing can be written in /dev/shm, as in many containers.
without_shared_memory()
{
    local why

    if unshare -rm mount -t tmpfs -o ro none /dev/shm 2> /dev/null; then
        why=$(unshare -rm sh -c "mount -t tmpfs -o ro none /dev/shm; cd '$root'
            tests/run help_test.sh" 2>&1)
        tap_check run/without_shared_memory "$(grep -q '^[1-9][0-9]* passed, 0 failed, 0 skipped$' \
            <<< "$why" || echo "$why")"
    else
        tap_skip run/without_shared_memory "nothing can be mounted"
    fi
}

# --- two makes ---

# That the lock of make is on the tree's folder; while it is held, nothing is built.
turns()
{
    local lock=(env -u LOCK -u MAKEFLAGS -u MFLAGS -u MAKELEVEL
        make -C "$root" --no-print-directory)

    tap_check make/waits_for_another "$(exec 8< "$root"; flock 8
        timeout 2 "${lock[@]}" help 8<&- > "$log/out" 2> "$log/err"; status=$?
        has_status 124; says err 'another one is building'; cat "$log/out")"
    tap_check make/is_not_kept_out_by_what_was_killed "$(
        bash -c 'exec 8< "$1"; flock 8; kill -KILL $$' - "$root" 2> /dev/null
        timeout 20 "${lock[@]}" help > "$log/out" 2> "$log/err"; status=$?
        has_status 0; says out 'make run')"
    NO_INSTALL=1 QEMU_ARGS=-S setsid "${lock[@]}" run > "$log/out" 2> "$log/err" &
    tap_check make/what_runs_holds_no_lock "$(sleep 0.5 # to take it
        timeout 60 flock "$root" true || echo "still locked"
        kill -0 $! 2>&1 || cat "$log/err")"
    kill -- -$!
    wait $! 2> /dev/null
}

if [ $# -eq 2 ] && [ "$1" = read_only ]; then
    read_only "$2"
    exit
fi
work_begin launcher
"$here/golden.py" make-bad || exit 1
inputs
lost_outputs
machines
images
trees
read_only_tree
without_shared_memory
turns
tap_done
