# SPDX-License-Identifier: MIT
"""npu trace on FILE | off     writes every command and task switch from now on to FILE

For Perfetto or chrome://tracing, as TRACE=FILE does for a whole run. The file is complete
after `off` or at the end of the run."""
import os

from npu import device, machine


def run(words, options, core):
    machine.wants(words, 1, 2, "npu trace on FILE | off")
    if words == ["off"]:
        device.ask("trace")
    elif len(words) == 2 and words[0] == "on":
        device.ask("trace file=" + os.path.realpath(words[1]))
    else:
        raise machine.Error("usage: npu trace on FILE | off")
