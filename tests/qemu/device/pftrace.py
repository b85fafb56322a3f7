#!/usr/bin/python3
# SPDX-License-Identifier: MIT
#
# pftrace.py TRACE.pftrace TRACE.json [RAW]    whether both say the same of a run: slices with
# their arguments, counters and arrows; a line for each difference. RAW: where to leave the
# packets of the first as they are when they are not compressed.
#
# Reads protobuf by the numbers that Perfetto's own descriptions have
# (protos/perfetto/trace/*.proto), which are those of perfetto.proto beside this file.
import collections
import json
import sys
import zlib

BEGIN, END, INSTANT, COUNTER = 1, 2, 3, 4
SKIPPED = {"core", "pipe", "op"}  # of a command: its track and its name say so


def varint(data, at):
    value = shift = 0
    while True:
        value |= (data[at] & 0x7F) << shift
        shift += 7
        at += 1
        if data[at - 1] < 0x80:
            return value, at


def fields(data):
    """{number: [values]}: integers, or bytes of what has a length"""
    found, at = collections.defaultdict(list), 0
    while at < len(data):
        key, at = varint(data, at)
        if key & 7 == 0:
            value, at = varint(data, at)
        elif key & 7 == 1:
            value, at = int.from_bytes(data[at:at + 8], "little"), at + 8
        elif key & 7 == 2:
            size, at = varint(data, at)
            value, at = data[at:at + size], at + size
        else:
            raise ValueError(f"wire type {key & 7}")
        if at > len(data):
            raise ValueError("a field behind the end")
        found[key >> 3].append(value)
    return found


def packets(data):
    """Those of a trace, and of what is compressed in it; and all bytes of them."""
    for raw in fields(data)[1]:
        packet = fields(raw)
        if 50 in packet:
            yield from packets(zlib.decompress(packet[50][0]))
        else:
            yield raw, packet


class Reader:
    def __init__(self, data, raw):
        self.tables = {2: {}, 3: {}, 29: {}}
        self.process, self.tracks, self.open = {}, {}, collections.defaultdict(list)
        self.slices, self.counters, self.flows, self.instants = [], [], {}, []
        self.arrows = collections.Counter()
        for bytes_, packet in packets(data):
            if raw:
                raw.write(b"\x0a" + size_of(len(bytes_)) + bytes_)
            self.hear(packet)
        if any(self.open.values()):
            raise ValueError("a slice has no end")

    def hear(self, packet):
        for data in packet[12]:
            for table, entries in fields(data).items():
                for entry in map(fields, entries):
                    self.tables[table][entry[1][0]] = entry[2][0].decode()
        for data in packet[60]:
            self.track(fields(data))
        for data in packet[11]:
            self.event(packet[8][0], fields(data))

    def track(self, track):
        uuid = track[1][0]
        if track[3]:
            process = fields(track[3][0])
            self.process[uuid] = process[6][0].decode()
            self.tracks[uuid] = (self.process[uuid], "")
        else:
            self.tracks[uuid] = (self.process[track[5][0]], track[2][0].decode())

    def note(self, data):
        note = fields(data)
        name = self.tables[3][note[1][0]] if note[1] else ""
        if note[11]:
            return name, dict(map(self.note, note[11]))
        if note[12]:
            return name, [self.note(value)[1] for value in note[12]]
        if note[17]:
            return name, self.tables[29][note[17][0]]
        return name, note[6][0].decode() if note[6] else note[3][0]

    def event(self, at, event):
        track, kind = self.tracks[event[11][0]], event[9][0]
        args = dict(map(self.note, event[4]))
        if kind == BEGIN:
            self.open[track].append((at, self.tables[2][event[10][0]], args))
        elif kind == END:
            begin, name, begun = self.open[track].pop()
            self.slices.append((*track, name, begin, at, begun | args))
        elif kind == COUNTER:
            self.counters.append((*track, at, event[30][0]))
        else:
            self.instants.append((*track, self.tables[2][event[10][0]], at, args))
        for flow in event[47]:
            self.flows[flow] = (track, at)
        for flow in event[48]:
            self.arrows[self.flows[flow], (track, at)] += 1


def size_of(n):
    text = b""
    while n > 0x7F:
        text += bytes([n & 0x7F | 0x80])
        n >>= 7
    return text + bytes([n])


def cycles(us):
    return round(1000 * us)


def of_json(events):
    """The same lists of a JSON trace."""
    process = {e["pid"]: e["args"]["name"] for e in events if e["name"] == "process_name"}
    thread = {(e["pid"], e["tid"]): e["args"]["name"] for e in events
              if e["name"] == "thread_name"}
    slices, counters, instants, arrows, begun, sources = [], [], [], collections.Counter(), [], {}
    for e in events:
        if e["ph"] == "M":
            continue
        at, where = cycles(e["ts"]), process[e["pid"]]
        track = (where, thread.get((e["pid"], e.get("tid"))))
        if e["ph"] == "X":
            args = {k: v for k, v in e.get("args", {}).items() if k not in SKIPPED}
            slices.append((*track, e["name"], at, at + cycles(e["dur"]), args))
        elif e["ph"] == "B":
            begun.append(at)
        elif e["ph"] == "E":
            slices.append((*track, e["name"], begun.pop(), at, e.get("args", {})))
        elif e["ph"] == "C":
            counters.append((where, e["name"], at, *e["args"].values()))
        elif e["ph"] == "i":
            instants.append((where, "", e["name"], at, e["args"]))
        elif e["ph"] == "s":
            sources[e["id"]] = (track, at)
        elif e["ph"] == "f":
            arrows[sources[e["id"]], (track, at)] += 1
    return slices, counters, instants, arrows


def differ(what, a, b):
    key = repr
    if sorted(a, key=key) != sorted(b, key=key):
        more = [x for x in a if x not in b][:2], [x for x in b if x not in a][:2]
        print(f"{what}: {len(a)} and {len(b)}: {more[0]} not in the JSON, {more[1]} only there")


with open(sys.argv[1], "rb") as f, open(sys.argv[2]) as g:
    raw = open(sys.argv[3], "wb") if len(sys.argv) > 3 else None
    reader = Reader(f.read(), raw)
    slices, counters, instants, arrows = of_json(json.load(g)["traceEvents"])
differ("slices", reader.slices, slices)
differ("counters", reader.counters, counters)
differ("instants", [i for i in reader.instants if i[2] != "post"], instants)
differ("arrows", list(reader.arrows.elements()), list(arrows.elements()))
if not slices or not arrows or not counters:
    print("nothing to compare")
