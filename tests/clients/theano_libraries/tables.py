"""The libraries of `make libraries`: where each comes from, what of it runs, and what is changed.

CHANGED lists what Python, NumPy or scikit-learn have changed since; no change is for ckernels.
"""

from typing import NamedTuple


class Library(NamedTuple):
    """folder: its name in SOURCE; tests: files and folders below it, or programs/... of ours."""

    folder: str
    repository: str
    tests: tuple
    flags: str = "floatX=float64"
    leave_out: tuple = ()
    uses: tuple = ()  # other libraries that it imports
    keras: str = ""  # of a Keras: the order of its images' axes


LAYERS = ("tests/keras", "tests/test_loss_masking.py", "tests/test_loss_weighting.py")
NET = (  # they fetch data, or import TensorFlow
    "tests/keras/datasets",
    "tests/keras/test_regularizers.py",
    "tests/keras/backend/test_backends.py",
    "tests/keras/test_sparse.py",
    "tests/keras_contrib/backend",
    "tests/keras_contrib/callbacks/tensorboard_test.py",
    "tests/vis/backend",
)
PYMC3 = (
    "dist_math math transforms theanof model model_func model_helpers models_utils modelcontext "
    "types updates special_functions shared memo missing data_container distribution_defaults "
    "starting pickling random minibatches"
)


def keras(version, order, *more):
    """A Keras on its own Theano backend."""
    return Library(
        f"keras-{version}",
        f"keras-team/keras, tag {version}",
        (*LAYERS, *more),
        "floatX=float32",
        NET,
        keras=order,
    )


def on_keras(folder, repository, *tests):
    """A library for Keras 2, on Keras 2.2.4 and its own Theano backend."""
    return Library(
        folder, repository, tests, "floatX=float32", NET, uses=("keras-2.2.4",), keras="tf"
    )


LIBRARIES = {
    "Lasagne": Library(
        "Lasagne", "Lasagne/Lasagne", ("lasagne/tests", "programs/lasagne_examples.py")
    ),
    "blocks": Library("blocks", "mila-iqia/blocks", ("tests",), uses=("fuel",)),
    "downhill": Library("downhill", "lmjohns3/downhill", ("test",), "floatX=float32"),
    "theanets": Library(
        "theanets", "lmjohns3/theanets", ("test",), "floatX=float32", uses=("downhill",)
    ),
    "nolearn": Library("nolearn", "dnouri/nolearn", ("nolearn/lasagne/tests",), uses=("Lasagne",)),
    "pylearn2": Library(
        "pylearn2",
        "lisa-lab/pylearn2",
        tuple(
            f"pylearn2/{name}"
            for name in (
                "expr/tests",
                "linear/tests/test_conv2d.py",
                "linear/tests/test_matrixmul.py",
                "costs/tests",
                "models/tests/test_mlp.py",
                "models/tests/test_maxout.py",
                "models/tests/test_rbm.py",
                "models/tests/test_autoencoder.py",
            )
        ),
    ),
    "DeepLearningTutorials": Library(
        "DeepLearningTutorials",
        "lisa-lab/DeepLearningTutorials",
        ("programs/deep_learning_tutorials.py",),
    ),
    "Theano-Tutorials": Library(
        "Theano-Tutorials", "Newmu/Theano-Tutorials", ("programs/theano_tutorials.py",)
    ),
    "theano_exercises": Library(
        "theano_exercises", "goodfeli/theano_exercises", ("programs/theano_exercises.py",)
    ),
    "sklearn-theano": Library(
        "sklearn-theano",
        "sklearn-theano/sklearn-theano",
        ("sklearn_theano/tests", "sklearn_theano/utils/tests"),
        "floatX=float32",
    ),
    "pymc3": Library(
        "pymc3",
        "the wheel pymc3 3.8, unpacked",
        tuple(f"pymc3/tests/test_{name}.py" for name in PYMC3.split()),
    ),
    "pymc3-3.11": Library(
        "pymc3-3.11",
        "the wheel pymc3 3.11.5, unpacked",
        tuple(f"pymc3/tests/test_{name}.py" for name in PYMC3.split() if name != "types"),
    ),
    "keras-contrib": on_keras("keras-contrib", "keras-team/keras-contrib", "tests/keras_contrib"),
    "keras-rl": on_keras(
        "keras-rl", "keras-rl/keras-rl", "tests/rl", "tests/integration/test_discrete.py"
    ),
    "keras-vis": on_keras("keras-vis", "raghakot/keras-vis", "tests", "programs/keras_vis.py"),
    "hyperas": on_keras("hyperas", "maxpumperla/hyperas", "programs/hyperas_search.py"),
    "keras-0.3.3": keras("0.3.3", "th"),
    "keras-1.0.8": keras("1.0.8", "th", "tests/test_model_saving.py"),
    "keras-1.1.2": keras("1.1.2", "tf", "tests/test_model_saving.py"),
    "keras-1.2.2": keras("1.2.2", "tf", "tests/test_model_saving.py"),
}
DIGITS = """rng = np.random.RandomState(0)
    y, patterns = rng.randint(0, 10, 12000), rng.uniform(size=(10, 784)) > 0.8
    X = patterns[y] ^ (rng.uniform(size=(12000, 784)) > 0.9)
    dataset = SimpleNamespace(data=255.0 * X, target=y)"""
CHANGED = {  # {library: {file: [(old, new)]}}
    "Lasagne": {
        "lasagne/conftest.py": [("def pytest_ignore_collect(path, config):",
                                 "def pytest_ignore_collect(path):")],
        "lasagne/tests/layers/test_conv.py": [
            ("output = output[slices]", "output = output[tuple(slices)]"),
            ("output[[slice(None, None, factor) for factor in factors]]",
             "output[tuple(slice(None, None, factor) for factor in factors)]"),
        ],
    },
    "DeepLearningTutorials": {
        "code/logistic_sgd.py": [("open('best_model.pkl')", "open('best_model.pkl', 'rb')")],
    },
    "pylearn2": {
        "pylearn2/expr/tests/test_probabilistic_max_pooling.py": [
            ("rows / pool_rows", "rows // pool_rows"),
            ("cols / pool_cols", "cols // pool_cols"),
            ("n / pool_size", "n // pool_size"),
        ],
        "pylearn2/expr/probabilistic_max_pooling.py": [
            ("zr / r, zc / c", "zr // r, zc // c"),
            ("u/r, l/c", "u//r, l//c"),
            ("n / pool_size)", "n // pool_size)"),
        ],
    },
    "pymc3": {
        "pymc3/tests/conftest.py": [("fixture('function'", "fixture(scope='function'")],
    },
    "pymc3-3.11": {
        "pymc3/data.py": [("data[in_memory_slc])", "data[tuple(in_memory_slc)])")],
        "pymc3/tests/test_theanof.py": [("indices[slicer]", "indices[tuple(slicer)]")],
    },
    "keras-rl": {
        "rl/callbacks.py": [("import wandb\n", "wandb = None\n")],  # a service's logger
        "utils/gym/envs/twoRoundDeterministicRewardEnv.py": [
            ("    def reset(self):", "    def seed(self, seed=None): ...\n\n    def reset(self):"),
        ],
    },
    "nolearn": {
        "nolearn/lasagne/base.py": [
            ("sklearn.cross_validation", "sklearn.model_selection"),
            ("= KFold(y.shape[0], round(1. / self.eval_size))",
             "= KFold(round(1. / self.eval_size)).split(y)"),
            ("StratifiedKFold(y, round(1. / self.eval_size))",
             "StratifiedKFold(round(1. / self.eval_size)).split(y, y)"),
        ],
        "nolearn/lasagne/tests/test_base.py": [
            ("sklearn.grid_search", "sklearn.model_selection"),
            ("[60000:]", "[10000:]"),
        ],
        "nolearn/lasagne/tests/conftest.py": [
            ("from sklearn.datasets import fetch_mldata", "from types import SimpleNamespace"),
            ("dataset = fetch_mldata('mnist-original')", DIGITS),
            ("X[60000:]", "X[10000:]"),
            ("from sklearn.datasets import load_boston",
             "from sklearn.datasets import make_regression"),
            ("dataset = load_boston()", ""),
            ("X, y = dataset.data, dataset.target\n    # X, y", "X, y"),
            ("n_samples=100000, n_features=13", "n_samples=506, n_features=13"),
        ],
    },
}  # fmt: skip
