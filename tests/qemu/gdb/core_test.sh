#!/bin/bash
# SPDX-License-Identifier: MIT
#
# Post mortem: what a failing run leaves with CORE=1. Run by `make test` from the top of
# the tree; the tests are in core_test.py. gdb's own words go to stderr.
exec gdb-multiarch -nx -batch -x tests/qemu/gdb/core_test.py 3>&1 1>&2 < /dev/null
