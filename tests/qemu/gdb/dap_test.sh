#!/bin/bash
# SPDX-License-Identifier: MIT
#
# gdb behind a real debug adapter, if it is there. Run by `make test` from the top
# of the tree; the tests are in dap_test.py. gdb's own words go to stderr.
exec gdb-multiarch -nx -batch -x tests/qemu/gdb/dap_test.py 3>&1 1>&2 < /dev/null
