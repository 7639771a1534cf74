"""split_updates: an ordinary training function in two, cut at the gradients, for many machines.

To find the gradients in the updates, those of the cost are built once more: as equal expressions
are one node, these very nodes occur in the updates. What else the updates need beside variables and
scalar inputs is then known, and refused where it cannot be averaged. Nothing here communicates: see
bridges/replica.py.
"""

from typing import NamedTuple

from .. import ops
from ..base import dtypes
from ..base.errors import ArgumentError, DTypeError, UsageError, with_line
from ..graph.printing import location
from ..graph.walk import rebuild, toposort, toposort_cut
from .tensor import Tensor, need_variable, placeholder_node


class Split(NamedTuple):
    """What `split_updates` gives; `f_grad, f_apply = split[:2]`.

    Parameters
    ----------
    gradients, apply : callable
        The two functions.
    variables : list of nodes
        What the gradients are of.
    statistics : list of nodes
        Those of the averaged variables.
    outputs : int
        How many outputs of the whole function come before the gradients.
    shared : list of int
        Indices of the inputs that `apply` takes too.

    Examples
    --------
    >>> x, w = K.placeholder((None,)), K.variable(1.0)
    >>> loss = K.sum(w * x)
    >>> split = K.split_updates(K.function([x], loss, updates=[(w, w - K.grad(loss, w))]))
    >>> split.outputs, len(split.variables), split.shared
    (1, 1, [])
    """

    gradients: object
    apply: object
    variables: list
    statistics: list
    outputs: int
    shared: list


def split_updates(f, cost=None, gradients=None):
    """A training function as two: one with gradients out, one with gradients in that updates.

    Parameters
    ----------
    f : Function
        With updates that are functions of gradients, variables and scalar inputs.
    cost : Tensor or int, optional
        The tensor, or the number of the output, whose gradients they are; by default the scalar
        output of which most gradients are found.
    gradients : list of pairs, optional
        Pairs (variable, tensor), where the gradients are no plain gradients of a cost.

    Returns
    -------
    Split
        `split.gradients(*inputs)` gives the outputs of `f`, a gradient for each of
        `split.variables`, a new value for each of `split.statistics`, and changes nothing.
        `split.apply(*gradients, *statistics, *scalars)` applies all updates; the scalars are the
        inputs of `f` whose numbers are in `split.shared`. One after the other they do what `f`
        does.

    Raises
    ------
    ArgumentError
        Where an update needs data and is no statistic: of a variable with a gradient, of integers,
        or of gradients and data at once. For a function without updates too.

    Notes
    -----
    Statistics are float variables whose new value depends on the data otherwise than through
    gradients (the running averages of batch normalisation): many machines take the mean of their
    new values, which for averages is the value of the whole batch, for variances is not.

    Examples
    --------
    >>> x = K.placeholder((None, 2), name="x")
    >>> w = K.variable([1.0, 2.0], name="w")
    >>> loss = K.mean(K.square(K.dot(x, K.expand_dims(w))))
    >>> f = K.function([x], loss, updates=[(w, w - 0.1 * K.grad(loss, w))])
    >>> split = K.split_updates(f)
    >>> loss, gradient = split.gradients(np.ones((4, 2)))
    >>> loss, gradient
    (array(9., dtype=float32), array([6., 6.], dtype=float32))
    >>> split.apply(gradient), K.get_value(w)
    ([], array([0.39999998, 1.4      ], dtype=float32))
    """
    return cut(f, cost, gradients).split()


def cut(f, cost=None, gradients=None):
    """The Cut of a function."""
    spec = getattr(getattr(f, "info", f), "spec", None)
    if spec is None:
        raise UsageError(f"split_updates takes a function made by K.function, not {f!r}")
    if not spec.updates:
        raise ArgumentError(
            f"{spec.title()} updates no variable: there is nothing to split. A training "
            "function has updates=[(w, w - rate * K.grad(loss, w)), ...]"
        )
    return Cut(spec, cost, gradients)


class Cut:
    """A training function, and where it is cut.

    gradients: [(variable, node)] found in the updates; statistics: [(variable, new value)];
    shared: indices of the scalar inputs; cost: the node, or None.
    """

    def __init__(self, spec, cost=None, gradients=None):
        self.spec, self.cost = spec, None
        self.news = [new for _, new in spec.updates]
        inside = {n.uid for n in toposort(self.news)}
        if gradients is not None:
            self.gradients = self.given(gradients, inside)
        else:
            self.cost, self.gradients = self.found(cost, inside)
        self.shared = [k for k, n in enumerate(spec.inputs) if n.ndim == 0]
        self.statistics = [pair for pair in spec.updates if self.is_statistic(*pair)]

    # ---- where the gradients are ----------------------------------------------------------------

    def given(self, pairs, inside):
        """The pairs (variable, tensor) a user names, as nodes."""
        found = []
        for k, pair in enumerate(pairs):
            if not isinstance(pair, (tuple, list)) or len(pair) != 2:
                raise UsageError(
                    f"gradients[{k}] must be a pair (variable, gradient), not {pair!r}"
                )
            variable, g = need_variable(pair[0], f"the first of gradients[{k}]").node, pair[1]
            if not isinstance(g, Tensor) or g.node.uid not in inside:
                raise ArgumentError(
                    f"gradients[{k}], {g!r}, is not part of the updates of the function: name the "
                    "very tensor the updates were made from, and no `givens`"
                )
            found.append((variable, g.node))
        return found

    def costs(self, cost):
        """The nodes that may be what the gradients are of."""
        outputs = self.spec.outputs
        if isinstance(cost, int):
            if not 0 <= cost < len(outputs):
                raise ArgumentError(f"cost={cost}, but the function has {len(outputs)} outputs")
            return [outputs[cost]]
        if cost is not None:
            return [cost.node]
        return [n for n in outputs if n.ndim == 0 and dtypes.is_inexact(n.dtype)]

    def found(self, cost, inside):
        """(cost, [(variable, gradient)]): the cost of which most gradients are in the updates."""
        from ..autodiff import reverse  # start-up: programs without derivatives

        costs, best = self.costs(cost), (None, [])
        cells = [n for n in self.spec.cells if dtypes.is_inexact(n.dtype)]
        for node in costs:
            slopes = reverse.grad(node, cells, disconnected="none") if cells else []
            pairs = [(v, g) for v, g in zip(cells, slopes) if g is not None and g.uid in inside]
            if len(pairs) > len(best[1]):
                best = node, pairs
        if not best[1]:
            which = "its scalar outputs" if cost is None else "the cost"
            raise ArgumentError(
                f"no gradient of {which} was found in the updates of {self.spec.title()}"
                f"{'' if costs else ', which has no scalar output'}: let the function give the "
                "cost, name it (cost=), or name the gradients (gradients=[(variable, g), ...])"
            )
        return best

    # ---- what else the updates need -------------------------------------------------------------

    def is_statistic(self, variable, new):
        """Whether an update needs data beside gradients; an error where it has no mean."""
        order = toposort_cut([new], {g.uid for _, g in self.gradients})
        scalars = {self.spec.inputs[k].uid for k in self.shared}
        data = [n for n in order if n.op.name == "placeholder" and n.uid not in scalars]
        if not data:
            return False
        what = f"the update of {_called(variable)} depends on the input {_called(data[0])}"
        mixed = set(toposort([new])) & {g for _, g in self.gradients}
        if variable in {v for v, _ in self.gradients} or mixed:
            problem = ArgumentError(
                f"{what} otherwise than through the gradients that were found, so that machines "
                "with other rows of it cannot agree: make it a function of gradients, variables "
                "and scalars, or name the gradients (gradients=[(variable, g), ...])"
            )
        elif not dtypes.is_inexact(variable.dtype):
            problem = DTypeError(
                f"{what}, and {variable.dtype} has no mean over machines: count in floats, or "
                "in the program"
            )
        else:
            return True
        raise with_line(problem, new)

    # ---- the two functions ----------------------------------------------------------------------

    def taken(self, dtype=lambda node: node.dtype):
        """Fresh inputs of the second function: for the gradients, for the statistics."""
        return [
            [placeholder_node(dtype(n), v.shape, f"{kind}_{v.name or k}") for k, (v, n) in rows]
            for kind, rows in (
                ("gradient", list(enumerate(self.gradients))),
                ("statistic", list(enumerate(self.statistics))),
            )
        ]

    def updates(self, gradients, statistics):
        """The updates as functions of other nodes in the place of gradients and statistics."""
        replace = {g: new for (_, g), new in zip(self.gradients, gradients)}
        averaged = {v: s for (v, _), s in zip(self.statistics, statistics)}
        plain = [pair for pair in self.spec.updates if pair[0] not in averaged]
        news = rebuild([new for _, new in plain], replace)
        return [*zip([v for v, _ in plain], news), *averaged.items()]

    def split(self):
        """The Split of gradients and statistics as they are."""
        grads, stats = self.taken()
        out = [*self.spec.outputs, *(g for _, g in self.gradients)]
        out += [new for _, new in self.statistics]
        return self.functions(out, [*grads, *stats], self.updates(grads, stats))

    def summed(self, mean=True):
        """The Split whose first function gives what is added over machines, the second takes sums.

        The first gives the float64 vector (number of rows, outputs times that, or the cost where it
        is a sum), gradients (of a mean: times the number of rows), and statistics times the number
        of rows. The second takes the sums of these in the same order, then scalars.
        """
        rows = ops.cast(ops.size_of(self.rows_of(), 0), "float64")
        scalars = [
            ops.cast(n, "float64") if n is self.cost and not mean else _times(n, rows, "float64")
            for n in self.scalar_outputs()
        ]
        first = ops.stack([rows, *scalars])
        out = [_times(g, rows, _wide(g)) if mean else _cast(g) for _, g in self.gradients]
        out += [_times(new, rows, _wide(new)) for _, new in self.statistics]
        sums = placeholder_node("float64", first.shape, "sums")
        total = ops.getitem(sums, 0)
        grads, stats = self.taken(_wide)
        kinds = [n.dtype for _, n in self.gradients], [n.dtype for _, n in self.statistics]
        given = [ops.cast(_over(g, total) if mean else g, d) for g, d in zip(grads, kinds[0])]
        updates = self.updates(
            given, [ops.cast(_over(s, total), d) for s, d in zip(stats, kinds[1])]
        )
        return self.functions([first, *out], [sums, *grads, *stats], updates)

    def functions(self, out, taken, updates):
        """The Split of these outputs, and of these inputs and updates."""
        from ..runtime.function import make_function  # start-up: programs that only build graphs

        spec = self.spec
        used = {n.uid for n in toposort([new for _, new in updates])}
        shared = [k for k in self.shared if spec.inputs[k].uid in used]
        title = spec.name or "training"
        options = dict(mode=spec.mode, downcast=spec.downcast, check=spec.check)
        first = make_function(
            spec.inputs,
            out,
            name=f"gradients of {title}",
            defaults=spec.defaults,
            c_order=True,  # machines add them up as they lie
            **options,
        )
        second = make_function(
            [*taken, *(spec.inputs[k] for k in shared)],
            [],
            updates,
            name=f"updates of {title}",
            **options,
        )
        variables, statistics = ([v for v, _ in p] for p in (self.gradients, self.statistics))
        return Split(first, second, variables, statistics, len(spec.outputs), shared)

    def rows_of(self):
        """The input whose first axis counts the rows of a batch."""
        for node in self.spec.inputs:
            if node.ndim:
                return node
        raise ArgumentError(f"{self.spec.title()} has no input with rows: nothing can be divided")

    def scalar_outputs(self):
        """The outputs, all of them scalars; ArgumentError for one that has no mean."""
        for k, node in enumerate(self.spec.outputs):
            if node.ndim or dtypes.is_complex(node.dtype):
                raise with_line(
                    ArgumentError(
                        f"output {k} of {self.spec.title()} is no scalar, and machines have other "
                        "rows of it: let the training function give means, and another function "
                        "the rest"
                    ),
                    node,
                )
        return self.spec.outputs


def _wide(node):
    """The dtype in which `node` is added: floats of 16 bits as float32, which MPI can add."""
    return "float32" if node.dtype in ("float16", "bfloat16") else node.dtype


def _cast(node):
    return ops.cast(node, _wide(node))


def _times(node, rows, dtype):
    """`node` times the number of rows."""
    return ops.mul(ops.cast(node, dtype), ops.cast(rows, dtype))


def _over(node, total):
    return ops.true_div(node, ops.cast(total, node.dtype))


def _called(node):
    at = location(node.line)
    return node.name or f"a {node.op.name}{f' ({at})' if at else ''}"
