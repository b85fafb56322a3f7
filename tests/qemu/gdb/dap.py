# SPDX-License-Identifier: MIT
#
# A client of the Debug Adapter Protocol: what an IDE says to the adapter that it starts.
import json
import queue
import subprocess
import threading

from session import DEADLINE, running


class DAP:
    def __init__(self, *command):
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                        stderr=subprocess.DEVNULL, start_new_session=True)
        running.append(self.process)
        self.messages, self.number, self.output = queue.Queue(), 0, ""
        self.waiting = []  # that came while another was waited for
        threading.Thread(target=self.read, daemon=True).start()

    def read(self):
        stream = self.process.stdout
        while True:
            head = stream.readline()
            if not head:
                return
            while stream.readline().strip():
                pass
            message = json.loads(stream.read(int(head.split(b":")[1])))
            if message.get("event") == "output":
                self.output += message["body"]["output"]
            self.messages.put(message)

    def wait(self, wanted):
        """The next message for which wanted(message) holds, or None if none comes in time."""
        for message in self.waiting:
            if wanted(message):
                self.waiting.remove(message)
                return message
        try:
            while True:
                message = self.messages.get(timeout=DEADLINE)
                if wanted(message):
                    return message
                self.waiting.append(message)
        except queue.Empty:
            return None

    def send(self, command, **arguments):
        self.number += 1
        data = json.dumps({"seq": self.number, "type": "request", "command": command,
                           "arguments": arguments}).encode()
        self.process.stdin.write(b"Content-Length: %d\r\n\r\n%s" % (len(data), data))
        self.process.stdin.flush()
        return self.number

    def ask(self, command, **arguments):
        """The body of the answer; a text if it is refused, or does not come."""
        number = self.send(command, **arguments)
        answer = self.wait(lambda m: m.get("request_seq") == number)
        if not answer or not answer["success"]:
            return f"{command}: {answer['message'] if answer else 'no answer'}"
        return answer.get("body", {})

    def event(self, name):
        return self.wait(lambda m: m.get("event") == name)

    def forget(self):
        """Events that have come are of the past."""
        self.waiting = []
        while not self.messages.empty():
            self.messages.get()

    def begin(self, configuration):
        self.ask("initialize", adapterID="gdbtarget", linesStartAt1=True, pathFormat="path")
        answer = self.ask(configuration["request"], **configuration)
        self.event("initialized")
        self.ask("configurationDone")
        return answer

    def console(self, command):
        """What gdb says to a command in the IDE's console."""
        self.output, frames = "", self.frames()
        frame = {"frameId": frames[0]["id"]} if frames else {}
        answer = self.ask("evaluate", expression=">" + command, context="repl", **frame)
        return self.output + (answer if isinstance(answer, str) else answer.get("result", ""))

    def frames(self):
        answer = self.ask("threads")
        threads = answer["threads"] if isinstance(answer, dict) else []
        answer = self.ask("stackTrace", threadId=threads[0]["id"]) if threads else {}
        return answer["stackFrames"] if "stackFrames" in answer else []

    def functions(self):
        return [frame["name"] for frame in self.frames()]
