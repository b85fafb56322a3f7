# SPDX-License-Identifier: MIT
#
# A gdb that is spoken to through its machine interface (MI), as an IDE does.
import queue
import re
import subprocess
import threading

from session import DEADLINE, running


class MI:
    def __init__(self, *arguments, gdb="gdb-multiarch"):
        self.process = subprocess.Popen([gdb, "-nx", "-q", "--interpreter=mi2", *arguments],
                                        text=True, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                        stderr=subprocess.STDOUT, start_new_session=True)
        running.append(self.process)
        self.lines, self.token = queue.Queue(), 0
        threading.Thread(target=self.read, daemon=True).start()

    def read(self):
        for line in self.process.stdout:
            self.lines.put(line.rstrip("\n"))

    def ask(self, command, last=None):
        """Everything up to the answer and, if `last` is given, to a line that matches it; what
        does not come in time is missing."""
        self.token += 1
        self.process.stdin.write(f"{self.token}{command}\n")
        self.process.stdin.flush()
        wanted = [rf"^{self.token}\^"] + ([last] if last else [])
        seen = []
        try:
            while wanted:
                seen.append(self.lines.get(timeout=DEADLINE))
                wanted = [w for w in wanted if not re.search(w, seen[-1])]
        except queue.Empty:
            seen.append(f"no answer to {command}")
        return "\n".join(seen)

    def console(self, command, last=None):
        return self.ask(f'-interpreter-exec console "{command}"', last)

    def where(self):
        """Function of the innermost frame."""
        found = re.search(r'func="(\w+)"', self.ask("-stack-list-frames 0 0"))
        return found and found[1]
