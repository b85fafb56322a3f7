#!/usr/bin/python3
# SPDX-License-Identifier: MIT
#
# progress_test.py    a run that takes long says on a terminal that it goes on
#
# The time of the clock counts: the run is held for two seconds. TAP on stdout.
import os
import pty
import re
import signal
import subprocess
import sys
import time

sys.dont_write_bytecode = True
ROOT = os.path.abspath(os.path.join(os.path.dirname(__file__), *[os.pardir] * 3))
sys.path.insert(0, ROOT + "/tests")
from tap import check, done, skip  # noqa: E402

SALAI = os.environ.get("SALAI", f"{ROOT}/tools/salai")
WORDS = ["matmul", "--m", "2048", "--n", "2048", "--k", "2048", "--check", "1"]
BOOT_S = 0.1  # of a processor: more than a boot, less than the run
LINE = rb"npu\.so: [0-9]+ s, [0-9]+ commands\x1b\[K\r"


def used(pid):
    """Seconds of processors."""
    with open(f"/proc/{pid}/stat", encoding="ascii") as f:
        user, system = map(int, f.read().rsplit(")", 1)[1].split()[11:13])
    return (user + system) / os.sysconf("SC_CLK_TCK")


def all_of(ours):
    text = b""
    try:
        while more := os.read(ours, 4096):
            text += more
    except OSError:  # the other side of a terminal is closed
        pass
    os.close(ours)
    return text


def run(held, terminal):
    """What a run leaves on stderr; held: for so many seconds."""
    ours, theirs = pty.openpty() if terminal else os.pipe()
    child = subprocess.Popen([SALAI, *WORDS], stdin=subprocess.DEVNULL, stderr=theirs,
                             stdout=subprocess.DEVNULL,
                             env={**os.environ, "THREADS": "1"})  # more would be told
    os.close(theirs)
    while used(child.pid) < BOOT_S and child.poll() is None:
        time.sleep(0.01)
    child.send_signal(signal.SIGSTOP)
    time.sleep(held)
    child.send_signal(signal.SIGCONT)
    text = all_of(ours)
    return child.wait(), text


try:
    status, text = run(2.5, True)
    check("progress/on_a_terminal", [] if status == 0 and re.search(LINE, text)
          and text.endswith(b"\x1b[K") else [status, text])
except OSError as error:  # a chroot has no terminals of its own
    skip("progress/on_a_terminal", error)
status, text = run(2.5, False)
check("progress/not_elsewhere", [] if (status, text) == (0, b"") else [status, text])

# Of tools that run many: what comes before the time is up is not told.
COUNT = """
import sys, time
sys.dont_write_bytecode = True
sys.path.insert(0, sys.argv[1] + "/tools")
import progress
progress.FIRST = 0.2
for i in progress.counted(range(3), 3, "things"):
    time.sleep(0.3 * (i == 0))
"""


def count(terminal):
    ours, theirs = pty.openpty() if terminal else os.pipe()
    subprocess.run(["/usr/bin/python3", "-c", COUNT, ROOT], stderr=theirs, check=True)
    os.close(theirs)
    return all_of(ours)


try:
    text = count(True)
    lines = rb"2 of 3 things, [0-9]+ s\x1b\[K\r3 of 3 things, [0-9]+ s\x1b\[K\r\x1b\[K"
    check("progress/of_many", [] if re.fullmatch(lines, text) else [text])
except OSError as error:
    skip("progress/of_many", error)
text = count(False)
check("progress/of_many_not_elsewhere", [text] if text else [])
sys.exit(done())
