"""Programs that make things: variational and adversarial nets, diffusion, flows, codebooks.

Noise comes with the data, so that losses can be compared.
"""

import keras
import numpy as np
from keras import layers, ops

from . import fixed, normal, program, trained, transforms, uniform


def mlp(*sizes, last=None):
    hidden = [layers.Dense(n, "relu") for n in sizes[1:-1]]
    return fixed(
        keras.Sequential([keras.Input((sizes[0],)), *hidden, layers.Dense(sizes[-1], last)])
    )


class VAE(keras.Model):
    def __init__(self):
        super().__init__()
        self.encoder, self.decoder = mlp(12, 8, 4), mlp(2, 8, 12, last="sigmoid")

    def call(self, inputs):
        x, noise = inputs
        mean, log_var = ops.split(self.encoder(x), 2, -1)
        kl = -0.5 * ops.mean(ops.sum(1 + log_var - mean**2 - ops.exp(log_var), 1))
        self.add_loss(0.1 * kl)
        return self.decoder(mean + ops.exp(0.5 * log_var) * noise)


@program
def variational_autoencoder():
    x = uniform(20, 12)
    return trained(VAE(), [x, normal(20, 2)], x, loss="binary_crossentropy")


class Sampling(layers.Layer):
    def __init__(self):
        super().__init__()
        self.seed = keras.random.SeedGenerator(3)

    def call(self, x):
        mean, log_var = ops.split(x, 2, -1)
        return mean + ops.exp(0.5 * log_var) * keras.random.normal(ops.shape(mean), seed=self.seed)


@program(draws=True)
def variational_with_draws():
    x = uniform(20, 12)
    model = keras.Sequential([keras.Input((12,)), layers.Dense(4), Sampling(),
                              layers.Dense(12, "sigmoid")])  # fmt: skip
    return trained(fixed(model), x, x, epochs=6, loss="binary_crossentropy")


def values(model):
    return [v.value for v in model.trainable_variables]


def assign(model, new):
    for variable, value in zip(model.trainable_variables, new):
        variable.assign(value)


@program
def adversarial_nets():
    """Two nets, two optimisers, a loop of its own."""
    value_and_grad, jit = transforms()
    maker, judge = mlp(3, 8, 4), mlp(4, 8, 1)
    real = normal(30, 4) + 1

    def bce(target, logits):
        return ops.mean(ops.binary_crossentropy(ops.ones_like(logits) * target, logits, True))

    def judge_loss(weights, fake, x):
        a, _ = judge.stateless_call(weights, [], x)
        b, _ = judge.stateless_call(weights, [], fake)
        return bce(0.9, a) + bce(0.0, b)

    def maker_loss(weights, other, noise):
        fake, _ = maker.stateless_call(weights, [], noise)
        return bce(1.0, judge.stateless_call(other, [], fake)[0])

    @jit
    def step(w_maker, w_judge, noise, x):
        fake, _ = maker.stateless_call(w_maker, [], noise)
        d_loss, d = value_and_grad(judge_loss)(w_judge, fake, x)
        w_judge = [w - 0.1 * g for w, g in zip(w_judge, d)]
        g_loss, g = value_and_grad(maker_loss)(w_maker, w_judge, noise)
        return [w - 0.1 * s for w, s in zip(w_maker, g)], w_judge, d_loss, g_loss

    w_maker, w_judge, found = values(maker), values(judge), []
    for i in range(0, 30, 6):
        w_maker, w_judge, d, g = step(w_maker, w_judge, normal(6, 3, seed=i), real[i : i + 6])
        found += [d, g]
    return found


@program
def gradient_penalty():
    """A gradient of a gradient, as WGAN-GP takes it."""
    value_and_grad, jit = transforms()
    critic = fixed(keras.Sequential([keras.Input((4,)), layers.Dense(8, "tanh"), layers.Dense(1)]))

    def loss(weights, real, fake):
        def score(x):
            return ops.sum(critic.stateless_call(weights, [], x)[0])

        between = 0.3 * real + 0.7 * fake
        _, slope = value_and_grad(score)(between)
        norm = ops.sqrt(ops.sum(slope**2, 1))
        return (score(fake) - score(real)) / len(REAL) + 10 * ops.mean((norm - 1) ** 2)

    step = jit(lambda w, a, b: value_and_grad(loss)(w, a, b))
    weights, found = values(critic), []
    for i in range(5):
        value, slopes = step(weights, REAL, normal(6, 4, seed=i))
        weights = [w - 0.02 * g for w, g in zip(weights, slopes)]
        found.append(value)
    return found


REAL = normal(6, 4, seed=9) + 1


@program
def diffusion():
    """Noise is guessed from a noisy picture and the share of it."""
    x = uniform(24, 6, 6, 1)
    noise, share = normal(24, 6, 6, 1, seed=1), uniform(24, 1, 1, 1, seed=2)
    noisy = np.cos(share * np.pi / 2) * x + np.sin(share * np.pi / 2) * noise
    image, level = keras.Input((6, 6, 1)), keras.Input((1, 1, 1))
    angles = level * np.array([1.0, 4.0, 16.0], "float32").reshape(1, 1, 1, 3)
    wave = layers.UpSampling2D(6)(ops.concatenate([ops.sin(angles), ops.cos(angles)], -1))
    h = layers.Concatenate()([layers.Conv2D(6, 1)(image), wave])
    skip = layers.Conv2D(12, 1)(h)
    h = layers.Conv2D(12, 3, padding="same", activation="swish")(h)
    h = skip + layers.Conv2D(12, 3, padding="same")(layers.BatchNormalization(scale=False)(h))
    model = keras.Model([image, level], layers.Conv2D(1, 1)(h))
    optimizer = keras.optimizers.AdamW(0.01, weight_decay=1e-4, use_ema=True, ema_momentum=0.9)
    return trained(fixed(model), [noisy, share], noise, loss="mae", optimizer=optimizer)


class Coupling(layers.Layer):
    def __init__(self, flip):
        super().__init__()
        self.flip = flip
        self.scale = keras.Sequential([layers.Dense(8, "relu"), layers.Dense(1, "tanh")])
        self.shift = keras.Sequential([layers.Dense(8, "relu"), layers.Dense(1)])

    def call(self, x):
        a, b = (x[:, 1:], x[:, :1]) if self.flip else (x[:, :1], x[:, 1:])
        s = self.scale(a)
        self.add_loss(-ops.mean(s))
        b = b * ops.exp(s) + self.shift(a)
        return ops.concatenate([b, a] if self.flip else [a, b], 1)


@program
def normalising_flow():
    x = normal(24, 2) * [0.5, 2.0] + [1.0, 0.0]
    model = keras.Sequential([keras.Input((2,)), *[Coupling(bool(i % 2)) for i in range(4)]])

    def likelihood(y_true, y_pred):
        return 0.5 * ops.sum(y_pred**2, 1)

    return trained(fixed(model), x.astype("float32"), x[:, 0], loss=likelihood)


class Codebook(layers.Layer):
    def build(self, shape):
        self.codes = self.add_weight(shape=(shape[-1], 5), name="codes")

    def call(self, x):
        apart = ops.sum(x**2, 1, keepdims=True) + ops.sum(self.codes**2, 0)
        apart = apart - 2 * ops.matmul(x, self.codes)
        nearest = ops.one_hot(ops.argmin(apart, 1), 5)
        found = ops.matmul(nearest, ops.transpose(self.codes))
        self.add_loss(0.25 * ops.mean((ops.stop_gradient(found) - x) ** 2))
        self.add_loss(ops.mean((found - ops.stop_gradient(x)) ** 2))
        return x + ops.stop_gradient(found - x)


@program
def vector_quantisation():
    x = uniform(20, 6)
    model = keras.Sequential([keras.Input((6,)), layers.Dense(3), Codebook(), layers.Dense(6)])
    return trained(fixed(model), x, x)
