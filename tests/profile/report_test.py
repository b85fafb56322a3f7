#!/usr/bin/python3
# SPDX-License-Identifier: MIT
#
# What `report` makes of a trace: for each kernel with one bottleneck (tests/profile) it names
# that first, and what it would save is within 15 % of what mending it saves; its sums are the
# counters of the machine; what it refuses. -v: what was told and saved. TAP on stdout.
import base64
import json
import os
import re
import subprocess
import sys
import tempfile

ROOT = os.path.abspath(os.path.dirname(os.path.abspath(__file__)) + "/../..")
sys.dont_write_bytecode = True
sys.path.insert(0, ROOT + "/tests")
from tap import done, ok  # noqa: E402

REPORT = ROOT + "/build/report"
ENV = dict(os.environ, MEM="256M", CORES="1", PROFILE="a2", SEED="0", TIMING="v2", TRACE="")
WITHIN = 15  # percent


def salai(words, image="test.elf", **env):
    image = f"{ROOT}/build/" + (image if image == "salai.elf" else f"fw-picolibc/{image}")
    return subprocess.run([f"{ROOT}/tools/salai", "--image", image, "--", *words.split()],
                          env={**ENV, **env}, stdin=subprocess.DEVNULL, capture_output=True,
                          text=True, timeout=120).stdout


def report(*words):
    return subprocess.run([REPORT, "--page", f"{ROOT}/tools/profile/page", *words],
                          capture_output=True, text=True, timeout=60)


# --- advice ---

def advice(trace):
    """Each kernel ran as it is and mended; the numbers of its launches are told."""
    told = salai("bottleneck", TRACE=trace, CORES="4")
    runs = re.findall(r"^(.*) (slow|mended): launches (\d+)-(\d+)$", told, re.M)
    took = {}
    with open(trace) as f:
        for call, back in re.findall(r'"launch":\d+,"call":(\d+),"price":\d+,"return":(\d+)',
                                     f.read()):
            took[len(took) + 1] = int(call), int(back)
    for slow, mended in zip(runs[::2], runs[1::2]):
        name, last = slow[0], len(took)
        cycles = [took[min(int(b), last)][1] - took[int(a)][0] for _, _, a, b in (slow, mended)]
        saves = cycles[0] - cycles[1]
        text = report("--launches", f"{slow[2]}-{slow[3]}", trace).stdout
        first = re.search(r"^1\. ([\w ]+), at most (\d+) cycles less", text, re.M)
        test = name.replace(", ", ":").replace(" ", "_")
        ok(first and first[1] == name.split(",")[0], f"advice/{test}_is_named_first", text)
        off = 100 * (int(first[2]) - saves) / saves if first else 100
        said = f"{first and first[2]} cycles told, {saves} saved: {off:+.1f} %"
        ok(abs(off) <= WITHIN, f"advice/{test}_saves_so_much", said)
        if "-v" in sys.argv:
            print("#", said)
    ok(len(runs) >= 20, "advice/ten_kernels", told)


# --- sums ---

def page_of(out):
    """The data of a page, and its columns."""
    types = {"1": "B", "2": "H", "4": "I", "8": "d"}
    with open(out) as f:
        text = f.read()
    data = json.loads(re.search(r'<script type="application/json" id="data">(.*?)</script>', text,
                                re.S)[1])
    columns = {name: list(memoryview(base64.b64decode(body)).cast(types[size]))
               for name, size, body in re.findall(
                   r'<script type="text/plain" data-column="([\w.]+)" data-bytes="(\d)">(.*?)<',
                   text)}
    return data, columns, text


def sums(folder):
    """The counters of the machine, as the report of the run has them, and the page's."""
    trace, out = f"{folder}/sums.json", f"{folder}/sums.html"
    told = salai("matmul --m 512 --n 256 --k 320", "salai.elf", TRACE=trace)
    ran = report(trace, "-o", out)
    ok(ran.returncode == 0 and os.path.exists(out), "report/writes_a_page", ran.stderr)
    data, columns, text = page_of(out)
    row = r"^  {:5}\s+(\d+)\s+[\d.]+ %\s+(\d+)\s+(\d+)\s+[\d.]+ %\s+(\d+)\s+([\d.]+)\s+([\d.]+)"
    for lane in data["lanes"]:
        want = re.search(row.format(lane["pipe"]), told, re.M)
        got = [lane["busy"] + lane["l2"] + lane["bank"], lane["sem"], lane["shared"], lane["n"],
               round(lane["read"] / 1024, 1), round(lane["written"] / 1024, 1)]
        ok(want and got == [*map(int, want.groups()[:4]), *map(float, want.groups()[4:])],
           f"report/{lane['pipe']}_as_its_counters", f"{got}, want {want and want.groups()}")
        parts = sum(lane[k] for k in ("busy", "sem", "empty", "shared", "l2", "bank"))
        ok(parts == data["cycles"], f"report/{lane['pipe']}_adds_up", f"{parts} {data['cycles']}")
    call = re.search(r"launch 1: (\d+) cycles call to return", told)
    ok(call and data["cycles"] == int(call[1]), "report/cycles_from_call_to_return",
       f"{data['cycles']} {told}")
    ok(len(columns["begin"]) == data["commands"] and
       sum(columns["took"]) == sum(lane[k] for lane in data["lanes"]
                                   for k in ("busy", "shared", "l2", "bank")),
       "report/columns_are_the_commands", columns.keys())
    ok(not re.search(r'(src|href)="(?!#|data:)|https?://(?!www\.w3\.org)|@import', text),
       "report/page_is_one_file")


# --- what it refuses ---

def refuses(folder):
    trace = f"{folder}/bad.json"
    good = '{"traceEvents":[\n{"name":"X","ph":"X","pid":0,"tid":5,"ts":0.010,"dur":0.020,' \
        '"args":{"cmd":1,"core":0,"pipe":"M","op":"MMAD","issued":5,"bytes":64}}\n]}\n'
    for name, text, want in (("half_a_trace", good[:90], ":2: a"),
                             ("no_json", "hello", ":1: no JSON"),
                             ("no_commands", '{"traceEvents":[]}', "no command"),
                             ("a_core_that_no_chip_has", good.replace('core":0', 'core":32'),
                              ":2: a command of no core"),
                             ("a_pipe_that_no_core_has", good.replace('"M"', '"Q"'), "or pipe"),
                             ("an_empty_file", "", "no JSON")):
        with open(trace, "w") as f:
            f.write(text)
        ran = report(trace, "-o", f"{folder}/bad.html")
        ok(ran.returncode == 2 and want in ran.stderr and ran.stderr.count("\n") == 1 and
           not os.path.exists(f"{folder}/bad.html"), f"report/refuses_{name}", ran)
    with open(trace, "w") as f:
        f.write(good)
    for name, words, want in (
            ("a_launch_that_is_not_there", ("--launches", "3", trace), "not in it"),
            ("no_such_file", (trace + "x",), "No such file"),
            ("an_unknown_option", ("--what", trace), "usage"),
            ("a_folder_that_is_not_there", (trace, "-o", f"{folder}/no/x.html"), "No such file"),
            ("a_path_that_is_none", ("--path", trace, trace), "critical path")):
        ran = report(*words)
        ok(ran.returncode == 2 and want in ran.stderr, f"report/refuses_{name}", ran)
    ran = report("--title", "</script><b>\"\\", trace, "-o", f"{folder}/good.html")
    data = page_of(f"{folder}/good.html")[0]
    ok(ran.returncode == 0 and data["title"] == "</script><b>\"\\", "report/titles_are_text", ran)


with tempfile.TemporaryDirectory(prefix="salai-") as scratch:
    advice(f"{scratch}/slow.json")
    sums(scratch)
    refuses(scratch)
sys.exit(done())
