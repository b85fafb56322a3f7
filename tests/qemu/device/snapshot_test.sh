#!/bin/bash
# SPDX-License-Identifier: MIT
#
# Snapshots, record and replay: a run goes on as if nothing had happened. Run by `make
# test` from the top of the tree; the tests are in snapshot_test.py, driven by gdb.
exec gdb-multiarch -nx -batch -x tests/qemu/device/snapshot_test.py 3>&1 1>&2 < /dev/null
