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

const keyed = (name, text) => `<i class="key" style="background:var(--${name})"></i>${escape(text)}`;
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
    .join("") || "<li><span></span><span>Nothing that was tried on the order of this run saves 1 % " +
    "of it.</span></li>";
  $("legend").innerHTML = Object.keys(byPipe).filter(p => D.lanes.some(l => l.pipe === p)).map(p =>
    `<span>${keyed(p, p)}</span>`).join("") + `<span>${keyed("sem", "waits for a semaphore")}</span>` +
    `<span>${keyed("mark", "on the critical path")}</span><span>${keyed("hart", "hart")}</span>`;
}

// --- pipes ---

const parts = [["busy", null, "works"], ["shared", "shared", "bandwidth"], ["l2", "l2", "L2 misses"],
  ["bank", "bank", "bank conflicts"], ["sem", "sem", "semaphore"],
  ["late", "late", "queue empty between commands"], ["edge", "empty", "before the first, after the last"]];

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
    return `<span class="who">${pipe}</span><span class="stack" role="img" aria-label="${pipe}: ${
      parts.map(([k, , text]) => text + " " + percent(of[pipe][k], all)).join(", ")}">` +
      parts.map(([k, tint, text]) => `<span style="width:${100 * of[pipe][k] / all}%;background:var(--${
        tint || pipe})" title="${text}: ${percent(of[pipe][k], all)}"></span>`).join("") +
      `</span><span class="share">${percent(of[pipe].busy, all)}</span>`;
  }).join("");
  $("stall-legend").innerHTML = parts.slice(1).map(([, tint, text]) =>
    `<span>${keyed(tint, text)}</span>`).join("") + "<span>right: share of the run that it works</span>";
  const merged = new Map();
  for (const [lane, cause, text, cycles] of D.stalls) {
    const key = D.lanes[lane].pipe + cause + text;
    const row = merged.get(key) || {pipe: D.lanes[lane].pipe, cause, text: T[text], cycles: 0};
    row.cycles += cycles;
    merged.set(key, row);
  }
  const fault = d => d.cause === "queue empty"
    ? (d.text === "idle" ? "the hart slept: it waited itself" : d.text ? "the hart: " + d.text : "nobody has said")
    : d.text || (d.cause === "semaphore" ? "one of the command's" : "");
  table("stalls", [
    {name: "pipe", text: true, value: d => d.pipe, show: d => keyed(d.pipe, d.pipe)},
    {name: "cause", text: true, value: d => d.cause},
    {name: "which, or whose fault", text: true, value: fault},
    {name: "cycles", value: d => d.cycles, show: d => grouped(d.cycles)},
    {name: "of the run", value: d => d.cycles, show: d => meter(d.cycles, D.cycles * of[d.pipe].lanes)},
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
    grouped(all)} cycles in ${grouped(C["path.took"].length)} stretches. Only what is on it can make ` +
    "the run shorter.";
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

function roofs() {
  const gm = D.paths.filter(p => p[0] === "GM" || p[1] === "GM").reduce((s, p) => s + p[3], 0);
  const of = pipe => D.lanes.filter(l => l.pipe === pipe).reduce((s, l) => s + l.ops, 0);
  const k = D.chip.cores;
  const points = [["M", "Cube: multiply-adds", of("M"), D.chip.cube * k],
    ["V", "Vector: elements", of("V"), D.chip.vector * k]].filter(p => p[2] && gm);
  $("roofline").hidden = points.length === 0;
  if (!points.length) {
    return;
  }
  const bands = [["HBM", D.chip.HBM], ["L2", D.chip["L2 read"]],
    [`GM to L1, ${k} core${k > 1 ? "s" : ""}`, D.chip["GM to L1"] * k]].filter(b => b[1]);
  const W = 640, H = 360, left = 62, low = 38;
  const xs = points.map(p => p[2] / gm), ys = points.map(p => p[2] / D.cycles);
  const tops = points.map(p => p[3]), knee = Math.max(...tops) / Math.min(...bands.map(b => b[1]));
  const x0 = Math.floor(Math.log10(Math.min(...xs, .5) / 2));
  const x1 = Math.ceil(Math.log10(Math.max(...xs, knee) * 2));
  const y1 = Math.log10(Math.max(...tops) * 2.2);
  const y0 = Math.min(Math.floor(Math.log10(Math.min(...ys) / 2)), Math.floor(y1) - 2);
  const X = v => left + (Math.log10(v) - x0) / (x1 - x0) * (W - left - 12);
  const Y = v => H - low - (Math.log10(v) - y0) / (y1 - y0) * (H - low - 10);
  let out = "";
  for (let e = x0; e <= x1; e++) {
    out += `<line x1="${X(10 ** e)}" x2="${X(10 ** e)}" y1="10" y2="${H - low}" stroke="var(--faint)"/>` +
      `<text x="${X(10 ** e)}" y="${H - low + 16}" text-anchor="middle">${10 ** e >= 1 ? 10 ** e : (10 ** e).toFixed(-e)}</text>`;
  }
  for (let e = y0; e <= y1; e++) {
    out += `<line x1="${left}" x2="${W - 12}" y1="${Y(10 ** e)}" y2="${Y(10 ** e)}" stroke="var(--faint)"/>` +
      `<text x="${left - 6}" y="${Y(10 ** e) + 4}" text-anchor="end">${10 ** e >= 1 ? 10 ** e : (10 ** e).toFixed(-e)}</text>`;
  }
  const top = Math.max(...tops);
  bands.forEach(([name, rate], i) => {
    const a = Math.max(10 ** x0, 10 ** y0 / rate), b = Math.min(top / rate, 10 ** x1);
    out += `<line x1="${X(a)}" y1="${Y(a * rate)}" x2="${X(b)}" y2="${Y(b * rate)}" stroke="var(--rest)" stroke-width="1.6"/>`;
    const at = a * (b / a) ** (.2 + .2 * i);
    const slope = -Math.atan2(Y(a * rate) - Y(b * rate), X(b) - X(a)) * 180 / Math.PI;
    out += `<text transform="translate(${X(at)} ${Y(at * rate) - 5}) rotate(${slope})">${name} ${grouped(rate)} B/cycle</text>`;
  });
  points.forEach(([pipe, name, ops, peak]) => {
    const x = ops / gm, y = ops / D.cycles;
    out += `<line x1="${X(Math.max(10 ** x0, peak / bands[bands.length - 1][1] / 4))}" x2="${W - 12}" y1="${Y(peak)}" y2="${Y(peak)}" stroke="var(--${pipe})" stroke-width="2"/>` +
      `<text x="${W - 14}" y="${Y(peak) - 6}" text-anchor="end">${name.split(":")[0]} ${grouped(peak)} a cycle</text>` +
      `<circle cx="${X(x)}" cy="${Y(y)}" r="6" fill="var(--${pipe})"/>` +
      `<text class="ink" x="${X(x) + (X(x) > W - 190 ? -10 : 10)}" y="${Y(y) + 4}" text-anchor="${X(x) > W - 190 ? "end" : "start"}">${name.split(":")[0]} ${y < 10 ? y.toFixed(1) : grouped(y)} (${percent(y, peak)})</text>`;
  });
  out += `<text x="${(W + left) / 2}" y="${H - 5}" text-anchor="middle">operations for each byte of GM</text>` +
    `<text transform="translate(13 ${H / 2 - 10}) rotate(-90)" text-anchor="middle">operations a cycle</text>`;
  $("roof").innerHTML = svg(W, H, out, points.map(([, name, ops, peak]) =>
    `${name}: ${(ops / D.cycles).toFixed(1)} a cycle of ${peak}`).join("; "));
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

function memory() {
  const of = D.counters.map(([process, name], i) => ({process, name: T[name], at: C[`counter.${i}.at`],
    value: C[`counter.${i}.value`]})).filter(c => / in use$/.test(c.name) && c.value.some(v => v));
  $("memory").hidden = of.length === 0;
  $("mem").innerHTML = of.slice(0, 24).map(c => {
    const W = 700, H = 74, peak = c.value.reduce((a, v, i) => v > c.value[a] ? i : a, 0);
    const most = c.value[peak], mem = c.name.replace(" in use", "");
    const X = t => t / D.cycles * (W - 8), Y = v => H - 4 - v / most * (H - 14);
    let d = `M${X(0)} ${Y(0)}`, before = 0;
    for (const i of thinned(c.value)) {
      d += `L${X(c.at[i])} ${Y(before)}L${X(c.at[i])} ${Y(c.value[i])}`;
      before = c.value[i];
    }
    d += `L${X(D.cycles)} ${Y(before)}L${X(D.cycles)} ${Y(0)}Z`;
    const at = held(c.process, mem, c.at[peak]);
    const size = D.chip.sizes[mem];
    return `<div class="mem"><div><b>${escape(mem)}${c.process < 32 && cores.length > 1 ? " of core " +
      c.process : ""}</b><br><span class="soft">peak ${bytes(most)}${size ? " of " + bytes(size) : ""
      }, cycle ${grouped(c.at[peak])}</span><br><span class="soft">${at.slice(0, 6).map(([name, n]) =>
      `${escape(name)} ${bytes(n)}`).join(", ")}${at.length > 6 ? ", \u2026" : ""}</span></div>` +
      svg(W, H, `<path d="${d}" fill="var(--accent)" fill-opacity=".22" stroke="var(--accent)"/>` +
      `<circle cx="${X(c.at[peak])}" cy="${Y(most)}" r="4" fill="var(--mark)"/>`,
      `${mem}: peak ${bytes(most)}`) + "</div>";
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
document.documentElement.dataset.ready = Math.round(performance.now()); // ms
