#!/bin/bash
# SPDX-License-Identifier: MIT
#
# Firmware that writes rubbish to the device (tests/broken/wild.c) comes to its end, on chips
# of every profile and with up to 32 cores, and reads the same again; so do traces and the
# debugger's history of it. `make fuzz FUZZ=device` goes on with other seeds.
set -u
. "$(dirname "$0")/../tap.sh"

wild()
{
    timeout 60 tools/salai --image build/fw-picolibc/test.elf "${@:3}" wild "$1" "$2" 2>&1
}

ends()
{
    local name=$1 text status=0
    shift
    text=$(wild "$@") || status=$?
    [ "$status" = 0 ] && [[ $text == "wild $1: $2 steps, read "* ]] && text= ||
        text="status $status: $text"
    tap_check "wild/$name" "$text"
}

export MEM=64M
ends a2_one_core 1 20000
ends a2_32_cores 2 10000 --cores 32
ends ascend910_16_cores 3 10000 --cores 16 --profile ascend910
NPU_ARGS=debug=on ends ascend310_with_history_and_a_trace 4 10000 --cores 2 --profile ascend310 \
    --trace /dev/null
ends with_a_seed 5 10000 --seed 9 --cores 3
one=$(wild 6 5000 --cores 2) two=$(wild 6 5000 --cores 2)
[ "$one" = "$two" ] && one=
tap_check wild/the_same_again "$one${one:+, then }${one:+$two}"
tap_done
