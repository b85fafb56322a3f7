# SPDX-License-Identifier: MIT
"""npu tasks     every task: state, what it waits for, stack, backtrace

The stack is what was in use at the deepest, at most: bytes down to the lowest that is
not 0. `npu task N` shows one of them to gdb."""
from npu import decode, tasks, view


def run(words, options, core):
    found = tasks.tasks()
    if not found:
        print("no tasks now")
    for t in found:
        name = decode.sem_name(t.what, t.entry) if t.state == "WAIT_SEM" else ""
        stack = f", stack {t.used()} of {tasks.stack_bytes()}" if tasks.stack_bytes() else ""
        doing = t.doing() + (name if "semaphore" in t.doing() else "")
        print(f'{t.index:3} "{t.name}" core {t.core}: {doing}{stack}')
        for function, where in view.frames(t):
            print(f"      {function} {where}")
