# SPDX-License-Identifier: MIT
#
# Random programs for the race check: machine.events of a random legal schedule of random
# commands; and small programs, of which all schedules are looked at.
import itertools

from oracle import (BARRIER, FIX, GM, GM_BASE, HART, INEXACT, ATOMIC, L0C, M, MEM, CHIP, PIPES,
                    READ, UB, V, WRITE, fifo_of)

KINDS = (READ, READ, WRITE, WRITE, ATOMIC, ATOMIC + 1, INEXACT | ATOMIC)


class Command:
    def __init__(self, pipe, waits=(), posts=(), ops=(), units=0, keep=False):
        self.pipe, self.waits, self.posts, self.ops = pipe, list(waits), list(posts), list(ops)
        self.units, self.keep = units, keep  # of L0C


def random_ops(rng, pipe, most):
    ops = []
    for _ in range(rng.randint(0, most)):
        mem = rng.choice((GM, UB))
        base = GM_BASE if mem == GM else 0
        ranges = [(base + rng.randrange(0, 100), rng.choice((1, 4, 8, 32, 33, 64)))
                  for _ in range(rng.randint(1, 2))]
        ops.append((rng.choice(KINDS), MEM[mem], ranges))
    return sorted(ops, key=lambda op: op[0] != READ)


def random_command(rng):
    pipe = rng.choice(PIPES)
    sems = (0, 1, 2, 64, 65)
    c = Command(pipe, ops=random_ops(rng, pipe, 2))
    c.waits = [(rng.choice(sems), 1) for _ in range(rng.choice((0, 0, 1, 2)))]
    c.posts = [(rng.choice(sems), rng.randint(1, 2)) for _ in range(rng.choice((0, 1, 2)))]
    if pipe in (M, FIX) and rng.random() < 0.7:
        c.units, c.keep = rng.randint(1, 3), rng.random() < 0.3
    return c


class Machine:
    """A random legal schedule; self.events is what happens in it."""

    def __init__(self, rng, cores):
        self.rng, self.cores = rng, cores
        self.events = [("n", cores)]
        self.queue = {(c, p): [] for c in range(cores) for p in PIPES}
        self.running = dict.fromkeys(self.queue, False)
        self.value, self.marks = {}, {}
        self.barrier = rng.choice((0, 0, 2))  # chip's 65 counts to it, core's 3 is posted

    def tell(self, *event):
        self.events.append(event)

    def has(self, core, sems):
        want = {}
        for sem, count in sems:
            want[fifo_of(core, sem)] = want.get(fifo_of(core, sem), 0) + count
        return all(self.value.get(key, 0) >= n for key, n in want.items())

    def take(self, core, who, sem, count):
        self.value[fifo_of(core, sem)] -= count
        self.tell("-", core, who, sem, count)

    def post(self, core, who, sem, count):
        key = fifo_of(core, sem)
        if self.value.get(key, 0) + count > 255:
            return
        self.value[key] = self.value.get(key, 0) + count
        self.tell("+", core, who, sem, count)
        while self.barrier and sem == 65 and self.value[key] >= self.barrier:
            self.take(0, BARRIER, 65, self.barrier)
            for c in range(self.cores):
                self.post(c, BARRIER, 3, 1)

    def ready(self, key):
        core, pipe = key
        if self.running[key] or not self.queue[key]:
            return False
        c = self.queue[key][0]
        marked = self.marks.get(core, 0)
        fits = not c.units & marked if pipe == M else c.units & marked == c.units
        return self.has(core, c.waits) and fits

    def begin(self, key):
        core, pipe = key
        c = self.queue[key][0]
        for sem, count in c.waits:
            self.take(core, pipe, sem, count)
        self.running[key] = True
        self.tell("b", core, pipe)
        if c.units:
            self.tell("w", core, pipe, c.units)
            if pipe == M and not c.keep:
                self.marks[core] = self.marks.get(core, 0) | c.units
                self.tell("u", core, pipe, c.units)
                self.tell_results(core, pipe, c.units, 1)

    def tell_results(self, core, pipe, units, early):
        self.tell("o", core, pipe, READ if pipe == FIX else WRITE, MEM[L0C], early)
        for u in range(2):
            if units >> u & 1:
                self.tell("r", 512 * u, 512)

    def end(self, key):
        core, pipe = key
        c = self.queue[key].pop(0)
        self.running[key] = False
        self.tell("e", core, pipe)
        if c.units and (pipe == FIX or c.keep):
            self.tell_results(core, pipe, c.units, 0)
        for kind, mem, ranges in c.ops:
            self.tell("o", core, pipe, kind, mem, 0)
            for first, count in ranges:
                self.tell("r", first, count)
        if c.units and pipe == FIX and not c.keep:
            self.tell("u", core, pipe, c.units)
            self.marks[core] &= ~c.units
        for sem, count in c.posts:
            self.post(core, pipe, sem, count)

    def hart_access(self, core):
        mem = self.rng.choice((GM, UB))
        first = self.rng.randrange(0, 120) + (GM_BASE if mem == GM else 0)
        self.tell("h", self.rng.randint(0, 1), core, MEM[mem], first,
                  self.rng.choice((1, 4, 8)))

    def hart(self):
        rng, core = self.rng, self.rng.randrange(self.cores)
        act = rng.choice(["push"] * 8 + ["post"] * 2 + ["take"] * 3 + ["access"] * 4 +
                         ["drain"] * 2 + ["task", "reset"])
        sem = rng.choice((0, 1, 2, 3, 64, 65))
        key = core, rng.choice(PIPES)
        if act == "push" and len(self.queue[key]) < 8:
            c = random_command(rng)
            self.queue[core, c.pipe].append(c)
            self.tell("p", core, c.pipe)
        elif act == "post":
            self.post(core, HART, sem, rng.randint(1, 2))
        elif act == "take" and self.has(core, [(sem, 1)]):
            self.take(core, HART, sem, 1)
        elif act == "access":
            self.hart_access(core)
        elif act == "drain" and not self.queue[key]:
            self.tell("d", *key)
        elif act == "task":
            self.tell("t", rng.choice((0, 1, 1, 2)))
        elif act == "reset" and rng.random() < 0.2:
            self.reset(core, rng.choice((V, M, FIX, HART, HART)), rng.random() < 0.3)

    def reset(self, core, pipe, chip):
        if chip:
            self.tell("x", self.cores, HART)
            self.value = {k: 0 if k[0] == CHIP else n for k, n in self.value.items()}
            return
        self.tell("x", core, pipe)
        for p in PIPES if pipe == HART else (pipe,):
            self.queue[core, p], self.running[core, p] = [], False
            if p in (M, FIX):
                self.marks[core] = 0
        if pipe == HART:
            self.value = {k: 0 if k[0] == core else n for k, n in self.value.items()}

    def step(self):
        moves = [(self.end, k) for k in self.queue if self.running[k]]
        moves += [(self.begin, k) for k in self.queue if self.ready(k)]
        if not moves or self.rng.random() < 0.5:
            self.hart()
        else:
            move, key = self.rng.choice(moves)
            move(key)


def random_stream(rng):
    m = Machine(rng, rng.choice((1, 1, 2, 3)))
    for _ in range(rng.randint(20, 90)):
        m.step()
    return m.events


# --- all schedules ---

def small_program(rng):
    """(script of the hart, commands of each pipe); each semaphore has one producer and one
    consumer, of pipes and hart."""
    pipes = rng.sample(PIPES, rng.randint(2, 3))
    users = {s: rng.sample(pipes + [HART], 2) for s in range(3)}
    script, queues = [], {p: [] for p in pipes}
    for _ in range(rng.randint(3, 8)):
        p = rng.choice(pipes)
        c = Command(p, ops=[(rng.choice((READ, WRITE)), MEM[UB],
                             [(32 * rng.randrange(3), rng.choice((8, 32)))])])
        for s, (producer, consumer) in users.items():
            if producer == p and rng.random() < 0.6:
                c.posts.append((s, 1))
            elif consumer == p and rng.random() < 0.4:
                c.waits.append((s, 1))
        queues[p].append(c)
        script.append(("push", p))
        for s, (producer, consumer) in users.items():
            if HART in (producer, consumer) and rng.random() < 0.3:
                script.append(("post" if producer == HART else "take", s))
        if rng.random() < 0.3:
            script.append(("access", rng.choice((READ, WRITE)), 32 * rng.randrange(3)))
        if rng.random() < 0.1:
            script.append(("drain", rng.choice(pipes)))
    return script, queues


class Small:
    """A small program; a state is how far the hart is and what each pipe has begun and
    ended."""

    def __init__(self, script, queues):
        self.script, self.queues, self.pipes = script, queues, sorted(queues)

    def value(self, state, sem):
        n = 0
        for act in self.script[:state[0]]:
            n += {("post", sem): 1, ("take", sem): -1}.get(act[:2], 0)
        for p, (begun, ended) in zip(self.pipes, state[1:]):
            n -= sum(s == sem for c in self.queues[p][:begun] for s, _ in c.waits)
            n += sum(s == sem for c in self.queues[p][:ended] for s, _ in c.posts)
        return n

    def pushed(self, state, pipe):
        return sum(act == ("push", pipe) for act in self.script[:state[0]])

    def moves(self, state):
        """(what, next state) of each step that may come"""
        at = state[0]
        if at < len(self.script):
            act = self.script[at]
            if not (act[0] == "take" and self.value(state, act[1]) < 1 or
                    act[0] == "drain" and
                    state[1 + self.pipes.index(act[1])][1] < self.pushed(state, act[1])):
                yield act, (at + 1, *state[1:])
        for i, p in enumerate(self.pipes, 1):
            begun, ended = state[i]
            if begun > ended:
                yield ("end", p), (*state[:i], (begun, begun), *state[i + 1:])
            elif begun < self.pushed(state, p):
                waits = [s for s, _ in self.queues[p][begun].waits]
                if all(self.value(state, s) >= waits.count(s) for s in waits):
                    yield ("begin", p), (*state[:i], (begun + 1, ended), *state[i + 1:])

    def start(self):
        return (0, *((0, 0) for _ in self.pipes))

    def together(self):
        """Accesses that can be under way at one time, as (place, pairs)."""
        seen, todo, pairs = {self.start()}, [self.start()], set()
        while todo:
            state = todo.pop()
            under_way = [(p, begun, op) for p, (begun, ended) in zip(self.pipes, state[1:])
                         if begun > ended for op in self.queues[p][begun - 1].ops]
            act = self.script[state[0]] if state[0] < len(self.script) else ("",)
            if act[0] == "access":
                under_way.append((0, 0, (act[1], MEM[UB], [(act[2], 8)])))
            for (p, i, x), (q, k, y) in itertools.combinations(under_way, 2):
                (at, n), (to, m) = x[2][0], y[2][0]
                if p != q and WRITE in (x[0], y[0]) and at < to + m and to < at + n:
                    pairs.add((max(at, to), frozenset(((p, i), (q, k)))))
            for _, following in self.moves(state):
                if following not in seen:
                    seen.add(following)
                    todo.append(following)
        return pairs

    def one_schedule(self, rng):
        """What happens in one of them."""
        state, events = self.start(), [("n", 1), ("t", 1)]
        while True:
            moves = list(self.moves(state))
            if not moves:
                return events
            (what, *n), state = rng.choice(moves)
            if what in ("begin", "end"):
                self.tell(events, what, n[0], self.queues[n[0]][
                    state[1 + self.pipes.index(n[0])][what == "end"] - 1])
            else:
                events.append({"push": ("p", 0, n[0]), "post": ("+", 0, HART, n[0], 1),
                               "take": ("-", 0, HART, n[0], 1), "drain": ("d", 0, n[0]),
                               "access": ("h", n[0], 0, MEM[UB], n[-1], 8)}[what])

    @staticmethod
    def tell(events, what, p, c):
        if what == "begin":
            events += [("-", 0, p, s, n) for s, n in c.waits] + [("b", 0, p)]
            return
        events.append(("e", 0, p))
        for kind, mem, ((first, count),) in c.ops:
            events += [("o", 0, p, kind, mem, 0), ("r", first, count)]
        events += [("+", 0, p, s, n) for s, n in c.posts]
