"""Programs of the Deep Learning Tutorials on made-up digits: run by ../run.py beside their code."""

import gzip
import os
import pickle
import sys

import numpy as np
import pytest

CODE = os.path.join(os.getcwd(), "code")
sys.path.insert(0, CODE)


@pytest.fixture(autouse=True, scope="module")
def digits():
    """data/mnist.pkl.gz: ten patterns with noise; the working folder is that of the programs."""
    rng, os_path = np.random.RandomState(0), os.path.join(CODE, "..", "data")
    os.makedirs(os_path, exist_ok=True)
    patterns = rng.uniform(size=(10, 784)) > 0.8
    parts = []
    for n in (1200, 600, 600):
        labels = rng.randint(0, 10, n)
        noise = rng.uniform(size=(n, 784)) > 0.9
        parts.append(((patterns[labels] ^ noise).astype("float32"), labels.astype("int64")))
    with gzip.open(os.path.join(os_path, "mnist.pkl.gz"), "wb") as file:
        pickle.dump(parts, file)
    here = os.getcwd()
    os.chdir(CODE)
    yield
    os.chdir(here)


def test_logistic_sgd(capsys):
    import logistic_sgd

    logistic_sgd.sgd_optimization_mnist(n_epochs=30, learning_rate=0.5)
    assert "test error of best model 0.000000 %" in capsys.readouterr().out
    logistic_sgd.predict()


def test_logistic_cg():
    import logistic_cg

    logistic_cg.cg_optimization_mnist(n_epochs=3)


def test_mlp():
    import mlp

    mlp.test_mlp(n_epochs=1, n_hidden=20)


def test_convolutional_mlp():
    import convolutional_mlp

    convolutional_mlp.evaluate_lenet5(n_epochs=1, nkerns=[2, 3], batch_size=100)


def test_denoising_autoencoder():
    import dA

    dA.test_dA(training_epochs=1, batch_size=200, output_folder="plots_da")


def test_contractive_autoencoder():
    import cA

    cA.test_cA(training_epochs=1, batch_size=200, output_folder="plots_ca")


def test_stacked_autoencoders():
    import SdA

    SdA.test_SdA(pretraining_epochs=1, training_epochs=1, batch_size=300)


def test_deep_belief_network():
    import DBN

    DBN.test_DBN(pretraining_epochs=1, training_epochs=1, batch_size=300)


def test_rbm():
    import rbm

    rbm.test_rbm(
        training_epochs=1,
        batch_size=300,
        n_chains=2,
        n_samples=1,
        n_hidden=20,
        output_folder="plots_rbm",
    )


def test_hybrid_monte_carlo():
    from hmc.test_hmc import test_hmc

    test_hmc()


def test_recurrent_network_for_tags():
    import rnnslu

    model = rnnslu.RNNSLU(nh=10, nc=3, ne=20, de=5, cs=3)
    words, labels = np.array([[1, 2, 3], [2, 3, 4], [3, 4, 5]], "int32"), np.array([0, 2, 1])
    first = model.sentence_train(words, labels.astype("int32"), 0.5)
    for _ in range(60):
        last = model.sentence_train(words, labels.astype("int32"), 0.5)
        model.normalize()
    assert last < first / 2 and model.classify(words).tolist() == labels.tolist()


@pytest.mark.parametrize("optimizer", ["sgd", "adadelta", "rmsprop"])
def test_lstm(optimizer):
    import lstm
    import theano
    from theano import tensor

    options = {
        "encoder": "lstm",
        "dim_proj": 8,
        "n_words": 30,
        "ydim": 2,
        "use_dropout": True,
        "decay_c": 0.0,
    }
    np.random.seed(0)
    params = lstm.init_params(options)
    shared = lstm.init_tparams(params)
    noise, x, mask, y, _, _, cost = lstm.build_model(shared, options)
    grads = tensor.grad(cost, wrt=list(shared.values()))
    rate = tensor.scalar(name="lr")
    shared_grad, update = getattr(lstm, optimizer)(rate, shared, grads, x, mask, y, cost)
    rng = np.random.RandomState(1)
    words, labels = rng.randint(2, 30, (6, 16)), rng.randint(0, 2, 16)
    words[0] = labels
    ones = np.ones(words.shape, theano.config.floatX)
    noise.set_value(0.0)
    first = shared_grad(words, ones, labels)
    for _ in range(60):
        last = shared_grad(words, ones, labels)
        update(0.5)
    assert last < first
