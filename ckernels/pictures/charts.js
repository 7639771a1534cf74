"use strict";
/* Charts: a timeline of threads, what lies where in memory, two profiles side by side. Each draws
   into a host as wide as it is, and tells what was clicked; see runtime/charts.py for the data. */

/* A colour for each instruction, the same in all charts, light enough for dark letters. */
function hue(i) { return `hsl(${(i * 137.5) % 360} 62% 74%)`; }

function numberOf(n) { return n >= 100 ? n.toFixed(0) : n >= 10 ? n.toFixed(1) : n.toPrecision(2); }
function time(us) {
  if (!us) return "0";
  return us >= 1e6 ? `${numberOf(us / 1e6)} s` : us >= 1e3 ? `${numberOf(us / 1e3)} ms` : `${numberOf(us)} µs`;
}
function bytes(n) {
  const unit = n >= 2 ** 30 ? 3 : n >= 2 ** 20 ? 2 : n >= 2 ** 10 ? 1 : 0;
  return unit ? `${numberOf(n / 1024 ** unit)} ${" kMG"[unit]}B` : `${n} B`;
}

/* Round numbers between low and high, as many as fit. */
function ticks(low, high, most) {
  const raw = (high - low) / Math.max(1, most), power = 10 ** Math.floor(Math.log10(raw));
  const step = [1, 2, 5, 10].map(m => m * power).find(s => s >= raw) || raw;
  const found = [];
  for (let t = Math.ceil(low / step) * step; t <= high; t += step) found.push(t);
  return found;
}

/* What each thread did: {thread: us at work}. */
function busy(spans) {
  const found = new Map();
  for (const [, thread, from, to] of spans) found.set(thread, (found.get(thread) || 0) + to - from);
  return [...found].sort((a, b) => a[0] - b[0]);
}

/* An SVG of rectangles [x0, x1, y, height, colour, label, told] in x from low to high. */
function rectangles(host, high, tall, shown, rows, unit) {
  const W = host.clientWidth - 24, [a, b] = shown, at = x => (x - a) / (b - a) * W;
  const picture = svg("svg", { width: W, height: tall + 26, class: "chart" }, host);
  for (const t of ticks(a, b, W / 90)) {
    svg("line", { x1: at(t), x2: at(t), y1: 0, y2: tall, class: "tick" }, picture);
    svg("text", { x: Math.min(at(t), W - 48), y: tall + 14, class: "note" }, picture, unit(t));
  }
  for (const [from, to, y, h, colour, label, click] of rows) {
    const x = Math.max(0, at(from)), w = Math.min(W, at(to)) - x;
    if (to < a || from > b) continue;
    const g = svg("g", { class: "span", role: "button", tabindex: 0, "aria-label": label }, picture);
    svg("rect", { x, y, width: Math.max(0.6, w), height: h, fill: colour }, g);
    svg("title", {}, g, label);
    if (w > 40 && h > 11) svg("text", { x: x + 3, y: y + h / 2 + 4 }, g, label.slice(0, Math.floor((w - 6) / 7.2)));
    g.addEventListener("click", click);
    g.addEventListener("keydown", e => { if (e.key === "Enter") click(); });
  }
  return picture;
}

function timelineChart(view, host, tell, shown) {
  const end = Math.max(...view.spans.map(s => s[3]), 1e-3);
  const threads = busy(view.spans), rows = [], H = 26, lane = H + 24;
  const labels = threads.map(([thread, us]) =>
    `${thread ? "thread " + thread : "the caller"}: ${Math.round(100 * us / end)} % at work`);
  for (const [name, thread, from, to] of view.spans) {
    const y = threads.findIndex(t => t[0] === thread) * lane + 18;
    const label = view.names[name];
    rows.push([from, to, y, H, hue(name), label, () => tell(
      label, [view.lines[name], `${threads.length > 1 ? (thread ? `thread ${thread}` : "the caller") + ", " : ""}` +
      `${time(from)} to ${time(to)}: ${time(to - from)}`], parseInt(label, 10))]);
  }
  element("p", `The last call: ${time(end)}.` + (view.lost ? ` ${view.lost} spans are missing.` : "") +
    " Wheel or pinch to zoom, drag to move.", host, "muted");
  const picture = rectangles(host, end, threads.length * lane, shown || [0, end], rows, time);
  labels.forEach((text, i) => svg("text", { x: 0, y: i * lane + 12, class: "lane" }, picture, text));
  return end;
}

function memoryChart(view, host, tell, shown) {
  const n = view.steps.length, tall = Math.max(160, Math.min(520, host.clientHeight - 110));
  const live = view.steps.map((_, i) =>
    sum(view.blocks.filter(b => b[2] <= i && i <= b[3]).map(b => b[5])));
  const most = Math.max(...live), when = live.indexOf(most);
  element("p", `${bytes(view.total)} between instructions; most at ${when}: ${view.steps[when]}.` +
    " From left to right the instructions, from below the places in memory.", host, "muted");
  const rows = view.blocks.map(([name, line, first, last, at, size], i) => {
    const h = Math.max(1, size / view.total * tall), label = `${name}: ${bytes(size)}`;
    return [first, last + 1, tall - (at + size) / view.total * tall, h, hue(i), label, () => tell(
      name, [line, `${bytes(size)} at ${at}, from instruction ${first} to ${last}`], first)];
  });
  rectangles(host, n, tall, shown || [0, n], rows, t => Number.isInteger(t) ? String(t) : "");
  return n;
}

function profilesChart(view, host, tell) {
  const us = row => Math.max(row[1] || 0, row[2] || 0);
  const rows = [...view.rows].sort((a, b) => us(b) - us(a)), most = Math.max(...rows.map(us), 1e-3);
  const total = side => sum(rows.map(r => r[side] || 0));
  const say = (a, b) => a === null ? `only b: ${time(b)}` : b === null ? `only a: ${time(a)}`
    : `${time(a)} → ${time(b)}` + (a > 0 ? `, ${(b / a).toFixed(2)}x` : "");
  element("p", `a: ${view.names[0]}, b: ${view.names[1]}. A call: ${say(total(1), total(2))}.`, host, "muted");
  const table = element("div", "", host, "profiles");
  for (const row of rows) {
    const line = element("button", "", table, "pair");
    element("span", row[0], line, "name");
    element("span", say(row[1], row[2]), line, "muted");
    for (const side of [1, 2]) {
      const bar = element("i", "", line, "ab"[side - 1]);
      bar.style.width = `${100 * (row[side] || 0) / most}%`;
    }
    line.addEventListener("click", () => tell(row[0], [row[3], row[4] === row[3] ? "" : row[4], say(row[1], row[2])]));
  }
  return null;
}

const CHARTS = { timeline: timelineChart, memory: memoryChart, profiles: profilesChart };

if (typeof module !== "undefined") module.exports = { time, bytes, ticks, busy, numberOf };
