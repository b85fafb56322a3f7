# SPDX-License-Identifier: MIT
#
# Test output of the Python tests, as qemu/tap.sh has it for those in shell: TAP, reasons in
# `# ` lines before the verdict.
#
#   ok(good, NAME, reason)     reason: anything, one a line
#   check(NAME, problems)      ok if there are none: a list, of which the first few are shown
#   skip(NAME, reason, tests)  so many that cannot be made here, 1 unless said: neither passed nor
#                              failed
#   done(tests)                the plan; returns the exit status, 1 if something failed. tests: how
#                              many a usual run has, where tests/run counts what it cannot start
#   @test                      a function that returns a list of problems
#   main(SUITE)                checks those, or the ones that the command line names; as done()
#
# To standard output; those that run in gdb, which writes what it likes there, set `to`.
import os
import sys

MOST = 8  # problems of a verdict that are shown
to = 1
count = failed = 0
tests = []


def ok(good, name, reason=""):
    global count, failed
    count += 1
    failed += not good
    lines = [f"# {line}" for line in str(reason).splitlines()] if not good else []
    lines.append(f"{'ok' if good else 'not ok'} {count} - {name}")
    say("\n".join(lines))


def check(name, problems):
    ok(not problems, name, "\n".join(map(str, (problems or [])[:MOST])))


def skip(name, reason, number=1):
    for i in range(number):
        ok(True, f"{name}{f'_{i + 1}' if number > 1 else ''} # SKIP {reason}")


def say(line):
    os.write(to, f"{line}\n".encode())


def done(usual=None):
    brief = not os.environ.get("FULL") and len(sys.argv) < 2
    say(f"1..{usual if usual is not None and brief else count}")
    return 1 if failed or not count else 0


def test(what):
    tests.append(what)
    return what


def main(suite):
    for one in tests:
        if len(sys.argv) < 2 or one.__name__ in sys.argv[1:]:
            check(f"{suite}/{one.__name__}", one())
    return done()
