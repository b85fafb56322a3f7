// SPDX-License-Identifier: MIT
//
// The data of the page as typed arrays, and what all parts of the page write with.
"use strict";
const D = JSON.parse(document.getElementById("data").textContent);
const T = D.texts;
const C = {}; // columns: C.begin[i] is when command i began, in cycles of the run

(function decode() {
  const types = {1: Uint8Array, 2: Uint16Array, 4: Uint32Array, 8: Float64Array};
  const plain = text => {
    const s = atob(text), bytes = new Uint8Array(s.length);
    for (let i = 0; i < s.length; i++) {
      bytes[i] = s.charCodeAt(i);
    }
    return bytes;
  };
  const from = Uint8Array.fromBase64 ? text => Uint8Array.fromBase64(text) : plain;
  for (const tag of document.querySelectorAll("script[data-column]")) {
    C[tag.dataset.column] = new types[tag.dataset.bytes](from(tag.textContent).buffer);
    tag.remove();
  }
})();

// By command: whether it is on the critical path.
const critical = new Uint8Array(C.begin.length);
C["path.command"].forEach(place => place && (critical[place - 1] = 1));

const $ = id => document.getElementById(id);
const byPipe = {MTE2: 0, MTE1: 1, M: 2, FIX: 3, V: 4, MTE3: 5};
D.lanes.forEach((lane, number) => { lane.number = number; lane.last = lane.first + lane.n; });
const inOrder = [...D.lanes].sort((a, b) => a.core - b.core || byPipe[a.pipe] - byPipe[b.pipe]);
const cores = [...new Set(D.lanes.map(lane => lane.core))].sort((a, b) => a - b);

function escape(text) {
  return String(text).replace(/[&<>"]/g, c => ({"&": "&amp;", "<": "&lt;", ">": "&gt;",
    '"': "&quot;"})[c]);
}

const grouped = n => Math.round(n).toString().replace(/\B(?=(\d{3})+$)/g, "\u202f");
const percent = (part, all) => (all ? 100 * part / all : 0).toFixed(1) + " %";
const micros = cycles => {
  const us = cycles / D.chip.kHz * 1000;
  return us >= 1000 ? (us / 1000).toFixed(2) + " ms" : us.toFixed(us < 10 ? 2 : 1) + " \u00b5s";
};
function bytes(n) {
  const unit = n >= 1 << 30 ? 30 : n >= 1 << 20 ? 20 : n >= 1 << 10 ? 10 : 0;
  const name = {0: "B", 10: "KiB", 20: "MiB", 30: "GiB"}[unit];
  const value = n / 2 ** unit;
  return (unit && value < 100 ? value.toFixed(1) : Math.round(value)) + " " + name;
}

let colors = {}; // of this frame, so that they follow day and night
function color(name) {
  return colors[name] = colors[name] ||
    getComputedStyle(document.documentElement).getPropertyValue("--" + name).trim();
}
// What a stretch of the critical path is: a pipe, the hart, or the chip in between.
const pathName = what => what < D.pipes.length ? D.pipes[what]
  : what === D.pipes.length ? "hart" : "chip";

// First i of [low, high) for which a[i] is at least `value`, where a ascends.
function atLeast(a, value, low, high) {
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (a[middle] < value) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  return low;
}

// sums[i] is that of the first i values.
function sums(values) {
  const s = new Float64Array(values.length + 1);
  for (let i = 0; i < values.length; i++) {
    s[i + 1] = s[i] + values[i];
  }
  return s;
}
const sumOf = {}; // by column, when they are wanted
const prefix = name => sumOf[name] = sumOf[name] || sums(C[name]);

// Facts of a command, as pairs.
function factsOf(i, lane) {
  const facts = [["pipe", lane.pipe + " of core " + lane.core],
    ["cycles", grouped(C.took[i]) + ", from " + grouped(C.begin[i])]];
  const add = (name, value) => value && facts.push([name, value]);
  add("line", T[C.line[i]]);
  add("task", T[C.task[i]]);
  add("shape", T[C.shape[i]]);
  if (C.read[i] || C.written[i]) {
    facts.push(["bytes", C.read[i] === C.written[i] ? bytes(C.read[i])
      : bytes(C.read[i]) + " read, " + bytes(C.written[i]) + " written"]);
    facts.push(["rate", (Math.max(C.read[i], C.written[i]) / C.took[i]).toFixed(1) +
      " bytes a cycle"]);
  }
  add("operations", C.ops[i] && grouped(C.ops[i]) + ", " + (C.ops[i] / C.took[i]).toFixed(0) +
    " a cycle");
  add("issued", C.age[i] && grouped(C.begin[i] - C.age[i] + 1) + ", " + grouped(C.age[i] - 1) +
    " before it began");
  add("waited", C.waited[i] && grouped(C.waited[i]) + " cycles" +
    (C.sem[i] ? " for " + T[C.sem[i]] : ""));
  add("unit came from", C.by[i] > 1 ? nameOf(C.by[i] - 2) : C.by[i] === 1 ? "the hart" : "");
  add("lost", C.lost[i] && grouped(C.lost[i]) + " cycles to shared bandwidth");
  add("L2", C.missed[i] && grouped(C.missed[i]) + " cycles of what was not in it");
  add("banks", C.banks[i] && grouped(C.banks[i]) + " cycles of conflicts");
  add("critical path", critical[i] ? "yes" : "");
  return facts;
}

const laneOf = i => D.lanes.find(lane => i >= lane.first && i < lane.last);
const nameOf = i => T[C.name[i]] + " of " + laneOf(i).pipe +
  (cores.length > 1 ? ", core " + laneOf(i).core : "");
