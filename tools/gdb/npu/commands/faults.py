# SPDX-License-Identifier: MIT
"""npu faults     everything that has stopped, on all cores: the rule, the field, the source"""
from npu import decode, machine


def pipe_fault(core, pipe):
    error = machine.reg(core, "PIPE_ERROR", pipe)
    code, at, opcode = (machine.field("PIPE_ERROR_" + f, error)
                        for f in ("CODE", "FIELD", "OPCODE"))
    addr, value, pc = (machine.reg(core, "PIPE_ERROR_" + r, pipe)
                       for r in ("ADDR", "VALUE", "PC"))
    return decode.fault(core, pipe, code, opcode, at, addr, value, pc) if code else []


def access_fault(core):
    code = machine.field("CORE_FAULT_CODE", machine.reg(core, "CORE_FAULT"))
    offset, value = machine.reg(core, "CORE_FAULT_ADDR"), machine.reg(core, "CORE_FAULT_VALUE")
    return decode.fault(core, None, code, 0, offset, 0, value, 0) if code else []


def run(words, options, core):
    machine.wants(words, 0, 0, "npu faults")
    lines = []
    for c in range(machine.chip("CHIP_CORES")):
        lines += access_fault(c)
        for pipe in machine.pipes():
            lines += pipe_fault(c, pipe)
    print("\n".join(lines) or "no faults")
