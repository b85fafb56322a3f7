# SPDX-License-Identifier: MIT
#
# What the pipes of a core have queued, through the read-only window QUEUE_CMD.
from npu import decode, device, machine


def depth(core, pipe):
    return machine.field("PIPE_STATUS_DEPTH", machine.reg(core, "PIPE_STATUS", pipe))


def state(core, pipe):
    number = machine.field("PIPE_STATUS_STATE", machine.reg(core, "PIPE_STATUS", pipe))
    return machine.names("pipe_state", "PIPE_").get(number, f"state {number}")


def ended(core, pipe):
    """Number of the last command that has ended, or was dropped: the head is the next."""
    return int(device.ask(f"head core={core} pipe={pipe}")) - 1


def running(core, pipe):
    return state(core, pipe) == "RUNNING"


def read(core, pipe):
    """Commands from the head on. None if the device does not show them."""
    count, size = depth(core, pipe), machine.param("CMD_BYTES")
    if not machine.has("QUEUE_CMD"):
        return None
    base = machine.core_base(core) + machine.enum("contract_reg")["QUEUE_CMD"]
    first = base + pipe * machine.param("PIPE_DEPTH") * size
    words = machine.load(first, count * size // 8) if count else []
    data = b"".join(w.to_bytes(8, "little") for w in words)
    if count and not any(data):  # no command is all zeros: a register that is not there
        return None
    return [decode.Cmd(data[i:i + size], core) for i in range(0, len(data), size)]


def when(core, pipe):
    """`since CYCLE` and, of a running command, `until CYCLE`."""
    parts = []
    for word, name in (("since", "PIPE_SINCE"), ("until", "PIPE_UNTIL")):
        cycle = machine.reg(core, name, pipe) if machine.has(name) else 0
        parts += [f"{word} {cycle}"] if cycle else []
    return " ".join(parts)
