#!/bin/bash
# SPDX-License-Identifier: MIT
#
# The npu commands of tools/gdb against running kernels. Run by `make test` from the top
# of the tree; the tests are in look_test.py. gdb's own words go to stderr.
exec gdb-multiarch -nx -batch -x tests/qemu/gdb/look_test.py 3>&1 1>&2 < /dev/null
