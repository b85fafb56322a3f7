#!/bin/bash
# SPDX-License-Identifier: MIT
#
# What starts gdb, and gdb behind an IDE. Run by `make test` from the top
# of the tree; the tests are in mi_test.py. gdb's own words go to stderr.
exec gdb-multiarch -nx -batch -x tests/qemu/gdb/mi_test.py 3>&1 1>&2 < /dev/null
