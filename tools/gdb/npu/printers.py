# SPDX-License-Identifier: MIT
#
# Pretty printers for types of the firmware: a command, a fault, a task, a state.
import gdb
import gdb.printing

from npu import decode


class Command:
    def __init__(self, value):
        words = (int(value["words"][i]) for i in range(value["words"].type.range()[1] + 1))
        self.data = b"".join(w.to_bytes(8, "little") for w in words)

    def to_string(self):
        return decode.Cmd(self.data).line() if any(self.data) else "empty"


class Fault:
    NAMES = "core", "pipe", "code", "opcode", "field", "addr", "value", "pc"

    def __init__(self, value):
        self.values = [int(value[n]) for n in self.NAMES]

    def to_string(self):
        lines = decode.fault(*self.values) if self.values[2] else ["none"]
        return "; ".join(line.strip() for line in lines)


class Task:
    def __init__(self, value):
        self.value = value

    def to_string(self):
        name = self.value["name"]
        return f'task "{name.string()}"' if int(name) else "task"

    def children(self):
        for name in ("core", "state", "what", "count", "tag", "fn", "arg", "stack", "context"):
            yield name, self.value[name]


class State:
    """gdb takes enumerators with gaps for flags; a state is one of them or wrong."""

    def __init__(self, value):
        self.value = value

    def to_string(self):
        kind, number = self.value.type.strip_typedefs(), int(self.value)
        found = [f.name for f in kind.fields() if f.enumval == number]
        return found[0] if found else f"{number:#x}, no {kind.tag}"


def register():
    found = gdb.printing.RegexpCollectionPrettyPrinter("salai")
    found.add_printer("cmd", "^cmd$", Command)
    found.add_printer("fault", "^fault$", Fault)
    found.add_printer("task", "^task$", Task)
    found.add_printer("state", "^(task_state|pipe_state)$", State)
    gdb.printing.register_pretty_printer(None, found, replace=True)
