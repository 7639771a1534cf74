"""Gradients by differences, and the comparison with them: a part of theano.gradient."""

import numpy as np

from ...base.errors import ArgumentError, CKernelsError, UsageError


class numeric_grad:  # noqa: N801 (Theano's name)
    """The gradient of the function `f` at `pt` by differences, as `gf`: an array or a list."""

    type_eps = {"float64": 1e-7, "float32": 3e-4, "float16": 1e-1}

    def __init__(self, f, pt, eps=None, out_type=None):
        packed = not isinstance(pt, (list, tuple))
        points = [np.array(p) for p in ([pt] if packed else pt)]
        kinds = {str(p.dtype) for p in points}
        if not kinds <= set(self.type_eps):
            raise UsageError(f"All function arguments should have float dtypes, not {kinds}")
        eps = (
            max(
                self.type_eps[k]
                for k in kinds | ({out_type} if out_type in self.type_eps else set())
            )
            if eps is None
            else eps
        )
        at = [p.copy() for p in points]
        base = np.array(f(*at) if not packed else f(at[0]), dtype="float64")
        found = []
        for p in at:
            slope = np.zeros(p.shape)
            for place in np.ndindex(*p.shape):
                before = p[place]
                p[place] = before + eps
                moved = p[place] - before
                value = np.array(f(*at) if not packed else f(at[0]), dtype="float64")
                slope[place] = (value - base) / moved
                p[place] = before
            found.append(slope.astype(p.dtype))
        self.gf = found[0] if packed else found

    @staticmethod
    def abs_rel_err(a, b):
        """(absolute, relative) errors."""
        difference = abs(a - b)
        with np.errstate(all="ignore"):
            return difference, difference / np.maximum(abs(a) + abs(b), [1e-8])

    def abs_rel_errors(self, g_pt):
        """The errors of gradients `g_pt`, a list of pairs."""
        given = g_pt if isinstance(g_pt, (list, tuple)) else [g_pt]
        own = self.gf if isinstance(self.gf, (list, tuple)) else [self.gf]
        if len(given) != len(own):
            raise ArgumentError(
                "there must be one gradient for each array of pt, not this many", len(given)
            )
        pairs = []
        for a, b in zip(given, own):
            if np.shape(a) != b.shape:
                raise ArgumentError("argument element has wrong shape", np.shape(a), b.shape)
            pairs.append(self.abs_rel_err(np.asarray(a), b))
        return pairs

    def max_err(self, g_pt, abs_tol, rel_tol):
        """(argument, place, absolute error, relative error) of the worst element."""
        worst = []
        for a, r in self.abs_rel_errors(g_pt):
            both = np.minimum(a / abs_tol, r / rel_tol)
            if both.size == 0:
                worst.append((0, 0, 0.0, 0.0))
                continue
            if not np.all(np.isfinite(both)):
                place = int(np.argmax(~np.isfinite(both)))
                worst.append((np.inf, place, a.flatten()[place], r.flatten()[place]))
                continue
            place = int(np.argmax(both))
            worst.append((both.flatten()[place], place, a.flatten()[place], r.flatten()[place]))
        k = int(np.argmax([w[0] for w in worst]))
        return k, worst[k][1], worst[k][2], worst[k][3]


class GradientError(CKernelsError):
    """A gradient differs from the one by differences."""

    def __init__(self, arg, err_pos, shape, val1, val2, abs_err, rel_err, abs_tol, rel_tol):
        super().__init__(arg, err_pos, abs_err, rel_err, abs_tol, rel_tol)
        self.arg, self.err_pos, self.shape = arg, err_pos, shape
        self.val1, self.val2, self.abs_err, self.rel_err = val1, val2, abs_err, rel_err
        self.abs_tol, self.rel_tol = abs_tol, rel_tol

    def __str__(self):
        return (
            f"the gradient of argument {self.arg}, shape {self.shape}, is too far from "
            f"differences at flat position {self.err_pos}:\n"
            f"  by differences  {self.val1}\n"
            f"  by the graph    {self.val2}\n"
            f"  absolute error  {self.abs_err}, tolerance {self.abs_tol}\n"
            f"  relative error  {self.rel_err}, tolerance {self.rel_tol}"
        )
