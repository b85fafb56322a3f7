# SPDX-License-Identifier: MIT
"""npu sem [N] [-c CORE]     semaphores: value, armed threshold, who waits and who posts

Without N: those that are not 0, are armed, or that a task or the head of a queue waits
for. 0 to 63 are the core's, 64 to 127 the chip's. The names are the kernel's own."""
from npu import decode, machine, queues, tasks


def shared(sem, core, other):
    return core == other or sem >= machine.param("SEM_CORE")


def waiting(core):
    """{semaphore: [who]} among tasks and the heads of queues; {semaphore: name}"""
    waits, called = {}, {}

    def add(sem, who, pc):
        waits.setdefault(sem, []).append(who)
        called[sem] = decode.sem_name(sem, pc, core) or called.get(sem, "")

    for t in tasks.tasks():
        for sem, n in t.wants if not t.live() else ():
            if shared(sem, core, t.core):
                add(sem, f'task "{t.name}" wants {n}', t.entry)
    for c in range(machine.chip("CHIP_CORES")):
        for pipe, name in machine.pipes().items():
            queue = queues.read(c, pipe) or []
            waits_now = queue[0].waits if queues.state(c, pipe) == "WAITING" and queue else []
            for sem, count in waits_now:
                if shared(sem, core, c):
                    add(sem, f"{name} of core {c} wants {count}", queue[0].pc)
            for command in queue:
                for sem, _ in command.waits + command.posts:
                    name_ = decode.sem_name(sem, command.pc, core)
                    called[sem] = called.get(sem) or name_
    return waits, called


def run(words, options, core):
    machine.wants(words, 0, 1, "npu sem [N]")
    count = machine.param("SEM_COUNT")
    values = machine.reg(core, "SEM_VALUE", count=count)
    armed = machine.reg(core, "SEM_ARM", count=count)
    waits, called = waiting(core)
    chosen = [i for i in range(count) if values[i] or armed[i] or i in waits]
    if words:
        chosen = [machine.number(words[0])]
        if chosen[0] >= count:
            raise machine.Error(f"no semaphore {chosen[0]}: they are 0 to {count - 1}")
    if not chosen:
        print(f"core {core}: every semaphore is 0, none armed, nobody waits")
    for i in chosen:
        line = f"{i:4} ={values[i]:4} {called.get(i, '').strip():12}"
        line += f" interrupt at {armed[i]}" if armed[i] else ""
        print("; ".join([line] + waits.get(i, [])).rstrip())
