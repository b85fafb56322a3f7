# SPDX-License-Identifier: MIT
"""npu back     goes back to the last stop of `npu break` and `npu watch`, in a replay

Breakpoints and watchpoints of gdb count, too. gdb's own reverse-continue does not see
what engines have done since the hart fell asleep."""
from npu import device, machine, wanted


def run(words, options, core):
    machine.wants(words, 0, 0, "npu back")
    if not device.replaying():
        raise machine.Error("only a replay goes back: `make record`, then `make replay`")
    wanted.back()
