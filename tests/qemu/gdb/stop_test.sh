#!/bin/bash
# SPDX-License-Identifier: MIT
#
# Stops that the device makes, live, recorded and replayed. Run by `make test` from the
# top of the tree; the tests are in stop_test.py. gdb's own words go to stderr.
exec gdb-multiarch -nx -batch -x tests/qemu/gdb/stop_test.py 3>&1 1>&2 < /dev/null
