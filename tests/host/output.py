# SPDX-License-Identifier: MIT
"""What programs of the host write appears when it is whole, or not at all: where links lead, what
mode it has, what is left when the program is ended or the disk full, and that what another
run clears away is never what is about to have its name. TAP on stdout."""

import fcntl
import os
import resource
import signal
import subprocess
import sys
import tempfile
import time

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.dont_write_bytecode = True
sys.path.insert(0, ROOT + "/tests")
from tap import ok  # noqa: E402

RUNS = 60       # beside one that clears away


def small_files():
    """A disk that is full behind 4 KiB; what ends a program that does not expect it."""
    resource.setrlimit(resource.RLIMIT_FSIZE, (4096, 4096))


def parts(folder):
    """What was begun and is not whole."""
    return [name for name in os.listdir(folder)
            if ".salai-" in name or name.startswith("out.") and name != "out.part"]


def text(path):
    if not os.path.exists(path):
        return ""
    with open(path, encoding="latin-1") as f:
        return f.read()


def whole(folder, who, command):
    """It comes to its place whole, beside files of similar names."""
    out, mine, link = (f"{folder}/{name}" for name in ("out", "mine", "link"))
    left = f"{folder}/.out.salai-0123456789abcdef"  # by one that was killed
    for name in (out, mine, left):
        with open(name, "w", encoding="ascii") as f:
            f.write("the user's")
    os.chmod(out, 0o640)
    os.mkdir(f"{folder}/away")
    for at, to in ((mine, out + ".part"), ("out", link), ("away/none", f"{folder}/new"),
                   ("loop", f"{folder}/loop"), ("/dev/full", f"{folder}/full")):
        os.symlink(at, to)
    ran = subprocess.run([*command, link], capture_output=True, timeout=60, check=False)
    ok(ran.returncode == 0 and os.path.islink(link) and text(out) != "the user's" and
       text(mine) == "the user's", f"output/{who}_goes_where_a_link_leads", ran)
    ok(os.stat(out).st_mode & 0o777 == 0o640, f"output/{who}_keeps_the_mode",
       oct(os.stat(out).st_mode))
    ok(parts(folder) == [], f"output/{who}_removes_what_a_killed_one_has_left",
       parts(folder))
    ran = subprocess.run([*command, f"{folder}/new"], capture_output=True, timeout=60,
                         check=False)
    ok(ran.returncode == 0 and text(f"{folder}/away/none") == text(out) and
       os.stat(f"{folder}/away/none").st_mode & 0o777 == 0o666 & ~umask(),
       f"output/{who}_is_new_where_a_link_leads", ran)


def umask():
    now = os.umask(0)
    os.umask(now)
    return now


def refused(folder, who, command):
    """One line, and what was there is there."""
    out = f"{folder}/out"
    before = text(out)
    for name, path, why, limit in (
            ("a_full_device", f"{folder}/full", "completely", None),
            ("a_full_disk", out, "completely", small_files),
            ("a_folder", f"{folder}/away", "directory", None),
            ("a_folder_that_is_not_there", f"{folder}/no/out", "No such file", None),
            ("a_link_to_itself", f"{folder}/loop", "symbolic links", None)):
        ran = subprocess.run([*command, path], capture_output=True, text=True, timeout=60,
                             check=False, preexec_fn=limit)
        ok(ran.returncode == 2 and why in ran.stderr and ran.stderr.count("\n") == 1 and
           text(out) == before and parts(folder) == [],
           f"output/{who}_refuses_{name}", f"{ran} {parts(folder)}")


def ended(folder, who, command):
    out = f"{folder}/out"
    before = text(out)
    for number in signal.SIGTERM, signal.SIGINT:
        process = subprocess.Popen([*command, out], stdout=subprocess.DEVNULL)
        while not parts(folder) and process.poll() is None:
            time.sleep(0.001)
        process.send_signal(number)
        ok(process.wait(60) == -number and parts(folder) == [] and
           text(out) == before, f"output/{who}_leaves_nothing_at_{number.name}",
           f"{process.returncode} {parts(folder)}")


def clear(folder):
    """As any run begins (part_remove_leftovers()), over and over."""
    while True:
        for name in parts(folder):
            try:
                fd = os.open(f"{folder}/{name}", os.O_RDONLY)
            except FileNotFoundError:
                continue
            try:
                fcntl.flock(fd, fcntl.LOCK_EX)  # waits for the worst moment
                os.unlink(f"{folder}/{name}")
            except OSError:
                pass
            os.close(fd)


def beside(folder, who, command):
    child = os.fork()
    if child == 0:
        try:
            clear(folder)
        finally:
            os._exit(1)
    try:
        failed = sum(subprocess.run([*command, f"{folder}/out"], stdout=subprocess.DEVNULL,
                                    timeout=60, check=False).returncode != 0
                     for _ in range(RUNS))
    finally:
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
    ok(failed == 0, f"output/{who}_is_not_cleared_away_by_another", f"{failed} of {RUNS}")


def judge(who, command):
    """command(folder, long): of a program, but for the path; a long one takes a while."""
    with tempfile.TemporaryDirectory(prefix="salai-") as scratch:
        whole(scratch, who, command(scratch, False))
        refused(scratch, who, command(scratch, False))
        beside(scratch, who, command(scratch, False))
        ended(scratch, who, command(scratch, True))
