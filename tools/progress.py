# SPDX-License-Identifier: MIT
#
# counted(items, total, what)    the items, as they come. What takes more than two seconds says
#                                on a terminal how many there have been, in a line that is gone
#                                at the end
import sys
import time

ERASE = "\033[K"
FIRST = 2  # seconds


def counted(items, total, what):
    begin, shown = time.monotonic(), False
    for n, item in enumerate(items, 1):
        seconds = time.monotonic() - begin
        if seconds >= FIRST and sys.stderr.isatty():
            print(f"{n} of {total} {what}, {seconds:.0f} s{ERASE}", end="\r", file=sys.stderr,
                  flush=True)
            shown = True
        yield item
    if shown:
        print(ERASE, end="", file=sys.stderr, flush=True)
