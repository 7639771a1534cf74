"""
A posterior by Hamiltonian Monte Carlo
======================================

Logistic regression with two slopes; a step of the sampler is a scan of leapfrog steps, many chains
side by side.
"""

import matplotlib.pyplot as plt
import numpy as np

import ckernels as K

K.set_random_seed(2)
rng = np.random.default_rng(5)
x = rng.normal(size=(60, 2)).astype("float32")
y = (rng.random(60) < 1 / (1 + np.exp(-(x @ [1.5, -1.0])))).astype("float32")


def energy(at):
    """Minus the logarithm of the posterior of each chain (rows of `at`)."""
    logits = K.dot(at, K.constant(x.T))
    return K.sum(K.softplus(logits) - logits * y, axis=1) + K.sum(K.square(at), axis=1) / 8


def slope(at):
    return K.gradients(K.sum(energy(at)), [at])[0]


# %%
# Eight leapfrog steps, then Metropolis's choice for each chain.

chains = K.variable(np.zeros((32, 2)))
push = K.random_normal((32, 2))


def leap(at, speed):
    speed = speed - 0.1 * slope(at)
    at = at + 0.2 * speed
    return at, speed - 0.1 * slope(at)


(ends, speeds), _ = K.scan(leap, outputs_info=[chains, push], n_steps=8)
end, speed = ends[-1], speeds[-1]
change = energy(end) - energy(chains) + K.sum(K.square(speed) - K.square(push), axis=1) / 2
taken = K.random_uniform((32,)) < K.exp(-change)
after = K.switch(K.expand_dims(taken), end, chains)
step = K.function([], [after, K.mean(K.cast(taken, "float32"))], [K.update(chains, after)])

draws, rates = zip(*(step() for _ in range(700)))
draws = np.array(draws)[100:]
print(f"accepted {np.mean(rates):.2f}; means {draws.mean((0, 1)).round(2)}")

figure, (left, right) = plt.subplots(1, 2, figsize=(9, 3.8), layout="constrained")
left.hexbin(*draws.reshape(-1, 2).T, gridsize=40, cmap="viridis")
left.set(xlabel="first slope", ylabel="second slope")
right.plot(draws[:150, :3, 0], lw=0.8)
right.set(xlabel="step", title="three chains, first slope")
