# SPDX-License-Identifier: MIT
"""npu regs BLOCK [-c CORE] [-a]     registers of a block, by name, fields decoded

BLOCK is core, sem, pmu, chip, queue, or a pipe (V, MTE1, MTE2, MTE3, M, FIX). Of a row
of equal registers those that are 0 are left out; -a shows all."""
from npu import machine

OPTIONS = "a"
ENUMS = {"PIPE_STATUS_STATE": ("pipe_state", "PIPE_"), "PIPE_ERROR_CODE": ("npu_error", "NPU_ERR_"),
         "CORE_FAULT_CODE": ("npu_error", "NPU_ERR_"), "PIPE_ERROR_OPCODE": ("op", "OP_"),
         "PMU_SELECT_EVENT": ("pmu_event", "EVENT_"),
         "CHIP_PROFILE_NUMBER": ("npu_profile", "PROFILE_"),
         "CHIP_TIMING_NUMBER": ("npu_timing", "TIMING_")}
ROWS = {"CHIP_COST": ("npu_cost", "COST_")}  # what the registers of a row are called


@machine.from_image
def fields():
    """{register: [field]}: a field belongs to the longest register that begins it."""
    found = {}
    for name in machine.enum("contract_field"):
        owners = [r for r in machine.enum("contract_reg") if name.startswith(r + "_")]
        found.setdefault(max(owners, key=len, default=""), []).append(name)
    return found


def decoded(register, word):
    parts = []
    for name in fields().get(register, []):
        value = machine.field(name, word)
        text = machine.names(*ENUMS[name]).get(value) if name in ENUMS else None
        shown = text or (str(value) if value < 10 or "CYCLE" in name else f"{value:#x}")
        parts.append(f"{name[len(register) + 1:]}={shown}")
    return " ".join(parts)


def block(text, core):
    """[(register, address, how many)] of a block."""
    regs, rows = machine.enum("contract_reg"), machine.enum("contract_row")
    name, base = text.upper(), machine.core_base(core)
    found = [(r, a) for r, a in regs.items() if r.startswith(name + "_")]
    if name in machine.pipes().values():
        pipe = machine.pipe_number(name)
        base += machine.param("PIPE_BASE") + pipe * machine.param("PIPE_STRIDE")
        found = [(r, a) for r, a in regs.items() if r.startswith("PIPE_")]
        found += machine.enum("pmu_counter").items()
    elif name == "CHIP":
        base = machine.param("NPU_CHIP_BASE")
    elif name == "PIPE" or not found:
        blocks = sorted({r.split("_")[0].lower() for r in regs} - {"pipe"})
        raise machine.Error(f"no block {text}: {', '.join(blocks)}, "
                            + ", ".join(machine.pipes().values()))
    return [(r, base + a, rows.get("ROW_" + r, 0)) for r, a in found]


def run(words, options, core):
    machine.wants(words, 1, 1, "npu regs BLOCK [-c CORE] [-a]")
    for name, address, row in block(words[0], core):
        values = machine.load(address, row or 1)
        shown = [i for i in range(len(values)) if values[i] or not row or "-a" in options]
        for i in shown:
            called = machine.names(*ROWS[name]).get(i, i) if name in ROWS else i
            label = f"{name}({called})" if row else name
            print(f"{label:26} {values[i]:#18x}  {decoded(name, values[i])}".rstrip())
        if not shown:
            print(f"{name + '(0..' + str(row - 1) + ')':26} {'0':>18}")
