#!/bin/bash
# SPDX-License-Identifier: MIT
#
# Each case of tests/broken/builder.c ends in the assert of its builder.
set -u
. "$(dirname "$0")/../cli.sh"
work_begin builder

salai --image "$TEST_IMAGE" builder
for case in $(cat "$log/out"); do
    salai --image "$TEST_IMAGE" builder "$case"
    tap_check "builder/refuses_$case" "$(
        has_status 3
        says err 'hal/[a-z_]*\.h:[0-9]*: .* assertion .* failed'
    )"
done
tap_done
