# SPDX-License-Identifier: MIT
#
# gdb's view of a task that does not run: an unwinder that tells gdb that the hart's
# frame was called from where the task has stopped. So the frames behind it are the task's,
# and no register of the machine is touched. Going on ends the view.
#
# The hart's frame is 0, and further ones where it is in inlined functions: gdb has a frame
# for each of them and asks the unwinder for the last.
import contextlib

import gdb
from gdb.unwinder import Unwinder, register_unwinder

from npu import machine, stops

SAVED = ["ra", "sp"] + [f"s{i}" for i in range(12)] + [f"fs{i}" for i in range(12)]


def pair(read_register):
    return [int(read_register(name)) for name in ("pc", "sp")]


def at(level):
    frame = gdb.newest_frame()
    for _ in range(level):
        frame = frame.older()
    return frame


def hart_frames():
    """How many frames the hart's own function has: one, and one for each inlined one."""
    frame, count = gdb.newest_frame(), 1
    while frame.type() == gdb.INLINE_FRAME:
        frame, count = frame.older(), count + 1
    return count


class FrameId:
    def __init__(self, sp, pc):
        self.sp, self.pc = gdb.Value(sp), gdb.Value(pc)


class View(Unwinder):
    def __init__(self):
        super().__init__("npu task")
        self.task = None  # that is shown
        self.registers = None  # of it
        self.hart = None  # its pc and sp, by which its frame is known

    def __call__(self, pending):
        if self.registers is None or pair(pending.read_register) != self.hart:
            return None
        # The hart's frame, as if it lay below the task's on the task's stack.
        sp, pc = self.registers["sp"] - 16, int(pending.read_register("pc"))
        info = pending.create_unwind_info(FrameId(sp, pc))
        for name, value in self.registers.items():
            kind = pending.read_register(name).type
            info.add_saved_register(name, gdb.Value(value.to_bytes(kind.sizeof, "little"), kind))
        return info

    def show(self, task):
        """From now on; None: the hart."""
        self.task, self.registers = task, None
        gdb.invalidate_cached_frames()
        if task is not None:
            self.hart = pair(gdb.newest_frame().read_register)
            c, n = task.context, range(12)
            words = [c["ra"], c["sp"]] + [c["s"][i] for i in n] + [c["fs"][i] for i in n]
            self.registers = {r: int(w) for r, w in zip(SAVED, words)}
            self.registers["pc"] = self.registers["ra"]
        gdb.invalidate_cached_frames()

    @contextlib.contextmanager
    def on(self, task):
        """For a moment, frame and view are then as before."""
        kept, level = self.task, gdb.selected_frame().level()
        try:
            self.show(task)
            yield
        finally:
            self.show(kept)
            at(level).select()

    def end(self, _):
        if self.registers is not None:
            self.show(None)


def frames(task):
    """[(function, file:line)] of a task from the innermost on."""
    live, found = task.live(), []
    if task.ended or task.fresh and not live:
        return found
    with unwinder.on(None if live else task):
        frame = at(0 if live else hart_frames())
        while frame and len(found) < 20:
            sal = frame.find_sal()
            file = sal.symtab.filename.split("/")[-1] if sal.symtab else "?"
            found.append((frame.name() or f"{frame.pc():#x}", f"{file}:{sal.line}"))
            frame = frame.older() if frame.name() != "task_entry" else None
    return found


class Place(gdb.Breakpoint):
    """Where the hart has a pc and a stack pointer, and so is in a task."""

    def __init__(self, frame):
        super().__init__(f"*{frame.pc():#x}", internal=True)
        self.silent = not stops.speaks_mi()
        self.there, self.reached = pair(frame.read_register), False

    def stop(self):
        self.reached = pair(gdb.newest_frame().read_register) == self.there
        return self.reached


def go_to(frame):
    """The hart goes on to where a frame of a task will. Other stops count."""
    place = Place(frame)
    try:
        stops.quietly("continue")
    finally:
        if place.is_valid():
            place.delete()
    if gdb.selected_thread() is None:
        raise machine.Error("the run has ended before that")
    if not place.reached:
        gdb.execute("frame")
        raise machine.Error("stopped before that")


class BeforeFinish(gdb.Command):
    """What gdb itself does not do right, in a frame of a task that does not run: of an
    inlined function it would step the hart, and where a task begins it would stop for any
    task. The first is finished by gdb from where that task goes on."""

    def __init__(self):
        super().__init__("npu-before-finish", gdb.COMMAND_OBSCURE)
        gdb.execute("define hook-finish\nnpu-before-finish\nend")

    def invoke(self, text, from_tty):
        if unwinder.task is None or gdb.selected_frame().level() < hart_frames():
            return
        frame = gdb.selected_frame()
        function, caller = frame.name(), frame.older()
        if frame.type() == gdb.INLINE_FRAME:
            go_to(frame)
            left = [f for f in map(at, range(hart_frames())) if f.name() == function]
            if left:
                left[0].select()
                return
        elif caller and caller.name() == "task_entry":
            go_to(caller)
        else:
            return
        gdb.execute("frame")
        raise machine.Error(f"{function} has returned")


unwinder = View()
register_unwinder(None, unwinder, True)
gdb.events.cont.connect(unwinder.end)
BeforeFinish()
