# SPDX-License-Identifier: MIT
#
# What gdb asks of the device itself, through two properties that npu.so gives it: see
# tools/emu/qemu/debug/debug.c for the requests.
import json

import gdb

from npu import machine

OBJECT = "/machine/npu"


def monitor(command):
    try:
        return gdb.execute(f"monitor {command}", to_string=True).strip()
    except gdb.error as e:
        raise machine.Error(f"QEMU cannot be asked here: {e}") from None


def get(name):
    text = monitor(f"qom-get {OBJECT} {name}")
    if text.startswith("Error"):
        raise machine.Error("no npu.so that can be asked: " + text)
    return json.loads(text)


def ask(request):
    """The answer to a request, which may be ''."""
    text = monitor(f"qom-set {OBJECT} debug {request}")
    if text:
        raise machine.Error(text.removeprefix("Error: "))
    return get("debug")


def findings():
    """What the checks have found so far, as npu.so leaves it at the end of a run."""
    text = monitor(f"qom-get {OBJECT} findings")
    if text.startswith("Error"):
        raise machine.Error("this run is not checked: CHECK=race, as in `make debug CHECK=race`")
    return json.loads(json.loads(text))


def pairs(line):
    """`a=1 b=-2` as {"a": 1, "b": -2}; texts are those of `what` and `cmd`."""
    found = (word.partition("=") for word in line.split())
    return {k: v if k in ("what", "cmd") else int(v) for k, _, v in found}


def replaying():
    return monitor("info replay").startswith("Replaying")


def instructions():
    """Retired by the hart since the beginning of a recording."""
    return int(monitor("info replay").split()[-1])
