# SPDX-License-Identifier: MIT
#
# What happens at a stop of the device: its line; on at once where its condition does not hold,
# which shows nothing; the commands that are attached to it.
#
# gdb tells Python of a stop before it prints it, and then runs what is hooked behind the
# command that went on. In MI there is no such command, so what goes on is posted.
import os

import gdb

from npu import stops

conditions = {}  # number of a stop: expression
commands = {}  # number of a stop: commands of gdb
waits = False  # a `continue` waits for this stop, and sees to what follows
unwanted = False  # the last stop was, and nothing has gone on since
due = ()  # hits of the last stop, whose commands have not run
muted = None  # where file 1 leads to, while it leads nowhere


def described(number):
    more = f" if {conditions[number]}" if number in conditions else ""
    return stops.texts[number] + more


def set_condition(number, expression):
    conditions.pop(number, None)
    if expression:
        conditions[number] = expression


def set_commands(number, words):
    commands.pop(number, None)
    if words:
        commands[number] = words


def holds(hit):
    """Whether its condition does. One that cannot be worked out holds, as gdb has it."""
    for name in ("cycle", "number", "value"):
        gdb.set_convenience_variable("npu_" + name, hit.get(name, 0))
    try:
        return bool(gdb.parse_and_eval(conditions[hit["id"]]))
    except gdb.error as e:
        print(f"npu: condition of stop {hit['id']}: {e}")
        return True


def judge(event=None):
    """Whether the stop is wanted; before gdb prints it."""
    global unwanted, due
    hits = stops.hits() if conditions or commands else []
    due = tuple(hit for hit in hits if hit["id"] not in conditions or holds(hit))
    unwanted = bool(hits) and not due and not isinstance(event, gdb.BreakpointEvent)
    return not unwanted


def mute(on):
    global muted
    if on and muted is None:
        gdb.flush()
        muted, nothing = os.dup(1), os.open(os.devnull, os.O_WRONLY)
        os.dup2(nothing, 1)
        os.close(nothing)
    elif not on and muted is not None:
        gdb.flush()
        os.dup2(muted, 1)
        os.close(muted)
        muted = None


def on_stop(event):
    """gdb's own line follows."""
    try:
        stops.ungate()
        if not stops.texts and not stops.in_replay:
            return
        if stops.quiet or judge(event):
            mute(False)
            for text in stops.noted() + stops.lines(False):
                print(text)
        else:
            mute(waits)
        # What QEMU stops with is SIGTRAP, which gdb takes for no signal.
        if stops.speaks_mi() and type(event) is gdb.StopEvent:
            gdb.post_event(settle_by_stops)
    except gdb.error:
        pass


def settle_by_stops():
    """For a front end, which has no command that waits."""
    if not stops.settle_by_stops() and alive():
        if unwanted:
            gdb.execute("continue")
        else:
            run_commands()


def alive():
    thread = gdb.selected_thread()
    return thread is not None and not thread.is_running()


def run_commands():
    """What is attached to the stops that the machine stands at."""
    global due
    hits, due = due, ()
    for hit in hits:
        for command in commands.get(hit["id"], ()):
            gdb.execute(command)


def begin():
    global waits
    waits = not stops.speaks_mi() and not stops.quiet


def end():
    """Behind a `continue`: past what is not wanted. gdb runs no hooks within a hook, so a
    `continue` here has none."""
    global waits
    if not waits:
        return
    try:
        while unwanted and alive():
            gdb.execute("continue")
    finally:
        waits = False
        mute(False)
    if alive():
        run_commands()


def back():
    """To the last stop that is wanted, or where there is none before."""
    stops.back_once()
    passed_by()
    stops.show()
    run_commands()


def passed_by():
    """Behind a way backwards: further, past what is not wanted."""
    before = None
    while alive() and not judge() and stops.head()["now"] != before:
        before = stops.head()["now"]
        stops.back_once()


def end_of_reverse():
    stops.settle()
    if not stops.speaks_mi():
        passed_by()
        run_commands()


def exited(_):
    global waits, unwanted
    waits = unwanted = False
    mute(False)


def hook():
    """gdb's own commands know the stops, too. Where gdb does not wait for reverse-continue, as
    with MI, the hook finds the machine running, and on_stop() sees to it."""
    for name, function in (("hook-continue", "begin"), ("hookpost-continue", "end"),
                           ("hookpost-reverse-continue", "end_of_reverse")):
        gdb.execute(f"define {name}\n"
                    f"python import sys; sys.modules['{__name__}'].{function}()\nend")


gdb.events.stop.connect(on_stop)
gdb.events.exited.connect(exited)
hook()
