# SPDX-License-Identifier: MIT
#
# What findings are told with: who did what where, and what a race lacks, in words. Nothing
# is guessed: a semaphore is named if the buffer is of its queue, or if it was tried on the
# record of the run (tools/emu/check/cure/cure.h).


def place(access):
    f = access["source"]
    return f"{f.file}:{f.line}" if f.line else f"pc {access['pc']:#x}"


def who(access):
    name = access["by"]
    if name != "hart":
        name += f" of core {access['core']}"
    return name + (f", task {access['task']}" if access["task"] else "")


def what(access):
    if not access["command"] and access["does"] == "write" and not access["bytes"]:
        return "free()"
    if not access["command"]:
        return "a store" if access["does"] == "write" else "a load"
    verb = {"read": "reads", "write": "writes", "atomic": "updates"}[access["does"]]
    end = access["base"] + access["bytes"]
    return (f"{access['command']} {verb} {access['operand']} "
            f"[{access['base']:#x}, {end:#x})")


def overlap(a, b):
    """In words, if two buffers lie over each other; None otherwise."""
    x, y = a.get("buffer"), b.get("buffer")
    if x and y and x != y:
        reach = a if a["base"] + a["bytes"] > x["base"] + x["bytes"] else b
        of, other = (x, y) if reach is a else (y, x)
        return (f"overlap: {what(reach)}, in buffer {of['name']} ({of['where']}), reaches "
                f"into {other['name']} ({other['where']})")
    if not a["bytes"] or not b["bytes"] or x and x == y:
        return None
    first, last = sorted((a, b), key=lambda access: access["base"])
    if first["base"] < last["base"] and (
            first["base"] + first["bytes"] < last["base"] + last["bytes"]):
        return "overlap: the operands have only a part in common, so these are two buffers"
    return None


def of_queue(a, b):
    """The semaphore of a queue that the second access should have waited for."""
    queue = a.get("buffer") or {}
    if {a["by"], b["by"]} != {queue.get("producer"), queue.get("consumer")}:
        return None
    role = "FULL" if a["by"] == queue["producer"] else "FREE"
    return (f"missing: {b['by']} begins before {a['by']} has ended; what orders them is {role} "
            f"(semaphore {queue[role.lower()]}) of queue {queue['name']} ({queue['where']})")


def of_shares(a, b):
    """Two blocks of a launch that write the same."""
    if a["core"] == b["core"] or "hart" in (a["by"], b["by"]) or place(a) != place(b):
        return None
    if a["does"] == "read" or b["does"] == "read":
        return None
    how = ("one of them replaces what the other updates" if a["does"] != b["does"] else
           "their kinds of update are not the same" if a["does"] == "atomic" else
           "both replace them")
    return f"cores {a['core']} and {b['core']} write the same bytes, and {how}"


def of_hart(a, b):
    engine = next((x for x in (a, b) if x["by"] != "hart"), a)
    if "hart" not in (a["by"], b["by"]):
        return None
    return (f"missing: between the push and its access the hart does not wait for "
            f"{engine['by']} of core {engine['core']}: task_wait for what it posts, or task_drain")


def command(access):
    return f"{access['command']} ({place(access)})"


def cured(f):
    """What was tried on the record of the run, and orders all of them without a deadlock."""
    cure = f.get("cure")
    if not cure:
        return None
    a, b = (f["second"], f["first"]) if cure["turned"] else (f["first"], f["second"])
    times = f"all {f['count']}" if f["count"] > 1 else "them"
    sem, other = f"semaphore {cure['semaphore']}", cure.get("other")
    chip = " of the chip" if a["core"] != b["core"] else ""
    sem += chip
    where = ", with each new buffer," if cure["some"] else ""
    if cure["how"] == "take":
        return (f"missing: {command(b)}{where} does not wait for {sem}, which {a['by']} posts and "
                f"of which units are left over; that wait orders {times}")
    if cure["how"] == "more":
        return (f"{command(b)} waits for too few units of {sem}; with one more it orders {times}")
    if cure["how"] == "drain":
        return (f"missing: the hart of core {a['core']} tells core {b['core']} of what "
                f"{a['by']} has not ended; a task_drain before that orders {times}")
    if cure["how"] == "barrier":
        return (f"missing: no semaphore goes from {a['by']} of one core to {b['by']} of another "
                f"for this buffer; a barrier of all cores at which {command(a)} arrives and for "
                f"which {command(b)} waits: orders {times}")
    if cure["how"] == "post":
        return (f"{sem} is posted too early, at {place(other)}; posted by {command(a)} it "
                f"orders {times}")
    if cure["how"] == "early":
        return (f"{sem} is waited for too late, at {place(other)}; waited for by {command(b)} it "
                f"orders {times}; or one of the two has the wrong one of several buffers")
    if cure["how"] == "twice":
        return f"{sem} is posted more than once by {command(other)}; posted once it orders {times}"
    if cure["how"] == "fewer":
        units = f"{cure['units']} unit" + "s" * (cure["units"] > 1)
        return (f"{sem} lets {b['by']} go on too soon; with {units} less at first it orders {times}"
                ": there are fewer buffers than units, or two of them lie over each other")
    use = (f"one that {command(a)} posts and {command(b)} waits for with each new one"
           if cure["some"] else
           f"one{chip} that holds {cure['units']} at first, {command(a)} posts 1, {command(b)} "
           "waits for 1")
    of_a, of_b = (f" of core {x['core']}" if chip else "" for x in (a, b))
    return (f"missing: no semaphore goes from {a['by']}{of_a} to {b['by']}{of_b} for this buffer; "
            f"{use}: orders {times}")


def advice(f):
    """What is missing, as far as that is known: nothing is guessed."""
    a, b, way = f["first"], f["second"], "forth"
    if a["task"] == b["task"] and a["core"] == b["core"] and a["pushed"] > b["pushed"]:
        a, b, way = b, a, "back"  # as the task means them, whoever came first in this run
    if f["class"] == "order":
        return ""
    found = of_hart(a, b) or of_shares(a, b) or overlap(a, b)
    if found:
        return found
    queue, cure = of_queue(a, b), cured(f)
    if queue or cure:
        known = not queue or f.get("cure", {}).get("how") not in (None, "pair")
        return "; ".join(filter(None, (queue, cure if known else None)))
    some = ", ".join(map(str, f[way]))
    cores = "" if a["core"] == b["core"] else " of core {}"
    way = f"from {a['by']}{cores.format(a['core'])} to {b['by']}{cores.format(b['core'])}"
    if not some:
        return f"missing: no semaphore goes {way}"
    return f"missing: none of the semaphores that go {way} ({some}) orders these two"
