"""Cross-entropy of a product h @ w (+ b) with a class for each row, of many: logits by blocks.

Its loss is the logit of the class less the logarithm of a sum of exponentials, which attention to
the columns of w gives; its gradients are averages of these columns, and of rows of h by the same
weights. So logits are never stored, and made once more for the gradient by w. What reads logits
otherwise (an accuracy, say) makes them a tensor again.
"""

from .. import ops
from ..base import dtypes
from ..graph.node import constant, item, line_of, make
from ..graph.shapes import product
from ..graph.walk import consumers, toposort
from .attention import NotAttention, rebuilt
from .causal import first_of
from .engine import number
from .scores import bare, canonical, one_graph, swapped

# Logits: 256 MB of float32. To make them once more takes time (both ways 1.12 times for width 64,
# 1.37 for width 256, Zen 4, one thread); it saves several times their memory.
LEAST = 1 << 26
ATTRS = {"causal": None, "fill": float("-inf"), "zero": False, "keep": 0}


@one_graph()
def classes_by_blocks(roots, least=None, refused=None):
    """`roots` with losses over many classes by blocks. refused: see attention_blocks."""
    order = toposort(roots)
    found = [n for n in order if n.op.name == "log_softmax" and n.attrs["axis"] == n.ndim - 1]
    if not found:
        return roots
    users, changed = consumers(order), {}
    for logp in found:
        loss = Loss(logp, users, roots, LEAST if least is None else least)
        try:
            changed.update(loss.replacements())
        except NotAttention as no:
            if refused is not None and loss.is_large():
                refused.append((logp, str(no)))
    return rebuilt(roots, changed) if changed else roots


def keeps_rows(node):
    """Whether a view only regroups rows."""
    x = node.inputs[0] if node.op.name == "reshape" else None
    return x is not None and min(x.ndim, node.ndim) > 0 and x.shape[-1] == node.shape[-1]


class Loss:
    """The logarithm of a softmax of logits, and all that reads it or them."""

    def __init__(self, logp, users, roots, least):
        self.logp, self.users, self.least = logp, users, least
        self.roots = {n.uid for n in roots}
        self.x = logp.inputs[0]
        self.rows, self.classes = product(self.x.shape[:-1]), self.x.shape[-1]
        self.inside, self.picks, self.slopes = set(), [], []

    def replacements(self):
        """{node: what takes its place}; NotAttention where logits have to be stored."""
        self.product()
        self.read()
        if not self.picks and not self.slopes:
            raise NotAttention("nothing takes the logits of one class of each row")
        if any(uid in self.roots for uid in self.inside):
            raise NotAttention("the logits are a result themselves")
        if not self.is_large():
            return {}
        ahead = Ahead(self)
        made = {pick.node: ahead.picked(pick) for pick in self.picks}
        for slope in self.slopes:
            made.update(ahead.gradients(slope))
        return made

    def is_large(self):
        return self.rows * self.classes >= self.least

    # ---- what the graph has -------------------------------------------------------------------

    def product(self):
        """Find h, w and b of which the logits are h @ w + b."""
        node, self.b = self.x, None
        while node.op.name != "matmul":
            self.inside.add(node.uid)
            if keeps_rows(node):
                node = node.inputs[0]
            elif node.op.name == "add" and self.b is None:
                node, self.b = self.with_bias(node)
            else:
                raise NotAttention("its logits are no product with a bias")
        self.inside.add(node.uid)
        self.h, self.w = node.inputs
        if self.w.ndim != 2 or self.x.dtype not in ("float32", "float64"):
            raise NotAttention("its logits are no product of two matrices of floats")

    def with_bias(self, node):
        for x, b in (node.inputs, node.inputs[::-1]):
            b = bare(b)
            if x.shape == node.shape and b.ndim == 1 and b.shape[0] == self.classes:
                return x, b
        raise NotAttention("its logits are no product with a bias")

    def read(self):
        """Sort all that reads logits and what follows from them."""
        for user in self.users[self.x.uid]:
            if user.op.name == "softmax" and user.attrs == self.logp.attrs:
                self.inside.add(user.uid)
                for scaled in self.users[user.uid]:
                    self.slope(user, scaled)
            elif user is not self.logp:
                raise NotAttention("{} reads the logits too", user)
        self.inside.add(self.logp.uid)
        given = {uid for s in self.slopes for uid in s.shaped_by}
        for user in self.users[self.logp.uid]:
            if user.uid not in given:
                self.picks.append(Pick(self, user))
        self.check_inside()

    def slope(self, p, scaled):
        """`scaled`: weights times a number for each row, of which a slope of logits is made."""
        users = self.users[scaled.uid]
        if scaled.op.name != "mul" or len(users) != 1 or users[0].op.name != "sub":
            raise NotAttention("{} reads the softmax of the logits too", scaled)
        self.inside.update((scaled.uid, users[0].uid))
        self.slopes.append(Slope(self, p, scaled, users[0]))

    def check_inside(self):
        """Chains of views and biases are read by what was found, and by nobody else."""
        known = self.inside | {n.uid for n in self.ends()}
        for uid in self.inside:
            for user in self.users[uid]:
                if user.uid not in known:
                    raise NotAttention("{} reads the logits too", user)

    def ends(self):
        return [p.node for p in self.picks] + [n for s in self.slopes for n, _ in s.ends]

    def classes_of(self, chosen):
        """The class of each row, of a comparison with all classes."""
        for t, line in (chosen.inputs, chosen.inputs[::-1]) if chosen.op.name == "eq" else ():
            line = bare(line)
            counts = line.ndim == 1 and line.shape[0] == self.classes and first_of(line) == 0
            if counts and t.shape == (*self.x.shape[:-1], 1) and dtypes.is_discrete(t.dtype):
                return t
        raise NotAttention("{} chooses more than one class of each row", chosen)

    def flat(self, x):
        """One number of each row as a vector."""
        return canonical(ops.reshape(x, (self.rows,)))


class Pick:
    """Where the logarithm of the probability of one class of each row is read.

    node: what has these numbers; t: their classes; masked: whether a class out of range gives 0.
    """

    def __init__(self, loss, user):
        users = loss.users[user.uid]
        if user.op.name == "take_along_axis" and user.attrs["axis"] == loss.x.ndim - 1:
            self.t, self.masked, self.node = user.inputs[1], False, user
            if self.t.shape == (*loss.x.shape[:-1], 1):
                return
        elif user.op.name == "where" and user.inputs[1] is loss.logp and len(users) == 1:
            self.node, self.masked = users[0], True
            last = {"axes": (loss.x.ndim - 1,)}
            is_sum = self.node.op.name == "sum" and self.node.attrs == last
            if is_sum and number(bare(user.inputs[2])) == 0:
                self.t = loss.classes_of(user.inputs[0])
                loss.inside.add(user.uid)
                return
        raise NotAttention("{} reads more than one class of each row", user)


class Slope:
    """A slope of logits: g at the class of each row, less the softmax times s, the sum of that.

    ends: (product with w or h, or sum over rows, that reads it; by what that is the gradient).
    """

    def __init__(self, loss, p, scaled, node):
        self.loss, self.node, self.ends, self.shaped_by = loss, node, [], ()
        self.given = given = node.inputs[0]
        wide = scaled.inputs[scaled.inputs[0] is p]
        total = wide.inputs[0] if wide.op.name == "expand" else wide
        last = (loss.x.ndim - 1,)
        sums = total.op.name == "sum" and total.inputs[0] is given and total.attrs["axes"] == last
        if node.inputs[1] is not scaled or not sums or wide.attrs.get("axes") != last:
            raise NotAttention("{} is another slope than that of a loss of classes", node)
        self.sums = total.uid, wide.uid
        self.numbers()
        self.follow(node)

    def numbers(self):
        """Find t and g of what is given for the classes of rows."""
        loss, given = self.loss, self.given
        one = (*loss.x.shape[:-1], 1)
        if given.op.name == "put_along_axis_add" and given.inputs[0] is loss.logp:
            _, self.t, self.g = given.inputs
            self.masked, self.shaped_by = False, (given.uid,)
            loss.inside.update((given.uid, *self.sums))
            fits = given.attrs["axis"] == loss.x.ndim - 1 and self.t.shape == one
        elif given.op.name == "where" and number(bare(given.inputs[2])) == 0:
            self.t, self.g, self.masked = loss.classes_of(given.inputs[0]), given.inputs[1], True
            fits = True
        else:
            raise NotAttention("{} is another slope than that of a loss of classes", self.node)
        while self.g.shape != one and self.g.op.name == "broadcast_to":
            self.g = self.g.inputs[0]
        if self.g.shape != one and all(n == 1 for n in self.g.shape):
            self.g = ops.broadcast_to(self.g, one)
        if not fits or self.g.shape != one:
            raise NotAttention("{} has a slope for more than one class of each row", self.node)

    def follow(self, node):
        loss = self.loss
        for user in loss.users[node.uid]:
            if keeps_rows(user):
                loss.inside.add(user.uid)
                self.follow(user)
                continue
            by = self.end(user, node)
            if by is None:
                raise NotAttention("{} is no gradient by a factor of the logits", user)
            self.ends.append((user, by))

    def end(self, user, node):
        """By what `user` is the gradient: "h", "w" or "b"; None for anything else."""
        loss, rows = self.loss, tuple(range(node.ndim - 1))
        if user.op.name == "sum" and user.attrs["axes"] == rows:
            return "b"
        if user.op.name != "matmul" or node.ndim != 2:
            return None
        a, b = user.inputs
        if a is node and canonical(b) is swapped(loss.w):
            return "h"
        if b is node and canonical(a) is swapped(loss.h):
            return "w"
        return None


class Ahead:
    """The attention of rows of h to columns of w, and what is made of it."""

    def __init__(self, loss):
        self.loss = loss
        with line_of(loss.logp):
            self.wt = swapped(loss.w)
            others = () if loss.b is None else (ops.expand(loss.b, (0,)),)
            self.attrs = {"has": ("bias",) if others else (), **ATTRS}
            self.read = (loss.h, self.wt)
            self.others = others
            by_h = any(by == "h" for s in loss.slopes for _, by in s.ends)
            values = self.wt if by_h else ops.slice_(self.wt, [(None, None, 1), (0, 0, 1)])
            self.made = make("attention", (*self.read, values, *others), self.attrs)
            self.sums = item(self.made, 1)

    def place(self, t, masked):
        """(classes as indices, which rows have one): those out of range are read as 0."""
        t, n = self.loss.flat(t), self.loss.classes
        if not masked:
            return t, None
        inside = ops.logical_and(ops.ge(t, 0), ops.lt(t, n))
        return ops.where(inside, t, constant(0, t.dtype)), inside

    def picked(self, pick):
        """The logarithms of the probabilities of classes, as the node had them."""
        loss = self.loss
        with line_of(pick.node):
            t, inside = self.place(pick.t, pick.masked)
            x = ops.sum(ops.mul(loss.h, ops.take(self.wt, t, 0)), 1)
            x = x if loss.b is None else ops.add(x, ops.take(loss.b, t, 0))
            most, total = (
                ops.squeeze(ops.slice_(self.sums, [(None, None, 1), (k, k + 1, 1)]), (1,))
                for k in (0, 1)
            )
            made = ops.sub(ops.sub(x, most), total)
            made = made if inside is None else ops.where(inside, made, zero(made))
            return ops.reshape(made, pick.node.shape)

    def gradients(self, slope):
        """{product or sum: what takes its place} of a slope of logits."""
        made = {}
        t, inside = self.place(slope.t, slope.masked)
        g = self.loss.flat(slope.g)
        g = g if inside is None else ops.where(inside, g, zero(g))
        back = self.back_by(g, {by for _, by in slope.ends})
        for node, by in slope.ends:
            with line_of(node):
                new = getattr(self, "by_" + by)(t, g, back.get(by))
                made[node] = ops.reshape(new, node.shape)
        return made

    def back_by(self, g, wanted):
        """{"w", "b": the sums over rows of g by the weights of classes}, of one pass for both."""
        parts = {"w": ops.mul(ops.expand(g, (1,)), self.loss.h), "b": ops.expand(g, (1,))}
        parts = {by: x for by, x in parts.items() if by in wanted}
        if not parts:
            return {}
        made, start = self.back(ops.concatenate(list(parts.values()), 1)), 0
        for by, x in parts.items():
            parts[by] = ops.slice_(made, [(None, None, 1), (start, start + x.shape[1], 1)])
            start = start + x.shape[1]
        return parts

    def by_h(self, t, g, back):
        columns = ops.sub(ops.take(self.wt, t, 0), item(self.made, 0))
        return ops.mul(ops.expand(g, (1,)), columns)

    def by_w(self, t, g, back):
        rows = ops.mul(ops.expand(g, (1,)), self.loss.h)
        return swapped(make("advanced_inc", (ops.neg(back), rows, t), {"template": ("a", ":")}))

    def by_b(self, t, g, back):
        less = ops.neg(ops.squeeze(back, (1,)))
        return make("advanced_inc", (less, g, t), {"template": ("a",)})

    def back(self, g):
        """The sums over rows of g by the weights of classes."""
        inputs = (*self.read, *self.others, self.sums, g)
        return make("attention_values_grad", inputs, self.attrs)


def zero(x):
    return constant(0.0, x.dtype)
