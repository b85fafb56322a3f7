# SPDX-License-Identifier: MIT
#
# To be sourced in the tree's root: $scratch is a folder of this run alone, which is gone when
# it ends, by a signal as well. What others are to find is moved from there when it is whole,
# so that two runs at once do not meet.

scratch=$(mktemp -d build/scratch.XXXXXX)
trap 'rm -rf "$scratch"' EXIT
trap 'exit 129' HUP
trap 'exit 130' INT
trap 'exit 143' TERM
