#!/bin/bash
# SPDX-License-Identifier: MIT
#
# gdb on a live run: looking and stopping, without changing anything. Run by `make test`
# from the top of the tree; the tests are in stop_exact_test.py. gdb's own words go to stderr.
exec gdb-multiarch -nx -batch -x tests/qemu/gdb/stop_exact_test.py 3>&1 1>&2 < /dev/null
