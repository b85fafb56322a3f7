# SPDX-License-Identifier: MIT
#
# usage: source tools/gdb/npu.py       in gdb, the image loaded
#
# Adds the command `npu` (`help npu` lists what it can do) and printers for the firmware's
# types. Sourced again, it takes the files as they are then. All is in npu/; what is here
# leaves no name behind in gdb's Python. (__file__ would be the first of nested scripts.)
def _load():
    import importlib
    import os
    import sys
    for name in [m for m in sys.modules if m == "npu" or m.startswith("npu.")]:
        del sys.modules[name]
    kept, sys.dont_write_bytecode = sys.dont_write_bytecode, True  # no __pycache__ in the tree
    path = os.path.expanduser(_load.__code__.co_filename)
    sys.path.insert(0, os.path.dirname(os.path.abspath(path)))
    try:
        importlib.import_module("npu")
    finally:
        sys.path.pop(0)
        sys.dont_write_bytecode = kept


_load()
del _load
