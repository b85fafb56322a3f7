#!/usr/bin/python3
# SPDX-License-Identifier: MIT
#
# findings_test.py [--full]    checked runs as a user types them: what is found in kernels
#                              that are broken, silence about those that are not, reports
#
# --full: more cases of the operators, more seeds and cores, and the self-tests. TAP on stdout.
import json
import os
import re
import subprocess
import sys
import tempfile

ROOT = os.path.dirname(os.path.abspath(__file__)) + "/../.."
sys.dont_write_bytecode = True
sys.path.insert(0, ROOT + "/tests")
from tap import check, done  # noqa: E402

FULL = "--full" in sys.argv
IMAGE = ("--image", "build/fw-picolibc/test.elf")
ENV = {k: v for k, v in os.environ.items()
       if k not in ("CORES", "PROFILE", "MEM", "SEED", "TRACE", "TIMING")
       and not k.startswith("CHECK")}
TIMES = "race,hart,memory,sync"  # of kernels whose data are what happens to be there


def salai(*words, **env):
    return subprocess.run(["tools/salai", *words], cwd=ROOT, env=ENV | env, text=True,
                          stdin=subprocess.DEVNULL, capture_output=True, timeout=300)


def checked(*words, checks="all", files=("json",), options=(), **env):
    """(the run, its reports)"""
    with tempfile.TemporaryDirectory() as folder:
        paths = [f"{folder}/{kind}" for kind in files]
        named = [w for kind, path in zip(files, paths) for w in (f"--{kind}", path)]
        ran = salai("--sanitize", checks, *named, *options, *words, **env)
        return ran, *(json.load(open(p)) if os.path.getsize(p) else None for p in paths)


def silent(ran, report):
    return [f"{f['class']} {f.get('memory')}: {f['first'].get('file')}:{f['first'].get('line')}, "
            f"{f['second'].get('file')}:{f['second'].get('line')}" for f in report["findings"]] + (
                [] if ran.returncode == 0 else [f"status {ran.returncode}: {ran.stderr[:300]}"])


# --- the corpus ---

def lines_of_pairs():
    """{name of a kernel of races.def: its line}"""
    with open(f"{ROOT}/tests/broken/races.def") as f:
        return {"__".join(m): n for n, line in enumerate(f, 1)
                for m in re.findall(r"^PAIR\((\w+), (\w+)\)", line)}


def line_of(path, text):
    with open(f"{ROOT}/{path}") as f:
        return next(n for n, line in enumerate(f, 1) if text in line)


def access_text(x):
    if "does" not in x:
        return x["command"] or "takes"
    return f"{x['command']}.{x['operand']}" if x["command"] else x["does"]


def corpus():
    wanted = [line.split() for line in salai(*IMAGE, "races", "--list").stdout.splitlines()]
    ran, report = checked(*IMAGE, "races", checks=TIMES)
    found, lines, problems = {}, lines_of_pairs(), []
    for f in report["findings"]:
        found.setdefault(f["first"]["task"], []).append(f)
    for name, memory, first, second in wanted:
        got = found.pop(name, [])
        if memory == "l0b_index":  # nothing reaches that alone
            got = [f for f in got if f["memory"] != "l0b"]
        if [(f["class"], f["memory"], {access_text(f["first"]), access_text(f["second"])})
                for f in got] != [("race", memory, {first, second})]:
            problems.append(f"{name}: {[f['memory'] for f in got]}")
        elif name in lines and {(x["file"], x["line"]) for x in (
                got[0]["first"], got[0]["second"])} != {("tests/broken/races.def", lines[name])}:
            problems.append(f"{name}: {got[0]['first']['file']}:{got[0]['first']['line']}")
    check("checked/each_pair_of_pipes_is_named", problems + [f"also {n}" for n in found] +
          ([] if len(wanted) > 70 and ran.returncode == 1 else [f"status {ran.returncode}"]))
    check("checked/and_with_the_wait_nothing",
          silent(*checked(*IMAGE, "races", "--sound", checks=TIMES)))
    without = [f for f in checked(*IMAGE, "races", checks="race")[1]["findings"]
               if "hart" in (f["first"]["by"], f["second"]["by"])]
    check("checked/race_alone_leaves_the_hart_out", without)


def says(name, f, want):
    """Whether a finding is what a line of `hazards --list` wants."""
    cls, memory, first, second, word = want
    if f["class"] == "mixed":
        return [cls, {first, second}] == ["mixed", {f["first"]["by"], f["second"]["by"]}]
    return ([cls, memory, {first, second}] == [
        f["class"], f["memory"], {access_text(f["first"]), access_text(f["second"])}] and
        name in (f["first"]["task"], f["second"]["task"]) and (word == "-" or word in f["advice"]))


def hazards():
    two = (*IMAGE, "--cores", "2", "hazards")
    wanted = [line.split() for line in salai(*two, "--list").stdout.splitlines()]
    ran, report = checked(*two, checks="race,hart")
    left = report["findings"]
    for name, *want in wanted:
        got = [f for f in left if says(name, f, want)]
        check(f"checked/hazard_{name}", [] if len(got) == 1 else [
            f"{len(got)} of {[(f['class'], f.get('advice')) for f in left]}"])
        left = [f for f in left if f not in got]
    blocks = {f["first"]["buffer"]["where"] for f in report["findings"] if
              f.get("memory") == "GM"}
    at = line_of("tests/broken/hazards.c", "gm = aligned_alloc(")
    check("checked/buffers_of_gm_are_named", [] if blocks == {f"tests/broken/hazards.c:{at}"} else [
        blocks])
    check("checked/and_nothing_else_of_them", [(f["class"], f.get("advice")) for f in left])
    check("checked/hazards_corrected", silent(*checked(*two, "--sound", checks=TIMES)))


def marked_lines():
    """{a kernel of `plants`: lines whose accesses are to be named}"""
    of = {}
    for name in ("vector", "hart", "cube", "cores", "size", "tasks"):
        kernel, path = None, f"tests/broken/plants_{name}.c"
        with open(f"{ROOT}/{path}") as f:
            for n, line in enumerate(f, 1):
                begins = re.match(r"(?:\S+ )?(?:static )?void (\w+)\(", line)
                if begins:
                    kernel = begins[1]
                    of[kernel] = set()
                elif re.search(r"/\* (one|two|one, two) \*/$", line):
                    of[kernel].add(f"{path}:{n}")
                elif kernel:
                    for word in re.findall(r"\w+", line):
                        of[kernel] |= of.get(word, set())
    return of


def plants():
    """Mistakes as somebody makes them who has read the pages once."""
    two = (*IMAGE, "--cores", "2", "plants")
    lines, problems, found = marked_lines(), [], {}
    report, log = checked(*two, files=("json", "sarif"))[1:]
    for f in report["findings"]:
        found.setdefault(f["second"].get("task") or f["first"]["task"], []).append(f)
    for line in salai(*two, "--list").stdout.splitlines():
        name, *want = line.split()
        got = found.pop(name, [])
        sides = ("first", "second") if want[3] != "-" else ("second",)
        if len(got) != 1:
            problems.append(f"{name}: {[(f['class'], f.get('memory')) for f in got]}")
            continue
        f = got[0]
        is_ = [f["class"], f.get("memory", "-"), {access_text(f[s]) for s in sides},
               {f"{f[s]['file']}:{f[s]['line']}" for s in sides}]
        if is_ != [*want[:2], set(want[2:2 + len(sides)]), lines[name]] or (
                want[4] != "-" and want[4] not in f["advice"]):
            problems.append(f"{name}: {is_}, {f.get('advice')}, want {want} {lines[name]}")
    check("checked/each_plant_is_named", problems + [f"also {n}" for n in found])
    check("checked/sarif_of_each_plant_fits_its_schema", misfits(log, SARIF))
    check("checked/plants_corrected", silent(*checked(*two, "--sound")))
    for seed in range(1, 21 if FULL else 3):
        ran = salai(*two[:2], "--seed", str(seed), *two[2:], "--sound")
        check(f"checked/plants_corrected_seed_{seed}", ran.returncode and [ran.stderr[:500]])


def classes():
    """Every class that a report may have is that of a mistake that some test plants."""
    with open(f"{ROOT}/tests/qemu/device/memory_test.sh") as f:
        planted = set(re.findall(r"(?:found |err '\^)([\w-]+)", f.read())) | {"race", "redundant"}
    planted |= {line.split()[1] for name in ("hazards", "plants")
                for line in salai(*IMAGE, name, "--list").stdout.splitlines()}
    with open(f"{ROOT}/tools/report.py") as f:
        known = re.findall(r'"([\w-]+)": "(?:error|warning|note)"', f.read())
    check("checked/every_class_is_planted", [c for c in known if c not in planted] or
          len(known) < 14 and known)


def two_lines():
    path = "tests/broken/race.c"
    ran, report = checked(*IMAGE, "race")
    want = {line_of(path, "task_issue(PIPE_MTE2"), line_of(path, "cmd_post(&cmd, OUT_FULL") + 4}
    got = [({x["line"] for x in (f["first"], f["second"])}, f["count"], f["advice"])
           for f in report["findings"]]
    check("checked/both_lines_count_and_what_is_missing",
          [] if len(got) == 1 and got[0][:2] == (want, 15) and got[0][2].startswith(
              "missing: no semaphore goes from V to MTE2 for this buffer; one that holds 1 at "
              "first, VADD (tests/broken/race.c:") and got[0][2].endswith("orders all 15")
          else [got, want])
    check("checked/violations_are_status_1",
          ran.returncode != 1 and [f"status {ran.returncode}"])
    check("checked/the_table_says_the_same", [] if re.search(
        r"^race: UB of core 0 at 0x0, 15 times, first in cycle \d+\n"
        r"  tests/broken/race\.c:\d+ +VADD reads src1 \[0x0, 0x1000\)\n +V of core 0, "
        r"task race compute, cycle \d+\n  tests/broken/race\.c:\d+ +COPY_GM_UB writes dst",
        ran.stderr, re.M) else [ran.stderr])


# --- what nobody has written ---

def marks():
    """{a kernel of `unwritten`: {`used` or `from`: its line}}"""
    found = {}
    for name in ("init.c", "init_local.c"):
        kernel = None
        with open(f"{ROOT}/tests/broken/{name}") as f:
            for n, line in enumerate(f, 1):
                begins = re.match(r"(?:static )?void (\w+)\(", line)
                kernel = begins[1] if begins else kernel
                comment = re.search(r"/\* ((?:from|used)[, a-z]*) \*/$", line)
                for word in comment[1].split(", ") if comment else ():
                    found.setdefault(kernel, {})[word] = f"tests/broken/{name}:{n}"
    return found


def unwritten():
    words = (*IMAGE, "unwritten")
    wanted = [line.split() for line in salai(*words, "--list").stdout.splitlines()]
    ran, report = checked(*words, checks="init,hart")
    lines, found, problems = marks(), {}, []
    for f in report["findings"]:
        found.setdefault(f["second"]["task"], []).append(f)
    for name, use, memory, access, source, first in wanted:
        got = [[f["class"], f["use"], f["memory"], access_text(f["second"]),
                f["source"]["memory"], access_text(f["first"]),
                *(f"{x['file']}:{x['line']}" for x in (f["second"], f["first"]))]
               for f in found.pop(name, [])]
        want = ["init", use, memory, access, source, first, *(
            lines[name][mark] for mark in ("used", "from"))]
        problems += [] if got == [want] else [f"{name}: {got}, want {want}"]
    check("checked/each_use_of_what_is_undefined", problems + [f"also {n}" for n in found] +
          ([] if len(wanted) > 20 and ran.returncode == 1 else [f"status {ran.returncode}"]))
    check("checked/and_with_what_was_missing_nothing", silent(*checked(*words, "--sound")))
    check("checked/init_tells_where_bytes_come_from", [] if re.search(
        r"^init: GM at 0x\w+, 2 times, first in cycle \d+\n"
        r"  tests/broken/init_local.c:\d+ +COPY_UB_GM writes dst \[\w+, \w+\): 64 bytes are "
        r"undefined, the first 960 bytes in  MTE3 of core 0, task tail_not_loaded\n"
        r"  tests/broken/init_local.c:\d+ +they come from here: VADD reads src0 .*\n"
        r"  UB of core 0 at 0x3c0 was never written since it was handed out: byte 960 of\n"
        r"  tests/broken/init_local.c:\d+ +buffer in of 2048 bytes at 0x0$",
        ran.stderr, re.M) else [ran.stderr])
    alone = checked(*words, checks="init")[1]["findings"]
    check("checked/init_alone_leaves_loads_out", [f["use"] for f in alone if f["use"] == "load"] +
          ([] if len(alone) > 18 else [f"{len(alone)} findings"]))


def redundant():
    """Either of two waits orders all, and one of them is dear."""
    ran, report = checked(*IMAGE, "waits", checks="redundant")
    line = line_of("tests/broken/waits.c", "cmd_post(&cmd, DONE, 1);") + 1
    got = [(f["class"], f["semaphore"], f["first"]["line"]) for f in report["findings"]]
    cycles = [f["cycles"] for f in report["findings"]]
    check("checked/redundant_waits_are_named", [] if got == [
        ("redundant", sem, line) for sem in (0, 1)] else [got])
    check("checked/and_what_they_cost", [] if cycles[0] == 0 and cycles[1] > 0 and re.search(
        rf"^redundant: VADD waits for semaphore 1, once, .*; without it {cycles[1]} cycles less$",
        ran.stderr, re.M) and ran.returncode == 0 else [cycles, ran.stderr])
    ran = checked(*IMAGE, "race", checks="redundant")[0]
    check("checked/not_where_there_are_races", [] if "without races only" in ran.stderr else [
        ran.stderr])


# --- silence ---

def command_lines():
    """The smallest case of every third operator, 40 in a run; or all of each operator's."""
    listed = json.loads(salai("help", "--json").stdout)
    cases = [[f"{op['name']} {case}".split() for case in op["cases"]] for op in listed]
    first = [all_of[0] for all_of in cases[::3]]
    for some in cases if FULL else [first[i:i + 40] for i in range(0, len(first), 40)]:
        yield [w for case in some for w in [*case, "+"]][:-1]
    if FULL:
        yield [*IMAGE, "tile_random", "0", "100"]


SURROUNDINGS = [""] + FULL * [
    "--cores 24", "--cores 2 --seed 7", "--cores 7 --profile ascend910 --seed 3",
    "--cores 32 --profile ascend310", "--cores 32 --seed 5", "--seed 11 --profile ascend310"]


def operators():
    for options in SURROUNDINGS:
        problems = []
        for words in command_lines():
            got = silent(*checked(*words, options=options.split()))
            problems += [f"{words[:4]}: {p}" for p in got]
        name = re.sub("[- ]+", "_", options)
        check(f"checked/operators_are_silent{name}", problems)


def left_out():
    """No command waits for one of the semaphores: what goes wrong then is named, and what
    does not by luck as well."""
    problems, named = [], 0
    for words in ("vadd --n 100000", "matmul --m 300 --n 300 --k 300",
                  "mla_prolog --m 200 --n 300 --k 100",
                  "softmax --m 300 --n 200",
                  "layernorm --m 300 --n 200"):
        for sem in (*range(24), *range(56, 64)):
            ran, report = checked(*words.split(), checks="race", FAULT=f"skip:sem{sem}")
            found = {f["class"] for f in report["findings"]} if report else set()
            named += "race" in found
            if not found and ran.returncode:
                problems.append(f"{words}: {sem}: {ran.stderr[:200]}")
    check("checked/each_semaphore_left_out", problems + ([] if named >= 30 else [f"{named} named"]))


def self_tests():
    for options in ((), ("--cores", "4", "--profile", "ascend910"),
                    ("--cores", "32", "--profile", "ascend310")):
        suppress = ("--suppress", "tests/check/suppress")
        ran, report = checked(*IMAGE, "test", options=(*options, *suppress))
        left = [f for f in report["findings"] if "suppressed" not in f and
                f["class"] in ("race", "init")]
        check(f"checked/self_tests_are_silent{''.join(options).replace('-', '_')}",
              silent(ran, report | {"findings": left}))


# --- suppressions and bad input ---

def refused(name, pattern, *words, status=2):
    ran = salai(*words, *IMAGE, "race")
    check(f"checked/{name}", [] if ran.returncode == status and re.search(pattern, ran.stderr) and
          ran.stderr.count("\n") == 1 else [f"status {ran.returncode}", ran.stderr])


def suppressions():
    sides = "tests/broken/race.c:copy_in tests/broken/race.c:compute"
    with tempfile.NamedTemporaryFile("w+") as f:
        def entry(text):
            f.seek(0)
            f.truncate()
            f.write(text + "\n")
            f.flush()
            return ("--suppress", f.name)

        ran, report = checked(*IMAGE, "race", options=entry(
            f"# known\nrace {sides} -- is meant to"))
        check("checked/a_suppressed_one_is_no_violation",
              (ran.returncode or [x.get("suppressed") for x in report["findings"]] !=
               ["is meant to"]) and [ran.returncode, ran.stderr])
        ran = checked(*IMAGE, "race", options=entry("race x.c y.c:3 -- not there"))[0]
        check("checked/one_that_matches_nothing_is_a_warning", [] if ran.returncode == 1 and
              ":1: warning: matches nothing" in ran.stderr else [ran.returncode, ran.stderr])
        refused("a_suppression_wants_a_reason", ":1: no reason", "--sanitize", "race",
                *entry(f"race {sides}"))
        refused("a_suppression_names_a_class", ":1: want CLASS", "--sanitize", "race",
                *entry("rice a b -- c"))
    refused("no_suppression_file", "No such file", "--sanitize", "race", "--suppress", "/no/such")
    refused("no_such_check", "check=rice: race, hart, memory, sync, init, redundant and all",
            "--sanitize", "rice")
    refused("a_report_that_cannot_be", "No such file", "--sanitize", "race", "--sarif", "/no/such")
    refused("a_report_without_checks", "are for --sanitize", "--json", "/tmp/none")


# --- SARIF ---

TEXT = {"text": str}
LOCATION = {"physicalLocation": {"artifactLocation": {"uri": str, "uriBaseId": str},
                                 "region": {"startLine": int}}, "message": TEXT}
# The part of the schema of SARIF 2.1.0 that is used: names, types, and what must be there.
SARIF = {"$schema": str, "version": {"2.1.0"}, "runs": [{
    "tool": {"driver": {"name": str, "rules": [{
        "id": str, "shortDescription": TEXT,
        "defaultConfiguration": {"level": {"none", "note", "warning", "error"}}}]}},
    "originalUriBaseIds": {"ROOT": {"uri": str}},
    "results": [{"ruleId": str, "level": {"none", "note", "warning", "error"},
                 "message": TEXT, "occurrenceCount": int, "locations": [LOCATION],
                 "relatedLocations": [LOCATION | {"id": int}],
                 "suppressions": [{"kind": {"inSource", "external"}, "justification": str}]}]}]}
OPTIONAL = {"suppressions", "region", "locations", "relatedLocations"}


def misfits(value, schema, path="$"):
    if isinstance(schema, set):
        return [] if value in schema else [f"{path}: {value!r}"]
    if isinstance(schema, type):
        return [] if type(value) is schema else [f"{path}: {value!r}"]
    if isinstance(schema, list):
        if not isinstance(value, list):
            return [f"{path}: {value!r}"]
        return [m for i, v in enumerate(value) for m in misfits(v, schema[0], f"{path}[{i}]")]
    if not isinstance(value, dict):
        return [f"{path}: {value!r}"]
    return ([f"{path}: {k} is missing" for k in schema if k not in value and k not in OPTIONAL] +
            [f"{path}: no {k} in the schema" for k in value if k not in schema] +
            [m for k in value if k in schema for m in misfits(value[k], schema[k], f"{path}.{k}")])


def sarif():
    report = checked(*IMAGE, "race", files=("sarif",), options=(
        "--suppress", "tests/check/suppress"))[1]
    problems = misfits(report, SARIF)
    if not problems:
        run = report["runs"][0]
        rules = {rule["id"] for rule in run["tool"]["driver"]["rules"]}
        if [r["ruleId"] for r in run["results"]] != ["race"] or not rules >= {"race"}:
            problems = [run["results"]]
    check("checked/sarif_fits_its_schema", problems)


corpus()
hazards()
plants()
classes()
two_lines()
unwritten()
redundant()
operators()
suppressions()
sarif()
if FULL:
    left_out()
    self_tests()
sys.exit(done())
