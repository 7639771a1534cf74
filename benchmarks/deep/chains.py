"""Long elementwise programs: a chain with its gradient, and a sum of many terms."""

import numpy as np

from .program import Program

LENGTH = 1000


class Elementwise(Program):
    """Base: one vector in, results that `formula` says; a size is the length of the vector."""

    size, others = LENGTH, (900, 777, 1100, 640, 1024)

    def inputs(self, rng, size):
        return (rng.standard_normal(size, dtype=np.float32),)

    def torch(self, torch, compile, parameters):
        torch.set_grad_enabled(self.gradient)
        whole = (compile or (lambda step: step))(lambda x: self.formula(torch, x))

        def step(x):
            x = torch.from_numpy(x)
            if not self.gradient:
                return [whole(x).numpy()]
            y = whole(x.requires_grad_())
            return [y.detach().numpy(), torch.autograd.grad(y, x)[0].numpy()]

        return step

    def jax(self, jax, parameters):
        formula = lambda x: self.formula(jax.numpy, x)
        whole = jax.jit(jax.value_and_grad(formula) if self.gradient else formula)
        return lambda x: jax.tree.leaves(jax.device_get(whole(x)))

    def ckernels(self, K, parameters):
        x = K.placeholder((None,))
        y = self.formula(K, x)
        return K.function([x], [y, K.gradients(y, [x])[0]] if self.gradient else [y])


class Chain(Elementwise):
    gradient = True

    def __init__(self, count, limits):
        self.count, self.limits = count, limits
        self.name = f"chain-{count}"
        self.title = f"a chain of {count} elementwise operations on {LENGTH} floats, with gradient"

    def formula(self, xp, x):
        for _ in range(self.count // 2):
            x = xp.tanh(x) * 1.01
        return xp.sum(x)


class Sines(Elementwise):
    gradient = False

    def __init__(self, count, limits):
        self.count, self.limits = count, limits
        self.name = f"sines-{count}"
        self.title = f"a sum of {count} sines of {LENGTH} floats"

    def formula(self, xp, x):
        total = xp.sin(x)
        for k in range(2, self.count + 1):
            total = total + xp.sin(x * (k / 100))
        return total


PROGRAMS = [Chain(1000, {"cold": 1.5}), Chain(5000, {"cold": 6.0}), Sines(1500, {"cold": 1.5})]
