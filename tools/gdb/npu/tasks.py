# SPDX-License-Identifier: MIT
#
# The scheduler's tasks, read from sched/sched.c's own table.
import gdb

from npu import decode, machine

UNIT = "sched/sched.c"


def stack_bytes():
    """Size of a task's stack, or None if the image does not tell."""
    try:
        return int(gdb.parse_and_eval("TASK_STACK_BYTES"))
    except gdb.error:
        return None


class Task:
    def __init__(self, index, value):
        self.index, self.value = index, value
        self.name = value["name"].string("ascii", "replace")
        self.core, self.what, self.count = (int(value[f]) for f in ("core", "what", "count"))
        self.state = str(value["state"]).removeprefix("TASK_")
        self.wants = [(int(value["wants"][i]["sem"]), int(value["wants"][i]["count"]))
                      for i in range(int(value["n_wants"]) if self.state == "WAIT_SEM" else 0)]
        self.stack, self.entry = int(value["stack"]), int(value["fn"])
        self.context = value["context"]
        self.ended = self.state == "ENDED"
        self.fresh = int(self.context["ra"]) == address("task_entry")

    def live(self):
        """The hart is in this task: not merely chosen, but on its stack."""
        sp, size = int(gdb.parse_and_eval("$sp")) & machine.WORD, stack_bytes() or 1 << 14
        running = machine.static(UNIT, "running")
        return int(running) == int(self.value.address) and 0 <= sp - self.stack <= size

    def doing(self):
        if self.live():
            return "runs"
        if self.state == "READY":
            return "ready, not begun" if self.fresh else "ready"
        until = int(self.value["until"])
        if self.state == "WAIT_TIME":
            return f"sleeps until cycle {until}"
        what = self.wait()
        if what is None:
            return self.state.lower()
        forever = until == machine.WORD  # SCHED_FOREVER
        return f"waits for {what}" + ("" if forever else f", until cycle {until}")

    def wait(self):
        """What ends its wait, but for a time-out; None if it does not wait."""
        if self.state == "WAIT_SEM":
            joint = " and " if self.value["all"] else " or "
            return joint.join(
                f"{n} of semaphore {sem}{decode.sem_name(sem, self.entry, self.core)}"
                for sem, n in self.wants)
        if self.state == "WAIT_ROOM":
            return f"{self.count} slots of {machine.pipes().get(self.what, '?')}"
        if self.state == "WAIT_TASK":
            name = machine.static(UNIT, "tasks")[self.what]["name"]
            return f'task {self.what} "{name.string()}"'
        return f"a fault of core {self.core}" if self.state == "WAIT_FAULT" else None

    def used(self):
        """Bytes of stack down to the lowest that is not 0. The memory may have had another
        owner before, so it is no more than this."""
        size, sp = stack_bytes(), self.context["sp"]
        if self.live():
            sp = gdb.parse_and_eval("$sp")
        now = 0 if self.ended else self.stack + size - (int(sp) & machine.WORD)
        data = machine.read(self.stack, size)
        return max(now, size - (len(data) - len(data.lstrip(b"\0"))) // 16 * 16)


def address(function):
    try:
        return int(gdb.parse_and_eval(f"(unsigned long){function}"))
    except gdb.error:
        return 0


def tasks():
    table, count = machine.static(UNIT, "tasks"), machine.static(UNIT, "n_tasks")
    if table is None or count is None:
        raise machine.Error("this image has no scheduler that npu.py knows")
    limit = table.type.range()[1] + 1
    return [Task(i, table[i]) for i in range(min(int(count), limit))]
