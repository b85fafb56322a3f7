# SPDX-License-Identifier: MIT
#
# What the simulation takes from the machine: cycles from call to return of the launches that an
# operator makes for a batch, what of them a kernel that stays would not cost, bytes of a request.
import csv
import os
import re
import subprocess
import sys
import tempfile

ROOT = os.path.abspath(os.path.dirname(os.path.abspath(__file__)) + "/../..")
TYPE_BITS = {"F32": 32, "F16": 16, "BF16": 16, "S8": 8, "U8": 8, "S16": 16, "S32": 32}
PLACE = re.compile(r"\{(\d+)\}")


def fail(text):
    print(f"serve-sim: {text}", file=sys.stderr)
    sys.exit(2)


def run(cores, words, *options):
    done = subprocess.run([f"{ROOT}/tools/salai", "--cores", str(cores), *options, "--", *words],
                          stdin=subprocess.DEVNULL, capture_output=True, text=True)
    if done.returncode > 1 or not done.stdout:
        fail((done.stderr.strip() or f"status {done.returncode}").splitlines()[0])
    return done.stdout


def launches(cores, words, units):
    """(cycles of each launch from call to return, their price, bytes of operands and results)"""
    words = [PLACE.sub(lambda m: str(int(m[1]) * units), w) for w in words]
    with tempfile.TemporaryDirectory(prefix="salai-") as folder:
        said = run(cores, words, "--tables", folder)
        took, price = {}, 0
        with open(os.path.join(folder, "critical.csv")) as f:
            for row in csv.DictReader(f):
                took[row["launch"]] = took.get(row["launch"], 0) + int(row["cycles"])
                price = int(row["cycles"]) if row["kind"] == "price" else price
    line = next((text for text in said.splitlines() if " -> " in text), "")
    if not took or not line:
        fail("no launch of an operator to measure")
    return list(took.values()), price, [tensors(side) for side in line.split(" -> ", 1)]


def tensors(text):
    """Bytes of each of `a (16, 1024) F16 b (1024, 1024) F16`."""
    found = []
    for shape, kind in re.findall(r"\(([\d, ]*)\) (\w+)", text):
        count = 1
        for n in re.findall(r"\d+", shape):
            count *= int(n)
        found.append(count * TYPE_BITS.get(kind, 32) // 8)
    return found


def empty(cores):
    """(cycles of an empty launch besides its price, of an empty step of a kernel that stays)"""
    image = f"{ROOT}/build/fw-picolibc/test.elf"
    said = run(cores, ["bench"], "--image", image)

    def row(name):
        found = re.search(rf"^  {name} +(\d+)", said, re.M)
        return int(found[1]) if found else fail("test.elf does not tell what a launch costs")

    return row("empty kernel on all cores"), row("step of an empty kernel that stays, all cores")


class Measured:
    """Of a batch of 1, 2, 4 ... units, those between by lines."""

    def __init__(self, cores, words, largest):
        if not any(PLACE.search(w) for w in words):
            fail("ARGS want a {N}: its units are what a request has one or several of")
        self.units = [1 << i for i in range(largest.bit_length())]
        self.cycles, sizes = {}, {}
        for n in self.units:
            self.cycles[n], self.price, sizes[n] = launches(cores, words, n)
        # What grows with the units belongs to a request; the rest stays on the device.
        self.bytes_in, self.bytes_out = (sum(b - a for a, b in zip(x, y))
                                         for x, y in zip(sizes[1], sizes[2]))
        self.empty, self.step = empty(cores)
        self.pieces = len(self.cycles[1]) > 1

    def total(self, units, fused, stays):
        """Cycles of all launches for a batch."""
        below = max(n for n in self.units if n <= units)
        above = min((n for n in self.units if n >= units), default=below)
        at = [self.chosen(n, fused, stays) for n in (below, above)]
        return at[0] + (at[1] - at[0]) * ((units - below) / (above - below) if above > below
                                          else 0)

    def chosen(self, units, fused, stays):
        """An operator that has them runs as one launch first, then as separate ones."""
        took = self.cycles[units]
        took = took[:1] if fused or not self.pieces else took[1:]
        saved = self.price + self.empty - self.step if stays else 0
        return sum(max(t - saved, self.step) for t in took)
