#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""onnx_test.py [-v | --list] [NAME]...    the models of ONNX's own tests, from file to result

libonnx-testdata has 1072 models with inputs and results. models.txt names those that are computed;
each has to come within rtol 1e-3 and atol 1e-7. The others have to be refused: one line, status 2,
no result; but for those behind a !, whose results contradict the model. Briefly 30 of the former,
with FULL all of them, and a part on chips whose Cube has no F32; PROFILE: all on that chip. Those
behind a ~ are of float64: refused, and computed with --f64 narrow. -v tells what each of the
refused ones was refused for. TAP on stdout; --list: the text of models.txt instead."""

import concurrent.futures
import glob
import os
import re
import subprocess
import sys
import tempfile
import textwrap

import numpy as np

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.dont_write_bytecode = True
sys.path.insert(0, ROOT + "/tests")
import tap  # noqa: E402

GRAPH, SALAI = f"{ROOT}/build/graph", f"{ROOT}/tools/salai"
DATA = "/usr/share/libonnx-testdata/data"
LISTED = f"{ROOT}/tests/graph/models.txt"
PROFILE = os.environ.get("PROFILE") or "a2"  # make exports it empty
OTHERS, PART = ("ascend910", "ascend310"), 8  # every so many of their models
BRIEF = 34  # of those that are listed, and one of the others
SECONDS = 120  # of a program
MODELS = 1072  # of libonnx-testdata 1.12; later ones have more, whose results hold, too


NO_LINE = "it is computed: a line for models.txt"


class Refused(Exception):
    """What said no, with status 2 and one line."""


def run(*words, profile=PROFILE):
    """What a program prints, or Refused; anything else that it ends with is a failure."""
    done = subprocess.run(words, capture_output=True, text=True, errors="replace", check=False,
                          timeout=SECONDS, env=dict(os.environ, PROFILE=profile))
    lines = done.stderr.strip().split("\n")
    if done.returncode == 2 and len(lines) == 1 and lines[0]:
        raise Refused(lines[0])
    if done.returncode:
        raise RuntimeError(f"status {done.returncode}: {lines[-1]}")
    return done.stdout


def numbered(folder, what):
    return sorted(glob.glob(f"{folder}/test_data_set_0/{what}_*.pb"),
                  key=lambda path: int(re.findall(r"\d+", path)[-1]))


def arrays(paths, work, name, narrow):
    """The same as files of NumPy's."""
    for i, path in enumerate(paths):
        run(GRAPH, "npy", path, f"{work}/{name}{i}.npy", *narrow)
        if "BFLOAT16" in path:
            x = np.load(f"{work}/{name}{i}.npy")
            if x.dtype == np.uint16:  # their bits, of float32 the upper half
                x = (x.astype(np.uint32) << 16).view(np.float32)
            np.save(f"{work}/{name}{i}.npy", x)
        yield f"{work}/{name}{i}.npy"


def compare(got, want):
    if got.shape != want.shape or got.dtype != want.dtype:
        return f"{got.dtype} {got.shape}, want {want.dtype} {want.shape}"
    near = np.isclose(got.astype(float), want.astype(float), rtol=1e-3, atol=1e-7,
                      equal_nan=True)
    return "" if near.all() else f"{(~near).sum()} of {near.size}: {got[~near].ravel()[:3]}, " \
                                 f"want {want[~near].ravel()[:3]}"


def compute(folder, work, profile, narrow):
    """What is wrong with the results, or nothing."""
    model = f"{folder}/model.onnx"
    inputs = list(arrays(numbered(folder, "input"), work, "in", narrow))
    run(GRAPH, "compile", model, f"{work}/plan", "--profile", profile, *narrow,
        *(w for path in inputs for w in ("--in", path)))
    wanted = list(arrays(numbered(folder, "output"), work, "want", narrow))
    outputs = [f"{work}/out{i}.npy" for i in range(len(wanted))]
    names = [f"{name}=" for name in run(GRAPH, "names", model).split("\n")] \
        if len(wanted) > 1 else [""]
    run(SALAI, "--", "graph", f"{work}/plan", *inputs,
        *(w for name, path in zip(names, outputs) for w in ("-o", name + path)),
        profile=profile)
    for got, want in zip(outputs, wanted):
        wrong = compare(np.load(got), np.load(want))
        if wrong:
            return wrong
    return ""


def judge(job):
    """(name, what is wrong, what it was refused for)"""
    name, folder, listed, profile, narrow = job  # listed None: a model of another set
    told = name if profile == PROFILE else f"{profile}/{name}"
    told = f"float64/{name}" if narrow else told
    with tempfile.TemporaryDirectory(prefix="onnx.", dir=f"{ROOT}/build/test") as work:
        try:
            wrong = compute(folder, work, profile, ["--f64", "narrow"] if narrow else [])
        except Refused as refused:
            return told, str(refused) if listed else "", str(refused)
        except (RuntimeError, OSError, ValueError, subprocess.TimeoutExpired) as error:
            return told, str(error), ""
    return told, wrong or ("" if listed is not False else NO_LINE), ""


def spread(these, number):
    """So many of them, from the first on, as far from each other as can be: whatever the number of
    models is, the number of tests is the same."""
    return [these[i * len(these) // number] for i in range(number)]


def main():
    verbose, only = "-v" in sys.argv, [w for w in sys.argv[1:] if not w.startswith("-")]
    os.makedirs(f"{ROOT}/build/test", exist_ok=True)
    with open(LISTED, encoding="ascii") as f:
        lines = [line for line in f if line[0] != "#"]
    listed = {name for line in lines if line[0] not in "!~" for name in line.split()}
    narrow = {name for line in lines if line[0] == "~" for name in line[1:].split()}
    odd = {name for line in lines if line[0] == "!" for name in line[1:].split()}
    folders = {os.path.basename(os.path.dirname(path)): os.path.dirname(path)
               for path in glob.glob(f"{DATA}/*/*/model.onnx")}
    known = len(folders) == MODELS
    jobs = [(name, folders[name], name in listed or (False if known else None), PROFILE, False)
            for name in sorted(folders) if name not in odd]
    narrowed = [(name, folders[name], True, PROFILE, True)
                for name in sorted(narrow & set(folders))]
    if only:
        jobs = [job for job in jobs + narrowed if job[0] in only]
    elif not os.environ.get("FULL") and "--list" not in sys.argv:
        jobs = [job for want, number in ((True, BRIEF), (False, 1))
                for job in spread([j for j in jobs if bool(j[2]) == want], number)] + narrowed[:1]
    elif "--list" not in sys.argv and PROFILE not in OTHERS:
        jobs += narrowed + [(name, folders[name], True, profile, False)
                 for i, profile in enumerate(OTHERS)
                 for name in sorted(listed & set(folders))[i::PART]
                 if "BFLOAT16" not in name]  # which those chips have not
    if "--list" in sys.argv:
        with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
            good = [job[0] for job, (_, wrong, refused) in zip(jobs, pool.map(judge, jobs))
                    if not refused and wrong in ("", NO_LINE)]
        print("# Models of libonnx-testdata 1.12 that are computed: onnx_test.py --list.")
        print("\n".join(textwrap.wrap(" ".join(good), 98, break_on_hyphens=False)))
        print("\n".join([f"! {name}" for name in sorted(odd)] +
                        [f"~ {name}" for name in sorted(narrow)]))
        return 0
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        computed = 0
        for name, wrong, refused in pool.map(judge, jobs):
            tap.ok(not wrong, f"onnx/{name}", wrong)
            computed += not wrong and not refused and "/" not in name
            if verbose and refused:
                tap.say(f"# {refused}")
    asked = {job[0] for job in jobs} | odd & set(folders)
    tap.say(f"# {computed} of {len(asked)} on {PROFILE} are computed")
    if known:
        tap.check("onnx/all_of_the_list_are_there", sorted(listed - set(folders)))
    elif not only:
        tap.skip("onnx/all_of_the_list_are_there", "not the models that the list was made of")
    return tap.done(37)


sys.exit(main())
