# SPDX-License-Identifier: MIT
"""npu cmd ADDRESS     decodes the command in memory at an address

ADDRESS is any expression, such as `npu cmd &cmd` in a kernel. Shows opcode, type, flags,
who issued it, semaphores and operands. `print cmd` gives the same on one line."""
from npu import decode, machine


def run(words, options, core):
    machine.wants(words, 1, 9, "npu cmd ADDRESS")
    address = machine.number(" ".join(words))
    command = decode.Cmd(machine.read(address, machine.param("CMD_BYTES")), core)
    print(f"{command.name}: {command.text}")
    rows = [("opcode", f"{command.opcode:#x}", ""), ("type", command.type, "")]
    rows += [("flags", " ".join(command.flags) or "none", "")]
    rows += [("tag", f"{command.tag:#x}", "")]
    rows += [("pc", decode.issued(command.pc, command.tag) or "none", "")]
    rows += [("waits for", command.show([pair]), "") for pair in command.waits]
    rows += [("posts", command.show([pair]), "") for pair in command.posts]
    rows += [(name, decode.shown(name, value), command.texts.get(name, ""))
             for name, value in command.operands.items()]
    for name, value, text in rows:
        print(f"  {name:14} {value:12}  {text}".rstrip())
