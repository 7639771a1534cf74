"""The flags `optimizer...` reach the rewrites: which rules run, decided when a function is made."""

import numpy as np
import pytest

import ckernels as K
from ckernels.base.config import config
from ckernels.base.errors import ConfigError
from ckernels.rewrite import rules
from ckernels.runtime import choice

A = np.array([[0.5, 2.0], [3.0, 4.0]], "f")


def graph():
    x = K.placeholder((None, None), name="x")
    return x, K.log(K.exp(x)) + K.transpose(K.transpose(x)) * 1


def ops(flags):
    """The names of the ops that are left after rewriting under these flags."""
    x, y = graph()
    with config.change(flags):
        f = K.function([x], [y])
    np.testing.assert_allclose(f([A])[0], 2 * A, rtol=1e-5)
    nodes = [f.info.program.optimised[0]]
    for node in nodes:
        nodes.extend(node.inputs)
    return {node.op.name for node in nodes}


@pytest.fixture(autouse=True)
def compiled():
    pytest.importorskip("ckernels._runtime", reason="the C runtime is not built")
    with config.change(mode="compiled"):
        yield


def test_all_few_and_none():
    assert "exp" not in ops({})
    assert "exp" in ops({"optimizer": "none"}) and "exp" in ops({"optimizer": "fast_compile"})
    assert "exp" in ops({"mode": "fast_compile"})


def test_excluding_a_rule_or_a_family():
    families = {rule.family for rule in rules()}
    assert "exp" in ops({"optimizer_excluding": ":".join(sorted(families))})
    assert "exp" not in ops({"optimizer_excluding": "views"})


def test_including_adds_to_few():
    families = ":".join(sorted({rule.family for rule in rules()}))
    for few in ("none", "fast_compile"):
        assert "exp" not in ops({"optimizer": few, "optimizer_including": families})
    assert "exp" not in ops({"optimizer_including": families, "optimizer_excluding": families})


def test_flags_act_on_the_functions_made_under_them():
    """Not on those that exist, whose first call may come much later."""
    x, y = graph()
    with config.change(optimizer="none"):
        late = K.function([x], [y])
    late([A])
    assert late.info.program.rules == choice.Rules(frozenset(), frozenset())
    assert K.function([x], [y]).info.program.rules == choice.Rules(None, frozenset())


def test_a_name_that_is_none():
    x, y = graph()
    with config.change(optimizer_excluding="stabilize"):
        with pytest.raises(ConfigError, match="optimizer_excluding.*stabilize.*`stabilise`"):
            K.function([x], [y])
