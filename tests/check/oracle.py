# SPDX-License-Identifier: MIT
#
# What the race check (tools/emu/check) must find: a graph of who knows of whom, with units
# of a semaphore leaving in the order in which they came, and for each byte all that has to
# be remembered. It shares no code with the check.
import os

GM, UB, L0C = "GM", "UB", "L0C"
V, MTE1, MTE2, MTE3, M, FIX = 1, 2, 3, 4, 5, 7
HART, BARRIER = 8, 9
PIPES = (V, MTE1, MTE2, MTE3, M, FIX)
RESULTS = 6  # the lane of what an Mmad hands on
READ, WRITE, ATOMIC, INEXACT = 0, 1, 2, 0x80
GM_BASE = 0x80000000
CHIP = "chip"


def mem_numbers():
    """Numbers of the memories, in the order of the contract."""
    path = os.path.dirname(os.path.abspath(__file__)) + "/../../hal/contract/mem.def"
    with open(path) as f:
        names = [line[4:].split(",")[0].lstrip("(") for line in f
                 if line.startswith(("MEM(", "STAGE("))]
    return {name: i for i, name in enumerate(names)} | {GM: len(names)}


MEM = mem_numbers()


def fifo_of(core, sem):
    return (CHIP, sem) if sem >= 64 else (core, sem)

class Oracle:
    """Knowledge is a set of bits: each access of a command, each result of an Mmad, each
    access of the hart has one."""

    def __init__(self, cores):
        self.cores, self.bits, self.task = cores, 0, 0
        self.pipe = {(c, p): 0 for c in range(cores) for p in range(8)}
        self.serial = dict.fromkeys(self.pipe, 0)
        self.queue = {key: [] for key in self.pipe}
        self.known = {}    # what a running command knew as it began, its bits
        self.units, self.fifo, self.barrier = {}, {}, 0
        self.hart, self.all, self.accesses = [0] * cores, 0, 0
        self.bytes = {}    # (core, mem, address): (writers, readers, everybody)
        self.found, self.pairs, self.first = set(), set(), {}

    def bit(self):
        self.bits += 1
        return 1 << self.bits

    def scalar(self, core):
        return (self.hart[core] if self.task else self.all) | self.accesses

    def learn(self, core, mask):
        self.all |= mask
        if self.task:
            self.hart[core] |= mask

    def happens(self, what, *n):
        getattr(self, "on_" + {"-": "take", "+": "post"}.get(what, what))(*n)

    def on_t(self, name):
        if name and not self.task:
            self.hart = [self.all] * self.cores
        self.task = name

    def on_p(self, core, pipe):
        self.queue[core, pipe].append(self.scalar(core))

    def on_b(self, core, pipe):
        key = core, pipe
        self.serial[key] += 1
        result = self.bit() if pipe == M else 0
        self.pipe[key] |= self.queue[key][0] | result
        self.known[key] = [self.pipe[key], self.bit(), result]

    def on_w(self, core, pipe, units):
        mask = 0
        for u in range(8):
            mask |= self.units.get((core, u), 0) if units >> u & 1 else 0
        self.pipe[core, pipe] |= mask
        self.known[core, pipe][0] |= mask

    def on_u(self, core, pipe, units):
        for u in range(8):
            if units >> u & 1:
                self.units[core, u] = self.pipe[core, pipe]

    def on_e(self, core, pipe):
        self.queue[core, pipe].pop(0)
        self.pipe[core, pipe] |= self.known[core, pipe][1]

    def on_o(self, core, pipe, kind, mem, results):
        known, end, result = self.known[core, pipe]
        lane = core * 8 + (RESULTS if results else pipe)
        self.access = (lane, self.serial[core, pipe], result if results else end, kind,
                       known, core, mem)

    def on_r(self, first, count):
        for at in range(first, first + count):
            self.touch(self.access, at, lambda x: True)

    def on_take(self, core, who, sem, count):
        units, mask = self.fifo.setdefault(fifo_of(core, sem), []), 0
        for _ in range(count):
            mask |= units.pop(0)
        if who == HART:
            self.learn(core, mask)
        elif who == BARRIER:
            self.barrier = mask
        else:
            self.pipe[core, who] |= mask

    def on_post(self, core, who, sem, count):
        mask = self.barrier if who == BARRIER else (
            self.scalar(core) if who == HART else self.pipe[core, who])
        self.fifo.setdefault(fifo_of(core, sem), []).extend([mask] * count)

    def on_d(self, core, pipe):
        self.learn(core, self.pipe[core, pipe])

    def on_x(self, core, pipe):
        if core < self.cores:
            for p in range(8) if pipe == HART else (pipe,):
                self.queue[core, p] = []
                if p in (M, FIX):
                    self.units = {k: v for k, v in self.units.items() if k[0] != core}
                self.learn(core, self.pipe[core, p])
        for (of, _), units in self.fifo.items():
            if pipe == HART and of == (core if core < self.cores else CHIP):
                units.clear()

    def on_h(self, write, core, mem, first, count):
        bit = self.bit()

        def known_by_all(x):
            """By whatever the hart pushes from now on, as any core's scalar unit."""
            return x[0] == 0 or not self.task or all(known & x[2] for known in self.hart)

        y = (0, 0, bit, WRITE if write else READ, self.all, core, mem)
        for at in range(first, first + count):
            self.touch(y, at, known_by_all)
        self.accesses |= bit

    def touch(self, y, at, forgets):
        """forgets: whether what y is ordered behind need not be remembered beside it, since
        who knows of y knows of it too."""
        lane, _, _, kind, known, core, mem = y
        place = (0 if mem == MEM[GM] else core, mem, at)
        writers, readers, everybody = self.bytes.setdefault(place, ([], [], []))

        def unordered(x):
            return x[0] != lane and not known & x[2]

        def commute(x):
            return kind >= ATOMIC and x[3] == kind

        for x in everybody:
            if unordered(x) and READ != (x[3] or kind) and (
                    not commute(x) or kind & INEXACT):
                self.pairs.add((place, pair(x, y)))
                self.first.setdefault(place, y)
        for x in writers + (readers if kind != READ else []):
            if unordered(x) and (not commute(x) or kind & INEXACT):
                self.found.add(pair(x, y))
        everybody.append(y)
        if kind == READ:
            readers[:] = [x for x in readers if unordered(x) or not forgets(x)] + [y]
        elif lane:
            # Others of an atomic one's kind are not told of it, so it stands for its kind.
            other = kind >= ATOMIC
            writers[:] = [x for x in writers if
                          (commute(x) if unordered(x) else other and x[3] != kind)] + [y]
            readers[:] = [x for x in readers if other and not unordered(x)]
        else:
            writers[:] = [x for x in writers if not (unordered(x) or forgets(x))] + [y]
            readers[:] = [x for x in readers if not (unordered(x) or forgets(x))]


def pair(x, y):
    return (x[0], x[1], y[0], y[1], int(x[3] == y[3] and bool(x[3] & INEXACT)))
