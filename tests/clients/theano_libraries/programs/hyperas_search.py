"""hyperas on Keras 2.2.4: a search over sizes, dropout and batches. It reads the model's source."""

import numpy as np
from hyperas import optim
from hyperas.distributions import choice, uniform  # noqa: F401 (in the templates)
from hyperopt import STATUS_OK, Trials, tpe
from keras.layers.core import Dense, Dropout
from keras.models import Sequential


def data():
    rng = np.random.RandomState(0)
    x = rng.normal(size=(300, 6)).astype("float32")
    y = np.eye(3)[np.argmax(x[:, :3] + x[:, 3:], 1)]
    x_train, y_train, x_test, y_test = x[:200], y[:200], x[200:], y[200:]
    return x_train, y_train, x_test, y_test


def model(x_train, y_train, x_test, y_test):
    net = Sequential()
    net.add(Dense({{choice([8, 16])}}, activation="relu", input_shape=(6,)))  # noqa: F821
    net.add(Dropout({{uniform(0, 0.3)}}))  # noqa: F821
    net.add(Dense(3, activation="softmax"))
    net.compile("rmsprop", "categorical_crossentropy", metrics=["accuracy"])
    batch = {{choice([4, 8])}}  # noqa: F821
    net.fit(x_train, y_train, batch_size=batch, epochs=25, verbose=0)
    score, right = net.evaluate(x_test, y_test, verbose=0)
    return {"loss": -right, "status": STATUS_OK, "model": net}


def test_search():
    trials = Trials()
    found, net = optim.minimize(model, data, tpe.suggest, 3, trials, verbose=False)
    losses = [t["result"]["loss"] for t in trials.trials]
    x, y = data()[2:]
    assert len(losses) == 3 and min(losses) < -0.7
    assert abs(net.evaluate(x, y, verbose=0)[1] + min(losses)) < 1e-6
