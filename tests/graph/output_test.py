#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""output_test.py    an array of `graph`: what host/output.py asks of a file"""

import os
import sys

import numpy as np

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.dont_write_bytecode = True
sys.path[:0] = [ROOT + "/tests/host", ROOT + "/tests/graph"]
import model  # noqa: E402
import output  # noqa: E402
import tap  # noqa: E402

LONG = 4 << 20  # elements of an array that takes a while


def graph(folder, long):
    with open(f"{folder}/a.pb", "wb") as f:
        f.write(model.tensor("a", np.zeros(LONG if long else 5000, np.float32)))
    return [f"{ROOT}/build/graph", "npy", f"{folder}/a.pb"]


output.judge("graph", graph)
sys.exit(tap.done(12))
