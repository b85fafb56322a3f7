# SPDX-License-Identifier: MIT
"""npu status [-c CORE]     what the hart and every pipe do, and since which cycle

Pipes run the command that is shown, or wait for its semaphores, or have stopped on an
error that `npu faults` explains. Without -c: all cores."""
import gdb

from npu import decode, machine, queues, stops, tasks


def hart():
    running = machine.static(tasks.UNIT, "running")
    who = f'task "{running["name"].string()}"' if running is not None and int(running) \
        else "no task"
    pc = int(gdb.parse_and_eval("$pc")) & machine.WORD
    return f"{who}, at {decode.place(pc, call=False)}"


def pipe_line(core, pipe, name):
    state, commands = queues.state(core, pipe), queues.read(core, pipe)
    line = f"  {name:5}{state:9}{queues.depth(core, pipe):3} queued"
    if commands:
        line += f"  {queues.when(core, pipe)}  {decode.issued(commands[0].pc, commands[0].tag)}"
        line += f"\n         {commands[0].line()}"
    return line


def run(words, options, core):
    machine.wants(words, 0, 0, "npu status [-c CORE]")
    cores, profile = machine.chip("CHIP_CORES"), machine.chip("CHIP_PROFILE")
    name = machine.names("npu_profile", "PROFILE_").get(profile, profile)
    print(f"cycle {machine.chip('CHIP_CYCLE')}, {cores} core(s) as {name}")
    print(f"hart: {hart()}")
    for c in [core] if "-c" in options else range(cores):
        if any(queues.state(c, p) != "EMPTY" for p in machine.pipes()):
            print(f"core {c}:")
            for pipe, name in machine.pipes().items():
                print(pipe_line(c, pipe, name))
        else:
            print(f"core {c}: nothing queued")
    for line in stops.lines(True) if stops.texts or stops.in_replay else ():
        print(line)
