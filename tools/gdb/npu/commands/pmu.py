# SPDX-License-Identifier: MIT
"""npu pmu [-c CORE]     the counters of every pipe, and the events that are selected"""
from npu import machine


def run(words, options, core):
    machine.wants(words, 0, 0, "npu pmu [-c CORE]")
    counters = sorted(machine.names("pmu_counter", "PMU_").items())
    first, last = machine.reg(core, "PMU_FIRST"), machine.reg(core, "PMU_LAST")
    print(f"core {core}: first command began in cycle {first}, last ended in {last}")
    print(f"{'':14}" + "".join(f"{name:>12}" for name in machine.pipes().values()))
    for _, name in counters:
        values = (machine.reg(core, "PMU_" + name, pipe) for pipe in machine.pipes())
        print(f"{name:14}" + "".join(f"{v:12}" for v in values))
    rows = machine.enum("contract_row").get("ROW_PMU_SELECT", 1)
    events = machine.names("pmu_event", "EVENT_")
    pairs = zip(machine.reg(core, "PMU_SELECT", count=rows),
                machine.reg(core, "PMU_COUNT", count=rows))
    for i, (event, count) in enumerate(pairs):
        if event:
            print(f"selector {i}: {events.get(event, event)} = {count}")
