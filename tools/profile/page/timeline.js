// SPDX-License-Identifier: MIT
//
// The timeline: rows of slices on a canvas. What is narrower than a pixel is drawn as the
// share of the pixel that is filled, from prefix sums, so a frame costs pixels and not
// commands.
"use strict";
const ROW = 20, RULER = 22;
const view = {from: 0, to: D.cycles, top: 0}; // what is shown: cycles, rows in pixels
const state = {hover: null, kept: null, range: null, core: -1, match: null, selecting: false};
const canvas = $("canvas"), overview = $("overview");
let rows = [], paint = null, wanted = false;
// What asks the browser for sizes is slow: they are asked for once a frame.
const size = {width: 0, left: 0};
function measure() {
  size.width = canvas.clientWidth;
  size.left = size.width < 600 ? 56 : 92;
}

function row(name, begin, took, first, last, tint, text, more) {
  return {name, begin, took, first, last, tint, text, ...more};
}

function makeRows() {
  const fixed = [];
  const all = C["path.begin"].length, slices = C["hart.begin"].length;
  if (all) {
    fixed.push(row("critical", C["path.begin"], C["path.took"], 0, all,
      i => pathName(C["path.what"][i]),
      i => T[C["path.text"][i]] || pathName(C["path.what"][i]), {path: true}));
  }
  for (const [name, of] of [["range", l => !l[4] && l[5] === 0], ["launch", l => l[4]]]) {
    const ranges = D.launches.filter(of);
    if (ranges.length) {
      fixed.push(row(name, Float64Array.from(ranges, l => l[1]),
        Float64Array.from(ranges, l => l[2]), 0, ranges.length, () => "rest",
        i => T[ranges[i][0]]));
    }
  }
  if (slices) {
    fixed.push(row("hart", C["hart.begin"], C["hart.took"], 0, slices,
      i => T[C["hart.name"][i]] === "idle" ? "empty" : "hart", i => T[C["hart.name"][i]],
      {hart: true}));
  }
  const lanes = inOrder.filter(lane => state.core < 0 || lane.core === state.core);
  rows = fixed.concat(lanes.map(lane => row((cores.length > 1 ? lane.core + " " : "") + lane.pipe,
    C.begin, C.took, lane.first, lane.last, () => lane.pipe, i => T[C.name[i]],
    {lane, first_of_core: lane === inOrder.find(other => other.core === lane.core)})));
  rows.forEach(r => { r.fill = r.lane ? prefix("took") : sums(r.took); });
}

// Rows that are no pipe's stay above the others, which move by view.top.
const pinned = () => RULER + ROW * rows.filter(r => !r.lane).length;
const rowY = n => RULER + n * ROW - (rows[n].lane ? view.top : 0);
const x_of = t => size.left + (t - view.from) / (view.to - view.from) * (size.width - size.left);
const t_of = x => view.from + (x - size.left) / (size.width - size.left) * (view.to - view.from);

function redraw() {
  if (!wanted) {
    wanted = true;
    requestAnimationFrame(() => { wanted = false; draw(); });
  }
}

function fitCanvas(c, height) {
  const ratio = window.devicePixelRatio || 1;
  const w = Math.round(c.clientWidth * ratio), h = Math.round(height * ratio);
  c.style.height = height + "px";
  if (c.width !== w || c.height !== h) {
    c.width = w;
    c.height = h;
  }
  const g = c.getContext("2d");
  g.setTransform(ratio, 0, 0, ratio, 0, 0);
  return g;
}

const stageHeight = () => Math.min(RULER + rows.length * ROW + 4,
  Math.max(260, window.innerHeight * .62));

function draw() {
  measure();
  const height = stageHeight(), width = size.width;
  const g = fitCanvas(canvas, height);
  colors = {};
  view.top = Math.max(0, Math.min(view.top, RULER + rows.length * ROW + 4 - height));
  g.fillStyle = color("card");
  g.fillRect(0, 0, width, height);
  const top = pinned();
  g.save();
  g.beginPath();
  g.rect(0, top, width, height - top);
  g.clip();
  rows.forEach((r, n) => {
    if (r.lane && rowY(n) > top - ROW && rowY(n) < height) {
      drawRow(g, r, rowY(n), width);
    }
  });
  drawArrows(g);
  g.restore();
  rows.forEach((r, n) => r.lane || drawRow(g, r, rowY(n), width));
  drawRange(g, height);
  drawRuler(g, width);
  drawOverview();
}

function drawRow(g, r, y, width) {
  const left = size.left;
  g.fillStyle = color("lane");
  g.fillRect(left, y + 1, width - left, ROW - 2);
  g.font = "12px system-ui, sans-serif";
  g.textBaseline = "middle";
  g.fillStyle = color("soft");
  g.textAlign = "right";
  g.fillText(r.name, left - 8, y + ROW / 2);
  g.textAlign = "left";
  g.save();
  g.beginPath();
  g.rect(left, y, width - left, ROW);
  g.clip();
  if (r.lane) {
    drawWaits(g, r, y);
  }
  drawSlices(g, r, y, width);
  g.restore();
}

// Slices, those narrower than a pixel together.
function drawSlices(g, r, y, width) {
  const scale = (width - size.left) / (view.to - view.from);
  let i = Math.max(r.first, atLeast(r.begin, view.from, r.first, r.last) - 1);
  let before = null, alpha = 1;
  while (i < r.last && r.begin[i] < view.to) {
    const w = r.took[i] * scale, tint = r.tint(i);
    if (tint !== before) {
      g.fillStyle = color(before = tint);
    }
    if (w >= 1.5) {
      if (alpha !== 1) {
        g.globalAlpha = alpha = 1;
      }
      drawSlice(g, r, i, x_of(r.begin[i]), y, w);
      before = null;
      i++;
      continue;
    }
    const pixel = Math.floor(x_of(r.begin[i])), next = behind(r, i, t_of(pixel + 1));
    const filled = Math.min(1, .25 + .75 * (r.fill[next] - r.fill[i]) * scale);
    const shade = Math.round(16 * dim(r, i) * filled) / 16;
    if (shade !== alpha) {
      g.globalAlpha = alpha = shade;
    }
    g.fillRect(pixel, y + 2, 1, ROW - 4);
    i = next;
  }
  g.globalAlpha = 1;
}

// The first slice behind i that begins at `end` or later.
function behind(r, i, end) {
  let low = i + 1, high = low;
  for (let step = 1; high < r.last && r.begin[high] < end; step *= 2) {
    low = high + 1;
    high += step;
  }
  const next = atLeast(r.begin, end, low, Math.min(high, r.last));
  // The last of them may go on beyond this pixel.
  return next - 1 > i && r.begin[next - 1] + r.took[next - 1] > end ? next - 1 : next;
}

const dim = (r, i) => !state.match || (r.lane && state.match(i)) ? 1 : .22;

function drawSlice(g, r, i, x, y, w) {
  g.globalAlpha = dim(r, i);
  const gap = w > 4 ? .6 : 0;
  g.fillRect(x, y + 2, w - gap, ROW - 4);
  if (r.lane && w > 3) {
    const lost = (C.lost[i] + C.missed[i] + C.banks[i]) / r.took[i];
    if (lost) {
      g.fillStyle = color(C.lost[i] ? "shared" : C.missed[i] ? "l2" : "bank");
      g.fillRect(x + (w - gap) * (1 - lost), y + 2, (w - gap) * lost, 4);
    }
    if (critical[i]) {
      g.fillStyle = color("mark");
      g.fillRect(x, y + ROW - 5, w - gap, 3);
    }
  }
  if (w > 34) {
    const from = Math.max(x, size.left), room = x + w - from - 8;
    const text = r.text(i);
    if (room > 26) {
      g.fillStyle = r.tint(i) === "empty" ? color("soft") : "#fff";
      g.fillText(clipped(g, text, room), from + 4, y + ROW / 2 + .5);
    }
  }
  g.globalAlpha = 1;
  const s = state.kept || state.hover;
  if (s && s.row === r && s.i === i) {
    g.strokeStyle = color("ink");
    g.lineWidth = 2;
    g.strokeRect(x + .5, y + 1.5, Math.max(w - 1, 2), ROW - 3);
  }
}

function clipped(g, text, room) {
  if (g.measureText(text).width <= room) {
    return text;
  }
  const n = Math.floor(text.length * room / g.measureText(text).width) - 1;
  return n > 1 ? text.slice(0, n) + "\u2026" : "";
}

// Before a command, the time at the head of its queue for a semaphore.
function drawWaits(g, r, y) {
  const scale = (size.width - size.left) / (view.to - view.from);
  let i = Math.max(r.first, atLeast(r.begin, view.from, r.first, r.last) - 1);
  if (r.last - i > 4000 && (atLeast(r.begin, view.to, i, r.last) - i) > 4000) {
    return;
  }
  g.fillStyle = color("sem");
  for (; i < r.last && r.begin[i] - C.waited[i] < view.to; i++) {
    if (C.waited[i] * scale > 1) {
      g.globalAlpha = .45;
      g.fillRect(x_of(r.begin[i] - C.waited[i]), y + ROW / 2 - 2, C.waited[i] * scale, 4);
    }
  }
  g.globalAlpha = 1;
}

function drawRuler(g, width) {
  const span = view.to - view.from, room = width - size.left;
  let step = 10 ** Math.floor(Math.log10(span / (room / 90)));
  step *= [1, 2, 5, 10].find(k => span / (step * k) <= room / 90) || 10;
  step = Math.max(step, 1);
  g.fillStyle = color("card");
  g.fillRect(0, 0, width, RULER);
  g.fillStyle = g.strokeStyle = color("soft");
  g.font = "11px system-ui, sans-serif";
  g.textBaseline = "middle";
  g.textAlign = "center";
  g.lineWidth = 1;
  for (let t = Math.ceil(view.from / step) * step; t <= view.to; t += step) {
    const x = Math.round(x_of(t)) + .5, text = grouped(t), half = g.measureText(text).width / 2;
    if (x + half < width && x - half > size.left) {
      g.fillText(text, x, RULER / 2 - 1);
    }
    g.beginPath();
    g.moveTo(x, RULER - 5);
    g.lineTo(x, RULER);
    g.stroke();
  }
  g.textAlign = "right";
  g.fillText("cycles", size.left - 8, RULER / 2 - 1);
  g.textAlign = "left";
}

function drawRange(g, height) {
  if (!state.range) {
    return;
  }
  const a = Math.max(size.left, x_of(state.range.from)), b = x_of(state.range.to);
  if (b > a) {
    g.fillStyle = color("accent");
    g.globalAlpha = .13;
    g.fillRect(a, RULER, b - a, height);
    g.globalAlpha = 1;
    g.fillRect(a - 1, RULER, 1.5, height);
    g.fillRect(b - .5, RULER, 1.5, height);
  }
}

// Arrows from who posted to the command that is looked at, and from it to who took.
function drawArrows(g) {
  const s = state.kept || state.hover;
  if (!s || !s.row.lane) {
    return;
  }
  if (C.by[s.i] > 1) {
    arrow(g, C.by[s.i] - 2, s.i);
  }
  if (state.kept) {
    for (const i of takers(s.i)) {
      arrow(g, s.i, i);
    }
  }
}

let takersOf = -1, takersAre = [];
function takers(i) {
  if (takersOf !== i) {
    takersOf = i;
    takersAre = [];
    for (let k = 0; k < C.by.length && takersAre.length < 8; k++) {
      if (C.by[k] === i + 2) {
        takersAre.push(k);
      }
    }
  }
  return takersAre;
}

const yOf = i => {
  const n = rows.findIndex(r => r.lane && i >= r.first && i < r.last);
  return n < 0 ? null : rowY(n) + ROW / 2;
};

function arrow(g, from, to) {
  const x0 = x_of(C.begin[from] + C.took[from]), x1 = x_of(C.begin[to]);
  const y0 = yOf(from), y1 = yOf(to);
  if (y0 === null || y1 === null) {
    return;
  }
  g.strokeStyle = g.fillStyle = color("ink");
  g.lineWidth = 1.5;
  g.beginPath();
  g.moveTo(x0, y0);
  const bow = Math.max(14, Math.abs(x1 - x0) / 3);
  g.bezierCurveTo(x0 + bow, y0, x1 - bow, y1, x1, y1);
  g.stroke();
  g.beginPath();
  g.moveTo(x1, y1);
  g.lineTo(x1 - 7, y1 - 4);
  g.lineTo(x1 - 7, y1 + 4);
  g.fill();
}

// The whole run in one strip: how many of the pipes work.
let strip = null;
function makeStrip(width) {
  const load = new Float32Array(width);
  for (const {lane} of rows.filter(r => r.lane)) {
    for (let x = 0; x < width; x++) {
      load[x] += busyWithin(lane, x / width * D.cycles, (x + 1) / width * D.cycles);
    }
  }
  const most = load.reduce((a, b) => Math.max(a, b), 0) || 1;
  return {width, load: load.map(v => v / most), core: state.core};
}

function drawOverview() {
  const g = fitCanvas(overview, 34), width = overview.clientWidth;
  const n = Math.max(1, Math.floor(width - size.left));
  if (!strip || strip.width !== n || strip.core !== state.core) {
    strip = makeStrip(n);
  }
  g.clearRect(0, 0, width, 34);
  g.fillStyle = color("rest");
  for (let x = 0; x < n; x++) {
    g.fillRect(size.left + x, 32 - 28 * strip.load[x], 1, 28 * strip.load[x]);
  }
  const a = size.left + view.from / D.cycles * n, b = size.left + view.to / D.cycles * n;
  g.fillStyle = color("accent");
  g.globalAlpha = .16;
  g.fillRect(a, 2, Math.max(2, b - a), 31);
  g.globalAlpha = 1;
  g.strokeStyle = color("accent");
  g.strokeRect(a + .5, 2.5, Math.max(2, b - a - 1), 30);
}
