"""Training steps of Keras 2.3.1 models on ckernels, beside the same models in torch and PyTensor.

Timed is what `fit` calls for each batch of 32, Adam's update included. Needs keras==2.3.1 beside
ckernels. What `fit` adds to the step, and the first batch, are timed by benchmarks/keras_costs.py.
"""

import os
import tempfile

import numpy as np

from benchmarks.workload import Case, Target, Workload

BATCH, CLASSES, RATE, EPSILON = 32, 10, 0.001, 1e-7
WORDS, STEPS, EMBEDDED, UNITS = 2000, 40, 32, 64
SHAPES = {
    "dense": [(784, 128), (128,), (128, CLASSES), (CLASSES,)],
    "cnn": [(3, 3, 1, 16), (16,), (3, 3, 16, 32), (32,), (800, CLASSES), (CLASSES,)],
    "lstm": [(WORDS, EMBEDDED), (EMBEDDED, 4 * UNITS), (UNITS, 4 * UNITS), (4 * UNITS,),
             (UNITS, CLASSES), (CLASSES,)],
}  # fmt: skip


def imported():
    """The module keras, on ckernels."""
    os.environ["KERAS_BACKEND"] = "ckernels.compat.keras2"
    os.environ.setdefault("KERAS_HOME", tempfile.mkdtemp())
    try:
        import keras
    except ImportError:
        raise NotImplementedError("keras==2.3.1 is not installed") from None
    return keras


def keras_model(kind, small=False, dropout=0.0):
    """The compiled Keras model of that kind; small: the same layers of one unit each.

    With dropout the learning phase is an input of the train function, as in most old programs.
    """
    keras = imported()
    L = keras.layers
    inputs, units, side, filters = (1, 1, 10, 1) if small else (784, 128, 28, 16)
    words, steps, embedded, cells = (2, 1, 1, 1) if small else (WORDS, STEPS, EMBEDDED, UNITS)
    layers = {
        "dense": lambda: [L.Dense(units, activation="relu", input_shape=(inputs,))],
        "cnn": lambda: [
            L.Conv2D(filters, 3, activation="relu", input_shape=(side, side, 1)),
            L.MaxPooling2D(2),
            L.Conv2D(2 * filters, 3, activation="relu"),
            L.MaxPooling2D(2),
            L.Flatten(),
        ],
        "lstm": lambda: [
            L.Embedding(words, embedded, input_length=steps),
            L.LSTM(cells, recurrent_activation="sigmoid"),
        ],
    }[kind]()
    layers += [L.Dropout(dropout)] if dropout else []
    last = L.Dense(2 if small else CLASSES, activation="softmax")
    model = keras.models.Sequential([*layers, last])
    model.compile(keras.optimizers.Adam(RATE), "categorical_crossentropy", metrics=["accuracy"])
    return model


class KerasFit(Workload):
    limit_is = ""
    peers = ("torch", "pytensor-c", "pytensor-numba", "ckernels")
    rtol, atol = 1e-3, 1e-4
    steps, stateful, samples = 3, True, BATCH

    def __init__(self, kind):
        self.kind, self.name = kind, f"keras-{kind}"
        self.title = f"Keras 2.3.1, {kind} model: one batch of {BATCH} of fit, Adam, float32"

    def cases(self):
        return [Case(f"Keras {self.kind} fit", {}, (Target("peers", 1),), quick=False)]

    def data(self, rng):
        shape = {"dense": (784,), "cnn": (28, 28, 1), "lstm": (STEPS,)}[self.kind]
        x = rng.random((BATCH, *shape), dtype=np.float32)
        if self.kind == "lstm":
            x = np.floor(x * WORDS)
        y = np.eye(CLASSES, dtype=np.float32)[rng.integers(0, CLASSES, BATCH)]
        weights = [rng.standard_normal(s, dtype=np.float32) for s in SHAPES[self.kind]]
        scaled = [
            w / np.float32(np.prod(w.shape[:-1]) ** 0.5) if w.ndim > 1 else w * 0 for w in weights
        ]
        return x, y, *scaled

    def ckernels_call(self, peer, x, y, *weights):
        model = keras_model(self.kind)
        model.set_weights(weights)
        model._make_train_function()
        f, ins = model.train_function, [x, y, np.ones(BATCH, np.float32)]
        peer.functions = [f]
        return lambda: f(ins)[:1]

    def torch_call(self, peer, x, y, *weights):
        torch = peer.lib
        F = torch.nn.functional
        torch.set_grad_enabled(True)
        P = [torch.from_numpy(w.copy()).requires_grad_() for w in weights]
        x, labels = torch.from_numpy(x), torch.from_numpy(y.argmax(1))
        conv = {}
        if self.kind == "cnn":
            x = x.permute(0, 3, 1, 2).contiguous()
            for i in (0, 2):
                conv[i] = P[i].detach().permute(3, 2, 0, 1).contiguous().requires_grad_()
                P[i] = conv[i]
        elif self.kind == "lstm":
            x = x.long()
            net = torch.nn.LSTM(EMBEDDED, UNITS, batch_first=True)
            with torch.no_grad():
                net.weight_ih_l0[:], net.weight_hh_l0[:] = P[1].T, P[2].T
                net.bias_ih_l0[:], net.bias_hh_l0[:] = P[3], 0
            net.bias_hh_l0.requires_grad_(False)
            P[1:4] = [net.weight_ih_l0, net.weight_hh_l0, net.bias_ih_l0]

        def forward():
            if self.kind == "dense":
                return torch.relu(x @ P[0] + P[1])
            if self.kind == "lstm":
                return net(F.embedding(x, P[0]))[0][:, -1]
            h = F.max_pool2d(torch.relu(F.conv2d(x, P[0], P[1])), 2)
            h = F.max_pool2d(torch.relu(F.conv2d(h, P[2], P[3])), 2)
            return h.permute(0, 2, 3, 1).reshape(BATCH, -1)

        adam = torch.optim.Adam(P, lr=RATE, eps=EPSILON)

        def step():
            adam.zero_grad(set_to_none=True)
            loss = F.cross_entropy(forward() @ P[-2] + P[-1], labels)
            loss.backward()
            adam.step()
            return loss

        return step

    def pytensor_call(self, peer, x, y, *weights):
        if self.kind != "dense":
            raise NotImplementedError("only the dense model is written for PyTensor")
        xp, shared = peer.np, peer.lib.shared
        P = [shared(w.copy()) for w in weights]
        a, b = peer.symbol(x), peer.symbol(y)
        logits = xp.maximum(a @ P[0] + P[1], 0) @ P[2] + P[3]
        loss = -(b * xp.special.log_softmax(logits, axis=-1)).sum(-1).mean()
        t = shared(np.float32(0))
        rate = RATE * xp.sqrt(1 - 0.999 ** (t + 1)) / (1 - 0.9 ** (t + 1))
        updates = [(t, t + np.float32(1))]
        for p, g in zip(P, peer.lib.grad(loss, P)):
            m, v = (shared(np.zeros_like(p.get_value())) for _ in range(2))
            m1, v1 = 0.9 * m + 0.1 * g, 0.999 * v + 0.001 * g * g
            moved = p - rate * m1 / (xp.sqrt(v1) + EPSILON)
            updates += [(s, n.astype("float32")) for s, n in ((m, m1), (v, v1), (p, moved))]
        f = peer.function([a, b], [loss], updates=updates)
        return lambda: f(x, y)


WORKLOADS = [KerasFit(kind) for kind in SHAPES]
