"""Programs that teach in ways of their own: teachers, margins, averages, policies, molecules."""

import keras
import numpy as np
from keras import layers, ops

from . import fixed, integers, normal, pictures, program, trained, transforms, values_of


class Taught(keras.Model):
    def __init__(self, student, teacher):
        super().__init__()
        self.student, self.teacher = student, teacher
        teacher.trainable = False

    def compile(self, distance, share, heat, **options):
        super().compile(**options)
        self.distance, self.share, self.heat = distance, share, heat
        self.of_teacher = keras.metrics.Mean("of_teacher")

    def compute_loss(self, x=None, y=None, y_pred=None, sample_weight=None, training=True):
        taught = ops.softmax(self.teacher(x, training=False) / self.heat, axis=1)
        soft = self.distance(taught, ops.softmax(y_pred / self.heat, axis=1)) * self.heat**2
        self.of_teacher.update_state(soft)
        hard = super().compute_loss(x, y, y_pred, sample_weight)
        return self.share * hard + (1 - self.share) * soft

    def call(self, x):
        return self.student(x)


@program
def student_of_a_teacher():
    x, y = pictures(20)

    def net(filters):
        return fixed(
            keras.Sequential(
                [
                    keras.Input((8, 8, 1)),
                    layers.Conv2D(filters, 3, strides=2, padding="same"),
                    layers.LeakyReLU(0.2),
                    layers.MaxPooling2D(2, 1, "same"),
                    layers.Flatten(),
                    layers.Dense(2),
                ]
            )
        )

    model = Taught(net(3), net(8))
    model.compile(
        keras.losses.KLDivergence(),
        0.3,
        5.0,
        optimizer="rmsprop",
        loss=keras.losses.SparseCategoricalCrossentropy(from_logits=True),
        metrics=[keras.metrics.SparseCategoricalAccuracy()],
    )
    return trained(model, x, y, optimizer=None)


@program
def frozen_layers_thawed():
    x, y = pictures(16)
    base = keras.Sequential(
        [
            keras.Input((8, 8, 1)),
            layers.Conv2D(4, 3, padding="same"),
            layers.BatchNormalization(),
            layers.ReLU(6),
            layers.DepthwiseConv2D(3, padding="same"),
            layers.BatchNormalization(),
        ]
    )
    fixed(base).trainable = False
    picture = keras.Input((8, 8, 1))
    h = layers.Rescaling(2.0, -1.0)(picture)
    h = layers.GlobalMaxPooling2D()(base(h, training=False))
    model = fixed(keras.Model(picture, layers.Dense(1)(h)))
    options = {
        "loss": keras.losses.BinaryCrossentropy(from_logits=True),
        "metrics": [keras.metrics.BinaryAccuracy(threshold=0.0)],
    }
    before = trained(model, x, y, optimizer=keras.optimizers.Adam(0.05), **options)
    base.trainable = True
    for layer in base.layers[:2]:
        layer.trainable = False
    return before + trained(model, x, y, optimizer=keras.optimizers.SGD(0.01, 0.9), **options)


class HardTriplets(keras.losses.Loss):
    def call(self, y_true, y_pred):
        z = ops.normalize(y_pred, axis=1)
        apart = ops.maximum(2.0 - 2.0 * ops.matmul(z, ops.transpose(z)), 0.0)
        labels = ops.reshape(y_true, (-1, 1))
        same = ops.equal(labels, ops.transpose(labels))
        furthest = ops.max(ops.where(same, apart, 0.0), axis=1)
        nearest = ops.min(ops.where(same, 1e9, apart), axis=1)
        return ops.relu(furthest - nearest + 0.5)


@program
def hardest_triplets():
    x = normal(24, 6)
    y = (x[:, 0] > 0).astype("int32") + (x[:, 1] > 0)
    model = fixed(
        keras.Sequential(
            [
                keras.Input((6,)),
                layers.Dense(8, "elu"),
                layers.Dense(3),
                layers.UnitNormalization(),
            ]
        )
    )
    return trained(model, x, y, batch_size=12, loss=HardTriplets(), epochs=5)


@program
def proximal_policies():
    value_and_grad, jit = transforms()
    actor = fixed(keras.Sequential([keras.Input((4,)), layers.Dense(8, "tanh"), layers.Dense(3)]))
    critic = fixed(keras.Sequential([keras.Input((4,)), layers.Dense(8, "tanh"), layers.Dense(1)]))
    states, actions, gains = normal(30, 4), integers(3, 30), normal(30, seed=4)
    goal = normal(30, seed=5)
    before = ops.log_softmax(actor(states))
    chosen = ops.take_along_axis(before, actions[:, None], axis=1)[:, 0]
    chosen = ops.convert_to_numpy(chosen)

    def loss_of(weights, states, actions, gains, goal, chosen):
        policy, value = weights
        scores, _ = actor.stateless_call(policy, [], states)
        guessed, _ = critic.stateless_call(value, [], states)
        every = ops.log_softmax(scores)
        now = ops.sum(every * ops.one_hot(actions, 3), axis=1)
        ratio = ops.exp(now - chosen)
        clipped = ops.where(gains > 0, 1.2 * gains, 0.8 * gains)
        entropy = -ops.mean(ops.sum(ops.exp(every) * every, axis=1))
        surrogate = -ops.mean(ops.minimum(ratio * gains, clipped))
        fit = ops.mean(ops.square(goal - ops.squeeze(guessed, -1)))
        return surrogate + 0.5 * fit - 0.01 * entropy, ops.mean(chosen - now)

    optimizer = keras.optimizers.Adam(0.05)
    every = actor.trainable_variables + critic.trainable_variables
    optimizer.build(every)
    n = len(actor.trainable_variables)

    def step(weights, state, *data):
        (loss, far), slopes = value_and_grad(loss_of, has_aux=True)(
            (weights[:n], weights[n:]), *data
        )
        weights, state = optimizer.stateless_apply(state, slopes[0] + slopes[1], weights)
        return loss, far, weights, state

    step = jit(step)
    weights, state = [v.value for v in every], [v.value for v in optimizer.variables]
    found = []
    for _ in range(6):
        loss, far, weights, state = step(weights, state, states, actions, gains, goal, chosen)
        found += [loss, far]
    return found


@program
def target_network_by_averages():
    """BYOL: a net that follows another one by moving averages, within the step."""

    class Follower(keras.Model):
        def __init__(self):
            super().__init__()
            make = lambda: fixed(
                keras.Sequential(
                    [  # noqa: E731 (twice the same net)
                        keras.Input((6,)),
                        layers.Dense(8),
                        layers.BatchNormalization(),
                        layers.ReLU(),
                        layers.Dense(4),
                    ]
                )
            )
            self.online, self.target = make(), make()
            self.guess = fixed(keras.Sequential([keras.Input((4,)), layers.Dense(4)]))
            self.target.trainable = False

        def call(self, x):
            return self.guess(self.online(x))

        def compute_loss(self, x=None, y=None, y_pred=None, sample_weight=None, training=True):
            a, b = x, ops.flip(x, axis=1)
            loss = 0.0
            for one, two in ((a, b), (b, a)):
                p = ops.normalize(self.guess(self.online(one, training=training)), axis=-1)
                z = ops.stop_gradient(ops.normalize(self.target(two, training=False), axis=-1))
                loss += ops.mean(2 - 2 * ops.sum(p * z, axis=-1))
            for mine, its in zip(self.target.weights, self.online.weights):
                if mine.shape and len(mine.shape) == 2:
                    mine.assign(0.9 * mine + 0.1 * its)
            return loss

    model = Follower()
    model.compile(keras.optimizers.SGD(0.05, momentum=0.9, nesterov=True))
    x = normal(20, 6)
    return values_of(model.fit(x, batch_size=10, epochs=4, verbose=0, shuffle=False))


@program
def learning_to_learn():
    """MAML: a gradient through a step of descent, over tasks side by side."""
    value_and_grad, jit = transforms()
    net = fixed(keras.Sequential([keras.Input((1,)), layers.Dense(8, "tanh"), layers.Dense(1)]))

    def fit(weights, x, y):
        return ops.mean(ops.square(net.stateless_call(weights, [], x)[0] - y))

    def adapted(weights, x, y):
        _, slopes = value_and_grad(fit)(weights, x, y)
        return [w - 0.1 * g for w, g in zip(weights, slopes)]

    def over_tasks(weights, x, y, far_x, far_y):
        losses = [fit(adapted(weights, x[i], y[i]), far_x[i], far_y[i]) for i in range(3)]
        return sum(losses) / 3

    def step(weights, *data):
        loss, slopes = value_and_grad(over_tasks)(weights, *data)
        return loss, [w - 0.05 * g for w, g in zip(weights, slopes)]

    step, weights, found = jit(step), [v.value for v in net.trainable_variables], []
    x, far = normal(3, 6, 1), normal(3, 6, 1, seed=1)
    bends = np.array([0.5, 1.0, 1.5], "float32")[:, None, None]
    for _ in range(5):
        loss, weights = step(weights, x, np.sin(bends * x), far, np.sin(bends * far))
        found.append(loss)
    return found


class ArcMargins(layers.Layer):
    def __init__(self, classes, margin=0.3, scale=8.0):
        super().__init__()
        self.classes, self.margin, self.scale = classes, margin, scale

    def build(self, shapes):
        self.centres = self.add_weight(shape=(shapes[0][-1], self.classes), name="centres")

    def call(self, inputs):
        x, labels = inputs
        cosine = ops.normalize(x, axis=1) @ ops.normalize(self.centres, axis=0)
        angle = ops.arccos(ops.clip(cosine, -1 + 1e-6, 1 - 1e-6))
        mine = ops.one_hot(
            ops.cast(ops.reshape(labels, (-1,)), "int32"), self.classes, dtype=x.dtype
        )
        return ops.softmax(self.scale * ops.cos(angle + self.margin * mine))


@program
def margins_of_angles():
    x, y = normal(24, 6), integers(4, 24)
    a, label = keras.Input((6,)), keras.Input((1,), dtype="int32")
    z = layers.BatchNormalization(momentum=0.8)(layers.Dense(5)(layers.PReLU()(layers.Dense(8)(a))))
    model = keras.Model([a, label], ArcMargins(4)([z, label]))
    return trained(
        fixed(model), [x, y[:, None]], y, loss="sparse_categorical_crossentropy", epochs=4
    )


@program
def messages_between_atoms():
    """Message passing: gates over edges, sums by segments, a gated update of every node."""
    nodes, edges = normal(12, 4), normal(20, 3, seed=1)
    source, target = integers(12, 20, seed=2), np.sort(integers(12, 20, seed=3))
    of = np.repeat(np.arange(3), 4).astype("int32")

    class Messages(layers.Layer):
        def __init__(self, units):
            super().__init__()
            self.units = units
            self.cell = layers.GRUCell(units)

        def build(self, shape):
            self.w = self.add_weight(shape=(3, self.units * self.units), name="w")
            self.b = self.add_weight(
                shape=(self.units * self.units,), initializer="zeros", name="b"
            )
            self.cell.build((None, self.units))

        def call(self, h):
            for _ in range(2):
                kernel = ops.reshape(
                    ops.matmul(edges, self.w) + self.b, (-1, self.units, self.units)
                )
                sent = ops.squeeze(kernel @ ops.expand_dims(ops.take(h, source, axis=0), -1), -1)
                summed = ops.segment_sum(sent, target, num_segments=12, sorted=True)
                h, _ = self.cell(summed, [h])
            return h

    class Molecules(keras.Model):
        def __init__(self):
            super().__init__()
            self.send, self.out = Messages(4), layers.Dense(1)

        def call(self, h):
            h = self.send(h)
            top = ops.segment_max(h, of, num_segments=3)
            return self.out(ops.concatenate([ops.segment_sum(h, of, num_segments=3), top], -1))

    model = Molecules()
    model(nodes)
    value_and_grad, jit = transforms()
    fixed(model)
    optimizer = keras.optimizers.Adam(0.02)
    optimizer.build(model.trainable_variables)

    def step(weights, state, x, y):
        def loss_of(weights):
            return ops.mean(ops.square(model.stateless_call(weights, rest, x)[0] - y))

        loss, slopes = value_and_grad(loss_of)(weights)
        return (loss, *optimizer.stateless_apply(state, slopes, weights))

    rest = [v.value for v in model.non_trainable_variables]
    step, found = jit(step), []
    weights, state = (
        [v.value for v in model.trainable_variables],
        [v.value for v in optimizer.variables],
    )
    for _ in range(5):
        loss, weights, state = step(
            weights, state, nodes, np.array([[1.0], [0.0], [-1.0]], "float32")
        )
        found.append(loss)
    return found


@program
def process_of_a_learned_kernel():
    """A Gaussian process over a net: the loss is a likelihood by a Cholesky factor."""

    class Deep(keras.Model):
        def __init__(self):
            super().__init__()
            self.net = fixed(
                keras.Sequential([keras.Input((3,)), layers.Dense(6, "tanh"), layers.Dense(2)])
            )
            self.noise = self.add_weight(shape=(), initializer=keras.initializers.Constant(-1.0))

        def call(self, x):
            return self.net(x)

        def compute_loss(self, x=None, y=None, y_pred=None, sample_weight=None, training=True):
            apart = ops.sum(ops.square(y_pred[:, None] - y_pred[None]), axis=-1)
            kernel = ops.exp(-0.5 * apart) + ops.softplus(self.noise) * ops.eye(ops.shape(x)[0])
            factor = ops.cholesky(kernel)
            alpha = ops.solve_triangular(factor, y, lower=True)
            return 0.5 * ops.sum(ops.square(alpha)) + ops.sum(ops.log(ops.diagonal(factor)))

    x = normal(16, 3)
    model = Deep()
    model.compile(keras.optimizers.Adam(0.02))
    return values_of(
        model.fit(x, x[:, :1] + x[:, 1:2] ** 2, batch_size=8, epochs=3, shuffle=False, verbose=0)
    )
