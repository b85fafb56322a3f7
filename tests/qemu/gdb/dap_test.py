# SPDX-License-Identifier: MIT
#
# Run in gdb by tests/run: the entries of tools/gdb/vscode/launch.json behind a real debug adapter,
# Eclipse's cdt-gdb-adapter of npm: CDT_GDB_ADAPTER names its folder, or it is installed for all, or
# make test-full fetches it into build/npm.
import glob
import json
import os
import re
import shutil
import subprocess
import sys

import gdb

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from dap import DAP  # noqa: E402
from session import *  # noqa: E402

VADD = "vadd --n 400000" + SPARING
FETCHED = "build/npm/adapter"
FOLDERS = [os.environ.get("CDT_GDB_ADAPTER", ""),
           *glob.glob("/usr/**/lib/node_modules/cdt-gdb-adapter"),
           *[os.path.abspath(f"{FETCHED}/node_modules/cdt-gdb-adapter")][:FULL]]


def adapters():
    return [a for a in (f"{f}/dist/debugTargetAdapter.js" for f in FOLDERS) if os.path.exists(a)]


def fetch():
    os.makedirs(FETCHED, exist_ok=True)
    subprocess.run(["timeout", "120", "npm", "install", "--ignore-scripts", "--no-audit",
                    "--no-fund", "cdt-gdb-adapter@1.7.0"], cwd=FETCHED, check=False,
                   stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


def begin(name, server=None):
    """The adapter, and the server that it talks to, as for the entry of that name."""
    entry = next(c for c in launch_json() if c["name"] == name)
    if server:
        process = subprocess.Popen(["tools/gdb/debug", "--server", *server], text=True, env=ENV,
                                   stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        process.stdout.readline()
    dap = DAP("node", adapters()[0])
    same(dap.begin(entry), {}, "dap/begins")
    stopped = dap.event("stopped")
    ok(stopped and dap.functions()[:1] == ["vadd"], "dap/stops_at_the_operator", stopped)
    return dap


def leave(dap):
    dap.ask("disconnect")
    subprocess.run(["tools/gdb/debug", "--end"], check=True, env=ENV)


def to_report(dap):
    dap.ask("setFunctionBreakpoints", breakpoints=[{"name": "report_launch"}])
    dap.forget()
    dap.ask("continue", threadId=1)
    stopped, functions = dap.event("stopped"), dap.functions()
    dap.ask("setFunctionBreakpoints", breakpoints=[])
    return stopped and stopped["body"]["reason"], functions[:1]


def live():
    dap = begin("Salai: debug an operator", ["--", *VADD.split()])
    matches("dap/npu_status", dap.console("npu status"), r"^cycle \d+, 1 core")
    dap.forget()
    dap.ask("next", threadId=1)
    ok(dap.event("stopped") and dap.functions()[0] == "vadd", "dap/next")
    frame = dap.frames()[0]
    ok(os.path.exists(frame["source"]["path"]), "dap/has_the_source", frame)
    answer = dap.ask("evaluate", expression="p->n", frameId=frame["id"], context="watch")
    ok("400000" in str(answer), "dap/evaluates", answer)
    same(to_report(dap), ("function breakpoint", ["report_launch"]), "dap/breakpoint")
    leave(dap)


def of_a_replay():
    result(recorder("--", *VADD.split()))
    dap = begin("Salai: replay the recording", ["--replay", REC])
    same(to_report(dap), ("function breakpoint", ["report_launch"]), "dap/replay_goes_forwards")
    dap.console("npu break V")
    dap.console("npu back")
    matches("dap/npu_back", dap.console("npu status"), r"^stopped: V command \d+ \(VADD\) begins")
    dap.console("npu who ub 0 -g")
    ok("copy_in" in dap.functions(), "dap/npu_who", dap.functions())
    dap.forget()
    dap.console("reverse-continue")
    ok(dap.event("stopped"), "dap/reverse_continue_stops")
    text = dap.console("npu status")
    while "is running" in text and dap.event("stopped"):  # that stop was one of `npu who`
        text = dap.console("npu status")
    matches("dap/reverse_continue", text, r"^stopped: V command \d+ ")
    leave(dap)


def not_there():
    skip("dap/adapter", "no node, or no cdt-gdb-adapter: npm install -g cdt-gdb-adapter; with "
         "--full npm is asked for it", 14)


gdb.execute("source tools/gdb/npu.py")
if FULL and shutil.which("npm") and not adapters():
    fetch()
main(*((live, of_a_replay) if adapters() and shutil.which("node") else (not_there,)))
