# SPDX-License-Identifier: MIT
#
# Run in gdb by tests/run. A snapshot that is damaged, cut off or of another NPU is refused
# in one line with status 2, by -loadvm and by the monitor's loadvm; what of the state is
# looked at, tests/model/machine/snapshot_test.c has. Most are given the right sum, so that
# what is wrong is found behind the seal (tools/emu/qemu/debug/seal.c).
import os
import re
import struct
import sys
import time
import zlib

import gdb

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
from session import *  # noqa: E402

ARGS = "vadd --n 1000"
SLEEPS = "vadd --n 100000" + SPARING
MAGIC = b"ALAS"  # the upper half of the first word of the state, which has the version below
NOW = 40  # where the state has its cycle


def taken():
    """The image of a disk that has a snapshot of a machine that has not begun."""
    new_image()
    process = launch(ARGS, f"-S {DRIVE} {WITH_MONITOR}")
    say = monitor(process)
    say("savevm whole")
    end(process)
    with open(IMAGE, "rb") as f:
        return f.read()


def put(image):
    with open(IMAGE, "wb") as f:
        f.write(image)


def changed(image, at, new):
    return image[:at] + new + image[at + len(new):]


def sealed(image):
    """With the sum of what stands before the seal, which lies in one piece."""
    seal = image.rfind(b"npu.seal")
    at, = struct.unpack_from(">Q", image, seal + 8)
    return changed(image, seal + 16, struct.pack(">Q", zlib.crc32(image[seal - at:seal])))


def claimed(image):
    """The PLIC waits for the end of every interrupt, and hands out none; vmstate of QEMU."""
    name = b"riscv_sifive_plic"
    at = image.find(name) + len(name) + 8
    fields = image[image.find(b'"vmsd_name": "' + name):]
    priorities, thresholds, pending, words = (
        4 * int(n) for n in re.findall(rb'"array_len": (\d+)', fields)[:4])
    return changed(image, at + priorities + thresholds + pending, b"\xff" * words)


def refused(name, word, options=(), args=ARGS):
    status, text = run(args, f"{DRIVE} -loadvm whole", "", options)
    ok(status == 2 and word in text and len(text.splitlines()) == 1, f"damage/{name}",
       (status, text))


def through_the_monitor(name, word):
    process = launch(ARGS, f"-S {DRIVE} {WITH_MONITOR}")
    try:
        monitor(process)("loadvm whole")
    except OSError:
        pass
    status, text = result(process)
    ok(status == 2 and word in text and len(text.splitlines()) == 1, f"damage/{name}",
       (status, text))


def ticks(process):
    """Of the host's processors, that what `timeout` has started has had."""
    with open(f"/proc/{process.pid}/task/{process.pid}/children") as f:
        pid = int(f.read())
    with open(f"/proc/{pid}/stat") as f:
        return sum(map(int, f.read().rsplit(")")[1].split()[11:13]))


def left_asleep():
    """With a monitor a hart that nothing will wake costs the host nothing."""
    process = launch(SLEEPS, f"{DRIVE} -loadvm whole {WITH_MONITOR}")
    say, pcs, spent = monitor(process), [0, 1], []
    while pcs[-1] != pcs[-2]:
        pcs.append(re.search(r"pc +(\w+)", say("info registers"))[1])
        time.sleep(0.2)
        spent.append(ticks(process))
    try:
        say("quit")
    except OSError:
        pass
    got = result(process)
    ok(spent[-1] - spent[-2] <= 2 and got == (0, ""), "damage/is_left_asleep", (pcs, spent, got))


def damaged():
    image = taken()
    state = image.find(MAGIC) - 4
    timer = image.find(b"cpu_common")
    same(run(ARGS, f"{DRIVE} -loadvm whole"), run(ARGS), "damage/the_whole_one_is_loaded")
    for option, value in (("--cores", "2"), ("--profile", "ascend310"), ("--seed", "3"),
                          ("--timing", "v1"), ("--mem", "128M")):
        refused(f"another_{option[2:]}_is_refused", "of another NPU", [option, value])
    contract = image.find(b"(contract=") + len(b"(contract=")
    put(changed(image, contract, b"0"))
    refused("another_contract_is_refused", "it has (contract=0,")
    put(image.replace(b"npu.stage(", b"npu.state("))
    refused("a_machine_without_an_npu_is_refused", "without this NPU")
    for name, at in ("memory", state - 200000), ("the_hart", timer + 1000):
        put(changed(image, at, bytes([image[at] ^ 1])))
        refused(f"another_bit_of_{name}_is_refused", "the snapshot is damaged")
    put(changed(image, image.rfind(b"npu.seal"), b"N"))
    refused("one_without_a_seal_is_refused", "the snapshot is damaged")
    put(sealed(claimed(image)))
    refused("what_nothing_would_wake_is_told", "for ever: nothing is left that would wake it",
            args=SLEEPS)
    left_asleep()
    put(sealed(changed(image, state, b"\1")))
    refused("another_state_is_refused", "no machine can be in its state")
    put(sealed(changed(image, state + NOW, b"\xff" * 7)))
    refused("a_state_of_the_future_is_refused", "no machine can be in its state")
    through_the_monitor("a_state_of_the_future_is_refused_by_loadvm", "no machine can be")
    put(sealed(changed(image, timer, b"x")))
    refused("another_section_is_refused", "cannot be loaded")
    through_the_monitor("another_section_is_refused_by_loadvm", "cannot be loaded")
    put(changed(image, image.rfind(b"npu.seal") + 24, b"x"))
    refused("another_end_is_refused", "cannot be loaded: ")
    put(sealed(changed(image, timer, bytes(state - timer))))
    refused("one_that_is_cut_off_is_refused", "cannot be loaded")
    for name, end, word in (("to_nothing", 0, "not in qcow2 format"),
                            ("in_its_header", 50, "reference count table"),
                            ("behind_its_header", 72, "does not exist"),
                            ("in_the_middle", len(image) // 2, "does not exist")):
        put(image[:end])
        refused(f"a_disk_cut_{name}_is_refused", word)


main(damaged)
