"""Entries that were cut, holed, flipped, swapped or mislabelled: never executed, always rebuilt.

Each damage is met by a process of its own, which must compute the right result, rebuild what was
damaged, say so in one line and end well. A truncated shared object that is opened kills the process
with SIGBUS, so "ends well" is the point. The short form takes a sample of the full list.
"""

import os
import random

import numpy as np
import pytest

import ckernels as K
from ckernels.compiler import cache

from .harness import assert_sound, check, needs_compiler, needs_fork, run

pytestmark = [needs_compiler, needs_fork]
CUTS = ("0", "1", "63", "64", "1000", "half", "size-1")


def cut(data, where):
    named = {"half": len(data) // 2, "size-1": len(data) - 1}
    return data[: named[where] if where in named else int(where)]


def damages(data, rng, count):
    """[(what, bytes)]: all cuts, then `count` holes and `count` flipped bits."""
    size = len(data)
    found = [(f"cut at {where}", cut(data, where)) for where in CUTS] + [("longer", data + b"\0")]
    for offset in rng.sample(range(size - 512), min(count, size - 512)):
        hole = data[:offset] + bytes(512) + data[offset + 512 :]
        if hole != data:
            found.append((f"hole at {offset}", hole))
    for offset in rng.sample(range(size), min(count, size)):
        flipped = bytearray(data)
        flipped[offset] ^= 1 << rng.randrange(8)
        found.append((f"bit flipped at {offset}", bytes(flipped)))
    return found


def assert_rebuilt(directory, path, what, work):
    (built, _), errors = run(work, flags={"compiledir": str(directory)})
    assert built == 1 and errors.count("building it again") == len(errors.splitlines()) == 1, what
    assert cache.unseal(path.read_bytes()), what
    assert run(work, flags={"compiledir": str(directory)}) == ([0, 1], ""), what


@pytest.mark.rest
@pytest.mark.parametrize("count", [12, pytest.param(200, marks=pytest.mark.slow)])
def test_a_damaged_kernel(tmp_path, count):
    assert run(check, 1, flags={"compiledir": str(tmp_path)})[0] == [1, 0]
    (path,) = tmp_path.glob("*.so")
    good = path.read_bytes()
    for what, bad in damages(good, random.Random(7), count):
        path.write_bytes(bad)
        assert_rebuilt(tmp_path, path, what, lambda: check(1))
    assert_sound(tmp_path)


def test_swapped_entries_and_a_wrong_key(tmp_path):
    flags = {"compiledir": str(tmp_path)}
    for number in (1, 2):
        run(check, number, flags=flags)
    one, two = sorted(tmp_path.glob("*.so"))
    first, second = one.read_bytes(), two.read_bytes()
    one.write_bytes(second)
    two.write_bytes(first)
    (made, _), errors = run(check, 1, 2, flags=flags)
    assert made == 2 and errors.count("it holds other kernels") == 2
    assert_sound(tmp_path)
    key = one.name[:64]
    wrong = key[:-1] + ("0" if key[-1] != "0" else "1")
    one.write_bytes(cache.seal(cache.unseal(one.read_bytes()), [wrong]))
    (made, found), errors = run(check, 1, 2, flags=flags)
    assert (made, found) == (1, 1) and errors.count("it holds other kernels") == 1
    assert_sound(tmp_path)


def test_things_that_are_no_files(tmp_path):
    """A directory, a link, a pipe, a device where an entry should be: nothing hangs or follows."""
    flags = {"compiledir": str(tmp_path / "kernels")}
    run(check, 1, flags=flags)
    (path,) = (tmp_path / "kernels").glob("*.so")
    spare = path.read_bytes()
    for put in (
        lambda: os.mkfifo(path),
        lambda: path.symlink_to("/dev/zero"),
        lambda: path.symlink_to(tmp_path / "elsewhere"),
        lambda: path.symlink_to(path),
    ):
        (tmp_path / "elsewhere").write_bytes(spare)
        path.unlink()
        put()
        assert run(check, 1, flags=flags)[0] == [1, 0]
        assert path.is_file() and not path.is_symlink()
        assert (tmp_path / "elsewhere").read_bytes() == spare
    path.unlink()
    path.mkdir()
    (made, _), errors = run(check, 1, flags=flags)
    assert made == 1 and "Traceback" not in errors


def program():
    """A function from K to the result: [kernels built, kernels or plans read]."""
    rng = np.random.default_rng(0)
    a, b = rng.normal(size=(5, 4)).astype("f"), rng.normal(size=(4, 3)).astype("f")
    x, w = K.placeholder((None, 4), name="x"), K.variable(b)
    f = K.function([x], [K.softmax(K.dot(x, w)), K.sum(K.tanh(x), axis=0)], mode="compiled")
    p, s = f([a])
    e = np.exp(a @ b)
    np.testing.assert_allclose(p, e / e.sum(1, keepdims=True), rtol=1e-5)
    np.testing.assert_allclose(s, np.tanh(a).sum(0), rtol=1e-5)
    return [f.stats()["built"], f.stats()["from_cache"]]


@pytest.mark.rest
@pytest.mark.parametrize("count", [4, pytest.param(200, marks=pytest.mark.slow)])
def test_a_damaged_file_of_a_whole_program(tmp_path, count):
    """Kernels, plans, notes, remembered compilers, the file of hits: all of them in turn."""
    pytest.importorskip("ckernels._runtime", reason="the C runtime is not built")
    flags, rng = {"compiledir": str(tmp_path)}, random.Random(8)
    assert run(program, flags=flags)[0][0] >= 2
    run(program, flags=flags)
    files = sorted(tmp_path.iterdir())
    if count < 50:  # one file of each kind
        files = {path.suffix or path.name[:5]: path for path in files}.values()
    for path in files:
        good = path.read_bytes()
        if len(good) < 520:
            good += bytes(520)
        found = damages(good, rng, count)
        if path.suffix in (".so", ".plan"):
            for what, bad in found:
                with pytest.raises(ValueError):
                    cache.unseal(bad, path.name[:64])
                    pytest.fail(f"{path.name}, {what}")
        cuts = found[: len(CUTS)] if count > 50 else found[:1]
        for what, bad in cuts + rng.sample(found[len(cuts) :], 30 if count > 50 else 2):
            path.unlink(missing_ok=True)
            path.write_bytes(bad)
            _, errors = run(program, flags=flags)
            assert len(errors.splitlines()) <= 2 and "Traceback" not in errors, (what, errors)
        path.write_bytes(good)
    cache.Cache(str(tmp_path)).verify(remove=True)  # what nobody read may still be damaged
    run(program, flags=flags)
    assert_sound(tmp_path)
