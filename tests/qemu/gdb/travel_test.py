# SPDX-License-Identifier: MIT
#
# Run in gdb by tests/run: a recording is the run and its replay is the recording, and
# nothing else; going back comes to where going forward was; `npu who` against what the
# kernel is known to do.
import hashlib
import os
import re
import shutil
import signal
import struct
import subprocess
import sys

import gdb

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
from session import *  # noqa: E402
from session import DIR  # noqa: E402

VADD = "vadd --n 500000" + SPARING
MATMUL = "matmul --m 300 --n 300 --k 700 --tiling published" + SPARING
FOR_EVER = "matmul --m 256 --n 256 --k 512 --repeat 1000"
TILE = 48 << 10
MOST = 8 if FULL else 5  # stops


def tool(*arguments, **variables):
    done = subprocess.run(["timeout", "-s", "KILL", str(DEADLINE), "tools/gdb/record", "--dir", REC,
                           *arguments], env=dict(ENV, **variables), text=True,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    return done.returncode, done.stdout


def hang(name, code):
    """An image that never ends."""
    image = os.path.join(DIR, name)
    subprocess.run(["riscv64-unknown-elf-gcc", "-x", "assembler", "-", "-nostdlib",
                    "-march=rv64gc", "-mabi=lp64d", "-Ttext=0x80000000", "-o", image],
                   text=True, input=f".globl _start\n_start: {code}\n", check=True)
    return image


def snapshot_times():
    """When the recording's snapshots were taken, ns of the guest: qcow2.txt of QEMU."""
    with open(os.path.join(REC, "vm.qcow2"), "rb") as f:
        data = f.read(72)
        count, at = struct.unpack_from(">IQ", data, 60)
        f.seek(at)
        table, at, times = f.read(1 << 16), 0, []
    for _ in range(count):
        id_, name, when, extra = struct.unpack_from(">12xHH8xQ4xI", table, at)
        times.append(when)
        at += -(-(40 + extra + id_ + name) // 8) * 8
    return times


def has_snapshot(since):
    if not any(when > since for when in snapshot_times()):
        raise LookupError("not yet")


def record_until(signal_, since, *arguments):
    """Ends a recording that would go on for ever when it has a snapshot after `since`."""
    shutil.rmtree(REC, ignore_errors=True)
    process = recorder(*arguments)
    until(lambda: has_snapshot(since), process, (OSError, LookupError, struct.error))
    os.killpg(process.pid, signal_)
    return process.wait()


def is_the_run():
    for args in (VADD, MATMUL):
        quiet = run(args)
        same(tool("--", *args.split()), quiet, f"travel/record_{args.split()[0]}")
        same(tool("--replay"), quiet, f"travel/replay_{args.split()[0]}")
    same(tool("--replay", PROFILE="ascend310", CORES="4"), quiet, "travel/machine_is_the_recorded")


def files_stay():
    """Inputs are read from the recording, outputs are not written again."""
    made, x, z = (os.path.join(DIR, n) for n in ("made.npy", "x.npy", "z.npy"))
    script = f"import numpy; numpy.save('{x}', numpy.arange(20000, dtype='f4'))"
    subprocess.run(["/usr/bin/python3", "-c", script], check=True)
    shutil.copy(x, made)
    wanted = tool("--", "vadd", x, made, "-o", z)
    same(wanted[0], 0, "travel/record_with_files")
    os.unlink(z)
    same(tool("--replay"), wanted, "travel/replay_with_files")
    ok(not os.path.exists(z) and not os.path.exists(z + ".part"), "travel/replay_writes_no_file")
    with open(made, "r+b") as f:
        f.seek(500)
        f.write(b"!")
    refused("another_input", tool("--replay"), f"{made} is not what it was when")
    os.unlink(made)
    refused("a_missing_input", tool("--replay"), f"{made} is not what it was when")


def refused(name, got, pattern):
    status, text = got
    ok(status == 2 and re.search(pattern, text) and text.count("\n") == 1,
       f"travel/refuses_{name}", got)


def damaged_rr():
    """QEMU's own part of the recording, which QEMU believes. It comes back as it was."""
    rr, manifest = os.path.join(REC, "rr"), os.path.join(REC, "manifest")
    with open(rr, "rb") as f:
        whole = f.read()
    with open(manifest) as f:
        good = f.read()
    for name, data, pattern in (
            ("a_cut_rr", whole[:-1], "rr is not what was recorded"),
            ("half_an_rr", whole[:len(whole) // 2], "rr is not what was recorded"),
            ("an_empty_rr", b"", "is not complete"),
            ("the_rr_of_another", b"\0\xe0\x20\x0c" + whole[4:100] * 9, "rr is not what was"),
            ("a_missing_rr", None, "is not complete")):
        os.unlink(rr)
        if data is not None:
            with open(rr, "wb") as f:
                f.write(data)
        refused(name, tool("--replay"), pattern)
        with open(rr, "wb") as f:
            f.write(whole)
    with open(manifest, "w") as f:
        f.write(re.sub("^rr .*\n", "", good, flags=re.M))
    refused("an_rr_without_a_sum", tool("--replay"), "has no sum")
    if FULL:  # with the right sum: QEMU waits for what does not come, for ten seconds
        data = whole[:142] + bytes([whole[142] ^ 1]) + whole[143:]
        with open(rr, "wb") as f:
            f.write(data)
        with open(manifest, "w") as f:
            f.write(re.sub("^rr .*", "rr " + hashlib.sha256(data).hexdigest(), good, flags=re.M))
        ended, text = tool("--replay")
        ok(ended == 2 and "nothing goes on at" in text, "travel/a_replay_that_stands_ends", text)
        with open(rr, "wb") as f:
            f.write(whole)
    with open(manifest, "w") as f:
        f.write(good)
    same(tool("--replay")[0], 0, "travel/takes_a_whole_rr")


def others_are_refused():
    manifest = os.path.join(REC, "manifest")
    tool("--", "vadd", "--n", "1000")
    with open(manifest) as f:
        good = f.read()
    for key, pattern in (("qemu", r"was recorded with QEMU 1\?, this is"),
                         ("plugin", "recorded with another build/npu.so"),
                         ("image", "recorded with another build/salai.elf")):
        with open(manifest, "w") as f:
            f.write(re.sub(rf"^{key} .*", f"{key} 1\v", good, flags=re.M))
        refused(f"another_{key}", tool("--replay"), pattern)
    with open(manifest, "w") as f:
        f.write(good)
    same(tool("--replay")[0], 0, "travel/takes_its_own_again")
    other = os.path.join(DIR, "oth\33er.elf")  # and is no other
    shutil.copy("build/salai.elf", other)
    with open(other, "ab") as f:
        f.write(b"\0")
    tool("--image", other, "--", "vadd", "--n", "70")
    same(tool("--replay")[0], 0, "travel/takes_a_path_as_it_is")
    os.unlink(other)
    refused("a_missing_image", tool("--replay"), r"recorded with another .*oth\?er\.elf")
    other = os.path.join(DIR, "other.elf")
    shutil.copy("build/salai.elf", other)
    tool("--image", other, "--", "vadd", "--n", "1000")
    os.unlink(other)
    same(tool("--replay")[0], 0, "travel/takes_the_same_image_elsewhere")
    for part, at, pattern in (("calls", -1, "calls is damaged"), ("calls", 16, "is damaged"),
                              ("args", 1, "args is not what was recorded"),
                              ("rr", 100, "rr is not what was recorded"),
                              ("rr", -1, "rr is not what was recorded")):
        with open(os.path.join(REC, part), "r+b") as f:
            whole = f.read()
            f.seek(at % len(whole))
            f.write(bytes([whole[at] ^ 1]))
        refused(f"damaged_{part}_at_{at % 64}", tool("--replay"), pattern)
        with open(os.path.join(REC, part), "wb") as f:
            f.write(whole)
    damaged_rr()
    shutil.copy(os.path.join(REC, "calls"), DIR)
    os.truncate(os.path.join(REC, "calls"), 100)
    refused("a_cut_recording", tool("--replay"), "the run is not the recorded one")
    os.unlink(os.path.join(REC, "calls"))
    refused("an_incomplete_recording", tool("--replay"), "is not complete")
    os.unlink(manifest)
    refused("no_recording", tool("--replay"), "no recording in")


def there_and_back():
    """Every stop of the device again, from the last to the first."""
    for args, stop in ((VADD, "break V"), (VADD, "watch ub 0x10000 32768 -a"),
                       (MATMUL, "break sem 2"), (MATMUL, "break M"))[::1 if FULL else 2]:
        name = re.sub("[^a-z0-9]+", "_", f"{args.split()[0]} {stop}".lower())
        tool("--", *args.split())
        process, forward = replay(), []
        npu(stop)
        while len(forward) < MOST and go():
            forward.append((here(), stopped()))
        back = []
        for _ in forward[1:]:
            npu("back")
            back.append((here(), stopped()))
        differ = [(a, b) for a, b in zip(reversed(forward[:-1]), back) if a != b][:1]
        ok(not differ and len(back) == MOST - 1, f"travel/{name}_backwards",
           f"{differ}\n" + gdb.execute("monitor info snapshots", to_string=True))
        again = [(here(), stopped()) for _ in forward[1:] if go()]
        same(again, forward[1:], f"travel/{name}_forwards_again")
        over(process)


def backwards():
    tool("--", *VADD.split(), MEM="2G")  # the machine of `make record`
    process = replay()
    go_to("report_launch")
    gdb.execute("delete")
    end_ = here()
    count = int(gdb.execute("monitor info replay", to_string=True).split()[-1])
    ok(count > 10_000_000, "travel/run_of_ten_million_instructions", count)
    for command in ("reverse-stepi", "reverse-step"):
        in_two_seconds(command, f"travel/{command}_in_2_s")
    go_to("report_launch")
    same(here(), end_, "travel/step_comes_back")
    npu("finish MTE3 -r")
    same(len(stopped()), 1, "travel/finish_backwards")
    npu("step V -r")
    matches("travel/step_backwards", "\n".join(stopped()),
            r"^stopped: V command \d+ \(VADD\) begins")
    gdb.execute("delete")
    gdb.execute("watch sleeps")
    gdb.execute("reverse-continue")
    value = number("sleeps")
    gdb.execute("reverse-continue")
    ok(number("sleeps") == value - 1, "travel/watchpoints_go_back", f"{value} {number('sleeps')}")
    gdb.execute("delete")
    go()
    same(gdb.newest_frame().name(), "host_exit", "travel/stops_at_the_end")
    over(process)


def who_wrote():
    tool("--", *VADD.split())
    process = replay()
    x, z = (number(f"p->{name}") for name in "xz")
    go_to("report_launch")
    gdb.execute("delete")
    for tile in (0, 7, 40):
        text = npu(f"who gm {z + tile * TILE + 123}")
        matches(f"who/tile_{tile}", text,
                rf"^gm {z + tile * TILE + 123:#x}: MTE3 command {tile + 1} of core 0 wrote it "
                r"last, cycle \d+ to \d+$", r"^  COPY_UB_GM ",
                r"^  issued at vadd\.c:\d+ copy_out$")
    matches("who/local_memory", npu("who ub 0x28000"), "^ub 0x28000: V command ", "^  VADD F32")
    same(npu(f"who {0x08080000 + 0x28000}"), npu("who ub 0x28000"), "who/address_of_the_hart")
    matches("who/nobody", npu("who l1 5"), "^no command has written l1 0x5: ")
    text = npu(f"who gm {z + 7 * TILE} -g")
    frame = gdb.selected_frame()
    ok(frame.name() == "copy_out" and "issued" in text, "who/goes_to_the_issuer", text)
    cycle = here()[0]
    go_to("report_launch")
    npu("break -e MTE3 8")
    npu("back")
    ok(here()[0] > cycle, "who/the_issue_comes_before_the_end")
    matches("who/before_it_was_written", npu(f"who gm {z + 9 * TILE}"), "^no command has written")
    npu("delete")
    text = npu(f"who {x} -g")
    matches("who/the_hart", text, "^no command has written", "the hart wrote gm .* last, here$")
    same(gdb.newest_frame().name(), "fill_floats", "who/goes_to_the_hart")
    gdb.execute("set var $byte = &running")
    for command, pattern in (("who", "usage"), ("who l2 0", "no memory l2"),
                             ("who 0x10000000", "not in any memory"),
                             ("who ub 0x30000", "not in ub"), ("who nothing", "No symbol")):
        one_line("who/refuses_" + re.sub("[^a-z0-9]+", "_", command), npu(command), pattern)
    over(process)
    one_line("who/before_the_run", npu("who 0"), "is not running")
    process = debug(VADD)
    npu("start")
    for command in ("who 0x80000000 -g", "back"):
        text = npu(command).split("\n")[-1]
        one_line(f"who/live_{command.split()[0]}", text, "only a replay goes back")
    over(process)


def who_wrote_just_now():
    """Where the writer has ended at this instant, or in the sleep that the hart is in."""
    tool("--", *VADD.split(), "--buffers", "1")
    process, wrong, asleep = replay(), [], 0
    z = number("p->z")
    for n in (1, 9, 20, 33, 40, 41) if FULL else (1, 20, 41):
        npu(f"break -e MTE3 {n}")
        go()
        begin = here()
        asleep += sys.modules["npu.stops"].head()["halted"]
        text = npu(f"who gm {z + (n - 1) * TILE} -g")
        issued = re.search(rf"^stopped: MTE3 command {n} .* is issued at cycle (\d+)", text, re.M)
        if gdb.selected_frame().name() != "copy_out" or here()[0] != int(issued[1]):
            wrong.append(text)
        npu("delete")
    same((wrong, asleep > 0), ([], True), "who/wrote_it_just_now")
    over(process)


def hangs():
    """A signal has ended the recording, its replay comes to that very instant and no further."""
    asleep = "j 1f; .balign 4096; .skip 4092; 1: wfi; j 1b"  # a wfi ends its page
    signals = [signal.SIGINT, signal.SIGTERM]
    for name, code in ("spins", "1: addi a0, a0, 1; j 1b"), ("sleeps", asleep):
        image = hang(name, code)
        for signal_ in signals if FULL else (signals.pop(),):
            status = record_until(signal_, 0, "--image", image)
            same((status, tool("--replay")[0]), (130, 130),
                 f"hang/{name}_until_{signal.Signals(signal_).name}")
        process = replay(False)
        sys.modules["npu.stops"].in_replay = True
        go()
        end_ = device_counts()
        ok(go() and device_counts() == end_, f"hang/{name}_stops_at_its_end", end_)
        gdb.execute("reverse-stepi")
        ok(device_counts() < end_, f"hang/{name}_goes_back", device_counts())
        ok(go() and device_counts() == end_, f"hang/{name}_comes_back", device_counts())
        over(process)


def device_counts():
    return sys.modules["npu.device"].instructions()


def cut_short():
    """As hangs(), of the firmware: once the Cube has begun, there is something to go back to."""
    process = debug(FOR_EVER)
    npu("start")
    npu("break M 1")
    go()
    begun = sys.modules["npu.stops"].head()["now"]
    over(process)
    record_until(signal.SIGTERM, begun, "--", *FOR_EVER.split())
    process = replay()
    go()
    end_ = here()
    matches("hang/tells_the_end", "\n".join(stopped()),
            "^stopped: the recording, by a signal, ends here")
    text = npu("step M -r")
    matches("hang/steps_back", text, r"^stopped: M command \d+ .* begins")
    npu("who l0c 0 -g")
    ok(here()[0] < end_[0], "hang/goes_to_an_issuer", f"{here()} {end_}")
    npu("delete")
    go()
    same(here(), end_, "hang/comes_back")
    os.killpg(process.pid, signal.SIGTERM)
    same(process.wait(), 130, "hang/a_replay_can_be_ended")


def hunt():
    """The bug hunt in tools/gdb/README.md, as it is printed there."""
    with open("tools/gdb/README.md") as f:
        block = f.read().split("<!-- hunt -->")[1]
    lines = [line.split("   ")[0] for line in block.replace("\n    ", "\n").splitlines() if line]
    image, args = re.search("IMAGE=(.*) ARGS=(.*)", lines[0]).groups()
    status, text = tool("--image", image, "--", args)
    wrong = re.search(r"late_z\[(\d+)\]", text)[1]
    same((status, lines[1]), (1, "make replay"), "hunt/records_a_failed_check")
    ok(f"npu who late_z+{wrong}" in lines, "hunt/is_about_what_is_wrong", text)
    gdb.execute("file " + image)
    process = replay()
    texts = [gdb.execute(line, to_string=True) for line in lines[2:]]
    ok(len(texts) <= 5, "hunt/takes_five_commands", lines)
    matches("hunt/who_wrote_it", texts[1], r"MTE3 command 13 of core 0 wrote it", " src=0 ")
    matches("hunt/where_it_began", texts[3], r"^stopped: MTE3 command 13 .* begins at cycle")
    matches("hunt/the_guilty_line", texts[4], r"MTE2 command 15 ",
            r"issued at late\.c:\d+ copy_in$")
    over(process)
    gdb.execute("file build/salai.elf")


gdb.execute("source tools/gdb/npu.py")
main(is_the_run, files_stay, others_are_refused, there_and_back, backwards, who_wrote,
     who_wrote_just_now, hangs, cut_short, hunt)
