#!/usr/bin/python3
# SPDX-License-Identifier: MIT
#
# Damaged traces and critical paths: `report`, built with sanitizers, reads them or says in a
# line what is wrong. TAP on stdout.
import gzip
import os
import random
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
from tap import done, ok, say  # noqa: E402

ROOT = os.path.abspath(os.path.dirname(os.path.abspath(__file__)) + "/../..")
REPORT = [f"{ROOT}/build/san/report", "--page", f"{ROOT}/tools/profile/page"]
ENV = dict(os.environ, MEM="256M", CORES="2", PROFILE="a2", SEED="0", TIMING="v2", TRACE="")
TIMES = 150
WORDS = b"99999999999999999999", b'"core":31', b'"cmd":1', b"\\", b"null", b"-1", b"[", b"{", b'"'
random.seed(18)


def digits(data):
    """Other numbers: it still is a trace."""
    for i in random.sample(range(len(data)), len(data) // 50):
        if chr(data[i]).isdigit():
            data[i] = random.choice(b"0123456789")


def pieces(data):
    """What lies somewhere else, or nothing, or a word."""
    for _ in range(random.randrange(1, 9)):
        i, k = random.randrange(len(data)), random.randrange(len(data))
        data[i:i + random.randrange(60)] = random.choice(
            (b"", data[k:k + random.randrange(300)], random.choice(WORDS)))


def damaged(data):
    data = bytearray(data)
    random.choice((digits, pieces))(data)
    return data[:random.randrange(len(data))] if random.random() < .2 else data


def main():
    with tempfile.TemporaryDirectory(prefix="salai-") as folder:
        subprocess.run([f"{ROOT}/tools/profile/profile", "--out", folder, "--", "vadd", "--n",
                        "50000"], env=ENV, stdin=subprocess.DEVNULL, capture_output=True,
                       timeout=120, check=True)
        with gzip.open(f"{folder}/trace.json.gz", "rb") as f:
            trace = f.read()
        with open(f"{folder}/critical.csv", "rb") as f:
            path = f.read()
        bad, read = [], 0
        for i in range(TIMES):
            with open(f"{folder}/t.json", "wb") as f:
                f.write(damaged(trace) if i % 4 else trace)
            with open(f"{folder}/c.csv", "wb") as f:
                f.write(damaged(path) if i % 2 else path)
            ran = subprocess.run([*REPORT, "--path", f"{folder}/c.csv", f"{folder}/t.json", "-o",
                                  f"{folder}/r.html"], capture_output=True, text=True,
                                 errors="replace", timeout=60)
            lines = ran.stderr.count("\n")
            if ran.returncode not in (0, 2) or lines != (ran.returncode == 2):
                bad.append(f"{i}: status {ran.returncode}, {ran.stderr[:1500]}")
            read += ran.returncode == 0
        say(f"# {read} of {TIMES} read")
        ok(not bad, "damage/is_read_or_told", "\n".join(bad))
        ok(TIMES / 4 < read < TIMES, "damage/some_is_and_some_is_not")
        return done()


sys.exit(main())
