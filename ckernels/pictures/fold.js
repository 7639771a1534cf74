"use strict";
/* Large graphs from above: one box for each function or line of the user's program, or for each
   piece of a line that hangs together. Works on plain data; page.js draws what comes out. */

const LEVELS = ["functions", "lines", "pieces", "all"]; /* from above to below */
const FEW = 120; /* boxes that are read without folding */
const WIDEST = 6000; /* a graph beyond it is a ribbon of boxes side by side, and is folded further */
const MANY = 8000; /* rows crossed: dagre's best order takes a second for them, and minutes for more */

/* What folds together: "model.py (in block)" of "model.py:12 (in block)", or the whole line. */
function keyOf(box, level) {
  if (!box.line || (level === "pieces" && box.kind === "leaf")) return null;
  return level === "functions" && box.line.includes(" (in ") ? box.line.replace(/:\d+/, "") : box.line;
}

/* For each box the number of a box that stands for its group: boxes of one key; of pieces, those of
   one key between which arrows lead. */
function joined(view, level, keys) {
  const parent = view.boxes.map((_, i) => i), first = new Map();
  const root = i => { while (parent[i] !== i) i = parent[i] = parent[parent[i]]; return i; };
  if (level === "pieces") {
    for (const [a, b] of view.arrows)
      if (keys[a] !== null && keys[a] === keys[b]) parent[root(a)] = root(b);
  } else keys.forEach((key, i) => {
    if (key === null) return;
    if (first.has(key)) parent[i] = first.get(key);
    else first.set(key, i);
  });
  return view.boxes.map((_, i) => root(i));
}

/* {of: number of the group of each box, or -1, groups: [{label, members}]}. A variable or a constant
   that only one piece of a line reads is in it. */
function groupsOf(view, level) {
  const keys = view.boxes.map(b => keyOf(b, level)), at = joined(view, level, keys);
  const readers = view.boxes.map(() => new Set());
  for (const [a, b] of view.arrows) readers[a].add(at[b]);
  view.boxes.forEach((b, i) => {
    if (keys[i] !== null || readers[i].size !== 1) return;
    const [reader] = readers[i];
    if (keys[reader] !== null) { at[i] = reader; keys[i] = keys[reader]; }
  });
  const members = new Map();
  keys.forEach((key, i) => {
    if (key === null) return;
    if (!members.has(at[i])) members.set(at[i], []);
    members.get(at[i]).push(i);
  });
  const of = view.boxes.map(() => -1), groups = [];
  for (const found of members.values()) {
    if (found.length < 2) continue;
    for (const i of found) of[i] = groups.length;
    groups.push({ label: keys[found[0]], members: found });
  }
  return { of, groups };
}

function sum(numbers) { return numbers.reduce((a, b) => a + b, 0); }

/* A box that stands for the members of a group. */
function folded(view, group, name) {
  const inside = group.members.map(i => view.boxes[i]);
  const short = group.label.replace(/^.*[\\/]/, ""), source = (view.sources || {})[group.label];
  const label = source && name[0] !== "f" ? source : short;
  const measured = inside.some(b => b.share !== null && b.share !== undefined);
  return {
    label, note: (label === short ? "" : short + ", ") + `${inside.length} boxes`, line: group.label, kind: "group", group: name,
    members: group.members, w: Math.max(90, 7.2 * label.length + 24, 5.4 * short.length + 90), h: 40,
    share: measured ? Math.round(100 * sum(inside.map(b => b.share || 0))) / 100 : null,
    result: inside.some(b => b.result)
  };
}

/* The boxes and arrows in sight at a level, where the groups named in `open` are unfolded.
   seen: for each box of the view the number of the box that shows it. */
function visible(view, level, open) {
  const folding = LEVELS.slice(0, -1);
  view.folds = view.folds || Object.fromEntries(folding.map(l => [l, groupsOf(view, l)]));
  const boxes = [], seen = [], numbers = new Map();
  view.boxes.forEach((box, i) => {
    let name = null, group = null;
    for (const at of folding.slice(LEVELS.indexOf(level))) {
      const number = view.folds[at].of[i];
      if (number >= 0 && !open.has(at + number)) {
        name = at + number;
        group = view.folds[at].groups[number];
        break;
      }
    }
    if (name === null) { seen.push(boxes.length); boxes.push({ ...box, members: [i] }); return; }
    if (!numbers.has(name)) {
      numbers.set(name, boxes.length);
      boxes.push(folded(view, group, name));
    }
    seen.push(numbers.get(name));
  });
  const arrows = new Map();
  for (const [a, b] of view.arrows)
    if (seen[a] !== seen[b]) arrows.set(seen[a] + " " + seen[b], [seen[a], seen[b]]);
  return { boxes, arrows: [...arrows.values()], seen };
}

/* The level at which a view is read first: the lowest with few boxes. */
function firstLevel(view) {
  if (view.boxes.length <= FEW) return "all";
  const low = ["pieces", "lines"].find(l => visible(view, l, new Set()).boxes.length <= FEW);
  return low || "functions";
}

/* The level itself, or the one above it where its graph is a ribbon. */
function higher(level, width) {
  return width > WIDEST ? LEVELS[Math.max(0, LEVELS.indexOf(level) - 1)] : level;
}

/* The numbers of the boxes whose name, type, lines or operations inside hold all words. */
function hits(view, text) {
  const words = text.toLowerCase().split(/\s+/).filter(w => w);
  if (!words.length) return [];
  const found = [];
  view.boxes.forEach((b, i) => {
    b.text = b.text || [b.label, b.note, b.line, ...(b.parts || []).flat()].join("\n").toLowerCase();
    if (words.every(w => b.text.includes(w))) found.push(i);
  });
  return found;
}

/* How many rows the arrows of a graph cross: dagre makes a box for each. */
function crossed(graph) {
  const rank = graph.boxes.map(() => 0), before = graph.boxes.map(() => 0), after = graph.boxes.map(() => []);
  for (const [a, b] of graph.arrows) { before[b]++; after[a].push(b); }
  const ready = [...before.keys()].filter(i => !before[i]);
  for (let i = ready.pop(); i !== undefined; i = ready.pop())
    for (const b of after[i]) {
      rank[b] = Math.max(rank[b], rank[i] + 1);
      if (!--before[b]) ready.push(b);
    }
  return sum(graph.arrows.map(([a, b]) => Math.max(0, rank[b] - rank[a] - 1)));
}

/* Places by dagre: rows by rank, few crossings, points for the arrows. Cycles, which folding may
   make, have arrows that go up. */
function arrange(graph) {
  const g = new dagre.graphlib.Graph();
  g.setGraph({ nodesep: 18, ranksep: 44, ranker: crossed(graph) > MANY ? "longest-path" : "network-simplex" });
  g.setDefaultEdgeLabel(() => ({}));
  graph.boxes.forEach((b, i) => g.setNode(String(i), { width: b.w, height: b.h }));
  graph.arrows.forEach(([a, b]) => g.setEdge(String(a), String(b)));
  dagre.layout(g);
  const rows = new Set(graph.boxes.map((_, i) => g.node(String(i)).y));
  graph.bends = graph.arrows.map(([a, b]) => /* where they pass rows of boxes */
    g.edge(String(a), String(b)).points.slice(1, -1).filter(p => rows.has(p.y)).map(p => ({ x: p.x, y: p.y, z: p.y })));
  const left = graph.bends.flat().reduce((m, p) => Math.min(m, p.x), 0); /* arrows beside all boxes */
  for (const p of graph.bends.flat()) p.x -= left;
  graph.boxes.forEach((b, i) => { const n = g.node(String(i)); b.x = n.x - left; b.y = n.y; });
}

/* The bends of arrows whose ways came with a view that is not folded: x, from the row y to the row z. */
function bendsOf(view) {
  const rows = [...new Set(view.boxes.map(b => b.y))].sort((a, b) => a - b);
  const number = new Map(rows.map((y, k) => [y, k]));
  return view.arrows.map(([a], i) => {
    let k = number.get(view.boxes[a].y) + 1;
    return view.ways[i].map(([x, n]) => { k += n; return { x, y: rows[k - n], z: rows[k - 1] }; });
  });
}

/* The path of an arrow: straight beside the boxes that it passes. */
function route(a, b, bends) {
  const half = 20, down = a.y < b.y ? 1 : -1; /* no box is higher than 40 */
  let x = a.x, y = a.y + down * a.h / 2, path = `M${x} ${y}`;
  const to = (at, near, far) => {
    const m = (y + near) / 2;
    path += `C${x} ${m} ${at} ${m} ${at} ${near}` + (far === near ? "" : `V${far}`);
    x = at; y = far;
  };
  for (const p of bends) to(p.x, p.y - down * half, p.z + down * half);
  const end = b.y - down * b.h / 2;
  to(b.x, end, end);
  return path;
}

if (typeof module !== "undefined") module.exports = { groupsOf, visible, firstLevel, higher, hits, keyOf, crossed, bendsOf, route };
