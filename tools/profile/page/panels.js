// SPDX-License-Identifier: MIT
//
// The parts of the page that are tables and drawings.
"use strict";

// A table that sorts by the column whose head is clicked. Columns: name, value of a row (for
// the order), text, and whether it is text.
function table(id, columns, data, options = {}) {
  const el = $(id), most = options.most || 12;
  let by = options.by === undefined ? -1 : options.by, down = true, all = false;
  const body = () => {
    const sorted = by < 0 ? data : [...data].sort((a, b) => {
      const x = columns[by].value(a), y = columns[by].value(b);
      return (x < y ? -1 : x > y ? 1 : 0) * (down ? -1 : 1);
    });
    const shown = all ? sorted : sorted.slice(0, most);
    const rows = shown.map(d => "<tr>" + columns.map(c =>
      `<td class="${c.text ? "text " : ""}${c.code ? "code" : ""}">${
        c.show ? c.show(d) : escape(c.value(d))}</td>`).join("") + "</tr>").join("");
    el.innerHTML = "<thead><tr>" + columns.map((c, i) =>
      `<th class="${c.text ? "text" : ""}" aria-sort="${
        by === i ? (down ? "descending" : "ascending") : "none"}"><button data-by="${i}">${
        c.name}</button></th>`).join("") + `</tr></thead><tbody>${rows}</tbody>`;
    if (options.go) {
      [...el.tBodies[0].rows].forEach((tr, i) => {
        tr.className = "go";
        tr.tabIndex = 0;
        tr.onclick = () => options.go(shown[i]);
        tr.onkeydown = e => e.key === "Enter" && options.go(shown[i]);
      });
    }
    const old = el.parentElement.querySelector(".more");
    if (old) {
      old.remove();
    }
    if (!all && data.length > most) {
      const more = document.createElement("button");
      more.className = "more";
      more.textContent = `All ${data.length} rows`;
      more.onclick = () => { all = true; body(); };
      el.parentElement.append(more);
    }
  };
  el.onclick = e => {
    const n = e.target.dataset && e.target.dataset.by;
    if (n !== undefined) {
      down = Number(n) === by ? !down : !columns[n].text;
      by = Number(n);
      body();
      el.querySelector(`[data-by="${n}"]`).focus();
    }
  };
  body();
}

const keyed = (name, text) =>
  `<i class="key" style="background:var(--${name})"></i>${escape(text)}`;
const meter = (part, all) => percent(part, all) +
  `<span class="meter"><i style="width:${all ? Math.min(100, 100 * part / all) : 0}%"></i></span>`;

function header() {
  document.title = D.title + " \u2013 profile";
  $("title").textContent = D.title;
  $("facts").textContent = `${grouped(D.cycles)} cycles, ${micros(D.cycles)} at ${
    (D.chip.kHz / 1e6).toFixed(2)} GHz \u00b7 ${grouped(D.commands)} commands on ${
    cores.length} core${cores.length > 1 ? "s" : ""} \u00b7 profile ${D.chip.profile}`;
  $("verdict-title").innerHTML = escape(D.bound) + ` <span class="class">${escape(D.class)}</span>`;
  $("reason").textContent = D.reason;
  $("advice").innerHTML = D.advice.map(a => `<li><span class="save">\u2212${
    percent(a.cycles, D.cycles)}<small>${grouped(a.cycles)} cycles</small></span><span><b>${
    escape(a.kind)}</b>: ${escape(a.why)} <span class="help">${escape(a.help)}</span></span></li>`)
    .join("") || "<li><span></span><span>Nothing that was tried on the order of this run saves " +
    "1 % of it.</span></li>";
  const pipes = Object.keys(byPipe).filter(p => D.lanes.some(l => l.pipe === p));
  $("legend").innerHTML = [...pipes.map(p => [p, p]), ["hart", "hart"],
    ["sem", "waits for a semaphore"], ["mark", "on the critical path"],
    ["shared", "lost to others"], ["l2", "L2 misses"]].map(([tint, text]) =>
    `<span>${keyed(tint, text)}</span>`).join("");
}

// --- pipes ---

const parts = [["busy", null, "works"], ["shared", "shared", "bandwidth"],
  ["l2", "l2", "L2 misses"], ["bank", "bank", "bank conflicts"], ["sem", "sem", "semaphore"],
  ["late", "late", "queue empty between commands"],
  ["edge", "empty", "before the first, after the last"]];

function pipes() {
  const of = {};
  for (const lane of inOrder) {
    const sum = of[lane.pipe] = of[lane.pipe] || {busy: 0, shared: 0, l2: 0, bank: 0, sem: 0,
      late: 0, edge: 0, lanes: 0};
    for (const name of ["busy", "shared", "l2", "bank", "sem"]) {
      sum[name] += lane[name];
    }
    sum.edge += lane.before + lane.after;
    sum.late += lane.empty - lane.before - lane.after;
    sum.lanes++;
  }
  $("use").className = "use";
  $("use").innerHTML = Object.keys(of).map(pipe => {
    const all = D.cycles * of[pipe].lanes;
    const told = parts.map(([k, , text]) => `${text} ${percent(of[pipe][k], all)}`);
    return `<span class="who">${pipe}</span><span class="stack" role="img" aria-label="${pipe}: ${
      told.join(", ")}">` + parts.map(([k, tint], i) => `<span style="width:${
      100 * of[pipe][k] / all}%;background:var(--${tint || pipe})" title="${told[i]}"></span>`)
      .join("") + `</span><span class="share">${percent(of[pipe].busy, all)}</span>`;
  }).join("");
  $("stall-legend").innerHTML = parts.slice(1).map(([, tint, text]) =>
    `<span>${keyed(tint, text)}</span>`).join("") +
    "<span>right: share of the run that it works</span>";
  const merged = new Map();
  for (const [lane, cause, text, cycles, by] of D.stalls) {
    const pipe = D.lanes[lane].pipe, all = T[text].replace(/ of core \d+$/, "");
    const key = [pipe, cause, all, by].join();
    const row = merged.get(key) || {pipe, cause, text: all, by, cycles: 0};
    row.cycles += cycles;
    merged.set(key, row);
  }
  const fault = d => d.cause === "semaphore"
    ? (!d.text ? "marks of L0C" : `${d.by || "the hart"}: ${d.text}`)
    : d.cause !== "queue empty" ? d.text
    : d.text === "idle" ? "the hart slept: it waited itself"
      : d.text ? "the hart: " + d.text : "the hart: nothing that has a name";
  table("stalls", [
    {name: "pipe", text: true, value: d => d.pipe, show: d => keyed(d.pipe, d.pipe)},
    {name: "cause", text: true, value: d => d.cause},
    {name: "which, or whose fault", text: true, value: fault},
    {name: "cycles", value: d => d.cycles, show: d => grouped(d.cycles)},
    {name: "of the run", value: d => d.cycles,
      show: d => meter(d.cycles, D.cycles * of[d.pipe].lanes)},
  ], [...merged.values()], {by: 3});
}

// --- critical path ---

function criticalPath() {
  const sum = new Map(), by = {};
  let all = 0;
  for (let i = 0; i < C["path.took"].length; i++) {
    const what = C["path.what"][i], text = C["path.text"][i], took = C["path.took"][i];
    const key = what * T.length + text;
    const row = sum.get(key) || {what: pathName(what), text: T[text], cycles: 0, n: 0};
    row.cycles += took;
    row.n++;
    sum.set(key, row);
    by[row.what] = (by[row.what] || 0) + took;
    all += took;
  }
  $("critical").hidden = all === 0;
  $("critical-text").textContent = `What the end of the run waited for, back to its begin: ${
    grouped(all)} cycles in ${grouped(C["path.took"].length)} stretches. Only what is on it can ` +
    "make the run shorter.";
  $("critical-bar").innerHTML = Object.entries(by).sort((a, b) => b[1] - a[1]).map(([what, n]) =>
    `<span style="width:${100 * n / all}%;background:var(--${what})" title="${what}: ${
      percent(n, all)}"></span>`).join("");
  table("critical-table", [
    {name: "by", text: true, value: d => d.what, show: d => keyed(d.what, d.what)},
    {name: "what", text: true, value: d => d.text},
    {name: "stretches", value: d => d.n, show: d => grouped(d.n)},
    {name: "cycles", value: d => d.cycles, show: d => grouped(d.cycles)},
    {name: "of the path", value: d => d.cycles, show: d => meter(d.cycles, all)},
  ], [...sum.values()], {by: 3, most: 10});
}

// --- bytes, lines, launches ---

function pathTable() {
  const rate = d => D.chip[d[0] + " to " + d[1]];
  table("paths", [
    {name: "path", text: true, value: d => d[0] + " to " + d[1]},
    {name: "bytes", value: d => d[3], show: d => bytes(d[3])},
    {name: "commands", value: d => d[2], show: d => grouped(d[2])},
    {name: "bytes a cycle", value: d => d[3] / d[4], show: d => (d[3] / d[4]).toFixed(1)},
    {name: "of its rate", value: d => rate(d) ? d[3] / d[4] / rate(d) : -1,
      show: d => rate(d) ? meter(d[3] / d[4], rate(d)) : ""},
  ], D.paths, {by: 1});
}

function lineTable() {
  const cycles = D.lines.reduce((sum, d) => sum + d[4], 0);
  table("hot", [
    {name: "line", text: true, code: true, value: d => T[d[0]] || "?"},
    {name: "command", text: true, value: d => T[d[2]], show: d => keyed(d[1], T[d[2]])},
    {name: "times", value: d => d[3], show: d => grouped(d[3])},
    {name: "cycles", value: d => d[4], show: d => grouped(d[4])},
    {name: "of all pipes", value: d => d[4], show: d => meter(d[4], cycles)},
    {name: "waited", value: d => d[5], show: d => grouped(d[5])},
    {name: "lost", value: d => d[6], show: d => grouped(d[6])},
    {name: "bytes", value: d => d[7], show: d => bytes(d[7])},
    {name: "bytes a cycle", value: d => d[7] / d[4], show: d => (d[7] / d[4]).toFixed(1)},
  ], D.lines, {by: 3, go: d => {
    $("find").value = T[d[0]];
    find(T[d[0]]);
    $("timeline").scrollIntoView({behavior: "smooth"});
  }});
}

function launches() {
  const data = D.launches.filter(l => l[4]).map(([name, begin, took, price, number]) => {
    const end = begin + took;
    let first = end, last = begin;
    for (const lane of D.lanes) {
      const a = atLeast(C.begin, begin, lane.first, lane.last);
      const b = atLeast(C.begin, end, lane.first, lane.last);
      if (b > a) {
        first = Math.min(first, C.begin[a]);
        last = Math.max(last, C.begin[b - 1] + C.took[b - 1]);
      }
    }
    return {number, name: T[name], begin, end, took, price, first, last};
  });
  const cell = (name, value) => ({name, value, show: d => grouped(value(d))});
  $("launches").hidden = data.length === 0;
  table("launch", [
    cell("no.", d => d.number),
    {name: "launch", text: true, value: d => d.name},
    cell("called at", d => d.begin), cell("call to return", d => d.took),
    cell("of it the price of a launch", d => d.price),
    cell("to the first command", d => d.first - d.begin),
    cell("first to last command", d => Math.max(0, d.last - d.first)),
    cell("from the last one on", d => d.end - Math.max(d.last, d.begin)),
  ], data, {by: -1, go: d => { show(d.begin, d.end); $("timeline").scrollIntoView(); }});
}

// --- drawings ---

const svg = (w, h, inside, text) =>
  `<svg viewBox="0 0 ${w} ${h}" role="img" aria-label="${escape(text)}">${inside}</svg>`;
const stroke = (x1, y1, x2, y2, tint, width = 1) => `<line x1="${x1}" y1="${y1}" x2="${x2}" ` +
  `y2="${y2}" stroke="var(--${tint})" stroke-width="${width}"/>`;
const words = (x, y, text, anchor = "start", more = "") =>
  `<text x="${x}" y="${y}" text-anchor="${anchor}" ${more}>${escape(text)}</text>`;
const power = e => e >= 0 ? grouped(10 ** e) : (10 ** e).toFixed(-e);

// What there is to draw: pipes that compute, with their peaks; paths, with their rates.
function roofData() {
  const gm = D.paths.filter(p => p[0] === "GM" || p[1] === "GM").reduce((s, p) => s + p[3], 0);
  const ops = pipe => D.lanes.filter(l => l.pipe === pipe).reduce((s, l) => s + l.ops, 0);
  const cores = D.chip.cores, of = cores > 1 ? `, ${cores} cores` : "";
  const [from, to] = [...D.paths].filter(p => p[0] === "GM" && D.chip[`GM to ${p[1]}`])
    .sort((a, b) => b[3] - a[3])[0] || ["GM", "L1"];
  return {
    points: [["M", "Cube", ops("M"), D.chip.cube * cores],
      ["V", "Vector", ops("V"), D.chip.vector * cores]].filter(p => p[2] && gm)
      .map(([pipe, name, n, peak]) => ({pipe, name, peak, x: n / gm, y: n / D.cycles})),
    bands: [["HBM", D.chip.HBM], ["L2", D.chip["L2 read"]],
      [`${from} to ${to}${of}`, D.chip[`${from} to ${to}`] * cores]].filter(band => band[1]),
  };
}

function roofs() {
  const {points, bands} = roofData(), box = $("roof");
  $("roofline").hidden = points.length === 0;
  if (!points.length) {
    return;
  }
  const W = Math.max(320, Math.min(680, box.clientWidth)), H = Math.max(280, W * .56);
  const left = 58, low = 38, right = W - 12, slowest = Math.min(...bands.map(b => b[1]));
  const top = Math.max(...points.map(p => p.peak));
  const x0 = Math.floor(Math.log10(Math.min(...points.map(p => p.x), .5) / 2));
  const x1 = Math.ceil(Math.log10(Math.max(...points.map(p => p.x), top / slowest) * 2));
  const y1 = Math.log10(top * 2.2);
  const y0 = Math.min(Math.floor(Math.log10(Math.min(...points.map(p => p.y)) / 2)),
    Math.floor(y1) - 2);
  const X = v => left + (Math.log10(v) - x0) / (x1 - x0) * (right - left);
  const Y = v => H - low - (Math.log10(v) - y0) / (y1 - y0) * (H - low - 10);
  let out = "";
  for (let e = x0; e <= x1; e++) {
    out += stroke(X(10 ** e), 10, X(10 ** e), H - low, "faint") +
      words(X(10 ** e), H - low + 16, power(e), "middle");
  }
  for (let e = y0; e <= y1; e++) {
    out += stroke(left, Y(10 ** e), right, Y(10 ** e), "faint") +
      words(left - 6, Y(10 ** e) + 4, power(e), "end");
  }
  bands.forEach(([name, rate], i) => {
    const a = Math.max(10 ** x0, 10 ** y0 / rate), b = Math.min(top / rate, 10 ** x1);
    const at = a * (b / a) ** (.12 + .2 * i);
    const turn = -Math.atan2(Y(a * rate) - Y(b * rate), X(b) - X(a)) * 180 / Math.PI;
    out += stroke(X(a), Y(a * rate), X(b), Y(b * rate), "rest", 1.6) +
      words(0, 0, `${name} ${grouped(rate)} B`, "start",
        `transform="translate(${X(at)} ${Y(at * rate) - 5}) rotate(${turn})"`);
  });
  for (const p of points) {
    const from = Math.max(10 ** x0, p.peak / bands[bands.length - 1][1] / 4);
    const flip = X(p.x) > W - 180;
    out += stroke(X(from), Y(p.peak), right, Y(p.peak), p.pipe, 2) +
      words(right - 2, Y(p.peak) - 6, `${p.name} ${grouped(p.peak)}`, "end") +
      `<circle cx="${X(p.x)}" cy="${Y(p.y)}" r="6" fill="var(--${p.pipe})"/>` +
      words(X(p.x) + (flip ? -10 : 10), Y(p.y) + 4, `${p.name} ${
        p.y < 10 ? p.y.toFixed(1) : grouped(p.y)} (${percent(p.y, p.peak)})`,
      flip ? "end" : "start", 'class="ink"');
  }
  out += words((W + left) / 2, H - 5, "operations for each byte of GM", "middle") +
    words(0, 0, "operations a cycle", "middle", `transform="translate(12 ${H / 2}) rotate(-90)"`);
  box.innerHTML = svg(W, H, out, points.map(p =>
    `${p.name}: ${p.y.toFixed(1)} operations a cycle of ${p.peak}`).join("; "));
}

// What was handed out at a cycle, of a memory: the largest first.
function held(process, mem, at) {
  const now = new Map();
  for (const [t, p, m, addr, size, name, line, gives] of D.allocations) {
    if (t <= at && p === process && T[m] === mem) {
      if (gives) {
        now.delete(addr);
      } else {
        now.set(addr, [T[name] || T[line] || "no name", size]);
      }
    }
  }
  return [...now.values()].sort((a, b) => b[1] - a[1]);
}

const SHOWN = 4; // memories, unless all are wanted
function memory() {
  const of = D.counters.map(([process, name], i) => ({process, name: T[name],
    at: C[`counter.${i}.at`], value: C[`counter.${i}.value`]}))
    .filter(c => / in use$/.test(c.name) && c.value.some(v => v));
  const all = memory.all || of.length <= SHOWN;
  $("mem").innerHTML = of.slice(0, all ? of.length : SHOWN).map(c => {
    const W = 700, H = 60, peak = c.value.reduce((a, v, i) => v > c.value[a] ? i : a, 0);
    const most = c.value[peak], mem = c.name.replace(" in use", "");
    const X = t => t / D.cycles * (W - 8), Y = v => H - 4 - v / most * (H - 14);
    let d = `M${X(0)} ${Y(0)}`, before = 0;
    for (const i of thinned(c.value)) {
      d += `L${X(c.at[i])} ${Y(before)}L${X(c.at[i])} ${Y(c.value[i])}`;
      before = c.value[i];
    }
    d += `L${X(D.cycles)} ${Y(before)}L${X(D.cycles)} ${Y(0)}Z`;
    const at = held(c.process, mem, c.at[peak]), limit = D.chip.sizes[mem];
    const core = c.process < 32 && cores.length > 1 ? ` of core ${c.process}` : "";
    const names = at.slice(0, 6).map(([name, n]) => `${escape(name)} ${bytes(n)}`).join(", ");
    return `<div class="mem"><div><b>${escape(mem)}${core}</b><br><span class="soft">peak ${
      bytes(most)}${limit ? " of " + bytes(limit) : ""}, cycle ${grouped(c.at[peak])}<br>${
      names}${at.length > 6 ? ", \u2026" : ""}</span></div>` +
      svg(W, H, `<path d="${d}" fill="var(--accent)" fill-opacity=".22" ` +
      'stroke="var(--accent)"/>' +
      `<circle cx="${X(c.at[peak])}" cy="${Y(most)}" r="4" fill="var(--mark)"/>`,
      `${mem}: peak ${bytes(most)}`) + "</div>";
  }).join("") + (all ? "" : `<button class="more">All ${of.length} memories</button>`);
  if (!all) {
    $("mem").lastChild.onclick = () => { memory.all = true; memory(); };
  }
}

// GM's bytes a cycle, all cores together, as the samples of the trace have them.
function traffic() {
  const W = 700, H = 60, n = Math.min(700, Math.ceil(D.cycles / 512));
  const of = ["GM read", "GM written"].map(what => {
    const sum = new Float64Array(n);
    D.counters.forEach(([process, name], k) => {
      const at = C[`counter.${k}.at`], value = C[`counter.${k}.value`];
      for (let i = 0; T[name] === what && i < at.length; i++) {
        const end = i + 1 < at.length ? at[i + 1] : D.cycles;
        const a = Math.floor(at[i] / D.cycles * n), b = Math.max(a + 1, end / D.cycles * n);
        for (let x = a; x < b && x < n; x++) {
          sum[x] += value[i];
        }
      }
    });
    return [what, sum];
  }).filter(([, sum]) => sum.some(v => v));
  const top = Math.max(1, ...of.map(([, sum]) => Math.max(...sum)));
  $("traffic").innerHTML = of.map(([what, sum]) => {
    let d = "M0 " + H;
    sum.forEach((v, i) => d += `L${i / n * W} ${H - 4 - v / top * (H - 14)}`);
    const mean = sum.reduce((a, v) => a + v, 0) / n, peak = Math.max(...sum);
    return `<div class="mem"><div><b>${what}</b><br><span class="soft">at most ${
      peak.toFixed(0)} bytes a cycle, on average ${mean.toFixed(1)}</span></div>` + svg(W, H,
      `<path d="${d}L${W} ${H}Z" fill="var(--${what === "GM read" ? "MTE2" : "MTE3"})" ` +
      'fill-opacity=".5"/>', what) + "</div>";
  }).join("");
}

// No more points than can be seen, each the largest of its stretch: their places.
function thinned(values) {
  const step = Math.ceil(values.length / 1500), out = [];
  for (let i = 0; i < values.length; i += step) {
    let best = i;
    for (let k = i; k < Math.min(i + step, values.length); k++) {
      best = values[k] > values[best] ? k : best;
    }
    out.push(best);
  }
  return out;
}

header();
pipes();
criticalPath();
pathTable();
lineTable();
launches();
roofs();
memory();
traffic();
$("memory").hidden = !$("mem").innerHTML && !$("traffic").innerHTML;
window.addEventListener("resize", roofs);
document.documentElement.dataset.ready = Math.round(performance.now()); // ms
