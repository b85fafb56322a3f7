#!/bin/bash
# SPDX-License-Identifier: MIT
#
# output_test.sh    what a run does to the folder of its output
#
# An output takes its place when it is complete, and whatever else is there stays as it is:
# files of similar names, links, modes, the output of another run. TAP on stdout.
set -u
. "$(dirname "$0")/../cli.sh"
both=(vadd a.npy b.npy -o)
elements=6000000
big=(vadd big.npy big.npy --check 0 -o)

# What the firmware has begun to write and not put in its place.
parts()
{
    find . -name '.*.salai-*' | sed 's/^/left behind: /'
}

# written FILE    the last run has made it, and nothing else
written()
{
    has_status 0
    cmp want.npy "$1" 2>&1
    parts
}

# --- what is there already ---

beside()
{
    echo "the user's" | tee mine victim > c.npy.part
    salai "${both[@]}" c.npy
    tap_check beside/file_of_a_similar_name "$(written c.npy; cmp mine c.npy.part 2>&1)"
    ln -sf victim c.npy.part
    salai "${both[@]}" c.npy
    tap_check beside/link_of_a_similar_name "$(written c.npy; cmp mine victim 2>&1)"
    ln c.npy hard.npy
    salai vadd b.npy b.npy -o c.npy
    tap_check beside/other_hard_link "$(has_status 0; cmp want.npy hard.npy 2>&1)"
    rm -f c.npy* hard.npy mine victim
}

modes()
{
    local mode

    for mode in 600 755 ${FULL:+640 644 666}; do
        echo old > c.npy
        chmod $mode c.npy
        salai "${both[@]}" c.npy
        tap_check "mode/$mode" "$(written c.npy; stat -c %a c.npy | grep -vx $mode)"
    done
    rm -f c.npy
    for mode in 022 077 002; do
        (umask $mode && salai "${both[@]}" "$mode.npy"; echo $status > status)
        status=$(cat status)
        tap_check "mode/of_a_new_file_with_umask_$mode" "$(written $mode.npy
            stat -c %a $mode.npy | grep -vx "$(printf %o $((0666 & ~0$mode)))")"
    done
    cp b.npy read-only.npy
    chmod 444 read-only.npy
    refused mode/read_only 'vadd: read-only.npy: permission denied' "${both[@]}" read-only.npy
    rm -f 0*.npy status read-only.npy
}

links()
{
    mkdir -p far/away
    cp b.npy far/away/real.npy
    ln -s away/real.npy far/one.npy
    ln -s far/one.npy two.npy
    salai "${both[@]}" two.npy
    tap_check link/chain "$(written far/away/real.npy; readlink two.npy far/one.npy |
        diff - <(echo far/one.npy; echo away/real.npy); cmp want.npy two.npy 2>&1)"
    ln -s far/away/new.npy dangling.npy
    salai "${both[@]}" dangling.npy
    tap_check link/dangling "$(written far/away/new.npy; [ -L dangling.npy ] || ls -l dangling.npy)"
    ln -s far/none/new.npy nowhere.npy
    refused link/into_no_folder 'nowhere.npy: no such file' "${both[@]}" nowhere.npy
    ln -s loop.npy loop.npy
    ln -s ring1.npy ring2.npy
    ln -s ring2.npy ring1.npy
    refused link/to_itself 'loop.npy: too many symbolic links' "${both[@]}" loop.npy
    refused link/ring 'ring1.npy: too many symbolic links' "${both[@]}" ring1.npy
    ln -s far folder.npy
    refused link/to_a_folder 'folder.npy: is a directory' "${both[@]}" folder.npy
    ln -s /dev/full device.npy
    refused link/to_a_device 'device.npy: is not a regular file' "${both[@]}" device.npy
    mkfifo fifo.npy
    refused link/fifo 'fifo.npy: is not a regular file' "${both[@]}" fifo.npy
    rm -rf far ./*ing*.npy two.npy loop.npy nowhere.npy folder.npy device.npy fifo.npy
}

# A file cannot be renamed into another file system.
other_file_system()
{
    local other

    if [ "$(stat -c %d /dev/shm 2> /dev/null)" = "$(stat -c %d .)" ] ||
        ! other=$(mktemp -d /dev/shm/salai.XXXXXX 2> /dev/null); then
        tap_skip link/into_another_file_system "no other one"
        return
    fi
    ln -s "$other/c.npy" abroad.npy
    salai "${both[@]}" abroad.npy
    tap_check link/into_another_file_system "$(written "$other/c.npy"
        find "$other" -name '.*'; [ -L abroad.npy ] || ls -l abroad.npy)"
    rm -rf "$other" abroad.npy
}

names()
{
    local name

    for name in 'a b' 'a%20b' 'a,b' "a'b" '-c' 'x=y' "$(printf 'n%.0s' {1..255})"; do
        salai "${both[@]}" "$name"
        tap_check "name/${name:0:10}" "$(written "./$name")"
        rm -f "./$name"
    done
    refused name/too_long 'file name too long' "${both[@]}" "$(printf 'n%.0s' {1..256})"
    refused name/empty 'no such file or directory' "${both[@]}" ''
}

# --- runs that do not end well, runs at the same time ---

# begin FILE ARGUMENT...    starts a run and holds it while it writes FILE, which it has
# only begun, and dropped again, before it computed. On a busy host that may pass unseen:
# then another run is held.
begin()
{
    local part

    for _ in {1..20}; do
        "$SALAI" "${@:2}" "$1" > "$log/out" 2> "$log/err" < /dev/null &
        run=$!
        while kill -0 $run 2> /dev/null; do # no other program, it would often be too late
            for part in ".$1".salai-*; do
                if [ -s "$part" ]; then
                    kill -STOP $run
                    return
                fi
            done
        done
        rm -f "$1"
    done
    echo "it was not seen writing: $(cat "$log/err")"
}

# It is over, and the output is there, whole, or nothing is. A signal may come when it is.
nothing_half()
{
    wait $run
    status=$?
    parts
    [ $status -eq 0 ] || [ $status -ge 128 ] || has_status 130
    if [ $status -eq 0 ] || [ -e c.npy ]; then
        [ "$(stat -c %s c.npy)" -eq $((elements * 4 + 128)) ] || ls -l c.npy
    fi
}

signals()
{
    local s

    for s in TERM INT ${FULL:+HUP QUIT XCPU SEGV}; do
        tap_check "signal/$s" "$(set +m; begin c.npy "${big[@]}" && kill -$s $run
            kill -CONT $run; nothing_half 2> /dev/null)"
        rm -f c.npy
    done
    tap_check signal/KILL_leaves_what_the_next_run_removes "$(begin c.npy "${big[@]}"
        kill -KILL $run; wait $run 2> /dev/null
        [ "$(parts | wc -l)" -eq 1 ] || echo "no leftover: nothing was tested"
        touch .c.npy.salai-notes .c.npy.salai-00000000000000000
        salai "${both[@]}" c.npy; written c.npy | grep -v 'notes$\|/.c.npy.salai-0*$'
        ls .c.npy.salai-notes .c.npy.salai-00000000000000000 2>&1 > /dev/null)"
    rm -f c.npy .c.npy.salai-*
}

# A signal between the creation of the file and the note of it, on whatever thread.
signal_at_creation()
{
    cc -shared -fPIC -D_GNU_SOURCE -o "$work/slow.so" "$root/tests/qemu/cli/slow.c" || exit 1
    tap_check signal/at_creation "$(set +m
        LD_PRELOAD=$work/slow.so "$SALAI" vadd --n 5 -o c.npy > "$log/out" 2> "$log/err" &
        run=$!
        while kill -0 $run 2> /dev/null && [ ! "$(parts)" ]; do
            :
        done
        [ "$(parts)" ] || echo "it was not seen: nothing was tested"
        kill -XCPU $run; wait $run 2> /dev/null
        status=$?
        has_status $((128 + $(kill -l XCPU)))
        parts)"
}

at_the_same_time()
{
    tap_check two_runs/one_output "$(begin c.npy "${big[@]}"
        salai "${both[@]}" c.npy; has_status 0; cmp want.npy c.npy 2>&1
        [ "$(parts | wc -l)" -eq 1 ] || echo "the other run's file is gone"
        kill -CONT $run; rm -f c.npy; nothing_half)"
    rm -f c.npy
}

limits()
{
    cp b.npy old.npy
    for name in old new; do
        (ulimit -f 1000; salai "${big[@]}" $name.npy; echo $status > status)
        status=$(cat status)
        tap_check "limit/file_size_$name" "$(has_status 2; one_line; parts
            says err "^vadd: $name.npy: could not be written"; cmp b.npy old.npy 2>&1
            [ ! -e new.npy ] || ls -l new.npy)"
    done
    rm -f old.npy new.npy status
}

# QEMU by hand: the launcher has no part in this.
by_hand()
{
    cp b.npy c.npy
    chmod 600 c.npy
    timeout 20 qemu-system-riscv64 -M virt -smp 1 -m 2G -bios none -display none -serial none \
        -monitor none -nodefaults -icount shift=0,sleep=off -plugin "$root/build/npu.so" \
        -semihosting-config \
        enable=on,target=native,arg=x,arg=vadd,arg=a.npy,arg=b.npy,arg=-o,arg=c.npy \
        -kernel "$root/build/salai.elf" > "$log/out" 2> "$log/err" < /dev/null
    status=$?
    tap_check without_the_launcher "$(written c.npy; stat -c %a c.npy | grep -vx 600)"
    rm -f c.npy
}

work_begin output
"$here/golden.py" make-bad || exit 1
cp a.npy b.npy
salai vadd a.npy b.npy -o want.npy
/usr/bin/python3 -c "import numpy; numpy.save('big.npy', numpy.ones($elements, 'f4'))" || exit 1
beside
modes
links
other_file_system
names
limits
by_hand
at_the_same_time
signals
signal_at_creation
tap_done
