# SPDX-License-Identifier: MIT
"""npu value [NAME] [COPY]     a value of the tile program that runs, by its name

What lies at its place in UB now, as npu tile shows it: COPY of the tiles that are there at one
time, 0 if left out. A place has several values, one after the other; the first line tells which.
Without NAME: all names, with where they lie. -a prints all of a large tile."""
from npu import decode, machine, numbers
from npu.commands import tile

OPTIONS = "a"
HAS_COL, HAS_ROW = 1, 2
TYPES = {"F32": "fp32", "F16": "fp16", "BF16": "bf16", "S32": "int32", "S16": "int16",
         "S8": "int8", "U8": "uint8"}


def place_of(plan, value):
    """(node, buffer's number) of a value of the kernel, or None: it has none of its own. Of
    several steps that it is made in the last is the value."""
    program, emit, found = plan["p"], plan["emit"], None
    for i in range(1, int(program["n"]) + 1):
        buffer = int(emit["form"][i]["dense"])
        if int(program["node"][i]["of"]) == value and buffer:
            found = program["node"][i], buffer - 1
    return found


def values(plan):
    """{name: (node, buffer)}, in the program's order."""
    kernel, found = plan["p"]["k"], {}
    for i in range(int(kernel["n_names"])):
        name = kernel["names"][i]
        at = place_of(plan, int(name["value"]))
        if at:
            found[name["text"].string()] = at
    return found


def shape(plan, node):
    way, has = plan["way"], int(node["has"])
    rows = int(way["rows"]) if has & HAS_ROW else 1
    columns = int(way["cols"]) if has & HAS_COL else 1
    return (1, rows, 0) if has == HAS_ROW else (rows, columns, int(way["pitch"]))


def type_of(node):
    name = machine.names("type", "TYPE_").get(int(node["type"]), "")
    return TYPES.get(name, "uint8")  # of a mask its bytes


def addresses(plan, buffer):
    b, emit = plan["emit"]["buffer"][buffer], plan["emit"]
    ring = (int(b["load"]) or int(b["store"])) and not int(b["always"])
    once = plan["way"]["single"] and not int(b["store"])
    copies = int(plan["way"]["ring"]) if ring and not once else 1
    return [int(emit["at"][buffer][c]) for c in range(copies)]


def head(plan, name, node, buffer):
    rows, columns, _ = shape(plan, node)
    file = plan["p"]["k"]["file"]
    where = file.string().split("/")[-1] if int(file) else "line"
    places = " ".join(f"{a:#x}" for a in addresses(plan, buffer))
    return f"{name}: {type_of(node)} {rows}x{columns}, {where}:{int(node['line'])}, ub {places}"


def run(words, options, core):
    machine.wants(words, 0, 2, "npu value [NAME] [COPY]")
    stage = decode.played()
    if stage is None:
        raise machine.Error("no tile program is running")
    plan = decode.tiles_of(stage)
    if plan is None or not int(plan["p"]):
        raise machine.Error("the stage that runs has no values in UB that have a name")
    found = values(plan)
    if not words:
        for name, (node, buffer) in found.items():
            print(head(plan, name, node, buffer))
        return
    if words[0] not in found:
        raise machine.Error(f"no value {words[0]} in UB: {', '.join(found)}")
    node, buffer = found[words[0]]
    places = addresses(plan, buffer)
    copy = machine.number(words[1]) if len(words) > 1 else 0
    if not 0 <= copy < len(places):
        raise machine.Error(f"{words[0]} is there {len(places)} times: 0 to {len(places) - 1}")
    others = [n for n, (_, b) in found.items() if b == buffer and n != words[0]]
    print(head(plan, words[0], node, buffer)
          + (f"; there too, at another time: {', '.join(others)}" if others else ""))
    rows, columns, pitch = shape(plan, node)
    shown = numbers.Tile(["ub", str(places[copy]), f"{rows}x{columns}", type_of(node)], core, pitch)
    print("\n".join(tile.table(shown, "-a" in options)))
