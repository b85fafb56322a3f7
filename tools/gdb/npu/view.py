# SPDX-License-Identifier: MIT
#
# gdb's view of a task that does not run: an unwinder that tells gdb that the hart's
# frame was called from where the task has stopped. So frame 1 and above are the task's,
# and no register of the machine is touched. Going on ends the view.
import contextlib

import gdb
from gdb.unwinder import Unwinder, register_unwinder

SAVED = ["ra", "sp"] + [f"s{i}" for i in range(12)] + [f"fs{i}" for i in range(12)]


class FrameId:
    def __init__(self, sp, pc):
        self.sp, self.pc = gdb.Value(sp), gdb.Value(pc)


class View(Unwinder):
    def __init__(self):
        super().__init__("npu task")
        self.registers = None  # of the task that is shown

    def __call__(self, pending):
        if self.registers is None or pending.level() != 0:
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
        self.registers = None
        if task is not None:
            c, n = task.context, range(12)
            words = [c["ra"], c["sp"]] + [c["s"][i] for i in n] + [c["fs"][i] for i in n]
            self.registers = {r: int(w) for r, w in zip(SAVED, words)}
            self.registers["pc"] = self.registers["ra"]
        gdb.invalidate_cached_frames()

    @contextlib.contextmanager
    def on(self, task):
        """For a moment, frame and view are then as before."""
        kept, level = self.registers, gdb.selected_frame().level()
        try:
            self.show(task)
            yield
        finally:
            self.registers = kept
            gdb.invalidate_cached_frames()
            frame = gdb.newest_frame()
            for _ in range(level):
                frame = frame.older()
            frame.select()

    def end(self, _):
        if self.registers is not None:
            self.show(None)


def frames(task):
    """[(function, file:line)] of a task from the innermost on."""
    live, found = task.live(), []
    if task.ended or task.fresh and not live:
        return found
    with unwinder.on(None if live else task):
        frame = gdb.newest_frame() if live else gdb.newest_frame().older()
        while frame and len(found) < 20:
            sal = frame.find_sal()
            file = sal.symtab.filename.split("/")[-1] if sal.symtab else "?"
            found.append((frame.name() or f"{frame.pc():#x}", f"{file}:{sal.line}"))
            frame = frame.older() if frame.name() != "task_entry" else None
    return found


unwinder = View()
register_unwinder(None, unwinder, True)
gdb.events.cont.connect(unwinder.end)
