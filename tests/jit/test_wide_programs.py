"""Programs of every function of NumPy's that there is, jitted: NumPy's results, types, arguments
written and memory shared with them, for arguments of two kinds after one another."""

import pytest

from ckernels import config

from .test_nested_programs import run
from .wide_programs import Writer, arguments


@pytest.mark.rest
def test_wide_programs(tmp_path):
    with config.change(mode="reference"):
        assert sum(run(seed, tmp_path, Writer, arguments) for seed in range(30)) > 50
    with config.change(mode="compiled"):
        assert sum(run(seed, tmp_path, Writer, arguments) for seed in range(40, 42)) > 2


@pytest.mark.slow
@pytest.mark.parametrize("mode", ["reference", *["compiled"] * 20])
def test_many_wide_programs(tmp_path, many, new_seed, mode):
    with config.change(mode=mode):
        for seed in range(new_seed, new_seed + many // (3 if mode == "reference" else 20)):
            run(seed, tmp_path, Writer, arguments)
