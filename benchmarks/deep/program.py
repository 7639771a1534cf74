"""What a deep program is: its inputs for any size, and a training step in each library.

A subclass says nothing about timing. Its method for a library gets the loaded library (and jit,
the library's compiler, where there is one) and returns step(*arrays), which trains once on a
batch of any size and returns a list of results that are there.
"""

RATE = 0.01


class Program:
    """Base of all programs.

    size: of the first calls (a batch, a length); others: sizes that come later, each new once.
    limits: {measure: what it should be at most}, in seconds; measures as in measure.TITLES.
    """

    name = ""
    title = ""
    size = 8
    others = (6, 12, 9, 16, 11)
    limits = {}
    passes = False  # time a first and a second pass over all other sizes, not each size alone
    rtol = 1e-3

    def parameters(self, rng):
        """The initial values of what is trained; a list of arrays."""
        return []

    def inputs(self, rng, size):
        """The arrays of one step."""
        raise NotImplementedError

    def ckernels(self, K, parameters):
        raise NotImplementedError

    def torch(self, torch, compile, parameters):
        raise NotImplementedError

    def jax(self, jax, parameters):
        raise NotImplementedError


def ckernels_training(K, inputs, loss, parameters):
    """The step of gradient descent on `loss`."""
    gradients = K.gradients(loss, parameters)
    updates = [K.update_sub(p, RATE * g) for p, g in zip(parameters, gradients)]
    return K.function(inputs, [loss], updates=updates)


def torch_training(torch, compile, cost, parameters):
    """The step of gradient descent on cost(parameters, *inputs), eager or compiled as a whole."""
    P = [torch.from_numpy(p.copy(order="K")) for p in parameters]

    def apply(P, gradients):
        torch._foreach_add_(P, gradients, alpha=-RATE)

    if compile is None:
        for p in P:
            p.requires_grad_()

        def step(*inputs):
            loss = cost(P, *map(torch.from_numpy, inputs))
            gradients = torch.autograd.grad(loss, P)
            with torch.no_grad():
                apply(P, gradients)
            return [loss.detach().numpy()]

        return step

    @compile
    def whole(P, inputs):  # one graph: forward, backward and update
        gradients, loss = torch.func.grad_and_value(cost)(P, *inputs)
        apply(P, gradients)
        return loss

    torch.set_grad_enabled(False)
    return lambda *inputs: [whole(P, [torch.from_numpy(a) for a in inputs]).numpy()]


def jax_training(jax, cost, parameters):
    """The step of gradient descent on cost(parameters, *inputs), jitted with donated parameters."""
    import functools

    @functools.partial(jax.jit, donate_argnums=0)
    def whole(P, *inputs):
        loss, gradients = jax.value_and_grad(cost)(P, *inputs)
        return [p - jax.numpy.float32(RATE) * g for p, g in zip(P, gradients)], loss

    P = [jax.device_put(p) for p in parameters]

    def step(*inputs):
        nonlocal P
        P, loss = whole(P, *inputs)
        return [jax.device_get(jax.block_until_ready(loss))]

    return step
