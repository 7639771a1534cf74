"""Where the boxes and arrows of a picture lie: layers of boxes, and ways between them.

Layers by the longest path, order by the mean of neighbours, places pulled to neighbours (Sugiyama,
Tagawa and Toda 1981, without dummy nodes: linear in the graph). An arrow that crosses layers
goes straight down until a box is in its way, and then through the nearest gap beside that box.
"""

from bisect import bisect

HIGH, GAP, LAYER = 34, 18, 46  # pixels: a box, between boxes side by side, between layers
SWEEPS = 4
CLEAR = 6  # pixels between an arrow and a box that it passes, where the gap has room


def layered(boxes, arrows):
    """Give boxes the x and y of their middles."""
    users, sources = [[] for _ in boxes], [[] for _ in boxes]
    for a, b in arrows:
        users[a].append(b)
        sources[b].append(a)
    rank = ranks(users, sources)
    layers = {}
    for k, r in enumerate(rank):
        layers.setdefault(r, []).append(k)
    order = [layers[r] for r in sorted(layers)]
    for row in order:
        at = 0
        for k in row:
            boxes[k]["x"] = at + boxes[k]["w"] / 2
            at += boxes[k]["w"] + GAP
    for sweep in range(2 * SWEEPS):
        down = sweep % 2 == 0
        for row in order if down else reversed(order):
            settle(boxes, row, sources if down else users, sweep < SWEEPS)
    left = min((b["x"] - b["w"] / 2 for b in boxes), default=0)
    for r, row in enumerate(order):
        for k in row:
            boxes[k]["x"] = round(boxes[k]["x"] - left, 1)
            boxes[k]["y"] = r * (HIGH + LAYER) + HIGH // 2


def ranks(users, sources):
    """The layer of each box: behind all it reads; leaves right before what reads them first."""
    waiting, rank = [len(s) for s in sources], [0] * len(users)
    queue = [k for k, n in enumerate(waiting) if not n]
    for k in queue:
        for u in users[k]:
            rank[u] = max(rank[u], rank[k] + 1)
            waiting[u] -= 1
            if not waiting[u]:
                queue.append(u)
    for k, s in enumerate(sources):
        if not s and users[k]:
            rank[k] = min(rank[u] for u in users[k]) - 1
    return rank


def settle(boxes, row, neighbours, reorder):
    """Pull the boxes of a layer to the mean place of their neighbours, without overlaps."""
    want = {}
    for k in row:
        near = [boxes[n]["x"] for n in neighbours[k]]
        want[k] = sum(near) / len(near) if near else boxes[k]["x"]
    if reorder:
        row.sort(key=want.get)
    apart = [(boxes[a]["w"] + boxes[b]["w"]) / 2 + GAP for a, b in zip(row, row[1:])]
    right, left = [want[k] for k in row], [want[k] for k in row]
    for i in range(1, len(row)):
        right[i] = max(right[i], right[i - 1] + apart[i - 1])
    for i in range(len(row) - 2, -1, -1):
        left[i] = min(left[i], left[i + 1] - apart[i])
    for k, a, b in zip(row, left, right):
        boxes[k]["x"] = (a + b) / 2


def routed(boxes, arrows):
    """For each arrow its way past the layers between its two boxes: [x, how many layers], from
    above to below. Where ways lead to the left of all boxes, these move to the right."""
    layers = {}
    for b in boxes:
        layers.setdefault(b["y"], []).append((b["x"] - b["w"] / 2, b["x"] + b["w"] / 2))
    lines = sorted(layers)
    rows = [sorted(layers[y]) for y in lines]
    number = {y: k for k, y in enumerate(lines)}
    ways = []
    for a, b in arrows:
        x, way = boxes[a]["x"], []
        for k in range(number[boxes[a]["y"]] + 1, number[boxes[b]["y"]]):
            place = passed(rows[k], x)
            if way and place == x:
                way[-1][1] += 1
            else:
                way.append([place, 1])
            x = place
        ways.append(way)
    left = min((x for way in ways for x, _ in way), default=0)
    for b in boxes if left < 0 else ():
        b["x"] = round(b["x"] - left, 1)
    return [[[round(x - min(left, 0), 1), n] for x, n in way] for way in ways]


def passed(spans, x):
    """The place nearest to `x` that lies in no span, but between or beside these sorted ones."""
    behind = bisect(spans, (x, float("inf")))  # the span before it begins at or before x
    near = []
    for k in {max(behind - 1, 0), behind}:  # the gaps before and behind that span
        low = spans[k - 1][1] if k else float("-inf")
        high = spans[k][0] if k < len(spans) else float("inf")
        clear = min(CLEAR, (high - low) / 2)
        near.append(min(max(x, low + clear), high - clear))
    return min(near, key=lambda place: abs(place - x))
