"""f.profile: the sections of its text, its tables, and profiles of copies and of several."""

import io
import os
import subprocess
import sys

import numpy as np
import pytest

import ckernels.compat.theano as theano
import ckernels.compat.theano.tensor as T
from ckernels.compat.theano.compile import profiling

X = T.dmatrix("x")


@pytest.fixture(scope="module")
def function():
    yield theano.function([X], [T.exp(X).sum(0), T.dot(X, X.T)], profile=True, name="both")
    profiling._printed_at_exit.clear()  # what else is printed here is the tests' own


def text_of(profile, *args):
    file = io.StringIO()
    profile.summary(file, *args)
    return file.getvalue()


def test_sections_and_tables(function):
    before = function.profile.fct_callcount
    for _ in range(3):
        function(np.ones((3, 4)))
    profile = function.profile
    assert function.profile is profile and profile.fct_callcount == before + 3
    assert function.maker.profile is profile
    text = text_of(profile)
    places = [
        text.index(word)
        for word in (
            "Function profiling",
            "Message: both",
            "\nClass\n---",
            "\nOps\n---",
            "\nApply\n---",
        )
    ]
    assert places == sorted(places)
    assert "elementwise+reduce" in text and "exp+sum" in text and "gemm" in text
    assert "test_profiles.py:" in text[places[-1] :] and "remaining 0 Classes" in text
    assert sum(profile.class_time().values()) == pytest.approx(sum(profile.op_time().values()))
    assert profile.op_nodes()["exp+sum"] == 1
    assert profile.op_callcount()["exp+sum"] == profile.class_callcount()["elementwise+reduce"]
    short = text_of(profile, 1, 1)
    assert "remaining 1 Ops" in short and "remaining 1 Apply instances" in short


def test_memory(function):
    function(np.ones((30, 4)))
    product = T.dot(T.exp(T.dot(X, X.T)).sum(0), X)
    f = theano.function([X], [product, X[X > 0].sum()], profile=True)
    f(np.ones((30, 4)))
    assert "Memory" not in text_of(f.profile)
    with theano.change_flags(profile_memory=True):
        text = text_of(f.profile)
    rows, peak = f.profile.memory()
    assert 30 * 30 * 8 in [size for _, size, _, _ in rows]  # X X'
    assert 7200 <= peak <= sum(size + 63 for _, size, _, _ in rows)  # each begins a line of cache
    place = text.index("\nMemory\n---")
    assert place > text.index("\nApply\n---") and f"Max peak memory: {peak} bytes" in text
    assert "7200" in text[place:] and "test_profiles.py:" in text[place:]
    with theano.change_flags(profile_memory=True, **{"profiling.min_memory_size": 10**6}):
        assert "7200 " not in text_of(f.profile)[place:]
    both, at_once = function.profile.memory()
    assert not both and at_once == 0  # what is returned lies elsewhere


def test_without_calls_and_without_profile(function):
    fresh = function.copy(name="fresh")
    assert fresh.profile is not function.profile
    assert "Nothing was measured yet" in text_of(fresh.profile)
    assert theano.function([X], X.sum()).profile is None
    with theano.change_flags(profile=True):
        assert theano.function([X], X.sum()).profile is not None
        assert theano.function([X], X.sum(), profile=False).profile is None


def test_calls_are_not_the_steps_of_a_loop():
    powers, _ = theano.scan(lambda p, x: T.dot(p, x), outputs_info=X, non_sequences=X, n_steps=5)
    f = theano.function([X], powers[-1], profile=True)
    for _ in range(2):
        f(np.eye(3))
    rows = f.info.profile_table()
    assert f.profile.fct_callcount == 2 and max(row.calls for row in rows) == 10
    assert "in 2 calls" in str(rows)


def test_messages_and_one_profile_for_several():
    one = theano.ProfileStats(atexit_print=False, message="together")
    for y in (T.exp(X), T.log(X)):
        theano.function([X], y, profile=one)(np.ones((2, 2)))
    assert one.fct_callcount == 2 and sorted(one.op_time()) == ["exp", "log"]
    assert "Message: together" in text_of(one)
    f = theano.function([X], X + 1, profile="my words")
    assert f.profile.message == "my words"


def test_profiles_are_printed_at_exit(tmp_path):
    program = (
        "import ckernels.compat.theano as theano\n"
        "import ckernels.compat.theano.tensor as T\n"
        "x = T.dvector()\nf = theano.function([x], T.exp(x), profile=True)\nf([1.0])\n"
    )
    where = tmp_path / "profile.txt"
    env = {
        **os.environ,
        "THEANO_FLAGS": f"profiling.destination={where}",
        "PYTHONPATH": os.pathsep.join(sys.path),
    }
    subprocess.run([sys.executable, "-c", program], env=env, check=True)
    assert "\nOps\n---" in where.read_text()
