#!/usr/bin/python3
# SPDX-License-Identifier: MIT
#
# The page of a profile in a browser: Debian's chromium, without a window, driven by its
# chromedriver (W3C WebDriver). Only make test-full runs it; without a browser it says so.
# `page_test.py SHOTS` also leaves pictures in that folder. TAP on stdout.
import base64
import json
import os
import re
import resource
import shutil
import subprocess
import sys
import tempfile
import urllib.request

ROOT = os.path.abspath(os.path.dirname(os.path.abspath(__file__)) + "/../..")
sys.dont_write_bytecode = True
sys.path.insert(0, ROOT + "/tests")
from tap import done, ok, skip  # noqa: E402

PAGE = ["--page", f"{ROOT}/tools/profile/page"]
ENV = dict(os.environ, MEM="256M", CORES="2", PROFILE="a2", SEED="0", TIMING="v2", TRACE="")
MILLION, LIMIT_MS, LIMIT_MIB = 1000000, 3000, 512
FRAMES, FRAME_MS = 20, 100
ELEMENT = "element-6066-11e4-a52e-4f735466cecf"  # of the standard


class Browser:
    def __init__(self):
        self.driver = subprocess.Popen(["chromedriver", "--port=0"], stdout=subprocess.PIPE,
                                       stderr=subprocess.DEVNULL, text=True)
        port = next(re.search(r"on port (\d+)", line)[1] for line in self.driver.stdout
                    if "started successfully" in line)
        self.url = f"http://127.0.0.1:{port}"
        args = ["--headless=new", "--no-sandbox", "--disable-gpu", "--hide-scrollbars"]
        self.url += "/session/" + self.call("POST", "/session", {"capabilities": {"alwaysMatch": {
            "browserName": "chrome", "goog:loggingPrefs": {"browser": "ALL"},
            "goog:chromeOptions": {"args": args}}}})["sessionId"]

    def call(self, method, path, body=None):
        request = urllib.request.Request(self.url + path, method=method,
                                         data=None if body is None else json.dumps(body).encode())
        with urllib.request.urlopen(request, timeout=120) as answer:
            return json.load(answer)["value"]

    def js(self, code):
        return self.call("POST", "/execute/sync", {"script": "return " + code, "args": []})

    def cdp(self, command, **params):
        return self.call("POST", "/goog/cdp/execute", {"cmd": command, "params": params})

    def size(self, width, height, scheme="light", mobile=False):
        self.cdp("Emulation.setDeviceMetricsOverride", width=width, height=height,
                 deviceScaleFactor=1, mobile=mobile)
        self.cdp("Emulation.setEmulatedMedia",
                 features=[{"name": "prefers-color-scheme", "value": scheme}])

    def open(self, path):
        """Milliseconds of the clock until the page is ready."""
        self.call("POST", "/url", {"url": f"file://{path}"})
        return int(self.js("document.documentElement.dataset.ready || -1"))

    def peak(self):
        """The most MiB that one of its processes has held, which is the page's."""
        most = 0
        for pid in self.processes():
            try:
                with open(f"/proc/{pid}/status", encoding="ascii", errors="replace") as f:
                    most = max([most, *(int(line.split()[1]) >> 10 for line in f
                                        if line.startswith("VmHWM"))])
            except OSError:
                pass  # it has ended
        return most

    def busy(self):
        """Milliseconds of processors that the browser has taken, all its processes."""
        return sum(self.processes().values()) * 1000 / os.sysconf("SC_CLK_TCK")

    def processes(self):
        """{process: ticks of processors}"""
        parent, ticks = {}, {}
        for pid in filter(str.isdigit, os.listdir("/proc")):
            try:
                with open(f"/proc/{pid}/stat") as f:
                    fields = f.read().rpartition(")")[2].split()
            except OSError:
                continue
            parent[int(pid)], ticks[int(pid)] = int(fields[1]), int(fields[11]) + int(fields[12])
        mine = {self.driver.pid}
        while more := {pid for pid, of in parent.items() if of in mine} - mine:
            mine |= more
        return {pid: ticks.get(pid, 0) for pid in mine}

    def keys(self, text):
        element = self.js("document.activeElement")[ELEMENT]
        self.call("POST", f"/element/{element}/value", {"text": text})

    def mouse(self, *steps):
        """(x, y) in the canvas, or what a button does."""
        self.js("document.getElementById('canvas').scrollIntoView({block: 'center'})")
        box = self.js("(b => [b.left, b.top])(document.getElementById('canvas')"
                      ".getBoundingClientRect())")
        actions = [{"type": s} if isinstance(s, str) and s.startswith("pointer") else
                   {"type": "pointerMove", "duration": 0, "origin": "viewport",
                    "x": round(box[0] + s[0]), "y": round(box[1] + s[1])} for s in steps]
        for a in actions:
            if a["type"] != "pointerMove":
                a["button"] = 0
        self.call("POST", "/actions", {"actions": [
            {"type": "pointer", "id": "mouse", "parameters": {"pointerType": "mouse"},
             "actions": actions}]})

    def shot(self, folder, name):
        if folder:
            with open(f"{folder}/{name}.png", "wb") as f:
                f.write(base64.b64decode(self.cdp("Page.captureScreenshot")["data"]))

    def problems(self):
        return [e["message"] for e in self.call("POST", "/se/log", {"type": "browser"})
                if e["level"] == "SEVERE"]

    def end(self):
        self.call("DELETE", "")
        self.driver.terminate()
        self.driver.wait()


def made(folder):
    subprocess.run([f"{ROOT}/tools/profile/profile", "--out", folder, "--", "mla_prolog", "--m",
                    "256", "--n", "256", "--k", "256"], env=ENV, stdin=subprocess.DEVNULL,
                   capture_output=True, timeout=120, check=True)
    return f"{folder}/report.html"


def looks(b, page, shots):
    b.size(1280, 800)
    ready = b.open(page)
    ok(ready >= 0, "page/opens", b.problems())
    ok(b.js("D.commands") == b.js("C.begin.length"), "page/has_all_commands")
    drawn = b.js("(() => {const g = canvas.getContext('2d').getImageData(0, 0, canvas.width, "
                 "canvas.height).data, s = new Set(); for (let i = 0; i < g.length; i += 4) "
                 "s.add(g[i] << 16 | g[i + 1] << 8 | g[i + 2]); return s.size})()")
    ok(drawn > 8, "page/draws_a_timeline", drawn)
    empty = b.js("['use','stalls','critical-table','roof','paths','hot','mem','launch'].filter("
                 "id => !document.getElementById(id).textContent.trim())")
    ok(empty == [], "page/fills_every_part", empty)
    b.shot(shots, "light")
    b.size(1280, 800, "dark")
    dark = b.js("getComputedStyle(document.body).backgroundColor")
    ok(sum(map(int, re.findall(r"\d+", dark)[:3])) < 150, "page/is_dark_at_night", dark)
    b.js("redraw()")
    b.shot(shots, "dark")
    for width in (390, 768):
        b.size(width, 800, mobile=True)
        wide = b.js("document.documentElement.scrollWidth")
        ok(wide <= width, f"page/fits_{width}_pixels", wide)
        b.shot(shots, f"narrow-{width}")
    b.size(1280, 800)


def hands(b, shots):
    """Keys and pointer."""
    b.js("canvas.focus()")
    b.keys("+++")
    span = b.js("view.to - view.from")
    ok(abs(span - b.js("D.cycles") / 1.6 ** 3) < 2, "page/keys_zoom", span)
    before = b.js("view.from")
    b.keys("\ue014")  # arrow to the right
    ok(b.js("view.from") > before, "page/arrows_move", before)
    b.keys("0")
    ok(b.js("view.to - view.from") == b.js("D.cycles"), "page/0_shows_all")
    b.keys("n")
    first = b.js("state.kept.i")
    b.keys("n")
    ok(b.js("state.kept.i") == first + 1 and b.js("$('detail').textContent").startswith(
        b.js(f"T[C.name[{first + 1}]]")), "page/n_goes_to_the_next", first)
    waited = b.js("C.by.findIndex((by, i) => by > 1 && C.waited[i] > 0)")
    b.js(f"goTo({waited})")
    b.keys("b")
    ok(b.js("state.kept.i") == b.js(f"C.by[{waited}] - 2"), "page/b_goes_to_whom_it_waited_for")
    b.shot(shots, "zoomed")
    b.keys("\ue00c0")  # Escape
    i = b.js("D.lanes[0].first")
    b.js(f"show(C.begin[{i}], C.begin[{i}] + 4 * C.took[{i}])")
    at = b.js(f"[x_of(C.begin[{i}] + C.took[{i}] / 2), yOf({i})]")
    b.mouse(at)
    ok(b.js("!$('tip').hidden && $('tip').textContent").startswith(b.js(f"T[C.name[{i}]]")),
       "page/hovering_tells_all", b.js("$('tip').textContent"))
    b.mouse(at, "pointerDown", "pointerUp")
    ok(b.js("state.kept && state.kept.i") == i, "page/a_click_keeps")
    b.js("show(0, D.cycles)")
    b.keys("s")
    b.mouse((300, 60), "pointerDown", (700, 60), "pointerUp")
    lane = b.js("D.lanes.findIndex(l => l.pipe === 'V')")
    inside = "C.begin[{0}] + C.took[{0}] / 3".format
    first, last = b.js(f"[D.lanes[{lane}].first + 1, D.lanes[{lane}].last - 2]")
    for cut in ("state.range.from, state.range.to", f"{inside(first)}, {inside(last)}"):
        b.js(f"select({cut})")
        want = b.js(f"(l => {{let s = 0; for (let i = l.first; i < l.last; i++) s += Math.max(0, "
                    "Math.min(state.range.to, C.begin[i] + C.took[i]) - Math.max("
                    f"state.range.from, C.begin[i])); return s}})(D.lanes[{lane}])")
        got = b.js(f"busyWithin(D.lanes[{lane}], state.range.from, state.range.to)")
        ok(abs(got - want) < 1e-6 and want > 0, "page/a_range_has_its_sums", f"{got} {want}")
    ok(b.js("grouped(%r)" % got) in b.js("$('range').textContent"),
       "page/a_range_shows_its_sums")
    b.shot(shots, "range")
    b.keys("s")


def tables(b):
    by = "document.querySelector('#hot [data-by=\"2\"]').click(), "
    cells = "[...hot.tBodies[0].rows].map(r => +r.cells[2].textContent.replace(/\\D/g, ''))"
    down = b.js(f"({by}{cells})")
    ok(down == sorted(down, reverse=True) and len(down) > 3, "page/lines_sort", down)
    up = b.js(f"({by}{cells})")
    ok(up == sorted(up), "page/lines_sort_back", up)
    b.js("document.querySelector('#hot tbody tr').click()")
    ok(b.js("$('find').value") ==
       b.js("document.querySelector('#hot tbody td').textContent") and b.js("!!state.match"),
       "page/a_line_shows_in_the_timeline")


def many(b, folder):
    """A million commands, which nobody has to wait for."""
    trace, page = f"{folder}/many.json", f"{folder}/many.html"
    with open(trace, "w") as f:
        f.write('{"traceEvents":[\n{"name":"process_name","ph":"M","pid":32,'
                '"args":{"name":"hart"}}')
        for i in range(MILLION):
            core, pipe = i % 4, ("MTE2", "V", "MTE3")[i // 4 % 3]
            n, at = i // 12, 300 * (i // 12) + 97 * (i // 4 % 3)
            f.write(f',\n{{"ph":"X","ts":{at // 1000}.{at % 1000:03},"dur":0.{80 + i % 211:03},'
                    f'"args":{{"cmd":{n + 1},"core":{core},"pipe":"{pipe}","op":"OP{i % 7}",'
                    f'"line":"a.c:{i % 90}","issued":{max(0, at - 500)},"bytes":{i % 4096}}}}}')
        f.write("\n]}\n")
    subprocess.run([f"{ROOT}/build/report", *PAGE, trace, "-o", page], check=True,
                   capture_output=True, timeout=120)
    clock, took = [], []
    for _ in range(2):
        before = b.busy()
        clock.append(b.open(page))
        took.append(b.busy() - before)
    # Of processors: how much else the machine does is not the page's.
    print(f"# {min(clock)} ms of the clock, {min(took):.0f} of processors for {MILLION} commands "
          f"in {os.path.getsize(page) >> 20} MiB")
    ok(b.js("D.commands") == MILLION and 0 < min(took) <= LIMIT_MS,
       "page/opens_a_million_in_3_s", took)
    report = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss >> 10
    print(f"# {b.peak()} MiB at most, {report} for the report")
    ok(0 < b.peak() <= LIMIT_MIB, "page/holds_a_million_in_512_MiB", b.peak())
    before = b.busy()
    b.js(f"(() => {{for (let i = 0; i < {FRAMES}; i++) {{show(i * 1e5, D.cycles - i * 1e5); "
         "draw();}})()")
    frame = (b.busy() - before) / FRAMES
    print(f"# {frame:.0f} ms a frame")
    ok(frame < FRAME_MS, "page/draws_them_fast", f"{frame} ms a frame")


def main():
    if not shutil.which("chromedriver") or not shutil.which("chromium"):
        skip("page", "no browser: apt-get install chromium chromium-driver")
        done()
        return
    shots = sys.argv[1] if len(sys.argv) > 1 else None
    b = Browser()
    with tempfile.TemporaryDirectory(prefix="salai-") as folder:
        try:
            looks(b, made(folder), shots)
            hands(b, shots)
            tables(b)
            many(b, folder)
            ok(b.problems() == [], "page/has_no_errors", b.problems())
        finally:
            b.end()
    return done()


sys.exit(main())
