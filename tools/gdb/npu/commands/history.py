# SPDX-License-Identifier: MIT
"""npu history SEM [COUNT] [-c CORE]     who posted and took semaphore SEM, the last COUNT times

With cycles and lines; 10 times if COUNT is left out, the last of them last. 0 to 63 are the
core's, 64 to 127 the chip's. In a replay: up to here."""
from npu import decode, device, machine

USUAL = 10
BY = {1: "the hart", 2: "a barrier unit"}  # semlog.c of npu.so


def shown(move):
    who = BY.get(move["by"])
    if who is None:
        who = f"{machine.pipes()[move['pipe']]} command {move['number']} of core {move['core']}"
    verb = {"posts": "posted", "takes": "took"}[move["what"]]
    at = decode.issued(move["pc"], move["tag"])
    return f"cycle {move['cycle']}: {who} {verb} {move['count']}, then {move['value']}" \
        + (f"; {at}" if at else "")


def run(words, options, core):
    machine.wants(words, 1, 2, "npu history SEM [COUNT]")
    sem, count = machine.number(words[0]), machine.param("SEM_COUNT")
    if sem >= count:
        raise machine.Error(f"no semaphore {sem}: they are 0 to {count - 1}")
    most = machine.number(words[1]) if len(words) > 1 else USUAL
    moves = device.ask(f"sems core={core} sem={sem} most={most}").splitlines()
    print("\n".join(shown(device.pairs(m)) for m in reversed(moves))
          or f"nobody has posted or taken semaphore {sem}")
