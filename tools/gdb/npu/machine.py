# SPDX-License-Identifier: MIT
#
# The machine as a debugger sees it: names and numbers of the contract (from DWARF and
# the image's own tables), registers, memories. Everything is read through gdb, as QEMU
# answers a debugger: without side effects. Nothing here keeps what it has read from
# the machine; what comes from the image is kept until another image is loaded.
import functools
import struct

import gdb

WORD = (1 << 64) - 1
Error = gdb.GdbError
UNITS = "hal/contract/tables.c"


def from_image(function):
    """Keeps the results until gdb loads another image, and reads tables from its file:
    thousands of strings would take the machine a second."""
    @functools.lru_cache(None)
    @functools.wraps(function)
    def kept(*arguments, **options):
        trusted = gdb.parameter("trust-readonly-sections")
        gdb.execute("set trust-readonly-sections on", to_string=True)
        try:
            return function(*arguments, **options)
        finally:
            gdb.execute(f"set trust-readonly-sections {'on' if trusted else 'off'}",
                        to_string=True)

    for event in (gdb.events.new_objfile, gdb.events.clear_objfiles):
        event.connect(lambda _: kept.cache_clear())
    return kept


@from_image
def enum(name):
    """{enumerator: value} of an enum of the image, {} if there is none."""
    try:
        return {f.name: f.enumval & WORD for f in gdb.lookup_type("enum " + name).fields()}
    except gdb.error:
        return {}


@from_image
def names(enumeration, prefix):
    """{value: name without prefix}"""
    return {v: n[len(prefix):] for n, v in enum(enumeration).items() if n.startswith(prefix)}


def param(name):
    found = enum("contract_param").get(name)
    if found is None:
        raise Error(f"the image does not know {name}: load it with `file build/salai.elf`")
    return found


def static(unit, name):
    """A variable of a file, or None."""
    try:
        return gdb.parse_and_eval(f"'{unit}'::{name}")
    except gdb.error:
        return None


@from_image
def texts(name):
    """A table of strings of the contract."""
    table = static(UNITS, name)
    if table is None:
        return []
    return [table[i].string() if int(table[i]) else "" for i in range(table.type.range()[1] + 1)]


@from_image
def section(name):
    """Bytes of a section of the image's file (ELF64) that is not loaded, b'' without it."""
    path = gdb.current_progspace().filename
    if not path:
        return b""
    with open(path, "rb") as f:
        data = f.read()
    table, = struct.unpack_from("<Q", data, 40)  # e_shoff
    size, count, names_at = struct.unpack_from("<3H", data, 58)
    rows = [struct.unpack_from("<II4Q", data, table + size * i) for i in range(count)]
    strings = rows[names_at][4]
    for at, _, _, _, offset, length in rows:
        if data[strings + at:].startswith(name.encode() + b"\0"):
            return data[offset:offset + length]
    return b""


def check():
    """Raises an Error unless the machine is there and stands still."""
    thread = gdb.selected_thread()
    if thread is None:
        raise Error("the machine is not running: `make debug` starts it")
    if thread.is_running():
        raise Error("the machine is running: stop it first, with Ctrl-C")
    base = param("NPU_CHIP_BASE")
    try:
        magic = load(base + enum("contract_reg")["CHIP_ID"])
    except gdb.MemoryError:
        magic = 0
    if magic & 0xffffffff != param("CHIP_ID_MAGIC"):
        raise Error(f"no NPU at {base:#x}: this is not QEMU with npu.so")
    if field("CHIP_ID_VERSION", magic) != param("CONTRACT_VERSION"):
        raise Error("image and npu.so are of different versions of the contract")


def number(text):
    try:
        return int(gdb.parse_and_eval(text)) & WORD
    except (gdb.error, ValueError, TypeError) as e:
        raise Error(f"{text}: {e}") from None


def load(address, count=None):
    """A word, or a list of `count`, at an address."""
    data = bytes(gdb.selected_inferior().read_memory(address, 8 * (count or 1)))
    words = [int.from_bytes(data[i:i + 8], "little") for i in range(0, len(data), 8)]
    return words if count else words[0]


def field(name, word):
    mask = enum("contract_field")[name]
    return (word & mask) // (mask & -mask)


def chip(name, count=None):
    return load(param("NPU_CHIP_BASE") + enum("contract_reg")[name], count)


def core_base(core):
    if core >= chip("CHIP_CORES"):
        raise Error(f"no core {core}: this machine has {chip('CHIP_CORES')}")
    return param("NPU_CORE_BASE") + core * param("NPU_CORE_STRIDE")


def reg(core, name, pipe=None, count=None):
    """Register, or a row of them, of a core or of one of its pipes."""
    base = core_base(core)
    if pipe is not None:
        base += param("PIPE_BASE") + pipe * param("PIPE_STRIDE")
    return load(base + {**enum("contract_reg"), **enum("pmu_counter")}[name], count)


def has(name):
    return name in enum("contract_reg")


def pipes():
    return {n: name for n, name in sorted(names("pipe", "PIPE_").items())}


def pipe_number(text):
    for number_, name in pipes().items():
        if name == text.upper():
            return number_
    raise Error(f"no pipe {text}: {', '.join(pipes().values())}")


def memories(core):
    """{name: (first byte, size)} that a core and gdb can see."""
    base, costs = core_base(core), enum("npu_cost")
    sizes = chip("CHIP_COST", len(costs))
    at = {n.lower(): v for v, n in names("npu_mem_at", "NPU_AT_").items()}
    found = {n: (base + v, sizes[costs[f"COST_{n.upper()}_BYTES"]]) for n, v in at.items()}
    found["gm"] = chip("CHIP_GM_BASE"), chip("CHIP_GM_SIZE")
    return found


def locate(words, core, size=1):
    """[MEM] ADDRESS as (core, memory, address): the numbers of the device's own, the core
    that of the memory; without MEM an address as the hart sees it."""
    address = number(words[-1])
    for c in [core] if len(words) > 1 else range(chip("CHIP_CORES")):
        found = memories(c)
        if len(words) > 1:
            name = words[0].lower()
            if name not in found:
                raise Error(f"no memory {name}: {', '.join(found)}")
            found = {name: found[name]}
        for name, (base, length) in found.items():
            at = address if name == "gm" or len(words) == 1 else base + address
            if base <= at and at + size <= base + length:
                memory = "COUNT" if name == "gm" else name.upper()
                return c, enum("npu_mem")["NPU_MEM_" + memory], at - (name != "gm") * base
    where = words[0].lower() if len(words) > 1 else "any memory of the NPU"
    raise Error(f"{words[-1]}: {size} byte(s) at {address:#x} are not in {where}")


def memory_name(memory):
    """Of a number that locate() gave."""
    name = names("npu_mem", "NPU_MEM_")[memory]
    return "gm" if name in ("COUNT", "GM") else name.lower()


def hart_address(core, memory, address):
    """Of what locate() gave."""
    name = memory_name(memory)
    return address + (name != "gm") * memories(core)[name][0]


def read(address, size):
    """Bytes of DRAM or of a memory of any core, nothing else: other devices may mind."""
    spaces = [r for c in range(chip("CHIP_CORES")) for r in memories(c).values()]
    if not any(b <= address and address + size <= b + n for b, n in spaces):
        raise Error(f"{address:#x} to {address + size:#x} is not within one memory")
    return bytes(gdb.selected_inferior().read_memory(address, size))


def wants(words, least, most, usage):
    if not least <= len(words) <= most:
        raise Error(f"usage: {usage}")
