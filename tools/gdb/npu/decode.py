# SPDX-License-Identifier: MIT
#
# Commands, places in the source and faults in words. What a command is made of comes
# from the image: the table `commands` gives name and format of an opcode, a section of
# its file the texts, `struct cmd_FORMAT` of DWARF the operands.
import gdb

from npu import machine

LINE = 0xffffff  # of a tag: what the kernel gave it; a tile program: the line


@machine.from_image
def commands():
    """{opcode: (name, text, format, {operand: text})}"""
    table = machine.static(machine.UNITS, "commands")
    words = machine.section(".contract.texts").decode().split("\0")
    does = dict(zip(words[::2], words[1::2]))
    found = {}
    for i in range(table.type.range()[1] + 1 if table is not None else 0):
        row = table[i]
        symbol = gdb.execute(f"info symbol {int(row['args']):#x}", to_string=True).split()[0]
        args = {}
        for n in range(int(row["n_args"])):
            at = row["args"][n]["name"]  # and behind its 0 the text
            args[at.string()] = (at + len(at.string()) + 1).string()
        name = row["name"].string()
        found[int(row["opcode"])] = (name, does.get(name, ""),
                                     symbol.removeprefix("args_") if args else "", args)
    return found


def type_name(code):
    return machine.names("type", "TYPE_").get(code, f"type {code}")


@machine.from_image
def flags_of(op):
    """[(name, bit)]; OP_FLAG of enum cmd_flag belongs to the longest op that fits."""
    ops = [c[0] for c in commands().values()]
    return [(name[len(op) + 1:], bit) for name, bit in machine.enum("cmd_flag").items()
            if op == max((o for o in ops if name.startswith(o + "_")), key=len, default="")]


def flag_names(op, flags):
    found = []
    for name, bit in flags_of(op):
        if flags & bit:
            found.append(name)
            flags &= ~bit
    return found + ([f"{flags:#x}"] if flags else [])


@machine.from_image
def place(pc, call=True):
    """`file:line function`; call: pc is behind the call that is meant."""
    if not pc:
        return ""
    at = pc - 1 if call else pc
    sal, block = gdb.find_pc_line(at), gdb.block_for_pc(at)
    while block and not block.function:
        block = block.superblock
    if not sal.symtab:
        return gdb.format_address(pc)
    return f"{sal.symtab.filename.split('/')[-1]}:{sal.line} {block.function if block else ''}"


def issued(pc, tag):
    """The same of a command; where it is of a tile program, that one's line, which its tag
    is."""
    at = place(pc)
    line = tag & LINE
    plan = played() if line else None
    if plan is None:
        return at
    name = plan["k"]["file"]
    return f"{name.string().split('/')[-1]}:{line}" if int(name) else f"line {line}, {at}"


def tiles_of(plan):
    """What the Vector does in tiles of a stage (kernels/tile/tiles/tiles.h), or None: it is of
    a kind that has none."""
    kinds = [gdb.parse_and_eval(f"&{kind}_kind") for kind in ("tiles", "product", "windows")]
    if plan["kind"] not in kinds:
        return None
    return plan.address.cast(gdb.lookup_type("struct tiles_plan").pointer()).dereference()


def lines_of(tiles):
    p = tiles["p"]
    return {int(p["node"][i]["line"]) for i in range(1, int(p["n"]) + 1)}


def program(plan):
    """Name of a stage's file, and the lines that its commands are of."""
    file, tiles = plan["k"]["file"], tiles_of(plan)
    lines = lines_of(tiles) if tiles is not None else set()
    product = tiles["product"] if tiles is not None else 0
    if int(product):
        lines.add(int(product["dot"]["line"]))
        if int(product["prologue"]):
            lines |= lines_of(product["prologue"]["t"])
    return file.string().split("/")[-1] if int(file) else "", sorted(lines - {0})


def played():
    """The stage of a tile program that is played, or None."""
    try:
        plan = gdb.parse_and_eval("tile_played")
    except gdb.error:
        return None
    return plan.dereference() if int(plan) else None


def sem_name(sem, pc, core=0):
    """What a semaphore of a core is called: by the scheduler's label, which may change any
    time, or by the source around pc. '' if by neither."""
    labels = machine.static("sched/report.c", "labels")
    label = labels[core][sem] if labels is not None and sem <= labels[0].type.range()[1] else None
    if label is not None and int(label["name"]):
        return f" {label['name'].string()} {label['role'].string()}".rstrip()
    return source_name(sem, pc)


@machine.from_image
def source_name(sem, pc):
    """The enumerator of an enum without a name whose values count up; '' if there is none,
    or several."""
    found = set()
    symtab = gdb.find_pc_line(pc).symtab if pc else None
    for symbol in symtab.static_block() if symtab else ():
        kind = symbol.type
        if (symbol.addr_class == gdb.SYMBOL_LOC_CONST and kind.code == gdb.TYPE_CODE_ENUM
                and kind.tag is None and int(symbol.value()) == sem):
            values = [f.enumval for f in kind.fields()]
            if values == list(range(values[0], values[0] + len(values))):
                found.add(symbol.name)
    return f" {found.pop()}" if len(found) == 1 else ""


class Cmd:
    """A command in memory, decoded."""

    def __init__(self, data, core=0):
        self.core = core  # whose names semaphores have
        value = gdb.Value(bytes(data), gdb.lookup_type("union cmd"))
        head = value["head"]
        self.opcode, self.pc, self.tag = (int(head[f]) for f in ("opcode", "pc", "tag"))
        self.known = self.opcode in commands()
        self.name, self.text, layout, self.texts = commands().get(
            self.opcode, (f"opcode {self.opcode:#x}", "no such command", "", {}))
        self.type = type_name(int(head["type"]))
        self.flags = flag_names(self.name, int(head["flags"]))
        self.waits = self.semaphores(head["wait_sem"], head["wait_n"])
        self.posts = self.semaphores(head["post_sem"], head["post_n"])
        self.operands = {f.name: value[layout][f.name]
                         for f in (value[layout].type.fields() if layout else ())
                         if f.name != "head"}

    @staticmethod
    def semaphores(sems, counts):
        return [(int(sems[i]), int(counts[i])) for i in range(2) if int(counts[i])]

    def show(self, pairs):
        return ", ".join(f"sem {s}{sem_name(s, self.pc, self.core)}" + (f" x{n}" if n > 1 else "")
                         for s, n in pairs)

    def line(self):
        parts = [self.name] + ([self.type] if self.type != "NONE" else []) + self.flags
        parts += [f"{k}={shown(k, v)}" for k, v in self.operands.items()]
        parts += [f"waits {self.show(self.waits)}"] if self.waits else []
        parts += [f"posts {self.show(self.posts)}"] if self.posts else []
        return " ".join(parts)


def shown(name, value):
    """An operand: addresses and masks are wide."""
    if value.type.strip_typedefs().code != gdb.TYPE_CODE_INT:
        return str(value)
    wide = value.type.sizeof >= 4
    return f"{int(value):#x}" if wide and abs(int(value)) > 9 else str(int(value))


def fault(core, pipe, code, opcode, at, addr, value, pc):
    """Lines about a fault."""
    table = machine.texts("error_names"), machine.texts("error_texts")
    name, rule = (t[code] if code < len(t) else "?" for t in table)
    command = commands().get(opcode)
    if pipe not in machine.pipes():
        what = f"register access at offset {at:#x}, value {value:#x}"
    elif command is None:
        what = f"value {value:#x}, address {addr:#x}"
    else:
        what = f"{command[0]}.{field_at(command, at)}: value {value:#x}, address {addr:#x}"
    lines = [f"core {core} {machine.pipes().get(pipe, 'registers')}: {name}: {rule}", f"  {what}"]
    return lines + ([f"  issued at {place(pc)}"] if pc else [])


def field_at(command, offset):
    for struct in ("cmd_head", "cmd_" + command[2]):
        for f in gdb.lookup_type("struct " + struct).fields() if command[2] else ():
            if f.bitpos // 8 <= offset < f.bitpos // 8 + f.type.sizeof and f.name != "head":
                return f.name
    return f"byte {offset}"
