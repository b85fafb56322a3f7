# SPDX-License-Identifier: MIT
#
# Requests on their way through a host, its link and groups of cores: a simulation of events. A
# stream takes what waits for it, up to `batch` requests, brings it over the link, has it launched
# where a group of cores is free, and takes the results back; it has `depth` of these on the way.
# The link is one resource each way, in the order in which transfers come to it; what a transfer
# takes besides its bytes only its stream waits for.
#
# Invariant: the same seed gives the same requests, whatever is simulated with them.
import collections
import heapq
import random

SIZES, WEIGHTS = (1, 2, 4, 8), (8, 4, 2, 1)  # units of a request, and how many ask for so many
CONTENTS = 64  # inputs that differ; some are asked for more often (by 1 / rank)
WARM = 0.1  # of the requests, at first, that are not counted

Config = collections.namedtuple(
    "Config", "groups streams depth batch most cached seconds link latency bytes_in bytes_out")
Config.__doc__ = """groups, streams: of cores, of requests; most: units of a batch; cached: inputs
that the device keeps; seconds(units): of all launches for so many; link: bytes a second;
latency: of a transfer, seconds; bytes: of a unit."""
Request = collections.namedtuple("Request", "at units content stream number", defaults=(0,))


def requests(count, rate, burst, streams, seed):
    """At so many a second on the average, `burst` at once on the average, 1: Poisson."""
    r = random.Random(seed)
    now, left, made = 0.0, 0, []
    ranks = [1 / (1 + i) for i in range(CONTENTS)]
    for number in range(count):
        if left == 0:
            now += r.expovariate(rate / burst)
            left = 1
            while burst > 1 and r.random() > 1 / burst:
                left += 1
        left -= 1
        made.append(Request(now, r.choices(SIZES, WEIGHTS)[0],
                            r.choices(range(CONTENTS), ranks)[0], r.randrange(streams), number))
    return made


class Batch:
    def __init__(self, stream, taken):
        self.stream, self.requests = stream, taken
        self.units = sum(q.units for q in taken)
        self.copied = self.ran = 0.0


class Serving:
    def __init__(self, config, arrivals):
        self.c, self.arrivals = config, arrivals
        self.waiting = [collections.deque() for _ in range(config.streams)]
        self.going = [0] * config.streams
        self.free, self.ready = config.groups, collections.deque()
        self.link = {"in": 0.0, "out": 0.0}
        self.cache = collections.OrderedDict()
        self.events, self.order = [], 0
        self.latency, self.busy, self.copies, self.service, self.end = {}, 0.0, 0.0, 0.0, 0.0

    def later(self, at, what, argument):
        self.order += 1
        heapq.heappush(self.events, (at, self.order, what, argument))

    def transfer(self, now, way, size):
        """When it is over."""
        if size == 0:
            return now
        self.link[way] = max(now, self.link[way]) + size / self.c.link
        return self.link[way] + self.c.latency

    def missing(self, batch):
        """Bytes of inputs that the device does not keep; it then does, and drops the oldest."""
        size = 0
        for q in batch.requests:
            key = q.content, q.units
            if key in self.cache:
                self.cache.move_to_end(key)
                continue
            size += q.units * self.c.bytes_in
            if self.c.cached:
                self.cache[key] = True
                if len(self.cache) > self.c.cached:
                    self.cache.popitem(last=False)
        return size

    def begin(self, now, stream):
        queue = self.waiting[stream]
        while queue and self.going[stream] < self.c.depth:
            taken, units = [], 0
            while queue and len(taken) < self.c.batch and \
                    (not taken or units + queue[0].units <= self.c.most):
                units += queue[0].units
                taken.append(queue.popleft())
            batch = Batch(stream, taken)
            self.going[stream] += 1
            at = self.transfer(now, "in", self.missing(batch))
            batch.copied += at - now
            self.later(at, self.arrived, batch)

    def asked(self, now, request):
        self.waiting[request.stream].append(request)
        self.begin(now, request.stream)

    def arrived(self, now, batch):
        self.ready.append(batch)
        self.launch(now)

    def launch(self, now):
        while self.free and self.ready:
            batch = self.ready.popleft()
            self.free -= 1
            batch.ran = self.c.seconds(batch.units)
            self.busy += batch.ran
            self.later(now + batch.ran, self.computed, batch)

    def computed(self, now, batch):
        self.free += 1
        at = self.transfer(now, "out", batch.units * self.c.bytes_out)
        batch.copied += at - now
        self.later(at, self.done, batch)
        self.launch(now)

    def done(self, now, batch):
        for q in batch.requests:
            self.latency[q] = now - q.at
        self.copies += batch.copied
        self.service += batch.copied + batch.ran
        self.end = now
        self.going[batch.stream] -= 1
        self.begin(now, batch.stream)

    def run(self):
        for q in self.arrivals:
            self.later(q.at, self.asked, q)
        while self.events:
            now, _, what, argument = heapq.heappop(self.events)
            what(now, argument)
        return self.result()

    def result(self):
        counted = self.arrivals[int(WARM * len(self.arrivals)):]
        times = sorted(self.latency[q] for q in counted)

        def rank(percent):
            return times[-(-len(times) * percent // 100) - 1]

        return {"p50": rank(50), "p90": rank(90), "p99": rank(99),
                "qps": len(self.arrivals) / self.end,
                "used": self.busy / self.c.groups / self.end,
                "copies": self.copies / self.service}


def serve(config, count, rate, burst, seed):
    return Serving(config, requests(count, rate, burst, config.streams, seed)).run()


def most(config, count, burst, seed, limit):
    """Requests a second, within 1 %, at which p99 stays below a limit; 0: it never does."""
    low, high = 0.0, 2 * config.groups * config.batch / config.seconds(1)
    while high - low > 0.01 * high:
        rate = (low + high) / 2
        good = serve(config, count, rate, burst, seed)["p99"] <= limit
        low, high = (rate, high) if good else (low, rate)
    return low
