# SPDX-License-Identifier: MIT
#
# Tiles: bytes of a memory as a matrix of numbers. Layouts are those of
# hal/contract/mte.md and cube.md; a fractal is 16 rows (Zn: columns) of 32 bytes, in L0C
# of 16 elements of 4 bytes.
import struct

from npu import machine

# name: (type of the contract, struct's letter, NumPy's name)
TYPES = {"fp32": ("F32", "f", "<f4"), "fp16": ("F16", "e", "<f2"), "bf16": ("BF16", "H", "<f4"),
         "int32": ("S32", "i", "<i4"), "int16": ("S16", "h", "<i2"), "int8": ("S8", "b", "|i1"),
         "uint8": ("U8", "B", "|u1")}
# What the contract, NumPy and the command line call them, too.
ALIASES = {"float32": "fp32", "float16": "fp16", "half": "fp16", "bfloat16": "bf16"} \
    | {row[0].lower(): kind for kind, row in TYPES.items()}
LAYOUTS = ("nd", "nz", "zz", "zn")
MAX_ELEMENTS = 1 << 20


def up(n, unit):
    return -(-n // unit) * unit


def type_of(text):
    kind = ALIASES.get(text.lower(), text.lower())
    if kind not in TYPES:
        raise machine.Error(f"no type {text}: {', '.join(TYPES)}")
    return kind


def shape(text):
    rows, x, columns = text.lower().partition("x")
    if not (rows.isdigit() and columns.isdigit()):
        raise machine.Error(f"{text}: want a shape such as 16x64")
    if not 0 < int(rows) * int(columns) <= MAX_ELEMENTS:
        raise machine.Error(f"{text}: want 1 to {MAX_ELEMENTS} elements")
    return int(rows), int(columns)


def places(layout, rows, columns, size, pitch, c0):
    """Offset in elements of element (r, c), and how many elements that spans."""
    if layout == "nd":
        pitch = pitch or columns
        return (lambda r, c: r * pitch + c), (rows - 1) * pitch + columns
    if layout == "nz":
        high = pitch or up(rows, 16)
        return (lambda r, c: c // c0 * high * c0 + r * c0 + c % c0), \
            (columns - 1) // c0 * high * c0 + rows * c0
    if layout == "zz":
        wide = up(columns, c0)
        return (lambda r, c: r // 16 * 16 * wide + c // c0 * 16 * c0 + r % 16 * c0 + c % c0), \
            up(rows, 16) * wide
    wide = up(columns, 16)
    return (lambda r, c: r // c0 * c0 * wide + c // 16 * 16 * c0 + c % 16 * c0 + r % c0), \
        up(rows, c0) * wide


def numbers(data, kind):
    """Elements of a byte string."""
    letter = TYPES[kind][1]
    found = struct.unpack(f"<{len(data) // struct.calcsize(letter)}{letter}", data)
    if kind == "bf16":
        found = struct.unpack(f"<{len(found)}f", b"".join(b"\0\0" + struct.pack("<H", n)
                                                           for n in found))
    return found


class Tile:
    """MEM ADDRESS SHAPE TYPE [LAYOUT] as a list of rows."""

    def __init__(self, words, core, pitch=0):
        memory, address, size, self.kind = words[0].lower(), *words[1:3], type_of(words[3])
        layout = words[4].lower() if len(words) > 4 else "nd"
        memories = machine.memories(core)
        if memory not in memories:
            raise machine.Error(f"no memory {memory}: {', '.join(memories)}")
        if layout not in LAYOUTS:
            raise machine.Error(f"no layout {layout}: {', '.join(LAYOUTS)}")
        self.rows, self.columns = shape(size)
        esize = struct.calcsize(TYPES[self.kind][1])
        c0 = 16 if memory == "l0c" else 32 // esize
        place, elements = places(layout, self.rows, self.columns, esize, pitch, c0)
        base, length = memories[memory]
        at = machine.number(address)
        at = at if memory == "gm" else base + at
        if at < base or at + elements * esize > base + length:
            raise machine.Error(f"{address}: {size} {self.kind} {layout} does not lie in {memory}, "
                                f"which has {length:#x} bytes"
                                + (f" from {base:#x} on" if memory == "gm" else ""))
        flat = numbers(machine.read(at, elements * esize), self.kind)
        self.values = [[flat[place(r, c)] for c in range(self.columns)] for r in range(self.rows)]
        at -= 0 if memory == "gm" else base
        self.what = f"{memory} {at:#x}: {size} {self.kind} {layout}"

    def flat(self):
        return [v for row in self.values for v in row]

    def text(self, value):
        return f"{value:.5g}" if isinstance(value, float) else str(value)
