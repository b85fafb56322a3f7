# SPDX-License-Identifier: MIT
#
# What every command in Python has in common: importing this, before anything that takes a while,
# is enough for the first two.
#
#   Ctrl-C ends it without a traceback; SIGTERM and SIGHUP as an exception does, so that what is
#   for a while only is removed
#   number(text, least, most), whole(text, least, most)
#       a number that a user has typed, finite and in that range, or None
import math
import re
import signal
import sys


def _uncaught(kind, error, trace):
    if not issubclass(kind, KeyboardInterrupt):
        sys.__excepthook__(kind, error, trace)


def _end(signal_number, _):
    sys.exit(128 + signal_number)


sys.excepthook = _uncaught
for _number in (signal.SIGTERM, signal.SIGHUP):
    if signal.getsignal(_number) == signal.SIG_DFL:
        signal.signal(_number, _end)


def number(text, least, most):
    plain = re.fullmatch(r"[-+]?(\d+\.?\d*|\.\d+)([eE][-+]?\d{1,4})?", text)
    value = float(text) if plain else math.nan
    return value if least <= value <= most else None


def whole(text, least, most):
    value = int(text) if re.fullmatch(r"-?[0-9]{1,20}", text) else None
    return value if value is not None and least <= value <= most else None
