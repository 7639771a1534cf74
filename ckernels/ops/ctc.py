"""Connectionist temporal classification: the loss of label sequences, and decoding.

The loss is minus the log of the probability that the classes chosen step by step spell the labels
once repeats are merged and blanks dropped (Graves et al., ICML 2006). One op gives the loss and
its derivative, for both come from one trellis; code for the derivative is made only where it is
used. The oracles work on logarithms.
"""

import numpy as np

from ..base import dtypes
from ..base.errors import ArgumentError, DTypeError, IndexOutOfBounds, NotSupported, ShapeError
from ..graph.node import item, make
from ..graph.op import Op
from ..graph.shapes import distinct, show
from .base import cast, expand, to_node
from .elementwise import mul

__all__ = ["ctc_cost", "ctc_collapse", "ctc_beam"]


def _batch(name, x, *others):
    """The number of samples on which `x` and the others agree; None when no shape tells."""
    sizes = distinct(n.shape[0] for n in (x, *others))
    if len(sizes) > 1:
        shapes = " and ".join(show(n.shape) for n in (x, *others))
        raise ShapeError(
            f"{name} needs one row for each sample in all its operands, got shapes {shapes}"
        )
    return sizes[0] if sizes else None


def _check_blank(name, blank, classes):
    if classes is not None and not -classes <= blank < classes:
        raise ShapeError(
            f"{name}: there is no class {blank} to be the blank among {classes} classes"
        )


def _index(name, x, ndim):
    """`x` as an integer node of `ndim` dimensions; a last axis of size 1 too many is dropped."""
    x = to_node(x, name)
    if not (dtypes.is_float(x.dtype) or x.dtype in dtypes.INTEGERS):
        raise DTypeError(f"{name} must be numbers, not {x.dtype}")
    if x.ndim == ndim + 1 and x.shape[-1] in (1, None):
        x = make("squeeze", (x,), {"axes": (ndim,)})
    if x.ndim != ndim:
        raise ShapeError(
            f"{name} must have {ndim} dimension{'s' * (ndim > 1)}, not the shape {show(x.shape)}"
        )
    return x if x.dtype in dtypes.INTEGERS else cast(x, "int64")


def _scores(name, x):
    """`x` as a float32 or float64 node of three dimensions."""
    x = to_node(x, name)
    if x.ndim != 3:
        raise ShapeError(
            f"{name} needs predictions of shape (samples, steps, classes), not {show(x.shape)}"
        )
    if dtypes.is_complex(x.dtype):
        raise DTypeError(f"{name} needs real predictions, not {x.dtype}")
    return (
        x
        if x.dtype in ("float32", "float64")
        else cast(x, dtypes.computed(dtypes.to_float(x.dtype)))
    )


# --- what is wrong with a batch ----------------------------------------------------------------


def _steps(k, length, most):
    if not 0 <= length <= most:
        raise ArgumentError(
            f"sample {k} has the input length {length}, but the predictions have {most} time steps"
        )
    return int(length)


def _labels(k, row, length, classes, blank, padded, ends):
    """The labels of sample `k`, checked."""
    if not 0 <= length <= len(row):
        raise ArgumentError(
            f"sample {k} has the label length {length}, but there are "
            f"{len(row)} labels for each sample"
        )
    found = [int(c) for c in row[:length] if not (padded and c < 0)]
    end = next((i for i, c in enumerate(found) if ends and c >= classes - 1), len(found))
    for c in found[end:]:
        if c < classes - 1:
            raise ArgumentError(
                f"label {c} of sample {k} comes after a label {found[end]}, which ends the "
                f"sequence: with {classes} classes the labels are 0 to {classes - 2}"
            )
    for c in found[:end]:
        if not 0 <= c < classes or c == blank:
            raise IndexOutOfBounds(
                f"label {c} of sample {k} is none of the {classes} classes, or is the blank, "
                f"which is class {blank}"
            )
    return found[:end]


def _check_room(k, labels, steps):
    repeats = sum(a == b for a, b in zip(labels, labels[1:]))
    if len(labels) + repeats > steps:
        blanks = f"{repeats} blank{'s' * (repeats > 1)} between repeated ones"
        between = f" and {blanks}" if repeats else ""
        raise ArgumentError(
            f"sample {k} cannot be aligned: its {len(labels)} labels{between} need "
            f"{len(labels) + repeats} time steps, its input length is {steps}"
        )


# --- the loss ----------------------------------------------------------------------------------


def _infer_ctc(attrs, x, labels, input_length, label_length):
    n = _batch("ctc", x, labels, input_length, label_length)
    _check_blank("ctc", attrs["blank"], x.shape[2])
    return [(x.dtype, (n,)), (x.dtype, (n, *x.shape[1:]))]


def _trellis(logw, labels, blank):
    """(log of the probability, logs of P(path through state s at t) / w_t(s), states' classes)."""
    states = np.full(2 * len(labels) + 1, blank)
    states[1::2] = labels
    skip = np.zeros(len(states), bool)
    skip[3::2] = states[3::2] != states[1:-2:2]

    def forward(w, skip):
        row = np.full(len(skip) + 2, -np.inf)
        row[2] = 0  # all paths begin before the first blank
        sums = np.empty(w.shape)
        for t in range(len(w)):
            two = np.where(skip, row[:-2], -np.inf)
            sums[t] = np.logaddexp(np.logaddexp(row[2:], row[1:-1]), two)
            row[2:] = sums[t] + w[t]
        return sums, np.logaddexp(row[-1], row[-2])

    w = logw[:, states]
    ahead, total = forward(w, skip)
    behind, _ = forward(w[::-1, ::-1], np.append(skip[2:], [False, False])[::-1][: len(skip)])
    return total, ahead + behind[::-1, ::-1], states


def _one(attrs, y, labels, blank):
    """(loss, derivative) of one sample."""
    z = np.zeros(len(y))
    if attrs["log"]:
        logw = y
        bad = not (y[:, [blank, *labels]] < 1e12).all()
    else:
        y = y + attrs["epsilon"]
        z = y.sum(1)
        logw = np.log(y)
        bad = not ((z > 0) & (z < np.inf)).all() or (y[:, [blank, *labels]] < 0).any()
    if bad:
        return np.nan, np.full(y.shape, np.nan)
    total, through, states = _trellis(logw, labels, blank)
    if total == -np.inf:
        return np.inf, np.zeros(y.shape)
    dy = np.zeros(y.shape) if attrs["log"] else np.broadcast_to(1 / z[:, None], y.shape).copy()
    share = np.exp(through - total + (logw[:, states] if attrs["log"] else 0))
    np.subtract.at(dy, (slice(None), states), share)
    return (0 if attrs["log"] else np.log(z).sum()) - total, dy


def _run_ctc(attrs, x, labels, input_length, label_length):
    n, most, classes = x.shape
    _check_blank("ctc", attrs["blank"], classes)
    blank = attrs["blank"] % classes
    loss, dx = np.zeros(n), np.zeros(x.shape)
    for k in range(n):
        steps = _steps(k, input_length[k], most)
        found = _labels(
            k, labels[k], label_length[k], classes, blank, attrs["padded"], attrs["ends"]
        )
        _check_room(k, found, steps)
        loss[k], dx[k, :steps] = _one(attrs, x[k, :steps].astype("float64"), found, blank)
    return loss.astype(x.dtype), dx.astype(x.dtype)


def _grad_ctc(node, g):
    by_loss, by_slope = g
    if by_slope is not None:
        raise NotSupported("the CTC loss has no second derivative here: take gradients of it once")
    slope = mul(item(node, 1), expand(by_loss, (1, 2)))
    return slope, None, None, None


Op(
    "ctc",
    "opaque",
    _infer_ctc,
    _run_ctc,
    _grad_ctc,
    ulp=16,
    doc="""(loss, d loss / dx) of x (samples, steps, classes), labels, input and label lengths.

   attrs: blank (a class; negative ones count from the end); log: x holds log-probabilities instead
   of weights that are divided by their sum over the classes; epsilon: added to weights; padded:
   negative labels are left out; ends: a label >= classes - 1 ends the sequence.""",
)


def ctc_cost(
    x,
    labels,
    input_length,
    label_length,
    blank=-1,
    log=False,
    epsilon=0.0,
    padded=False,
    ends=False,
):
    """The CTC loss of each sample, a vector; see the op `ctc` for the options.

    IndexOutOfBounds for labels that are no classes, ArgumentError for lengths beyond the arrays
    and for labels that need more time steps than there are: when the function runs.
    """
    out = to_node(x, "ctc").dtype
    x = _scores("ctc", x)
    labels = _index("the labels of ctc", labels, 2)
    lengths = [
        _index("the input lengths of ctc", input_length, 1),
        _index("the label lengths of ctc", label_length, 1),
    ]
    node = make(
        "ctc",
        (x, labels, *lengths),
        {
            "blank": int(blank),
            "log": bool(log),
            "epsilon": float(epsilon),
            "padded": bool(padded),
            "ends": bool(ends),
        },
    )
    loss = item(node, 0)
    return cast(loss, out) if out in dtypes.COMPUTED else loss


# --- decoding ----------------------------------------------------------------------------------


def _infer_collapse(attrs, best, lengths):
    n = _batch("ctc_collapse", best, lengths)
    return [("int64", (n, best.shape[1])), ("int64", (n,))]


def _run_collapse(attrs, best, lengths):
    out, count = np.full(best.shape, -1, "int64"), np.zeros(len(best), "int64")
    for k, row in enumerate(best):
        row = row[: _steps(k, lengths[k], best.shape[1])]
        first = np.append(True, row[1:] != row[:-1])[: len(row)]
        found = row[first & (row >= 0)]
        out[k, : len(found)], count[k] = found, len(found)
    return out, count


Op(
    "ctc_collapse",
    "opaque",
    _infer_collapse,
    _run_collapse,
    lambda node, g: (None, None),
    ulp=0,
    doc="""(sequences, lengths): each row of class numbers up to its length, repeats merged and
   negative ones, the blanks, dropped; -1 behind the end.""",
)


def ctc_collapse(best, lengths):
    """(sequences, their lengths) from the class at each step, negative for the blank."""
    best = _index("the classes of ctc_collapse", best, 2)
    node = make("ctc_collapse", (cast(best, "int64"), _index("the input lengths", lengths, 1)))
    return item(node, 0), item(node, 1)


def _infer_beam(attrs, x, lengths):
    n, paths = _batch("ctc_beam", x, lengths), attrs["paths"]
    if x.shape[2] == 0:
        raise ShapeError("ctc_beam needs at least one class, the blank")
    return [("int64", (n, paths, x.shape[1])), ("int64", (n, paths)), (x.dtype, (n, paths))]


def _search(logp, width):
    """[(labels, log probability)] of the most probable prefixes, best first; blank is last."""
    blank = logp.shape[1] - 1
    beams = [((), 0.0, -np.inf)]  # labels, logs of ending in blank and not
    for row in logp:
        known = {labels: (by_blank, by_label) for labels, by_blank, by_label in beams}
        found = []
        for labels, by_blank, by_label in beams:
            both, stay = np.logaddexp(by_blank, by_label), -np.inf
            if labels:
                from_parent = -np.inf
                if labels[:-1] in known:
                    blank_parent, label_parent = known[labels[:-1]]
                    repeated = len(labels) > 1 and labels[-2] == labels[-1]
                    from_parent = (
                        blank_parent if repeated else np.logaddexp(blank_parent, label_parent)
                    )
                stay = np.logaddexp(by_label, from_parent) + row[labels[-1]]
            found.append((labels, both + row[blank], stay))
        for labels, by_blank, by_label in beams:
            for c in range(blank):
                if labels + (c,) not in known:
                    before = (
                        by_blank if labels and labels[-1] == c else np.logaddexp(by_blank, by_label)
                    )
                    found.append((labels + (c,), -np.inf, before + row[c]))
        found = [f for f in found if np.logaddexp(*f[1:]) > -np.inf]
        beams = sorted(found, key=lambda f: -np.logaddexp(*f[1:]))[:width]
    return [(labels, np.logaddexp(a, b)) for labels, a, b in beams]


def _run_beam(attrs, x, lengths):
    n, most, _ = x.shape
    paths = attrs["paths"]
    out, count = np.full((n, paths, most), -1, "int64"), np.zeros((n, paths), "int64")
    score = np.full((n, paths), -np.inf)
    for k in range(n):
        y = x[k, : _steps(k, lengths[k], most)].astype("float64") + attrs["epsilon"]
        logp = np.log(y) - np.log(y.sum(1, keepdims=True))
        for i, (labels, total) in enumerate(_search(logp, attrs["width"])[:paths]):
            out[k, i, : len(labels)], count[k, i], score[k, i] = labels, len(labels), total
    return out, count, score.astype(x.dtype)


Op(
    "ctc_beam",
    "opaque",
    _infer_beam,
    _run_beam,
    lambda node, g: (None, None),
    ulp=64,
    doc="""(sequences, lengths, log probabilities) of the attrs["paths"] best of attrs["width"]
   prefixes: a beam search over x (samples, steps, classes), weights to which attrs["epsilon"] is
   added and which are divided by their sums. The last class is the blank; -1 behind the end.""",
)


def ctc_beam(x, lengths, width, paths, epsilon=0.0):
    """(sequences (samples, paths, steps), lengths, log probabilities) of a beam search."""
    if width < 1 or not 1 <= paths <= width:
        raise ArgumentError(
            f"a beam search needs 1 <= top_paths <= beam_width, got top_paths "
            f"{paths} and beam_width {width}"
        )
    node = make(
        "ctc_beam",
        (_scores("ctc_beam", x), _index("the input lengths", lengths, 1)),
        {"width": int(width), "paths": int(paths), "epsilon": float(epsilon)},
    )
    return item(node, 0), item(node, 1), item(node, 2)
