#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""output_test.py    the page of `report`: what host/output.py asks of a file"""

import os
import shutil
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.dont_write_bytecode = True
sys.path[:0] = [ROOT + "/tests/host"]
import output  # noqa: E402
import tap  # noqa: E402

TRACE = '{"traceEvents":[\n{"name":"X","ph":"X","pid":0,"tid":5,"ts":0.010,"dur":0.020,' \
    '"args":{"cmd":1,"core":0,"pipe":"M","op":"MMAD","issued":5,"bytes":64}}\n]}\n'


def report(folder, long):
    """The command, but for the path; a long one waits for a part of its page."""
    page = f"{ROOT}/tools/profile/page"
    with open(f"{folder}/trace.json", "w", encoding="ascii") as f:
        f.write(TRACE)
    if long:
        shutil.copytree(page, f"{folder}/page")
        page = f"{folder}/page"
        os.unlink(f"{page}/page.html")
        os.mkfifo(f"{page}/page.html")
    return [f"{ROOT}/build/report", "--page", page, f"{folder}/trace.json", "-o"]


output.judge("report", report)
sys.exit(tap.done(12))
