// SPDX-License-Identifier: MIT
//
// What a reader does with the timeline: pointer, wheel, fingers, keys, and what is then said.
"use strict";
const LEAST = 20; // cycles that a view shows at least

function show(from, to) {
  const span = Math.min(Math.max(to - from, LEAST), D.cycles * 1.02);
  const middle = (from + to) / 2, slack = D.cycles * .01;
  view.from = Math.max(-slack, Math.min(middle - span / 2, D.cycles + slack - span));
  view.to = view.from + span;
  redraw();
}

function zoom(factor, at) {
  const t = at === undefined ? (view.from + view.to) / 2 : at;
  show(t - (t - view.from) * factor, t + (view.to - t) * factor);
}

const pan = share => show(view.from + share * (view.to - view.from),
  view.to + share * (view.to - view.from));

// The slice under a point, or null.
function under(x, y) {
  const r = rows[Math.floor((y - RULER + (y < pinned() ? 0 : view.top)) / ROW)];
  if (!r || y < RULER || x < size.left) {
    return null;
  }
  const t = t_of(x), near = 2 * (view.to - view.from) / size.width;
  const i = atLeast(r.begin, t, r.first, r.last);
  for (const k of [i - 1, i]) {
    if (k >= r.first && k < r.last && t >= r.begin[k] - near && t < r.begin[k] + r.took[k] + near) {
      return {row: r, i: k};
    }
  }
  return null;
}

function factsOfSlice(s) {
  if (s.row.lane) {
    return factsOf(s.i, s.row.lane);
  }
  return [["cycles", grouped(s.row.took[s.i]) + ", from " + grouped(s.row.begin[s.i])],
    ["what", s.row.path ? "critical path: " + pathName(C["path.what"][s.i]) : s.row.name]];
}

const listed = (facts, wide) => `<dl class="facts${wide ? " wide" : ""}">` + facts.map(([k, v]) =>
  wide ? `<div><dt>${k}</dt><dd>${escape(v)}</dd></div>`
    : `<dt>${k}</dt><dd>${escape(v)}</dd>`).join("") + "</dl>";

function tip(s, x, y) {
  const box = $("tip");
  box.hidden = !s;
  if (s) {
    box.innerHTML = `<b>${escape(s.row.text(s.i))}</b>` + listed(factsOfSlice(s));
    const w = box.offsetWidth, h = box.offsetHeight;
    box.style.left = Math.max(0, Math.min(x + 16, size.width - w - 4)) + "px";
    const below = y + 18 + h <= canvas.clientHeight + 120;
    box.style.top = (below ? y + 18 : Math.max(0, y - h - 14)) + "px";
  }
}

function keep(s) {
  state.kept = s;
  $("detail").innerHTML = !s ? ""
    : `<b>${escape(s.row.text(s.i))}</b>` + listed(factsOfSlice(s), true);
  redraw();
}

// Keeps a command and brings it into view.
function goTo(i) {
  let r = rows.find(x => x.lane && i >= x.first && i < x.last);
  if (!r) {
    setCore(-1);
    r = rows.find(x => x.lane && i >= x.first && i < x.last);
  }
  const begin = C.begin[i], end = begin + C.took[i], span = view.to - view.from;
  if (begin < view.from || end > view.to || C.took[i] * 300 < span) {
    const want = Math.min(span, Math.max(C.took[i] * 30, LEAST));
    show((begin + end - want) / 2, (begin + end + want) / 2);
  }
  const y = rowY(rows.indexOf(r));
  if (y < pinned() || y + ROW > canvas.clientHeight) {
    view.top += y - canvas.clientHeight / 2;
  }
  keep({row: r, i});
}

function setCore(core) {
  state.core = core;
  $("core").value = core;
  state.kept = state.hover = null;
  makeRows();
  redraw();
}

// --- a range and its sums ---

// Sum of a column over the commands of a lane that begin in [from, to).
function within(name, lane, from, to) {
  const a = atLeast(C.begin, from, lane.first, lane.last);
  const b = atLeast(C.begin, to, lane.first, lane.last);
  return prefix(name)[b] - prefix(name)[a];
}

// Cycles of [from, to) in which the lane's commands ran: those at the ends in part.
function busyWithin(lane, from, to) {
  let sum = within("took", lane, from, to);
  const a = atLeast(C.begin, from, lane.first, lane.last);
  const b = atLeast(C.begin, to, lane.first, lane.last);
  if (a > lane.first) {
    sum += Math.max(0, Math.min(to, C.begin[a - 1] + C.took[a - 1]) - from);
  }
  if (b > a) {
    sum -= Math.max(0, C.begin[b - 1] + C.took[b - 1] - to);
  }
  return sum;
}

function select(from, to) {
  const box = $("range");
  state.range = to > from ? {from: Math.max(0, from), to: Math.min(D.cycles, to)} : null;
  box.hidden = !state.range;
  redraw();
  if (!state.range) {
    return;
  }
  ({from, to} = state.range);
  const body = rows.filter(r => r.lane).map(({lane}) => {
    const busy = busyWithin(lane, from, to);
    const n = atLeast(C.begin, to, lane.first, lane.last) -
      atLeast(C.begin, from, lane.first, lane.last);
    const sum = name => within(name, lane, from, to);
    return `<tr><td class="text"><i class="key" style="background:var(--${lane.pipe})"></i>${
      cores.length > 1 ? lane.core + " " : ""}${lane.pipe}</td><td>${grouped(busy)}</td><td>${
      percent(busy, to - from)}</td><td>${grouped(sum("waited"))}</td><td>${
      grouped(sum("lost") + sum("missed") + sum("banks"))}</td><td>${grouped(n)}</td><td>${
      bytes(sum("read"))}</td><td>${bytes(sum("written"))}</td><td>${
      grouped(sum("ops"))}</td></tr>`;
  }).join("");
  box.innerHTML = `<b>${grouped(to - from)} cycles</b>, ${micros(to - from)}: from ${
    grouped(from)} to ${grouped(to)}<div class="scroll"><table><thead><tr><th class="text">pipe</th>
    <th>busy</th><th>of range</th><th>waited</th><th>lost</th><th>commands</th><th>read</th>
    <th>written</th><th>operations</th></tr></thead><tbody>${body}</tbody></table></div>`;
}

// --- pointer ---

const pointers = new Map();
let drag = null;

function at(e, c) {
  const box = c.getBoundingClientRect();
  return {x: e.clientX - box.left, y: e.clientY - box.top};
}

canvas.addEventListener("pointerdown", e => {
  const p = at(e, canvas);
  canvas.setPointerCapture(e.pointerId);
  tip(null);
  pointers.set(e.pointerId, p);
  drag = {x: p.x, y: p.y, from: view.from, to: view.to, top: view.top, moved: false,
    select: e.shiftKey || state.selecting || p.y < RULER, begin: t_of(p.x)};
  if (pointers.size === 2) {
    const [a, b] = [...pointers.values()];
    drag = {pinch: Math.abs(a.x - b.x) || 1, at: t_of((a.x + b.x) / 2), from: view.from,
      to: view.to, moved: true};
  }
});

canvas.addEventListener("pointermove", e => {
  const p = at(e, canvas);
  if (!drag) {
    state.hover = under(p.x, p.y);
    tip(state.hover, p.x, p.y);
    redraw();
    return;
  }
  pointers.set(e.pointerId, p);
  drag.moved = drag.moved || Math.hypot(p.x - drag.x, p.y - drag.y) > 4;
  if (drag.pinch) {
    const [a, b] = [...pointers.values()];
    const factor = drag.pinch / (Math.abs(a.x - b.x) || 1);
    show(drag.at - (drag.at - drag.from) * factor, drag.at + (drag.to - drag.at) * factor);
  } else if (drag.moved && drag.select) {
    const t = t_of(p.x);
    select(Math.min(t, drag.begin), Math.max(t, drag.begin));
  } else if (drag.moved) {
    const t = (drag.x - p.x) / (size.width - size.left) * (drag.to - drag.from);
    view.top = drag.top + drag.y - p.y;
    show(drag.from + t, drag.to + t);
  }
});

function lift(e) {
  const p = at(e, canvas);
  pointers.delete(e.pointerId);
  if (drag && !drag.moved && e.type === "pointerup") {
    const s = under(p.x, p.y);
    keep(s);
    if (e.pointerType === "touch") {
      tip(null);
    }
  }
  drag = pointers.size ? drag : null;
}
canvas.addEventListener("pointerup", lift);
canvas.addEventListener("pointercancel", lift);
canvas.addEventListener("pointerleave", () => { state.hover = null; tip(null); redraw(); });
canvas.addEventListener("wheel", e => {
  e.preventDefault();
  if (e.shiftKey) {
    view.top += e.deltaY;
    redraw();
  } else if (Math.abs(e.deltaX) > Math.abs(e.deltaY)) {
    pan(e.deltaX / size.width);
  } else {
    zoom(1.0016 ** Math.max(-400, Math.min(400, e.deltaY)), t_of(at(e, canvas).x));
  }
}, {passive: false});

overview.addEventListener("pointerdown", e => {
  overview.setPointerCapture(e.pointerId);
  jump(e);
});
overview.addEventListener("pointermove", e => e.buttons && jump(e));
function jump(e) {
  const t = (at(e, overview).x - size.left) / (overview.clientWidth - size.left) * D.cycles;
  const span = view.to - view.from;
  show(t - span / 2, t + span / 2);
}

// --- keys and buttons ---

function step(by) {
  const s = state.kept;
  if (!s || !s.row.lane) {
    const first = rows.find(r => r.lane);
    goTo(Math.min(atLeast(C.begin, view.from, first.first, first.last), first.last - 1));
  } else if (s.i + by >= s.row.first && s.i + by < s.row.last) {
    goTo(s.i + by);
  }
}

function otherRow(by) {
  const lanes = rows.filter(r => r.lane), s = state.kept;
  const n = s ? lanes.indexOf(s.row) + by : 0;
  if (lanes[n]) {
    const t = s ? C.begin[s.i] : view.from;
    goTo(Math.min(atLeast(C.begin, t, lanes[n].first, lanes[n].last), lanes[n].last - 1));
  }
}

const back = () => state.kept && state.kept.row.lane && C.by[state.kept.i] > 1 &&
  goTo(C.by[state.kept.i] - 2);
const mode = () => {
  state.selecting = !state.selecting;
  canvas.classList.toggle("select", state.selecting);
  document.querySelector("[data-do=range]").setAttribute("aria-pressed", state.selecting);
};
const forget = () => {
  keep(null);
  select(0, 0);
  tip(null);
  state.match = null;
  $("find").value = "";
};
const actions = {in: () => zoom(1 / 1.6), out: () => zoom(1.6), fit: () => show(0, D.cycles),
  range: mode, seen: () => select(view.from, view.to), help: () => {
    $("keys").hidden = !$("keys").hidden;
    document.querySelector("[data-do=help]").setAttribute("aria-expanded", !$("keys").hidden);
  }};
const keys = {"+": actions.in, "=": actions.in, "-": actions.out, "0": actions.fit,
  ArrowLeft: () => pan(-.15), ArrowRight: () => pan(.15), ArrowUp: () => otherRow(-1),
  ArrowDown: () => otherRow(1), Home: () => show(0, view.to - view.from),
  End: () => show(D.cycles - view.to + view.from, D.cycles), s: mode, a: actions.seen,
  z: () => state.range && show(state.range.from, state.range.to), n: () => step(1),
  p: () => step(-1), b: back, Escape: forget, "?": actions.help};

document.querySelectorAll("[data-do]").forEach(b => b.addEventListener("click",
  () => actions[b.dataset.do]()));
document.addEventListener("keydown", e => {
  const typing = e.target.matches("input, select");
  if (e.ctrlKey || e.metaKey || e.altKey || (typing && e.key !== "Escape")) {
    return;
  }
  if (e.key === "/") {
    e.preventDefault();
    $("find").focus();
  } else if (keys[e.key] && (e.target === canvas || !e.key.startsWith("Arrow"))) {
    e.preventDefault();
    keys[e.key]();
  }
});

// Marks commands that have a text in name, line, task or shape; Enter goes to the next one.
function find(text) {
  const wanted = text.toLowerCase();
  const has = T.map(t => wanted !== "" && t.toLowerCase().includes(wanted));
  const columns = [C.name, C.line, C.task, C.shape];
  state.match = wanted ? i => columns.some(c => has[c[i]]) : null;
  redraw();
}
$("find").addEventListener("input", e => find(e.target.value));
$("find").addEventListener("keydown", e => {
  if (e.key !== "Enter" || !state.match) {
    return;
  }
  const n = C.begin.length, from = state.kept && state.kept.row.lane ? state.kept.i + 1 : 0;
  for (let k = 0; k < n; k++) {
    if (state.match((from + k) % n)) {
      goTo((from + k) % n);
      return;
    }
  }
});
$("core").innerHTML = '<option value="-1">all</option>' + cores.map(c =>
  `<option value="${c}">${c}</option>`).join("");
$("core").parentElement.hidden = cores.length < 2;
$("core").addEventListener("change", e => setCore(Number(e.target.value)));
window.addEventListener("resize", redraw);
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", redraw);
setCore(-1);
