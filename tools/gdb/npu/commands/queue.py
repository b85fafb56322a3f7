# SPDX-License-Identifier: MIT
"""npu queue PIPE [CORE]     commands of a pipe's queue, from the head on

PIPE is V, MTE1, MTE2, MTE3, M or FIX; CORE may also be given as -c CORE. Each with the
line of the source that issued it."""
from npu import decode, machine, queues


def run(words, options, core):
    machine.wants(words, 1, 2, "npu queue PIPE [CORE]")
    core = machine.number(words[1]) if len(words) > 1 else core
    pipe = machine.pipe_number(words[0])
    depth, state = queues.depth(core, pipe), queues.state(core, pipe)
    print(f"core {core} {machine.pipes()[pipe]}: {state}, {depth} of "
          f"{machine.param('PIPE_DEPTH')} {queues.when(core, pipe)}".rstrip())
    commands = queues.read(core, pipe)
    if commands is None:
        raise machine.Error("this device does not show its queues")
    for i, command in enumerate(commands):
        print(f"{i:3} {command.line()}\n      {decode.issued(command.pc, command.tag)}")
