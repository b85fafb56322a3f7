#!/bin/bash
# SPDX-License-Identifier: MIT
#
# Recordings, and gdb going back in them. Run by `make test` from the top of the tree; the
# tests are in travel_test.py. gdb's own words go to stderr.
exec gdb-multiarch -nx -batch -x tests/qemu/gdb/travel_test.py 3>&1 1>&2 < /dev/null
