# SPDX-License-Identifier: MIT
#
# What of a seed changes a result: the first command that leaves other bytes than in the
# plain run, and the few delays that are enough for it. For tools/perturb; what a run tells
# of itself is said in tools/emu/qemu/vary/perturb.c.
import os
import re
import struct
import subprocess

CROSS = os.environ.get("CROSS", "riscv64-unknown-elf-")
BENEATH = re.compile(r"^(hal|sched|boot)/|^\?\?|^/")  # not where a kernel issues it
ORDER = "1"  # the key of what happens first in one cycle, see npu.h
HELD = {"begin": "delaying the begin of {}", "end": "delaying the end of {}",
        "core": "letting core {core}, which was idle, begin late",
        "hart": "holding up the hart, at its access to a register in {where},",
        "line": "raising the interrupt line of core {core} late"}
FLOATS = {"F32": "<f", "F16": "<e"}


class Told:
    """The lines of one run."""

    def __init__(self, path):
        self.ends, self.writes, self.delays = {}, [], []
        with open(path) as f:
            for line in f:
                kind, *words = line.split()
                if kind == "end":
                    self.ends[tuple(words[:3])] = words[3:]
                elif kind == "write":
                    self.writes.append(words)
                else:
                    self.delays.append(words)


def place(image, pc, ra):
    """Where in the source of a kernel that is."""
    chain = [int(pc) - 2] if ra == "0" else [int(pc), int(ra) - 2]
    try:
        text = subprocess.run([CROSS + "addr2line", "-i", "-e", image, *map(hex, chain)],
                              text=True, capture_output=True).stdout
    except OSError:
        text = ""
    lines = [os.path.normpath(line.split(" ")[0]) for line in text.split("\n") if line]
    return next((line for line in lines if not BENEATH.search(line)), hex(int(pc)))


def first_other(told, plain):
    """The first command, as this run ends them, that leaves other bytes; or None."""
    return next((key for key, what in told.ends.items()
                 if key in plain.ends and what[-1] != plain.ends[key][-1] and
                 what[:5] == plain.ends[key][:5]), None)


def bytes_of(told):
    """{(operand, memory, address): (byte, base, bits of an element)}"""
    return {(operand, mem, int(first) + i): (byte, int(base), int(bits))
            for operand, mem, bits, base, first, text in told.writes
            for i, byte in enumerate(bytes.fromhex(text))}


def number(kind, data):
    if kind in FLOATS:
        return f"{struct.unpack(FLOATS[kind], data)[0]:g}"
    return f"{int.from_bytes(data, 'little'):#x}"


def element(kind, ours, plain):
    """The first byte that differs, and the element that has it, in words."""
    at = next((at for at in ours if at in plain and ours[at][0] != plain[at][0]), None)
    if at is None:
        return "other addresses"
    operand, mem, address = at
    _, base, bits = ours[at]
    size = max(bits // 8, 1)
    begin = address - (address - base) % size
    values = [number(kind, bytes(of.get((operand, mem, begin + i), (0,))[0]
                                 for i in range(size))) for of in (ours, plain)]
    which = f"element {(begin - base) // size}, " if bits else ""
    return (f"{operand} {which}{mem.upper()} at {begin:#x} is {values[0]}, "
            f"{values[1]} in the plain run")


def shrink(keys, fails):
    """A small part of `keys` with which the run still fails (Zeller, Hildebrandt:
    Simplifying and isolating failure-inducing input, 2002). fails() judges several."""
    n = 2
    while len(keys) > 1:
        size = -(-len(keys) // n)
        parts = [keys[i:i + size] for i in range(0, len(keys), size)]
        rest = [[k for k in keys if k not in part] for part in parts] if n > 2 else []
        found = fails(parts + rest)
        if found is None:
            if size == 1:
                break
            n = min(2 * n, len(keys))
        else:
            n = 2 if found in parts else max(n - 1, 2)
            keys = found
    return keys


class Culprit:
    """run(seed, delays, more options of npu.so) runs the firmware; differs() judges it."""

    def __init__(self, seed, image, folder, run, differs):
        self.seed, self.image, self.folder = seed, image, folder
        self.run, self.differs = run, differs
        os.makedirs(folder, exist_ok=True)

    def tell(self, seed, of=None):
        path = f"{self.folder}/results-{seed}"
        self.run([(seed, None, f"results={path}" + (f",bytes={':'.join(of)}" if of else ""))])
        told = Told(path)
        os.unlink(path)
        return told

    def command(self, key, name, command):
        return f"{name} command {key[2]} of core {key[0]} ({command})"

    def first(self):
        """What is told of the first other result."""
        told, plain = self.tell(self.seed), self.tell(0)
        self.delays = {words[0]: words for words in told.delays}
        key = first_other(told, plain)
        if not key:
            return "no command that both runs have leaves other bytes"
        name, command, kind, pc, ra, _ = told.ends[key]
        ours, theirs = (bytes_of(self.tell(seed, key)) for seed in (self.seed, 0))
        return (f"first other result: {self.command(key, name, command)}, "
                f"{place(self.image, pc, ra)}: {element(kind, ours, theirs)}")

    def keep(self, keys, name):
        path = f"{self.folder}/{name}"
        with open(path, "w") as f:
            f.writelines(f"{' '.join(self.delays.get(k, [k]))}\n" for k in keys)
        return path

    def fails(self, candidates):
        """The first of them with which the run differs, or None; two at a time."""
        for i in range(0, len(candidates), 2):
            pair = candidates[i:i + 2]
            runs = self.run([(self.seed, self.keep(keys, f"try-{k}"), None)
                             for k, keys in enumerate(pair)])
            for keys, run in zip(pair, runs):
                if self.differs(run):
                    return keys
        return None

    def said(self, key):
        if key == ORDER:
            return "another order within a cycle"
        _, kind, cycles, core, pipe, number_, name, command, pc, ra = self.delays[key]
        where = place(self.image, pc, ra)
        what = f"{self.command((core, pipe, number_), name, command)}, {where},"
        return f"{HELD[kind].format(what, core=core, where=where)} by {cycles} cycles"

    def few(self):
        """(what is enough, in words; the file that lists it)"""
        keys = list(self.delays)
        kept = self.fails([keys, keys + [ORDER]])
        if kept is None:
            return None
        kept = shrink(kept, self.fails)
        path = self.keep(kept, f"seed-{self.seed}")
        for name in ("try-0", "try-1"):
            if os.path.exists(f"{self.folder}/{name}"):
                os.unlink(f"{self.folder}/{name}")
        alone = "alone changes" if len(kept) == 1 else "together change"
        return (f"of {len(keys)} delays {len(kept)} {alone} the result:",
                [self.said(key) for key in kept[:8]], path)
