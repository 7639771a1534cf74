"use strict";
/* Draws the views of a graph; see runtime/pages.py for what the data holds, fold.js for folding. */
const VIEWS = JSON.parse(document.getElementById("data").textContent);
const READABLE = 0.6;
const by = id => document.getElementById(id);
const canvas = by("canvas"), world = by("world"), panel = by("panel"), search = by("search"), map = by("map");
let number = 0, view, graph, level = "all", open = new Set();
let scale = 1, left = 0, top_ = 0, chosen = null, found = [], walked = -1;

function svg(name, attributes, parent, text) {
  const e = document.createElementNS("http://www.w3.org/2000/svg", name);
  for (const k in attributes) e.setAttribute(k, attributes[k]);
  if (text !== undefined) e.textContent = text;
  if (parent) parent.appendChild(e);
  return e;
}

function element(name, text, parent, className) {
  const e = document.createElement(name);
  e.textContent = text;
  if (className) e.className = className;
  parent.appendChild(e);
  return e;
}

/* ---- drawing ---- */

const isMeasured = b => b.share !== null && b.share !== undefined;

/* The background to red by the share of the time, where it was measured. */
function heat(b) {
  return isMeasured(b) ? `color-mix(in srgb, var(--hot) ${Math.min(100, b.share + 4)}%, var(--kernel))` : "";
}

/* Draw what is in sight at this level anew; keeps the chosen box if it is still there. */
function draw() {
  graph = visible(view, level, open);
  /* Boxes that are not folded came with places and ways, good ones where most arrows lead far. */
  if (level !== "all" || crossed(graph) <= MANY) arrange(graph);
  else graph.bends = bendsOf(view);
  world.replaceChildren();
  map.replaceChildren();
  graph.paths = graph.arrows.map(([a, b], i) => svg("path", {
    class: "arrow", "marker-end": "url(#head)",
    d: route(graph.boxes[a], graph.boxes[b], graph.bends[i]) }, world));
  graph.boxes.forEach((b, i) => {
    const g = svg("g", { class: `box ${b.kind}` + (b.result ? " result" : ""), "data-box": i,
                         tabindex: -1, role: "button", "aria-label": `${b.label}, ${b.note}`,
                         transform: `translate(${b.x - b.w / 2},${b.y - b.h / 2})` }, world);
    const rect = svg("rect", { width: b.w, height: b.h, rx: 5 }, g);
    if (isMeasured(b)) rect.style.fill = heat(b);
    svg("text", { x: b.w / 2, y: b.h / 2 - 2, "font-size": 12 }, g, b.label);
    svg("text", { x: b.w / 2, y: b.h / 2 + 11, class: "note" }, g, isMeasured(b) ? `${b.share} %  ${b.note}` : b.note);
    b.element = g;
    b.mark = svg("rect", { x: b.x - b.w / 2, y: b.y - b.h / 2, width: b.w, height: b.h }, map);
  });
  graph.frame = svg("rect", { class: "frame" }, map);
  const { w, h } = extent();
  map.setAttribute("viewBox", `0 0 ${w} ${h}`);
  map.style.display = graph.boxes.length > 40 ? "" : "none";
  document.querySelectorAll("#levels button").forEach(b => b.classList.toggle("on", b.textContent === level));
  find();
}

function show(which) {
  number = which;
  view = VIEWS[which];
  document.querySelectorAll("#tabs button").forEach((b, i) => b.classList.toggle("on", i === which));
  document.body.classList.toggle("charted", Boolean(view.chart));
  leave();
  if (view.chart) { range = null; drawChart(); return; }
  level = firstLevel(view);
  open = new Set();
  by("levels").style.display = view.boxes.length > 12 ? "" : "none";
  draw();
  for (let above = higher(level, extent().w); above !== level; above = higher(level, extent().w)) {
    level = above;
    draw();
  }
  begin();
}

function relevel(which) { level = which; open = new Set(); leave(); draw(); begin(); }

/* Unfold a group, or fold again what stands for a box, and keep it in sight. */
function toggle(i) {
  const b = graph.boxes[i], member = b.members[0];
  if (b.group) open.add(b.group);
  else {
    const at = ["pieces", "lines", "functions"].find(l => open.has(l + view.folds[l].of[member]));
    if (!at) return;
    open.delete(at + view.folds[at].of[member]);
  }
  draw();
  choose(graph.seen[member]);
  centre(graph.boxes[graph.seen[member]]);
}

/* ---- moving ---- */

function extent() {
  const bends = graph.bends.flat().reduce((m, p) => Math.max(m, p.x), 1);
  return { w: graph.boxes.reduce((m, b) => Math.max(m, b.x + b.w / 2), bends),
           h: graph.boxes.reduce((m, b) => Math.max(m, b.y + b.h / 2), 1) };
}

function place() {
  world.setAttribute("transform", `translate(${left},${top_}) scale(${scale})`);
  const f = graph.frame;
  f.setAttribute("x", -left / scale);
  f.setAttribute("y", -top_ / scale);
  f.setAttribute("width", canvas.clientWidth / scale);
  f.setAttribute("height", canvas.clientHeight / scale);
}

/* All boxes in sight. */
function fit() {
  const { w, h } = extent();
  scale = Math.min(1.4, (canvas.clientWidth - 30) / w, (canvas.clientHeight - 30) / h);
  left = Math.max(15, (canvas.clientWidth - w * scale) / 2);
  top_ = 15;
  place();
}

/* As much as can be read: all of a small graph, the first boxes of a large one. */
function begin() {
  fit();
  if (scale >= READABLE || !graph.boxes.length) return;
  scale = READABLE;
  const first = graph.boxes.reduce((a, b) => b.y < a.y ? b : a), { w } = extent();
  left = canvas.clientWidth / 2 - (w * scale < canvas.clientWidth ? w / 2 : first.x) * scale;
  place();
}

function zoom(factor, x = canvas.clientWidth / 2, y = canvas.clientHeight / 2) {
  const next = Math.min(4, Math.max(0.02, scale * factor));
  left = x - (x - left) * next / scale;
  top_ = y - (y - top_) * next / scale;
  scale = next;
  place();
}

function centre(b) {
  scale = Math.max(scale, READABLE);
  left = canvas.clientWidth / 2 - b.x * scale;
  top_ = canvas.clientHeight / 2 - b.y * scale;
  place();
}

/* Centre a box of which not all is in sight. */
function bring(b) {
  const x = b.x * scale + left, y = b.y * scale + top_, w = b.w * scale / 2, h = b.h * scale / 2;
  if (x - w < 0 || x + w > canvas.clientWidth || y - h < 0 || y + h > canvas.clientHeight) centre(b);
}

/* ---- what is known of a box ---- */

function leave() {
  if (chosen !== null && graph && graph.boxes[chosen]) graph.boxes[chosen].element.classList.remove("on");
  chosen = null;
  if (panel.hidden) return;
  panel.hidden = true;
  if (view && view.chart) drawChart();
}

/* A fused group opens to its operations and its C, a folded one to its boxes. */
function choose(i) {
  const b = graph.boxes[i];
  panelOf(b.whole || b.label);
  chosen = i;
  b.element.classList.add("on");
  graph.arrows.forEach(([a, c], k) => {
    const near = a === i || c === i;
    graph.paths[k].classList.toggle("near", near);
    graph.paths[k].setAttribute("marker-end", near ? "url(#near)" : "url(#head)");
  });
  element("div", b.note, panel, "muted");
  if (b.line && !b.group) element("div", b.line, panel);
  if (isMeasured(b)) element("div", `${b.share} % of the time`, panel);
  if (b.group) {
    element("button", "unfold", panel).addEventListener("click", () => toggle(i));
    rows(b.members.map(m => view.boxes[m]).map(m => [m.label, m.note, m.line]));
  } else if (b.parts && b.parts.length) rows(b.parts);
  for (const line of b.values || []) element("div", line, panel);
  if (b.counts && b.counts.length) histogram(b.counts);
  if (b.c) element("pre", b.c, panel);
  bring(b);
}

/* The panel, empty but for a heading. */
function panelOf(heading) {
  leave();
  panel.replaceChildren();
  panel.hidden = false;
  const close = element("button", "×", panel, "close");
  close.setAttribute("aria-label", "close");
  close.addEventListener("click", leave);
  element("h2", heading, panel);
}

/* How many values of a variable lie in each part of their range. */
function histogram(counts) {
  const picture = svg("svg", { viewBox: `0 0 ${counts.length} 30`, preserveAspectRatio: "none", class: "histogram" }, panel);
  const most = Math.max(...counts);
  counts.forEach((c, i) => svg("rect", { x: i + 0.05, width: 0.9, y: 30 - 30 * c / most, height: 30 * c / most }, picture));
}

function rows(lines) {
  const table = element("table", "", panel);
  for (const line of lines) {
    const row = element("tr", "", table);
    line.forEach((text, i) => element("td", text, row, i ? "muted" : ""));
  }
}

/* ---- charts ---- */

let range = null, end = null; /* what is in sight of a chart, and its right end */

function drawChart() {
  const host = by("chart");
  host.replaceChildren();
  end = CHARTS[view.chart](view, host, tell, range);
}

/* What was clicked in a chart; the C of its instruction is that of the graph of kernels. */
function tell(heading, lines, step) {
  panelOf(heading);
  for (const line of lines.filter(l => l)) element("div", line, panel, "muted");
  const kernels = VIEWS.slice(0, number).reverse().find(v => v.title.endsWith("as kernels"));
  const box = kernels && kernels.boxes[step];
  if (box && box.kind === "kernel") { rows(box.parts); if (box.c) element("pre", box.c, panel); }
  drawChart(); /* beside the panel there is less room */
}

/* Zoom by a factor around, and move by, parts of the width. */
function rescale(factor, around, moved) {
  if (end === null) return;
  const [a, b] = range || [0, end], middle = a + around * (b - a);
  const wide = Math.min(end, Math.max(end / 1e5, (b - a) / factor));
  const from = Math.min(end - wide, Math.max(0, middle - around * wide - moved * wide));
  range = [from, from + wide];
  drawChart();
}

{
  const host = by("chart"), down = new Map(); /* pointers: one drags, two pinch */
  host.addEventListener("wheel", e => {
    if (end === null || Math.abs(e.deltaX) > Math.abs(e.deltaY)) return;
    e.preventDefault();
    rescale(Math.exp(-0.0015 * e.deltaY), (e.clientX - 12 - host.getBoundingClientRect().left) / (host.clientWidth - 24), 0);
  }, { passive: false });
  host.addEventListener("pointerdown", e => down.set(e.pointerId, e.clientX));
  window.addEventListener("pointermove", e => {
    if (!down.has(e.pointerId) || end === null) return;
    const was = down.get(e.pointerId), left = host.getBoundingClientRect().left + 12, wide = host.clientWidth - 24;
    if (down.size === 2) {
      const other = [...down].find(([id]) => id !== e.pointerId)[1];
      rescale(Math.abs(e.clientX - other) / Math.max(1, Math.abs(was - other)), (other - left) / wide, 0);
    } else rescale(1, 0, (e.clientX - was) / wide);
    down.set(e.pointerId, e.clientX);
  });
  for (const kind of ["pointerup", "pointercancel"]) window.addEventListener(kind, e => down.delete(e.pointerId));
}

/* ---- search ---- */

function find() {
  if (view.chart) return;
  found = hits(view, search.value);
  walked = -1;
  const marked = new Set(found.map(i => graph.seen[i]));
  graph.boxes.forEach((b, i) => {
    b.element.classList.toggle("found", marked.has(i));
    b.mark.classList.toggle("found", marked.has(i));
  });
  by("count").textContent = search.value.trim()
    ? `${found.length} of ${view.boxes.length}` : `${view.boxes.length} boxes`;
}

/* To the next hit, or back; what it is folded into is chosen. */
function walk(step) {
  if (!found.length) return;
  walked = (walked + step + found.length) % found.length;
  const i = graph.seen[found[walked]];
  choose(i);
  centre(graph.boxes[i]);
  by("count").textContent = `${walked + 1} of ${found.length}`;
}

/* ---- keys, mouse, fingers ---- */

/* The box that an arrow key leads to from the chosen one: along arrows, or beside it. */
function neighbour(key) {
  const b = graph.boxes[chosen];
  const side = { ArrowDown: [0, 1], ArrowUp: [1, 0] }[key];
  const near = side
    ? graph.arrows.filter(e => e[side[0]] === chosen).map(e => e[side[1]])
    : graph.boxes.map((_, i) => i).filter(i => Math.abs(graph.boxes[i].y - b.y) < 30 &&
        (key === "ArrowRight" ? graph.boxes[i].x > b.x : graph.boxes[i].x < b.x));
  return near.sort((i, j) => Math.abs(graph.boxes[i].x - b.x) - Math.abs(graph.boxes[j].x - b.x))[0];
}

function key(e) {
  if (e.target === search || e.ctrlKey || e.metaKey || e.altKey) return;
  if (view.chart) {
    const by = { "+": [1.25, 0.5, 0], "-": [0.8, 0.5, 0], ArrowLeft: [1, 0, 0.2], ArrowRight: [1, 0, -0.2], 0: [1e-9, 0, 0] }[e.key];
    if (by) rescale(...by);
    else if (e.key === "Escape") leave();
    return;
  }
  const pan = { ArrowDown: [0, -60], ArrowUp: [0, 60], ArrowRight: [-60, 0], ArrowLeft: [60, 0] }[e.key];
  if (pan && chosen === null) { left += pan[0]; top_ += pan[1]; place(); }
  else if (pan) { const i = neighbour(e.key); if (i !== undefined) choose(i); }
  else if (e.key === "+" || e.key === "=") zoom(1.25);
  else if (e.key === "-") zoom(0.8);
  else if (e.key === "0" || e.key === "f") fit();
  else if (e.key === "/") search.focus();
  else if (e.key === "n") walk(1);
  else if (e.key === "N") walk(-1);
  else if (e.key === "Escape") leave();
  else if (e.key === "Enter" && chosen !== null) toggle(chosen);
  else if (e.key === "Enter" && graph.boxes.length) choose(0);
  else return;
  e.preventDefault();
}

canvas.addEventListener("wheel", e => {
  e.preventDefault();
  const r = canvas.getBoundingClientRect();
  zoom(Math.exp(-0.0015 * e.deltaY), e.clientX - r.left, e.clientY - r.top);
}, { passive: false });

const held = new Map(); /* pointers on the canvas: one drags, two pinch */
let moved = false;
canvas.addEventListener("pointerdown", e => {
  held.set(e.pointerId, { x: e.clientX, y: e.clientY });
  if (held.size === 1) moved = false;
});
window.addEventListener("pointermove", e => {
  const was = held.get(e.pointerId);
  if (!was) return;
  const now = { x: e.clientX, y: e.clientY };
  if (!moved && Math.hypot(now.x - was.x, now.y - was.y) < 4) return;
  moved = true;
  if (held.size === 2) {
    const other = [...held].find(([id]) => id !== e.pointerId)[1], r = canvas.getBoundingClientRect();
    zoom(Math.hypot(now.x - other.x, now.y - other.y) / Math.max(1, Math.hypot(was.x - other.x, was.y - other.y)),
         other.x - r.left, other.y - r.top);
  } else { left += now.x - was.x; top_ += now.y - was.y; place(); }
  held.set(e.pointerId, now);
  canvas.classList.add("drag");
});
function release(e) {
  const box = held.has(e.pointerId) && !moved && e.target.closest && e.target.closest(".box");
  if (box) choose(Number(box.dataset.box));
  held.delete(e.pointerId);
  if (!held.size) canvas.classList.remove("drag");
}
window.addEventListener("pointerup", release);
window.addEventListener("pointercancel", e => held.delete(e.pointerId));
canvas.addEventListener("dblclick", e => {
  const box = e.target.closest(".box");
  if (box) toggle(Number(box.dataset.box));
});
map.addEventListener("pointerdown", e => {
  const p = new DOMPoint(e.clientX, e.clientY).matrixTransform(map.getScreenCTM().inverse());
  left = canvas.clientWidth / 2 - p.x * scale;
  top_ = canvas.clientHeight / 2 - p.y * scale;
  place();
});
window.addEventListener("keydown", key);
window.addEventListener("resize", () => view.chart ? drawChart() : place());
search.addEventListener("input", find);
search.addEventListener("keydown", e => {
  if (e.key === "Enter") walk(e.shiftKey ? -1 : 1);
  else if (e.key === "Escape") { search.value = ""; find(); search.blur(); }
});
by("fit").addEventListener("click", () => view.chart ? rescale(1e-9, 0, 0) : fit());
by("theme").addEventListener("click", () => {
  const dark = getComputedStyle(document.documentElement).colorScheme === "dark";
  document.documentElement.style.colorScheme = dark ? "light" : "dark";
});
VIEWS.forEach((v, i) => element("button", v.title, by("tabs")).addEventListener("click", () => show(i)));
LEVELS.forEach(l => element("button", l, by("levels")).addEventListener("click", () => relevel(l)));
if (VIEWS.length) show(0);
