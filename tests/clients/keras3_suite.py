"""Keras 3's own tests on the backend, run in a folder of Keras's source: `make keras3 SOURCE=...`.

Left out are tests that ask which of the backends Keras knows is running, and those of what the
backend does not have; EXCLUDED says why. Files that need TensorFlow or grain fail to import where
these are not installed, and are counted as errors.
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


def main():
    os.environ["KERAS_BACKEND"] = "ckernels"
    left_out = " and ".join(f"not ({name})" for name in EXCLUDED)
    sys.path.insert(0, os.getcwd())
    options = ["-o", "addopts=", "-p", "no:cacheprovider", "-p", "ckernels.keras3", "-q"]
    raise SystemExit(
        pytest.main([*options, "--continue-on-collection-errors", "-k", left_out, *sys.argv[1:]])
    )


if __name__ == "__main__":
    main()
