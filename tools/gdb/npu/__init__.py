# SPDX-License-Identifier: MIT
#
# The command `npu` itself; sourced through tools/gdb/npu.py. Each file of commands/ is a
# sub-command: its docstring is the help, OPTIONS its getopt letters (-c CORE is always
# there), run(words, options, core) what it does, where CONDITIONAL with `if` and an expression
# as the last two words; it is refused where no machine stands still, unless NEEDS_MACHINE is
# False.
import getopt
import importlib
import os

import gdb

from npu import history, machine, printers, wanted  # noqa: F401 (wanted: at each stop)

HERE = os.path.dirname(os.path.abspath(__file__))


class Prefix(gdb.Command):
    """The NPU: its pipes, queues, semaphores, memories, counters, and the tasks.

Looking changes nothing: no result, no register, no cycle. -c N names the AI core, 0 if
it is left out. Where there is no machine, or no such thing, one line says so."""

    def __init__(self):
        super().__init__("npu", gdb.COMMAND_DATA, gdb.COMPLETE_COMMAND, True)


class SubCommand(gdb.Command):
    def __init__(self, name, module):
        self.module = module
        self.conditional = getattr(module, "CONDITIONAL", False)
        self.name = f"npu {name}"
        self.__doc__ = module.__doc__.strip()
        super().__init__(self.name, gdb.COMMAND_DATA, gdb.COMPLETE_EXPRESSION)

    def invoke(self, text, from_tty):
        self.dont_repeat()
        try:
            letters = "c:" + getattr(self.module, "OPTIONS", "")
            text, found, condition = text.partition(" if ") if self.conditional else (text, "", "")
            pairs, words = getopt.gnu_getopt(gdb.string_to_argv(text), letters)
            words += ["if", condition.strip()] if found else []
            options = dict(pairs)
            core = machine.number(options.get("-c", "0"))
            if getattr(self.module, "NEEDS_MACHINE", True):
                history.check_image()
                machine.check()
                machine.core_base(core)  # there is such a core
            self.module.run(words, options, core)
        except getopt.GetoptError as e:
            raise gdb.GdbError(f"{self.name}: {e}; see `help {self.name}`") from None
        except (gdb.error, gdb.GdbError, OSError) as e:
            raise gdb.GdbError(f"{self.name}: {' '.join(str(e).split())}") from None


def find_sources():
    """The image names them from the root of the tree, wherever it was built."""
    root = os.path.dirname(os.path.dirname(os.path.dirname(HERE)))
    gdb.execute(f'directory "{root}"', to_string=True)


def load():
    files = os.listdir(HERE + "/commands")
    names = sorted(f[:-3] for f in files if f.endswith(".py") and f[0] != "_")
    Prefix()
    for name in names:
        SubCommand(name, importlib.import_module(f"npu.commands.{name}"))


load()
find_sources()
printers.register()
