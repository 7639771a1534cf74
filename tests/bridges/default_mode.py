"""A pytest plugin that runs PyTensor's or PyMC's own tests with CKERNELS as the default mode.

`-p default_mode` sets the mode before test files are imported; `--mode-under-test NUMBA` sets
another one in its place, so that what fails here can be run there. What is left out stands with
its reason in `not_ours_whole.txt`.
"""

from pathlib import Path

from reaim import leave_out


def pytest_addoption(parser):
    parser.addoption("--mode-under-test", default="CKERNELS", help="a mode of PyTensor")


def pytest_configure(config):
    import pytensor

    mode = config.getoption("--mode-under-test")
    if mode == "CKERNELS":
        import ckernels.pytensor  # noqa: F401
    pytensor.config.mode = mode


def pytest_collection_modifyitems(config, items):
    if config.getoption("--mode-under-test") == "CKERNELS":
        leave_out(items, Path(__file__).with_name("not_ours_whole.txt"))
