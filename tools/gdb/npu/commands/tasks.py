# SPDX-License-Identifier: MIT
"""npu tasks     every task: state, what it waits for, stack, backtrace

The stack is what was in use at the deepest, at most: bytes down to the lowest that is
not 0. `npu task N` shows one of them to gdb."""
from npu import tasks, view


def run(words, options, core):
    found = tasks.tasks()
    if not found:
        print("no tasks now")
    for t in found:
        stack = f", stack {t.used()} of {tasks.stack_bytes()}" if tasks.stack_bytes() else ""
        print(f'{t.index:3} "{t.name}" core {t.core}: {t.doing()}{stack}')
        for function, where in view.frames(t):
            print(f"      {function} {where}")
