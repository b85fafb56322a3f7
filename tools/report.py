# SPDX-License-Identifier: MIT
#
# What npu.so has found, with its places in the source and as lines for people: for
# tools/findings and for `npu races` of gdb.
import collections
import os
import re
import subprocess

from advice import advice, place, what, who

CROSS = os.environ.get("CROSS", "riscv64-unknown-elf-")
# Frames that are not where the mistake is: who called them is.
BENEATH = re.compile(r"^(hal|sched|boot)/|^\?\?|^/|^\.\./")
LEVEL = {"race": "error", "out-of-bounds": "error", "use-after-free": "error",
         "unallocated": "error", "double-free": "error", "bad-free": "error", "leak": "error",
         "leftover": "error", "unserved": "error", "misaligned": "warning",
         "left-set": "error",
         "redundant": "note", "init": "error", "order": "note", "mixed": "warning",
         "contended": "warning"}
CORE_SEMS = 64  # SEM_CORE of the contract
LINE = 0xffffff  # of a tag: what the kernel gave it
SIDES = "first", "second", "release", "wanted", "handed"
Frame = collections.namedtuple("Frame", "function file line")


# --- where in the source ---

def address(access):
    """Addresses that lead to an access, the nearest first: a return address is that behind
    the call."""
    if access["command"] and not access["caller"]:
        return [access["pc"] - 2]
    callers = [access["caller"], *access.get("callers", ())]
    return [access["pc"]] + [caller - 2 for caller in callers if caller > 2]


def frames_of(image, addresses):
    """{address: its frames, those that were compiled in first}"""
    wanted = sorted(set(addresses))
    if not wanted:
        return {}
    try:
        text = subprocess.run([CROSS + "addr2line", "-e", image, "-a", "-f", "-i"],
                              input="".join(f"{a:#x}\n" for a in wanted), text=True,
                              capture_output=True).stdout
    except OSError:
        return {}
    frames, now = {}, None
    lines = iter(text.splitlines())
    for line in lines:
        if re.fullmatch("0x[0-9a-f]{8,}", line):
            now = frames.setdefault(int(line, 16), [])
        else:
            file, _, number = next(lines).partition(":")
            number = re.match(r"\d+", number)
            now.append(Frame(line, os.path.normpath(file), int(number[0]) if number else 0))
    return frames


def of_program(access, frame, command):
    """Of a command of a tile program the line of that, which its tag is. The file is an
    argument, as a rule of the program's own name."""
    line = access.get("tag", 0) & LINE
    if not (line and access["command"] and frame.file.startswith(("kernels/tile/", "kernels/mm/"))):
        return frame
    name = access["task"] + ".tile"
    files = [f for word in command for f in re.findall(r"\barg=([^,]*\.tile)\b", word)]
    files = [f for f in files if os.path.basename(f) == name] + files + [name]
    return Frame(access["task"], os.path.normpath(files[0]), line)


def source(access, frames):
    """The innermost frame of a kernel; else the innermost above the drivers."""
    chain = [f for a in address(access) for f in frames.get(a, [])]
    return next((f for f in chain if not BENEATH.search(f.file)),
                next((f for f in chain if f.line and not f.file.startswith("hal/")),
                     next((f for f in chain if f.line), Frame("?", "??", 0))))


# --- findings ---

def located(raw, image, command=()):
    """The findings, with their sources; those of the same two lines and memory are one."""
    raw["findings"] += raw.get("redundant") or []
    for f in raw["findings"]:
        if f.get("freed"):
            f["release"] = f["first"] | {"pc": f["freed"]}
        if f.get("use") == "output":  # ra is nobody's at a call to the host
            f["second"] |= {"caller": 0, "callers": f.pop("callers")}
            f["first"] = f["second"]
    pairs = raw["findings"] + [m for m in raw["mixed"] if m["class"] == "contended"]
    accesses = [f[side] for f in pairs for side in SIDES if side in f]
    accesses += [f["cure"]["other"] for f in raw["findings"] if "other" in f.get("cure", {})]
    buffers = [access["buffer"] for access in accesses if "buffer" in access]
    buffers += [f["queue"] for f in raw["findings"] if "queue" in f]
    frames = frames_of(image, [a for access in accesses for a in address(access)] +
                       [b["site"] - 2 for b in buffers])
    for access in accesses:
        access["source"] = of_program(access, source(access, frames), command)
    for b in buffers:
        frame = (frames.get(b["site"] - 2) or [Frame("?", "??", 0)])[0]
        b["where"], b["frame"] = f"{frame.file}:{frame.line}", frame
    merged = {}
    for f in raw["findings"]:
        if "wanted" in f and BENEATH.search(f["second"]["source"].file):
            f["second"] = f["wanted"]  # the scheduler has taken it for who has to wait
        f.pop("wanted", None)
        for side in SIDES:  # the first units of a queue come with it
            if "queue" in f and BENEATH.search(f.get(side, f["first"])["source"].file):
                f[side]["source"] = f["queue"]["frame"]
        both = sorted(place(x) + x["command"] for x in (f["first"], f["second"]))
        same = merged.setdefault((f["class"], f["memory"], f.get("semaphore"), *both), f)
        if same is not f:
            same["count"] += f["count"]
    for m in raw["mixed"]:
        both = [place(m[side]) for side in ("first", "second") if m["class"] == "contended"]
        merged[m["class"], m["core"], m["semaphore"], *both] = dict(m, count=1)
    return sorted(merged.values(), key=lambda f: (list(LEVEL).index(f["class"]),
                                                  f.get("second", {}).get("cycle", 0)))


# --- in words ---

def allocation(f):
    """What a finding of the memory check is about."""
    a = f["first"]
    name = f" {f['name']}" if f["name"] else ""
    text = f"{f['kind']}{name} of {a['bytes']} bytes at {a['base']:#x}"
    return text if f["class"] != "leak" else f"{text} is left when {f['scope']} ends"


def verdict(f):
    """How what is touched lies to its allocation."""
    a, addr = f["first"], f["address"]
    end = a["base"] + a["bytes"]
    side = (f"{addr - end} bytes behind" if addr >= end else
            f"{a['base'] - addr} bytes before" if addr < a["base"] else
            f"{addr - a['base']} bytes into")
    return f"  {addr:#x} is {side} the {f['kind']}"


def of_memory(f):
    """Lines of a finding of the memory check."""
    lines = []
    if f["class"] != "leak":
        lines.append(line_of(f["second"], f"{what(f['second'])}  {who(f['second'])}"))
    if f["kind"]:
        lines.append(line_of(f["first"], allocation(f)))
    if "release" in f:
        lines.append(line_of(f["release"], "was given back here"))
    if f["kind"] and f["class"] != "leak":
        lines.append(verdict(f))
    return lines


def of_sync(f):
    """Lines of a finding of the sync check."""
    sides = []
    if f["class"] == "left-set":
        return [line_of(f["second"], f"{f['second']['command']} in {f['scope']} works with it  "
                        f"{who(f['second'])}"),
                line_of(f["first"], f"{f['first']['command']} set it before  "
                        f"{who(f['first'])}")]
    if f["posted"]:
        sides.append(("first", "posted it last"))
    if f["taken"]:
        sides.append(("second", f"waits for {f['want']}" if f["class"] == "unserved" else
                      "took from it last"))
    return ([line_of(f[side], f"{who(f[side])} {f[side]['command']} {text}")
             for side, text in sides] +
            ["  nobody has posted it"] * (not f["posted"]) +
            ["  nobody has taken from it"] * (not f["taken"]))


def of_init(f):
    """Lines of a finding of the init check."""
    use, first, source = f["second"], f["first"], f["source"]
    some = f"{f['undefined']} bytes are undefined, the first {f['address'] - use['base']} bytes in"
    text = {"store": f"{what(use)}: {some}",
            "load": f"loads {use['bytes']} undefined bytes",
            "guide": f"{what(use)}, which is undefined from {f['address']:#x} on",
            "output": f"[{use['base']:#x}, {use['base'] + use['bytes']:#x}) goes to a file: "
                      f"{some}"}[f["use"]]
    lines = [line_of(use, f"{text}  {who(use)}")]
    if (first["number"], first["pc"]) != (use["number"], use["pc"]):
        lines.append(line_of(first, f"they come from here: {what(first)}  {who(first)}"))
    lines.append(f"  {where(source)} was never written")
    if "handed" in f:
        a = f["handed"]
        name = f" {source['name']}" if source["name"] else ""
        lines[-1] += (f" since it was handed out: byte {source['address'] - a['base']} of")
        lines.append(line_of(a, f"{source['kind']}{name} of {a['bytes']} bytes at "
                             f"{a['base']:#x}"))
    return lines


def owned(f):
    core = "the chip" if f["semaphore"] >= CORE_SEMS else f"core {f['core']}"
    return f"semaphore {f['semaphore']} of {core}"


def called(buffer):
    return f"{buffer['kind']} {buffer['name']}".strip()


def where(f):
    if f.get("setting"):
        return f"{f['setting']} of core {f['core']}"
    if f["memory"] == "semaphore":
        queue = f.get("queue")
        queue = f" ({f['role']} of queue {queue['name']}, {queue['where']})" if queue else ""
        return f"{owned(f)}{queue}, which holds {f['value']}"
    core = "" if f["memory"] == "GM" else f" of core {f['core']}"
    both = (f.get(side, {}) for side in ("first", "second"))
    buffer = next((access["buffer"] for access in both if "buffer" in access), None)
    text = f" in {called(buffer)} ({buffer['where']})" if buffer else ""
    return f"{f['memory'].upper()}{core} at {f['address']:#x}{text}"


def of_contest(f):
    """Two takers of a semaphore's units."""
    return [f"contended: {owned(f)}, from which two take units of several posts in any order; at "
            "another time each gets what the other waits for, so that it hangs or goes on too soon",
            *(line_of(x, f"{x['command']} takes from it  {who(x)}".strip())
              for x in (f["first"], f["second"]))]


def of_wait(f):
    """A wait that orders nothing, with what it costs as far as that was measured."""
    cost = f.get("cycles")
    less = "; what it costs is not known, "
    if not f["alone"]:
        less += "since other lines wait for it too"
    elif cost is None:
        less += "since the run does not end well without"
    else:
        less = f"; without it {abs(cost)} cycles {'less' if cost >= 0 else 'more'}"
    return [f"redundant: {f['first']['command']} waits for semaphore {f['semaphore']}, {times(f)}, "
            f"which is not needed for anything in this run{less}",
            line_of(f["first"], who(f["first"]))]


def times(f):
    return f"{f['count']} times" if f["count"] > 1 else "once"


def headline(f):
    if f["class"] == "mixed":
        return (f"mixed: {owned(f)} is posted by {who(f['first'])} and by {who(f['second'])} "
                "in any order; a race behind it may not show")
    return f"{f['class']}: {where(f)}, {times(f)}, first in cycle {f['second']['cycle']}"


def line_of(access, text):
    return f"  {place(access):<36} {text}"


def message(f):
    """One finding as lines."""
    if f["class"] in ("redundant", "contended"):
        return of_wait(f) if f["class"] == "redundant" else of_contest(f)
    lines = [headline(f)]
    if f["class"] == "init":
        return lines + of_init(f)
    if "kind" in f or "setting" in f:
        return lines + (of_memory(f) if "kind" in f else of_sync(f))
    if f["class"] == "mixed":
        return lines
    both = (f["first"], f["second"])
    width = max([len(place(access)) for access in both], default=0)
    for access in both:
        lines.append(f"  {place(access):<{width}}  {what(access)}")
        lines.append(f"  {'':<{width}}  {who(access)}, cycle {access['cycle']}")
    if advice(f):
        lines += ["  " + part for part in advice(f).split("; ")]
    return lines
