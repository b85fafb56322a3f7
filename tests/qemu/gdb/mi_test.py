# SPDX-License-Identifier: MIT
#
# Run in gdb by tests/run: what starts gdb, and gdb behind an IDE, which speaks MI: every command
# is answered there too, and goes to where it goes in a terminal.
import glob
import json
import os
import re
import subprocess
import sys

import gdb

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from mi import MI  # noqa: E402
from session import *  # noqa: E402

VADD = "vadd --n 800000" + SPARING
STOPPED = r"^\*stopped"
TOLD = r"^~\"stopped: "


def started(*arguments, commands=("backtrace 1", "npu status"), **variables):
    """Output and status of tools/gdb/debug with a gdb that obeys commands."""
    text = "".join(c + "\n" for c in commands)
    done = subprocess.run(["timeout", str(DEADLINE), "tools/gdb/debug", *arguments], input=text,
                          text=True,
                          env=dict(ENV, **variables), stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT)
    return f"{done.stdout}\nstatus {done.returncode}"


def make_debug():
    for args, first in (("vadd --n 1000", r"^#0 +vadd \(p="),
                        ("matmul --m 20 --n 20 --k 20", r"^#0 +matmul \(p="),
                        ("demo", r"^#0 +matmul \(p="),
                        ("help", r"^#0 +help \(argc=")):
        shows(f"debug_stops_at_{args.split()[0]}", started("--", *args.split()), first,
              "^.*cycle [1-9]", "^status 0")
    shows("debug_tells_a_refusal", started("--", "vadd", "--what"), "no option --what",
          "npu start: the firmware has ended before its operator began")
    shows("debug_of_no_machine", started("--", "vadd", PROFILE="b2"), "a2, ascend910", "^status 2")


def cpptools(entry, connect, *more):
    """What gdb answers to what cpptools sends for an entry, through its machine interface. Its
    engine, MIEngine, sends setupCommands first, then program, then where to connect to; what is
    no command of MI it has the console execute."""
    steps = [c["text"] for c in entry["setupCommands"]]
    steps += ["set pagination off", f"-environment-cd {entry['cwd']}",
              f"-file-exec-and-symbols {entry['program']}", f"-target-select {connect}", *more]
    steps = [s if s[0] == "-" else f"-interpreter-exec console {json.dumps(s)}" for s in steps]
    return subprocess.run(["timeout", str(DEADLINE), entry["miDebuggerPath"], "-nx", "-q",
                           "--interpreter=mi"], cwd=entry["cwd"],
                          input="\n".join(steps) + "\n", text=True,
                          stdout=subprocess.PIPE).stdout


def vs_code(name, server, *more):
    launch_ = next(c for c in launch_json() if c["name"] == name)
    with open("tools/gdb/vscode/tasks.json") as f:
        tasks = {t["label"]: t for t in json.load(f)["tasks"]}
    task = tasks[launch_["preLaunchTask"]]
    process = subprocess.Popen(["tools/gdb/debug", "--server", *server], text=True, env=ENV,
                               stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    line = process.stdout.readline()
    what = re.sub("[^a-z]+", "_", name.lower())
    ok(re.search(task["problemMatcher"]["background"]["endsPattern"], line),
       f"mi/{what}_server_says_ready", line)
    told = cpptools(launch_, f"remote {launch_['miDebuggerServerAddress']}",
                    *(c["text"] for c in launch_["postRemoteConnectCommands"]),
                    "-stack-info-frame", "npu status", *more)
    matches(f"mi/{what}", told, r'^\^done,frame=.*func="vadd".*line="\d+"', r'^~"cycle \d+')
    ok("^error" not in told, f"mi/{what}_no_error", told)
    subprocess.run(tasks[launch_["postDebugTask"]]["command"], shell=True, check=True, env=ENV)
    process.wait()  # or main() would not come to an end
    ok(not os.path.exists(SOCKET.removesuffix(".sock") + ".pid"), f"mi/{what}_leaves_nothing")


def end_of_what_has_ended():
    """The server writes its pid, and QEMU has ended before --end comes to it, or has not begun."""
    path, ended = SOCKET.removesuffix(".sock") + ".pid", subprocess.Popen("true")
    ended.wait()
    same(started("--end").strip(), "status 0", "mi/end_of_nothing_is_quiet")
    with open(path, "w") as f:
        f.write(f"{ended.pid}\n")
    same(started("--end").strip(), "status 0", "mi/end_of_what_has_ended_is_quiet")
    os.unlink(path)


def vs_code_entries():
    vs_code("Salai: debug an operator (C/C++)", ["--", *"vadd --n 1000".split()])
    recorder("--", *VADD.split()).communicate()
    vs_code("Salai: replay the recording (C/C++)", ["--replay", REC])


def vs_code_core():
    """The entry for a core, with one of the image that can fail. It wants no more than these."""
    entry = next(c for c in launch_json() if c["name"] == "Salai: a core (C/C++)")
    same(sorted(set(entry) - {"name", "type", "request", "cwd"}),
         ["MIMode", "coreDumpPath", "miDebuggerPath", "program", "setupCommands"],
         "mi/core_entry_has_what_gdb_needs")
    before = set(glob.glob("build/core/*.core"))
    ENV["CORE"] = "1"
    run("fault bounds", options=["--image", TEST_IMAGE])
    ENV["CORE"] = "0"
    core = (set(glob.glob("build/core/*.core")) - before).pop()
    told = cpptools(entry | {"program": TEST_IMAGE}, "core " + os.path.abspath(core),
                    "-thread-info", "-stack-list-frames 0 20", "npu faults", "npu who ub 0")
    matches("mi/core", told, r'^\^done,stack=.*func="fault_bounds".*line="\d+"',
            r'^~"core 0 V: BOUNDS')
    ok("^error" not in told, "mi/core_no_error", told)
    os.unlink(core)


def connected(start):
    """gdb at the first line of the operator of what start() starts."""
    if os.path.exists(SOCKET):
        os.unlink(SOCKET)
    process = start()
    mi = MI("build/salai.elf")
    mi.ask("source tools/gdb/npu.py")
    until(lambda: os.stat(SOCKET), process, OSError)
    mi.ask(f"-target-select remote {SOCKET}")
    mi.ask("npu start", STOPPED)
    return mi


def command(text):
    """Number of the V command that a stop was told for."""
    found = re.findall(r"stopped: V command (\d+) ", text)
    return int(found[-1]) if found else text


def backwards():
    recorder("--", *VADD.split()).communicate()
    mi = connected(lambda: recorder("--replay", "--gdb"))
    mi.ask("-break-insert report_launch")
    mi.ask("-exec-continue", STOPPED)
    mi.ask("-break-delete 1")
    mi.console("npu break V")
    seen = [command(mi.console("npu back", TOLD)) for _ in range(2)]
    seen.append(command(mi.ask("reverse-continue", TOLD)))
    seen.append(command(mi.console("reverse-continue", TOLD)))
    seen.append(command(mi.ask("-exec-continue --reverse", TOLD)))
    ok(seen[1] == seen[0] - 1 and seen == sorted(set(seen), reverse=True),
       "mi/every_way_back_is_answered", seen)
    seen = [command(mi.ask("-exec-continue", TOLD)), command(mi.console("npu step V", TOLD))]
    ok(seen[1] == seen[0] + 1, "mi/and_every_way_forward", seen)
    mi.console("npu delete")
    mi.console("npu step V -r", TOLD)
    mi.console("npu break V if $npu_number % 3 == 0")
    seen = [command(mi.ask("-exec-continue", TOLD)) for _ in range(2)]
    ok(seen[0] % 3 == 0 and seen[1] == seen[0] + 3, "mi/conditions_hold", seen)
    text = mi.console("npu who ub 0 -g", r"is issued at cycle \d+")
    matches("mi/who_goes_to_the_issuer", text + mi.ask("-stack-info-frame"),
            r"is issued at cycle \d+", r'func="copy_in"')
    text = mi.console("npu back -c 99")
    matches("mi/a_mistake_is_an_error", text, r'\^error,msg="npu back: no core 99')
    mi.ask("-gdb-exit")


def finish_of_a_task():
    args = "matmul --m 900 --n 600 --k 700 --tiling published"
    mi = connected(lambda: launch(args, options=["--gdb"]))
    mi.ask("-break-insert irq_wait")
    mi.ask("-exec-continue", STOPPED)
    mi.ask("-exec-continue", STOPPED)
    mi.ask("-break-delete 1")
    mi.console("npu task 0")
    text = mi.ask("-exec-finish", STOPPED + '.*reason="(end-stepping-range|function-finished)"')
    same(mi.where(), "tile", "mi/finishes_an_inlined_function_of_a_task")
    ok("^error" not in text, "mi/finish_is_answered", text)
    mi.ask("-gdb-exit")


gdb.execute("source tools/gdb/npu.py")
main(make_debug, end_of_what_has_ended, vs_code_entries, vs_code_core, backwards, finish_of_a_task)
