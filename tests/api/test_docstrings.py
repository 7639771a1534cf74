"""Docstrings in NumPy's style: which public functions have one that says all of the signature.

A docstring of that style has a row for each parameter, in their order, each with its type and a
sentence, what is returned, and an example. `PLAIN` are those still written otherwise: the list only
shrinks.
"""

import inspect
import re

import pytest

import ckernels as K
from build_tools import reference

PLAIN = frozenset(
    """
    Lop Out RandomStreams Rop Split Tensor Variable allclose arange argsort backend bartlett
    batch_dot batch_flatten batch_get_value batch_normalization batch_set_value betainc bias_add
    bincount blas_info broadcast_to c_op cast cast_to_floatx categorical check checkpoint cho_solve
    cholesky choose clear_session clip compress conj conv conv1d conv2d_transpose conv3d
    conv3d_transpose conv_transpose count_params cov ctc ctc_batch_cost ctc_decode
    ctc_label_dense_to_sparse cumprod cumsum debugprint depthwise_conv2d det diag diagonal diff eig
    eigh eigvalsh elu epsilon expm export eye fill_diagonal fill_diagonal_offset flatnonzero flatten
    floatx get_num_threads get_uid get_variable_shape grad_clip grad_scale hard_sigmoid identity
    ifelse imag image_data_format image_dim_ordering in_test_phase in_top_k in_train_phase
    inc_subtensor intx inverse irfft is_keras_tensor is_placeholder is_sparse is_tensor is_variable
    """.split()
)

NAMES = sorted(n for n in K.__all__ if callable(getattr(K, n)))
ORDER = ["", "Parameters", "Returns", "Raises", "Warns", "Notes", "Examples"]


def parameters(function):
    """Names of the parameters as a docstring writes them: *args, **kwargs."""
    stars = {inspect.Parameter.VAR_POSITIONAL: "*", inspect.Parameter.VAR_KEYWORD: "**"}
    found = inspect.signature(function).parameters.values()
    return [stars.get(p.kind, "") + p.name for p in found if p.name[0] != "_"]


def lacks(function):
    """What is not as NumPy's style has it, in words."""
    found = dict(reference.sections(function.__doc__))
    if list(found) != [heading for heading in ORDER if heading in found]:
        yield f"sections in the order {list(found)}"
    if not re.search(r"[.:]$", found[""].partition("\n\n")[0]):
        yield "no sentence at the beginning"
    said = reference.items(found.get("Parameters", ""))
    named = [name for names, _, _ in said for name in names.split(", ")]
    if named != parameters(function):
        yield f"parameters {named} for {parameters(function)}"
    if not inspect.isclass(function) and not reference.items(found.get("Returns", "")):
        yield "nothing about what is returned"
    for heading in ("Parameters", "Returns", "Raises"):
        for names, kind, text in reference.items(found.get(heading, "")):
            if not text or heading == "Parameters" and not kind:
                yield f"no type or no text for {names}"
    if ">>>" not in found.get("Examples", ""):
        yield "no example"


@pytest.mark.parametrize("name", NAMES)
def test_a_docstring_says_all_of_its_signature(name):
    missing = list(lacks(getattr(K, name)))
    if name in PLAIN:
        assert missing, f"{name} is written in NumPy's style: take it from the list"
    else:
        assert not missing


def test_the_list_has_no_name_that_is_gone():
    assert set(NAMES) >= PLAIN


def good(x, y=0):
    """What it does.

    Parameters
    ----------
    x, y : tensor
        Both.

    Returns
    -------
    Tensor
        Their sum.

    Examples
    --------
    >>> 1
    1
    """


@pytest.mark.parametrize(
    "old, new, missing",
    [
        ("x, y : tensor", "x : tensor", "parameters"),
        ("x, y : tensor", "y, x : tensor", "parameters"),
        ("x, y : tensor", "x, y", "no type"),
        ("        Both.\n", "", "no text"),
        ("        Their sum.\n", "", "no text"),
        ("Returns\n    -------", "Raises\n    ------", "returned"),
        (">>> 1", "none", "no example"),
        ("Parameters\n    ----------", "Parameters:", "parameters"),
        ("What it does.", "What it does", "no sentence"),
    ],
)
def test_near_misses(old, new, missing, monkeypatch):
    assert list(lacks(good)) == []
    assert old in good.__doc__
    monkeypatch.setattr(good, "__doc__", good.__doc__.replace(old, new, 1))
    assert any(missing in said for said in lacks(good))
