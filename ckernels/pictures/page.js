"use strict";
/* Draws the views of a graph; see runtime/pages.py for what the data holds. */
const VIEWS = JSON.parse(document.getElementById("data").textContent);
const FILLS = { op: "#eef3fb", leaf: "#e9f5ea", move: "#f4f4f4", kernel: "#fdf1e3" };
const READABLE = 0.6;
const SMALL = 120; /* boxes that dagre places well within a second */
const canvas = document.getElementById("canvas"), world = document.getElementById("world");
const panel = document.getElementById("panel"), search = document.getElementById("search");
let view, scale = 1, left = 0, top_ = 0, chosen = null;

function svg(name, attributes, parent, text) {
  const e = document.createElementNS("http://www.w3.org/2000/svg", name);
  for (const k in attributes) e.setAttribute(k, attributes[k]);
  if (text !== undefined) e.textContent = text;
  if (parent) parent.appendChild(e);
  return e;
}

/* Places by dagre: rows by rank, few crossings, and points for the arrows. */
function arrange(v) {
  if (v.done || v.boxes.length > SMALL) return;
  v.done = true;
  const g = new dagre.graphlib.Graph();
  g.setGraph({ nodesep: 18, ranksep: 40 });
  g.setDefaultEdgeLabel(() => ({}));
  v.boxes.forEach((b, i) => g.setNode(String(i), { width: b.w, height: b.h }));
  v.arrows.forEach(([a, b]) => g.setEdge(String(a), String(b)));
  dagre.layout(g);
  v.boxes.forEach((b, i) => { const n = g.node(String(i)); b.x = n.x; b.y = n.y; });
  v.bends = v.arrows.map(([a, b]) => g.edge(String(a), String(b)).points);
}

/* White to red by the share of the time, where it was measured. */
function fill(b) {
  if (b.share === null || b.share === undefined) return FILLS[b.kind];
  return `hsl(${40 - 0.4 * b.share}, 95%, ${95 - 0.35 * b.share}%)`;
}

function route(a, b, points) {
  const y = a.y + a.h / 2, z = b.y - b.h / 2;
  if (points && points.length > 3)
    return `M${a.x} ${y}` + points.slice(1, -1).map(p => `L${p.x} ${p.y}`).join("") + `L${b.x} ${z}`;
  const m = (y + z) / 2;
  return `M${a.x} ${y}C${a.x} ${m} ${b.x} ${m} ${b.x} ${z}`;
}

function show(number) {
  view = VIEWS[number];
  chosen = null;
  panel.hidden = true;
  arrange(view);
  world.replaceChildren();
  document.querySelectorAll("nav button").forEach((b, i) => b.classList.toggle("on", i === number));
  view.paths = view.arrows.map(([a, b], i) => svg("path", {
    class: "arrow", "marker-end": "url(#head)",
    d: route(view.boxes[a], view.boxes[b], view.bends && view.bends[i]) }, world));
  view.boxes.forEach((b, i) => {
    const g = svg("g", { class: "box" + (b.result ? " result" : ""), "data-box": i,
                         transform: `translate(${b.x - b.w / 2},${b.y - b.h / 2})` }, world);
    svg("rect", { width: b.w, height: b.h, rx: 5, fill: fill(b) }, g);
    svg("text", { x: b.w / 2, y: 15, "font-size": 12 }, g, b.label);
    svg("text", { x: b.w / 2, y: 28, class: "note" }, g,
        b.share === null || b.share === undefined ? b.note : `${b.share} %  ${b.note}`);
    b.element = g;
  });
  begin();
  find();
}

function place() { world.setAttribute("transform", `translate(${left},${top_}) scale(${scale})`); }

/* All boxes in sight. */
function fit() {
  const w = view.boxes.reduce((m, b) => Math.max(m, b.x + b.w / 2), 1);
  const h = view.boxes.reduce((m, b) => Math.max(m, b.y + b.h / 2), 1);
  scale = Math.min(1.4, (canvas.clientWidth - 30) / w, (canvas.clientHeight - 30) / h);
  left = Math.max(15, (canvas.clientWidth - w * scale) / 2);
  top_ = 15;
  place();
}

/* As much as can be read: all of a small graph, the first boxes of a large one. */
function begin() {
  fit();
  if (scale >= READABLE || !view.boxes.length) return;
  scale = READABLE;
  const first = view.boxes.reduce((a, b) => b.y < a.y ? b : a);
  const w = view.boxes.reduce((m, b) => Math.max(m, b.x + b.w / 2), 1);
  left = canvas.clientWidth / 2 - (w * scale < canvas.clientWidth ? w / 2 : first.x) * scale;
  place();
}

function element(name, text, parent, className) {
  const e = document.createElement(name);
  e.textContent = text;
  if (className) e.className = className;
  parent.appendChild(e);
  return e;
}

/* What is known of a box; a fused group opens to its operations and its C. */
function choose(number) {
  if (chosen !== null) view.boxes[chosen].element.classList.remove("on");
  chosen = number;
  const b = view.boxes[number];
  b.element.classList.add("on");
  view.arrows.forEach(([a, c], i) =>
    view.paths[i].classList.toggle("near", a === number || c === number));
  panel.replaceChildren();
  panel.hidden = false;
  element("h2", b.label, panel);
  element("div", b.note, panel, "muted");
  if (b.line) element("div", b.line, panel);
  if (b.share !== null && b.share !== undefined) element("div", `${b.share} % of the time`, panel);
  if (b.parts && b.parts.length) {
    const table = element("table", "", panel);
    for (const part of b.parts) {
      const row = element("tr", "", table);
      part.forEach((text, i) => element("td", text, row, i ? "muted" : ""));
    }
  }
  if (b.c) element("pre", b.c, panel);
  if (b.x * scale + left > canvas.clientWidth) centre(b); /* it went under the panel */
}

function find() {
  const words = search.value.toLowerCase().trim();
  let count = 0, first = null;
  for (const b of view.boxes) {
    const hit = words !== "" && `${b.label} ${b.note} ${b.line}`.toLowerCase().includes(words);
    b.element.classList.toggle("found", hit);
    if (hit) { count++; first = first || b; }
  }
  document.getElementById("count").textContent =
    words ? `${count} of ${view.boxes.length}` : `${view.boxes.length} boxes`;
  return first;
}

function centre(b) {
  scale = Math.max(scale, READABLE);
  left = canvas.clientWidth / 2 - b.x * scale;
  top_ = canvas.clientHeight / 2 - b.y * scale;
  place();
}

canvas.addEventListener("wheel", e => {
  e.preventDefault();
  const r = canvas.getBoundingClientRect(), x = e.clientX - r.left, y = e.clientY - r.top;
  const next = Math.min(4, Math.max(0.02, scale * Math.exp(-0.0015 * e.deltaY)));
  left = x - (x - left) * next / scale;
  top_ = y - (y - top_) * next / scale;
  scale = next;
  place();
}, { passive: false });

let held = null;
canvas.addEventListener("pointerdown", e => { held = { x: e.clientX, y: e.clientY, moved: false }; });
window.addEventListener("pointermove", e => {
  if (!held) return;
  const dx = e.clientX - held.x, dy = e.clientY - held.y;
  if (!held.moved && Math.abs(dx) + Math.abs(dy) < 4) return;
  held = { x: e.clientX, y: e.clientY, moved: true };
  left += dx;
  top_ += dy;
  canvas.classList.add("drag");
  place();
});
window.addEventListener("pointerup", e => {
  const box = held && !held.moved && e.target.closest && e.target.closest(".box");
  if (box) choose(Number(box.dataset.box));
  held = null;
  canvas.classList.remove("drag");
});
search.addEventListener("input", find);
search.addEventListener("keydown", e => {
  if (e.key === "Enter") { const b = find(); if (b) centre(b); }
});
document.getElementById("fit").addEventListener("click", fit);
VIEWS.forEach((v, i) =>
  element("button", v.title, document.getElementById("tabs")).addEventListener("click", () => show(i)));
if (VIEWS.length) show(0);
