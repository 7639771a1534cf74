"""Keras 3's own tests on the backend, run in a folder of Keras's source: `make keras3 SOURCE=...`.

Left out are the tests of EXCLUDED, with the reason. `trainer_test.py` asks for backends it knows
by name: it is loaded with ours among them, as Keras's own modules are. Files that need
TensorFlow, torch or grain fail to import where these are not installed, and are counted as errors.
"""

import os
import sys

import pytest

EXCLUDED = {
    "test_is_tensor": "NumPy arrays are tensors of the backend, as they are of Keras's NumPy one",
    "float8": "float8 dtypes are none of ours",
    "int4_block_size_with_lora": "packs integers of four bits with NumPy, in the middle of a graph",
    "test_quantize_lora_integration_int4": "as above",
    "EinsumDenseTest and test_quantize_dtype_argument_int4": "as above",
    "test_activity_regularization_basics": "imports TensorFlow's data sets through grain",
    "test_export_error": "SavedModels are TensorFlow's",
    "tensorboard": "TensorBoard is TensorFlow's",
}


KNOWN = "keras.src.trainers.trainer_test"
OF_NUMPY = (
    'elif backend.backend() == "numpy":\n'
    "    from keras.src.backend.numpy.trainer import NumpyTrainer as Trainer\n",
    'elif backend.backend() == "ckernels":\n    from ckernels.keras3.trainer import Trainer\n',
)
DEVICES = ('"torch": "cpu",', '"torch": "cpu", "ckernels": "cpu",')


def main():
    os.environ["KERAS_BACKEND"] = "ckernels"
    from ckernels.keras3 import hook  # it reads the environment

    hook.CHANGES[KNOWN] = [[OF_NUMPY, DEVICES]]
    left_out = " and ".join(f"not ({name})" for name in EXCLUDED)
    sys.path.insert(0, os.getcwd())
    options = ["-o", "addopts=", "-p", "no:cacheprovider", "-p", "ckernels.keras3", "-q"]
    raise SystemExit(
        pytest.main([*options, "--continue-on-collection-errors", "-k", left_out, *sys.argv[1:]])
    )


if __name__ == "__main__":
    main()
