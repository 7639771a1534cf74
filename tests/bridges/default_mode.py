"""A pytest plugin that runs PyTensor's or PyMC's own tests with CKERNELS as the default mode.

`-p default_mode` sets the mode before test files are imported; `--mode-under-test NUMBA` sets
another one in its place, so that what fails here can be run there.
"""


def pytest_addoption(parser):
    parser.addoption("--mode-under-test", default="CKERNELS", help="a mode of PyTensor")


def pytest_configure(config):
    import pytensor

    mode = config.getoption("--mode-under-test")
    if mode == "CKERNELS":
        import ckernels.pytensor  # noqa: F401
    pytensor.config.mode = mode
