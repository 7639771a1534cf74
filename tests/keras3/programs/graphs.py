"""Programs on graphs, tables, recommendations, and agents."""

import keras
import numpy as np
from keras import layers, ops

from . import fixed, integers, normal, program, rng, trained, transforms, uniform

SPARSE = "sparse_categorical_crossentropy"
NODES, EDGES = 12, 30
FROM, TO = integers(NODES, EDGES, seed=1), integers(NODES, EDGES, seed=2)


class GraphLayer(layers.Layer):
    """Sums of what neighbours send."""

    def __init__(self, width):
        super().__init__()
        self.message, self.own = layers.Dense(width, "relu"), layers.Dense(width)

    def call(self, x):
        sent = self.message(ops.take(x, FROM, axis=0))
        return self.own(x) + ops.segment_sum(sent, TO, num_segments=NODES)


class GraphAttention(layers.Layer):
    """Neighbours weighed by a softmax over the edges that arrive."""

    def __init__(self, width):
        super().__init__()
        self.dense, self.score = layers.Dense(width, use_bias=False), layers.Dense(1)

    def call(self, x):
        h = self.dense(x)
        a, b = ops.take(h, FROM, axis=0), ops.take(h, TO, axis=0)
        score = ops.leaky_relu(self.score(ops.concatenate([a, b], 1)), 0.2)
        score = ops.exp(ops.clip(score, -2, 2))
        total = ops.segment_sum(score, TO, num_segments=NODES)
        return ops.segment_sum(a * score / ops.take(total, TO, axis=0), TO, num_segments=NODES)


@program
def node_classification():
    x, y = normal(NODES, 5), integers(3, NODES)
    model = keras.Sequential([keras.Input(batch_shape=(NODES, 5)),
                              GraphLayer(8), layers.ReLU(), GraphLayer(3),
                              layers.Softmax()])  # fmt: skip
    return trained(fixed(model), x, y, batch_size=NODES, loss=SPARSE)


@program
def graph_attention():
    x, y = normal(NODES, 5), integers(2, NODES)
    model = keras.Sequential([keras.Input(batch_shape=(NODES, 5)), GraphAttention(6), layers.ELU(),
                              GraphAttention(4), layers.Dense(1, "sigmoid")])  # fmt: skip
    return trained(fixed(model), x, y, batch_size=NODES, loss="binary_crossentropy")


@program
def collaborative_filtering():
    pairs = np.stack([integers(6, 40), integers(8, 40, seed=1)], 1)
    rating = uniform(40)

    class Recommender(keras.Model):
        def __init__(self):
            super().__init__()
            l2 = keras.regularizers.L2(1e-3)
            self.user = layers.Embedding(6, 4, embeddings_regularizer=l2)
            self.film = layers.Embedding(8, 4, embeddings_regularizer=l2)
            self.bias = layers.Embedding(6, 1)

        def call(self, x):
            match = ops.sum(self.user(x[:, 0]) * self.film(x[:, 1]), 1, keepdims=True)
            return ops.sigmoid(match + self.bias(x[:, 0]))

    model = Recommender()
    model(pairs)
    return trained(fixed(model), pairs, rating, batch_size=16, loss="binary_crossentropy")


@program
def structured_data():
    age, kind, y = normal(30, 1) * 9 + 40, integers(4, 30, 1), integers(2, 30)
    scaled = layers.Normalization()
    scaled.adapt(age)
    a, b = keras.Input((1,)), keras.Input((1,), dtype="int32")
    parts = [scaled(a), layers.CategoryEncoding(4)(b), layers.Flatten()(layers.Embedding(4, 2)(b))]
    h = layers.Dense(8, "selu")(layers.Concatenate()(parts))
    model = keras.Model([a, b], layers.Dense(1, "sigmoid")(h))
    return trained(fixed(model), [age, kind], y, batch_size=8, loss="binary_crossentropy")


def gated(x, width):
    h = layers.Dense(width)(layers.Dense(width, "elu")(x))
    h = layers.Dense(width)(h) * layers.Dense(width, "sigmoid")(h)
    return layers.LayerNormalization()((layers.Dense(width)(x)) + h)


@program
def variable_selection():
    x, y = normal(30, 4), integers(2, 30)
    inputs = keras.Input((4,))
    each = [gated(inputs[:, i : i + 1], 6) for i in range(4)]
    share = layers.Softmax()(layers.Dense(4)(gated(layers.Concatenate()(each), 6)))
    h = ops.sum(ops.expand_dims(share, -1) * ops.stack(each, 1), 1)
    model = keras.Model(inputs, layers.Dense(1, "sigmoid")(h))
    return trained(fixed(model), x, y, batch_size=10, loss="binary_crossentropy")


@program
def wide_deep_and_cross():
    x, y = normal(30, 6), integers(3, 30)
    inputs = keras.Input((6,))
    cross = inputs
    for _ in range(2):
        cross = inputs * layers.Dense(6)(cross) + cross
    deep = layers.BatchNormalization()(layers.Dense(8)(inputs))
    h = layers.Concatenate()([cross, layers.PReLU()(deep)])
    model = keras.Model(inputs, layers.Dense(3, "softmax")(h))
    return trained(fixed(model), x, y, batch_size=10, loss=SPARSE, optimizer="adagrad")


@program
def imbalanced_classes():
    x, y = normal(40, 5), (uniform(40) > 0.8).astype("int32")
    model = keras.Sequential([keras.Input((5,)), layers.Dense(8, "relu"),
                              layers.Dense(1, "sigmoid")])  # fmt: skip
    scores = [keras.metrics.FalseNegatives(), keras.metrics.Precision(), keras.metrics.Recall()]
    return trained(fixed(model), x, y, batch_size=16, loss="binary_crossentropy", metrics=scores,
                   class_weight={0: 0.2, 1: 0.8})  # fmt: skip


class SoftTree(layers.Layer):
    """Leaves weighed by the probabilities of the ways to them."""

    def build(self, shape):
        self.split = layers.Dense(3, "sigmoid")
        self.leaves = self.add_weight(shape=(4, 2), name="leaves")

    def call(self, x):
        p = self.split(x)
        top = ops.stack([p[:, 0], 1 - p[:, 0]], 1)
        second = ops.stack([p[:, 1:], 1 - p[:, 1:]], 2)
        ways = ops.reshape(ops.expand_dims(top, 2) * second, (-1, 4))
        return ops.matmul(ways, ops.softmax(self.leaves))


@program
def soft_decision_trees():
    x, y = normal(30, 4), integers(2, 30)
    inputs = keras.Input((4,))
    model = keras.Model(inputs, layers.Average()([SoftTree()(inputs) for _ in range(3)]))
    return trained(fixed(model), x, y, batch_size=10, loss=SPARSE)


@program
def actor_and_critic():
    """Policy gradients of recorded episodes, in a loop of its own."""
    value_and_grad, jit = transforms()
    inputs = keras.Input((4,))
    h = layers.Dense(8, "relu")(inputs)
    model = fixed(keras.Model(inputs, [layers.Dense(2)(h), layers.Dense(1)(h)]))
    optimizer = keras.optimizers.Adam(0.01)
    optimizer.build(model.trainable_variables)

    def loss(weights, states, actions, returns):
        (logits, value), _ = model.stateless_call(weights, [], states)
        away = returns - value[:, 0]
        chosen = ops.take_along_axis(ops.log_softmax(logits), actions[:, None], 1)[:, 0]
        actor = -ops.sum(chosen * ops.stop_gradient(away))
        return actor + ops.sum(keras.losses.huber(returns[:, None], value))

    @jit
    def step(weights, state, states, actions, returns):
        value, slopes = value_and_grad(loss)(weights, states, actions, returns)
        weights, state = optimizer.stateless_apply(state, slopes, weights)
        return weights, state, value

    weights = [v.value for v in model.trainable_variables]
    state, found = [v.value for v in optimizer.variables], []
    for episode in range(5):
        n = 6 + episode
        weights, state, value = step(
            weights, state, normal(n, 4, seed=episode), integers(2, n, seed=episode),
            np.cumsum(uniform(n, seed=episode))[::-1].copy(),
        )  # fmt: skip
        found.append(value)
    return found


@program
def deep_q_learning():
    """A target net that follows, actions that were taken, rewards."""
    model, target = (
        fixed(keras.Sequential([keras.Input((4,)), layers.Dense(8, "relu"), layers.Dense(3)]))
        for _ in range(2)
    )
    found = []
    model.compile(keras.optimizers.Adam(0.01, clipnorm=1.0), "huber")
    for turn in range(5):
        state, after = normal(8, 4, seed=turn), normal(8, 4, seed=turn + 50)
        action, reward = integers(3, 8, seed=turn), uniform(8, seed=turn)
        goal = model.predict_on_batch(state).copy()
        goal[np.arange(8), action] = reward + 0.9 * target.predict_on_batch(after).max(1)
        found.append(model.train_on_batch(state, goal))
        if turn % 2:
            target.set_weights(model.get_weights())
    return found


@program
def permutation_invariant_sets():
    x = rng().normal(size=(20, 5, 3)).astype("float32")
    inputs = keras.Input((None, 3))
    h = layers.Dense(8, "relu")(inputs)
    h = ops.concatenate([ops.max(h, 1), ops.mean(h, 1), ops.logsumexp(h, 1)], 1)
    model = keras.Model(inputs, layers.Dense(1)(h))
    return trained(fixed(model), x, x.max((1, 2)))
