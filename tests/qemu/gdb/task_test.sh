#!/bin/bash
# SPDX-License-Identifier: MIT
#
# gdb's view of the tasks. Run by `make test` from the top of the tree; the tests are in
# task_test.py. gdb's own words go to stderr.
exec gdb-multiarch -nx -batch -x tests/qemu/gdb/task_test.py 3>&1 1>&2 < /dev/null
