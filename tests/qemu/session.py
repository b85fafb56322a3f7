# SPDX-License-Identifier: MIT
#
# What the scripts for gdb's own Python here share: QEMU with the firmware, stopped at
# reset and attached; its monitor; snapshots; test output. Nothing waits for a time: an
# attempt is repeated until QEMU answers or has ended, and what hangs is ended from outside.
#
# TAP goes to file descriptor 3, because gdb writes what it likes to stdout.
import json
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time

import gdb

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
import tap  # noqa: E402
from tap import ok, skip  # noqa: E402

ENV = dict(os.environ, MEM="64M", CORES="1", PROFILE="a2", SEED="0", TIMING="v2")
FULL = bool(ENV.get("FULL"))  # what is many of a kind is all run
DIR = tempfile.mkdtemp(prefix="salai-", dir=os.environ.get("TMPDIR", "/tmp"))
IMAGE = os.path.join(DIR, "snapshots.qcow2")
DRIVE = f"-drive if=none,id=snapshots,format=qcow2,file={IMAGE}"
MONITOR = os.path.join(DIR, "monitor")
REC = os.path.join(DIR, "rec")  # of recorder()
DEADLINE = 60  # seconds for a run on a loaded host; the longest takes one on a quiet one
SOCKET = ENV["GDB_SOCKET"] = os.path.join(DIR, "gdb.sock")  # tools/salai --gdb
TEST_IMAGE = "build/fw-picolibc/test.elf"
# The hart takes five times as long to work out each element again as all else takes; that
# two runs have the same bits is told by the digest.
SPARING = " --check 20 --digest"
running = []
tap.to = 3


def launch_json():
    """The entries for VS Code as it fills them in, but for the socket, which is our own."""
    with open("tools/gdb/vscode/launch.json") as f:
        text = f.read().replace("${workspaceFolder}/build/gdb.sock", os.path.abspath(SOCKET))
    return json.loads(text.replace("${workspaceFolder}", os.getcwd()))["configurations"]


def same(got, want, name):
    ok(got == want, name, f"got {got}\nwant {want}")


def matches(name, text, *patterns):
    """Every pattern is in the text."""
    missing = [f"no '{p}'" for p in patterns if not re.search(p, text, re.M)]
    ok(not missing, name, "\n".join(missing + [text]))


def shows(name, text, *patterns):
    matches("npu/" + name, text, *patterns)


def one_line(name, text, pattern):
    ok(re.search("^error: .*" + pattern, text) and "\n" not in text, name, text)


def npu(command):
    """Output of an npu command, with its error if it has one."""
    try:
        return gdb.execute("npu " + command, to_string=True)
    except gdb.error as e:
        return f"error: {e}"


def stopped():
    """What `npu status` says about why, without all else that it looks up."""
    return sys.modules["npu.stops"].lines(True)


def launch(args, extra="", icount="", options=()):
    env = dict(ENV, QEMU_ARGS=extra, QEMU_ICOUNT=icount)
    process = subprocess.Popen(
        ["timeout", "-s", "KILL", str(DEADLINE), "tools/salai", *options, "--", *args.split()],
        env=env, text=True, start_new_session=True,
        stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    running.append(process)
    return process


def result(process):
    """Exit status and output; the firmware's output is far smaller than a pipe."""
    text = process.communicate()[0]
    return process.returncode, text


def run(args, extra="", icount="", options=()):
    return result(launch(args, extra, icount, options))


def end(process):
    if process.poll() is None:
        os.killpg(process.pid, signal.SIGKILL)  # `timeout` and QEMU
        process.wait()


def until(attempt, process, errors):
    while True:
        try:
            return attempt()
        except errors:
            if process.poll() is not None:
                raise RuntimeError("QEMU has ended: " + process.stdout.read()) from None
            time.sleep(0.003)  # for QEMU to begin with


def debug(args, extra="", icount="", image=None):
    """QEMU at its first instruction, with gdb attached."""
    if os.path.exists(SOCKET):
        os.unlink(SOCKET)
    process = launch(args, extra, icount, ["--gdb", *(["--image", image] if image else [])])
    until(lambda: gdb.execute(f"target remote {SOCKET}"), process, gdb.error)
    return process


def recorder(*arguments):
    """tools/gdb/record with the folder of this script."""
    process = subprocess.Popen(["timeout", "-s", "KILL", str(2 * DEADLINE), "tools/gdb/record",
                                "--dir", REC, *arguments], env=ENV, text=True,
                               start_new_session=True, stdin=subprocess.DEVNULL,
                               stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    running.append(process)
    return process


def replay(started=True):
    """gdb at the first line of the operator of the recording."""
    if os.path.exists(SOCKET):
        os.unlink(SOCKET)
    process = recorder("--replay", "--gdb")
    until(lambda: gdb.execute(f"target remote {SOCKET}"), process, gdb.error)
    if started:
        npu("start")
    return process


def here():
    """Where a run is: cycle, pc, sp, and what every pipe does since when."""
    cycle = load64("(unsigned long)NPU_CHIP_BASE + CHIP_CYCLE")
    states = [load64(f"(unsigned long)NPU_CORE_BASE + PIPE_BASE + {p} * (unsigned long)PIPE_STRIDE"
                     f" + {r}") for p in range(7) for r in ("PIPE_STATUS", "PIPE_SINCE")]
    return cycle, number("$pc"), number("$sp"), tuple(states)


def go(times=1):
    """Continues; false if the run has ended. QEMU may close the line before gdb is done."""
    for _ in range(times):
        try:
            gdb.execute("continue")
        except gdb.error:
            return False
        if not gdb.selected_inferior().pid:
            return False
    return True


def in_two_seconds(command, name):
    """At the best of three tries: the host may be busy."""
    took = []
    while len(took) < 3 and not (took and min(took) < 2):
        begin = time.monotonic()
        gdb.execute(command)
        took.append(time.monotonic() - begin)
    ok(min(took) < 2, name, took)


def over(process):
    """Leaves a run where it is."""
    end(process)
    gdb.execute("disconnect")


def go_to(where, hits=1, kind="break"):
    gdb.execute("delete")
    gdb.execute(f"{kind} {where}")
    return go(hits)


def finish(process):
    gdb.execute("delete")
    while go():  # a replay stops at its end
        pass
    return result(process)


def number(expression):
    return int(gdb.parse_and_eval(f"(unsigned long)({expression})"))


def load64(address):
    return number(f"*(unsigned long *)({address})")


def monitor(process):
    """A function that sends a line to the monitor of a run with WITH_MONITOR."""
    line = socket.socket(socket.AF_UNIX)
    line.settimeout(DEADLINE)
    until(lambda: line.connect(MONITOR), process, OSError)

    def answer():
        text = b""
        while not text.endswith(b"(qemu) "):
            more = line.recv(4096)
            if not more:
                raise OSError("QEMU has ended")
            text += more
        return text.decode()

    def say(command):
        line.sendall(command.encode() + b"\n")
        return answer()

    answer()
    return say


WITH_MONITOR = f"-chardev socket,id=m,path={MONITOR},server=on,wait=off -mon m"


def new_image():
    """An empty disk of no size for savevm, in the format of QEMU's docs/interop/qcow2.txt:
    header, table of reference counts, their one block, and a first-level table."""
    def words(*pairs):
        return b"".join(value.to_bytes(size, "big") for size, value in pairs)

    cluster = 1 << 16
    header = words((4, 0x514649fb), (4, 2), (8, 0), (4, 0), (4, 16), (8, cluster), (4, 0),
                   (4, 1), (8, 3 * cluster), (8, cluster), (4, 1), (4, 0), (8, 0))
    with open(IMAGE, "wb") as f:
        f.write(header.ljust(cluster, b"\0"))
        f.write(words((8, 2 * cluster)).ljust(cluster, b"\0"))
        f.write(words((2, 1), (2, 1), (2, 1), (2, 1)).ljust(cluster, b"\0"))
        f.write(bytes(cluster))


def main(*tests):
    """Runs the tests, prints the plan and ends gdb; status 1 if something failed."""
    gdb.execute("set pagination off")
    gdb.execute("set confirm off")
    gdb.execute("set remotetimeout 10")
    gdb.execute("file build/salai.elf")
    for test in tests:
        try:
            test()
        except (Exception, KeyboardInterrupt) as e:  # a test that ends badly has failed
            ok(False, test.__name__, f"{type(e).__name__}: {e}")
        while running:
            process = running.pop()
            end(process)
        if gdb.selected_inferior().pid:
            gdb.execute("disconnect")
    shutil.rmtree(DIR)
    os._exit(tap.done())
