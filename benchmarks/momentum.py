"""Gradient descent with momentum, as each library does it: what the training workloads share.

A workload says its cost; `torch_step`, `jax_step` and `ckernels_updates` make of it what a step of
training is timed by.
"""

import functools


def torch_step(peer, cost, P, x, t, rate, momentum):
    """The call that does one step for the tensors P and returns cost(P, x, t)."""
    torch = peer.lib
    V = [torch.zeros_like(p) for p in P]

    def apply(P, V, G):
        torch._foreach_mul_(V, momentum)
        torch._foreach_add_(V, G, alpha=-rate)
        torch._foreach_add_(P, V)

    def eager():
        loss = cost(P, x, t)
        gradients = torch.autograd.grad(loss, P)
        with torch.no_grad():
            apply(P, V, gradients)
        return loss

    torch.set_grad_enabled(not peer.compiled)
    if not peer.compiled:
        for p in P:
            p.requires_grad_()
        return eager

    def step(P, V, x, t):  # one graph: forward, backward and update
        gradients, loss = torch.func.grad_and_value(cost)(P, x, t)
        apply(P, V, gradients)
        return loss

    return functools.partial(peer.compile(step), P, V, x, t)


def jax_step(peer, cost, x, t, parameters, rate, momentum):
    """The call that does one step for arrays on the device and returns cost(P, x, t)."""
    jax = peer.lib

    @functools.partial(jax.jit, donate_argnums=(0, 1))
    def step(P, V, x, t):
        loss, G = jax.value_and_grad(cost)(P, x, t)
        V = [momentum * v - rate * g for v, g in zip(V, G)]
        return [p + v for p, v in zip(P, V)], V, loss

    x, t, *P = (jax.device_put(a) for a in (x, t, *parameters))
    V = [jax.numpy.zeros_like(p) for p in P]

    def call():
        nonlocal P, V
        P, V, loss = step(P, V, x, t)
        return jax.block_until_ready(loss)

    return call


def ckernels_updates(K, loss, P, rate, momentum):
    """The updates of the variables P and of their velocities."""
    updates = []
    for p, g in zip(P, K.gradients(loss, P)):
        v = K.zeros(K.int_shape(p))
        moved = momentum * v - rate * g
        updates += [K.update(v, moved), K.update_add(p, moved)]
    return updates
