"""What is done to Keras's own tests so that they run here, test by test, each with its reason.

Three tables for a version: what is changed in a file, which files are left out, and which tests
are known to fail. docs/guide/old-keras.md shows the last two to users.
"""

TOKENS = [  # lists of different lengths are no array since NumPy 1.24
    ("np.max(np.max(sequences))", "max(map(max, sequences))"),
    ("np.min(np.min(sequences))", "min(map(min, sequences))"),
]
CLEAR = [("K.backend() == 'tensorflow' or K.backend() == 'cntk'", "True")]  # after each test
BACKEND = [
    # Theano's and TensorFlow's modules beside each other: one of them, which is the backend
    ("[KTH, KTF]", "[K]"),
    ("[KTF, KTH]", "[K]"),
    # wants Theano to refuse what works here; the same comparison without that
    (
        "        with pytest.raises(NotImplementedError):\n"
        "            self._helper_bilinear(data_format, 4, 4)",
        "        self._helper_bilinear(data_format, 4, 4)",
    ),
    ("np.alltrue", "np.all"),  # until NumPy 2
]

# {version: {file: [(text, what stands there instead)]}}
CHANGED = {
    "2.3.1": {
        "conftest.py": CLEAR,
        "keras/backend/backend_test.py": [
            *BACKEND,
            ("for k in [KTH]:", "for k in [K]:"),
            ("placeholder(shape=(None), ", "placeholder(shape=(None,), "),
        ],
        "keras/engine/test_topology.py": CLEAR,  # channels last
        "keras/losses_test.py": [("K.backend() != 'tensorflow'", "False")],
        "keras/metrics_test.py": [
            ("if K.backend() != 'tensorflow':", "if False:"),
            # pytest calls setup with the test
            ("axis=1):\n", "axis=1):\n        axis = 1 if callable(axis) else axis\n"),
        ],
        "keras/metrics_confusion_matrix_test.py": [
            ("if K.backend() != 'tensorflow':", "if False:"),
            ("import tensorflow as tf", "class tf:\n    __version__ = '2.0'"),
        ],
        "keras/metrics_training_test.py": [
            ("K.backend() != 'tensorflow'", "False"),
            ("    import tensorflow as tf\n    if not tf.__version__.startswith('2.'):\n"
             "        return\n", ""),
        ],
        "integration_tests/preprocessing/text_test.py": TOKENS,
    },
    "2.2.4": {
        "conftest.py": CLEAR,
        "keras/engine/test_topology.py": [
            ("if K.backend() == 'tensorflow' or K.backend() == 'cntk'", "if True"),
        ],
        # by the name of the backend; ours is held to TensorFlow's six
        "test_loss_weighting.py": [("decimal_precision[K.backend()]", "6")],
        # the truth of an empty array is an error since NumPy 2.2
        "keras/constraints_test.py": [
            ("assert not l2[l2 < m]", "assert not (l2 < m).any()"),
            ("assert not l2[l2 > m * 2 + 1e-5]", "assert not (l2 > m * 2 + 1e-5).any()"),
        ],
        "keras/backend/reference_operations.py": [("sp.misc.logsumexp", "sp.special.logsumexp")],
        "keras/backend/backend_test.py": [
            *BACKEND,
            ("if KTH.th_sparse_module:", "if False:"),
            # dtypes are strings here, as they were under Theano
            ("if K._BACKEND == 'theano':\n        assert var.dtype == dtype",
             "if True:\n        assert var.dtype == dtype"),
        ],
        "integration_tests/preprocessing/text_test.py": TOKENS,
    },
}  # fmt: skip

# Tests that ask for TensorFlow by name and hold here too: {version: {file: names}}
WANTED = {
    "2.3.1": {
        "keras/backend/backend_test.py": (
            "test_update", "test_logsumexp_optim", "test_batchnorm_tf", "test_ctc_decode_greedy",
            "test_ctc_decode_beam_search", "test_ctc_decode_beam_search_no_merge",
        ),
    },
    "2.2.4": {
        "keras/backend/backend_test.py": (
            "test_logsumexp_optim", "test_ctc", "test_ctc_decode_greedy",
        ),
    },
}  # fmt: skip

NETWORK = "loads what it needs from the network"
TENSORFLOW = "is about TensorFlow itself"
# {version: {file, or file::beginning of a test's name: why it is left out}}
LEFT_OUT = {
    "2.3.1": {
        "test_api.py": TENSORFLOW,  # lists the names of keras.backend.tensorflow_backend
        "keras/utils/multi_gpu_test.py": TENSORFLOW,
        "integration_tests/test_tensorflow_integration.py": TENSORFLOW,
        "integration_tests/test_datasets.py": NETWORK,
    },
    "2.2.4": {
        "test_documentation.py": TENSORFLOW,
        "keras/utils/multi_gpu_test.py": TENSORFLOW,
        "keras/test_callbacks.py::test_TensorBoard": TENSORFLOW,
        "keras/backend/backend_test.py::TestBackend::test_batchnorm": "compares CNTK with Theano",
        "integration_tests/test_tensorflow_integration.py": TENSORFLOW,
        "integration_tests/imagenet_utils_test.py::test_decode_predictions": NETWORK,
        "integration_tests/test_datasets.py": NETWORK,
    },
}

BYTECODE = "asks np.argmax for its bytecode, which it lost in NumPy 1.25"
EPOCHS = "wants an accuracy or a loss after some epochs, which the numbers drawn miss narrowly"
# {version: {test: why it fails}}
KNOWN = {
    "2.3.1": {
        "integration_tests/test_temporal_data_tasks.py::test_temporal_regression": EPOCHS,
        "keras/utils/generic_utils_test.py::test_func_dump_and_load_backwards_compat[argmax]":
            BYTECODE,
    },
    "2.2.4": {
        "integration_tests/test_temporal_data_tasks.py::test_temporal_regression": EPOCHS,
        "integration_tests/test_temporal_data_tasks.py::test_temporal_classification_functional":
            EPOCHS,
        "keras/optimizers_test.py::test_adam": EPOCHS,
        "keras/optimizers_test.py::test_adamax": EPOCHS,
        "keras/optimizers_test.py::test_adam_amsgrad": EPOCHS,
        "keras/utils/generic_utils_test.py::test_func_dump_and_load_backwards_compat[argmax]":
            BYTECODE,
        "keras/engine/test_topology.py::test_constant_initializer_with_numpy":
            "its YAML holds NumPy objects, which PyYAML's FullLoader refuses",
    },
}  # fmt: skip
