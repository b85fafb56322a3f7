# SPDX-License-Identifier: MIT
"""npu watch [MEM] ADDRESS [BYTES] [-r|-a] [-c CORE] [if EXPRESSION]     stops where an engine
                                                                      writes there

-r: where one reads, -a: both. BYTES: 1 if left out. MEM: gm, l1, ub, l0a, l0b, l0c, bt,
fb, with an offset in it; without MEM, an address as the hart sees it. Engines read when
a command begins and write when it ends. For the hart's own accesses: gdb's `watch`."""
from npu import machine, stops, wanted

OPTIONS = "ra"
CONDITIONAL = True
USAGE = "npu watch [MEM] ADDRESS [BYTES] [-r|-a] [if EXPRESSION]"


def run(words, options, core):
    words, condition = (words[:-2], words[-1]) if "if" in words[-2:-1] else (words, "")
    machine.wants(words, 1, 3, USAGE)
    named = len(words) == 3 or words[0].lower() in machine.memories(core)
    machine.wants(words, 1 + named, 2 + named, USAGE)
    place, size = words[:1 + named], machine.number((words[1 + named:] or ["1"])[0])
    if size < 1:
        raise machine.Error(f"{size} bytes: 1 or more are wanted")
    owner, memory, first = machine.locate(place, core, size)
    reads, writes = {"-r", "-a"} & {*options}, "-r" not in options
    events = " ".join(["begins"] * bool(reads) + ["ends"] * writes)
    keys = {} if machine.memory_name(memory) == "gm" else {"core": owner}
    text = " ".join(["npu watch", *words, *options])
    number = stops.add(events, text, mem=memory, first=first, bytes=size,
                       reads=int(bool(reads)), writes=int(writes), **keys)
    wanted.set_condition(number, condition)
    print(f"stop {number}: {wanted.described(number)}")
