# SPDX-License-Identifier: MIT
"""npu task [N]           shows the task N of `npu tasks` to gdb; without N: back to the hart
npu task all COMMAND   does a command in each task, as `npu task all "info locals"`

Frames behind the hart's own are then the task's, as it waits: `up`, `info locals`,
`print`, `backtrace`, `finish` and breakpoints work. Nothing of the machine is changed,
and going on (`continue`, `step`) goes on with the hart and ends the view."""
import gdb

from npu import decode, machine, tasks, view


def choose(text):
    number, found = machine.number(text), tasks.tasks()
    if number >= len(found):
        raise machine.Error(f"no task {number}: there are {len(found)}")
    task = found[number]
    if task.ended:
        raise machine.Error(f'task "{task.name}" has ended')
    if task.fresh and not task.live():
        raise machine.Error(f'task "{task.name}" has not begun: {decode.place(task.entry, False)}')
    return task


def kernel_frame(frame):
    """The innermost frame that is not the scheduler's."""
    at = frame
    while at and at.find_sal().symtab and "/sched" in "/" + at.find_sal().symtab.filename:
        at = at.older()
    return at if at and at.find_sal().symtab else frame


def show(task):
    live = task.live()
    view.unwinder.show(None if live else task)
    kernel_frame(view.at(0 if live else view.hart_frames())).select()
    print(f'task {task.index} "{task.name}": {task.doing()}')


def to_hart():
    view.unwinder.show(None)
    gdb.newest_frame().select()


def each(command):
    """As gdb's `thread apply all`; those that have not begun have no frames."""
    for task in tasks.tasks():
        if not task.ended and (task.live() or not task.fresh):
            show(task)
            gdb.execute(command)
    to_hart()


def run(words, options, core):
    if words[:1] == ["all"]:
        machine.wants(words, 2, 100, "npu task all COMMAND")
        each(" ".join(words[1:]))
        return
    machine.wants(words, 0, 1, "npu task [N]")
    if not words:
        to_hart()
        print("the hart")
    else:
        show(choose(words[0]))
    gdb.execute("frame")
