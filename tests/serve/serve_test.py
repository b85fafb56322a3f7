#!/usr/bin/python3
# SPDX-License-Identifier: MIT
#
# The simulation of a service: against queueing theory and by hand; what serve-sim refuses.
# FULL=1: a run of it. TAP on stdout.
import csv
import os
import subprocess
import sys

sys.dont_write_bytecode = True
ROOT = os.path.abspath(os.path.dirname(os.path.abspath(__file__)) + "/../..")
sys.path[:0] = [ROOT + "/tools/serve", ROOT + "/tests"]
import picture  # noqa: E402
import sim  # noqa: E402
from tap import done, ok  # noqa: E402

ONE = dict(groups=1, streams=1, depth=1, batch=1, most=64, cached=0, seconds=lambda units: 1.0,
           link=1e9, latency=0.0, bytes_in=0, bytes_out=0)


def near(value, want, percent, name):
    ok(abs(value - want) <= percent / 100 * want, name, f"{value}, want {want}")


def config(**other):
    return sim.Config(**{**ONE, **other})


def request(at, units=1, content=0, stream=0):
    return sim.Request(at, units, content, stream)


COUNT = 40000 if os.environ.get("FULL") else 25000


def theory():
    """M/D/1: the mean wait is rho / (2 (1 - rho)) services."""
    for rho in 0.5, 0.8:
        s = sim.Serving(config(), sim.requests(COUNT, rho, 1, 1, 3))
        s.run()
        mean = sum(s.latency.values()) / len(s.latency)
        near(mean, 1 + rho / (2 * (1 - rho)), 4, f"serve/md1_at_{rho}")
        near(s.busy / s.end, rho, 2, f"serve/utilisation_at_{rho}")
    made = sim.requests(COUNT, 5, 8, 3, 1)
    near(len(made) / made[-1].at, 5, 3, "serve/rate_of_bursts")
    near(len(made) / len({q.at for q in made}), 8, 3, "serve/requests_of_a_burst")
    s = sim.Serving(config(streams=3), made)
    s.run()
    ok(len(s.latency) == len(made), "serve/requests_of_a_burst_are_each_told", len(s.latency))
    ok(made == sim.requests(COUNT, 5, 8, 3, 1) != sim.requests(COUNT, 5, 8, 3, 2),
       "serve/seed_gives_the_requests")


def latencies(c, *arrivals):
    s = sim.Serving(c, list(arrivals))
    s.run()
    return [round(s.latency[q], 6) for q in arrivals]


def by_hand():
    # In 2, launch 1, out 2, one after the other; with two buffers the next comes in meanwhile.
    slow = dict(link=1.0, bytes_in=2, bytes_out=2)
    two = request(0), request(0.5)
    ok(latencies(config(**slow), *two) == [5, 9.5], "serve/one_buffer",
       latencies(config(**slow), *two))
    ok(latencies(config(**slow, depth=2), *two) == [5, 6.5], "serve/two_buffers",
       latencies(config(**slow, depth=2), *two))
    # Two streams share the link and have a group of cores each.
    both = request(0), request(0, stream=1)
    ok(latencies(config(**slow, streams=2, groups=2), *both) == [5, 7], "serve/streams_share",
       latencies(config(**slow, streams=2, groups=2), *both))
    # The third asks for what the first has brought.
    same = request(0), request(10, content=1), request(20)
    ok(latencies(config(**slow, cached=2), *same) == [5, 5, 3], "serve/cache",
       latencies(config(**slow, cached=2), *same))
    ok(latencies(config(**slow, cached=1), *same) == [5, 5, 5], "serve/cache_is_full",
       latencies(config(**slow, cached=1), *same))
    # While the first runs three wait; two of them fit into a batch.
    waiting = request(0), request(0.1, 2), request(0.2, 2), request(0.3)
    ok(latencies(config(batch=8, most=4), *waiting) == [1, 1.9, 1.8, 2.7], "serve/batches",
       latencies(config(batch=8, most=4), *waiting))
    # A transfer takes its stream a second besides, the link not.
    ok(latencies(config(**slow, latency=1.0), request(0)) == [7], "serve/latency_of_copies")
    best = sim.most(config(), 2000, 1, 1, 3.0)
    ok(sim.serve(config(), 2000, best, 1, 1)["p99"] <= 3.0
       < sim.serve(config(), 2000, 1.03 * best, 1, 1)["p99"], "serve/most_at_a_limit", best)


def run(*words):
    return subprocess.run([ROOT + "/tools/serve/serve-sim", *words], capture_output=True,
                          text=True, stdin=subprocess.DEVNULL,
                          env=dict(os.environ, MEM="256M", PROFILE="a2", TIMING="v2"))


def refusals():
    for name, words, pattern in (
            ("an_option", ["--fast"], "unrecognized arguments"),
            ("no_number", ["--rate", "fast"], "--rate fast: out of range: 0.001 to 1e+09, or 0"),
            ("nan_rate", ["--rate", "nan"], "--rate nan: out of range"),
            ("no_rate", ["--link", "0"], "--link 0: out of range"),
            ("hardly_a_rate", ["--rate", "1e-300"], "--rate 1e-300: out of range"),
            ("nan_burst", ["--burst", "nan"], "--burst nan: out of range"),
            ("endless_burst", ["--burst", "1e300"], "--burst 1e300: out of range"),
            ("infinite_copy", ["--copy", "inf"], "--copy inf: out of range"),
            ("part_of_a_core", ["--chip", "2.5"], "--chip 2.5: out of range"),
            ("cores", ["--group", "25"], "--group 25: out of range"),
            ("no_unit", ["--", "vadd", "--n", "5"], "ARGS want a {N}"),
            ("no_operator", ["--", "nothing", "--n", "{5}"], "no operator 'nothing'")):
        ran = run(*words)
        ok(ran.returncode == 2 and pattern in ran.stderr and not ran.stdout and
           ran.stderr.count("\n") == 1,
           f"serve/refuses_{name}", f"{ran.returncode} {ran.stderr}")


def whole():
    ran = run("--batch", "2", "--requests", "1000", "--", "softmax", "--m", "{16}", "--n", "256")
    ok(ran.returncode == 0, "serve/runs", ran.stderr)
    with open(ROOT + "/build/serve/serve.csv") as f:
        table = list(csv.DictReader(f))
    p99 = [float(row["p99 (us)"]) for row in table]
    ok(len(table) == 5 and p99[-1] < p99[0], "serve/measures_help", p99)
    with open(ROOT + "/build/serve/serve.svg") as f:
        svg = f.read()
    ok(svg.count("<polyline") == 5 and "NaN" not in svg, "serve/picture")


def pictures():
    path = ROOT + f"/build/test/serve-{os.getpid()}.svg"
    picture.draw(path, "a & b", ["x < y", "z"], [1, 2], [[1, 10], [2, 3]], 5, [0.5, 1], [0, 1])
    ran = subprocess.run(["/usr/bin/python3", "-c", "import sys, xml.dom.minidom as x\n"
                           "print(len(x.parse(sys.argv[1]).getElementsByTagName('polyline')))",
                           path], capture_output=True, text=True)
    os.unlink(path)
    ok(ran.stdout == "2\n", "serve/picture_is_xml", ran.stderr[-300:])


theory()
by_hand()
refusals()
pictures()
if os.environ.get("FULL"):
    whole()
sys.exit(done())
