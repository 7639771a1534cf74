"""Plans kept in the compiledir: found again by a fresh process, never used for anything else."""

import json
import os
import subprocess
import sys
import textwrap

import numpy as np
import pytest

import ckernels as K
from ckernels.compiler import cache
from ckernels.runtime import stored
from ckernels.runtime.program import kind_of

TRAIN = """
    import json, sys
    import numpy as np
    import ckernels as K
    rng = np.random.default_rng(0)
    {before}
    x = K.placeholder(({batch}, 5), name="{name}")
    w = K.variable(rng.random((5, 3)), name="w{name}")
    loss = K.mean(K.square(K.softmax(K.dot(x, w)) - {number}))
    f = K.function([x], [loss], updates=[K.update_sub(w, 0.1 * g)
                                         for g in K.gradients(loss, [w])])
    values = [f([rng.random((4, 5))])[0].item() for _ in range(3)]
    late = ("schedule.fuse", "plan.pipeline", "plan.instructions", "codegen.lower")
    planned = {{"numpy.ma", *("ckernels." + name for name in late)}} & sys.modules.keys()
    steps = [s.split(": ")[1] for s in f.steps()]
    print(json.dumps([values, len(planned), steps, len(f.stats()["kernels"]), f.source()]))
"""


def run(folder, before="pass", batch="None", name="x", number="0.25", flags="", code=TRAIN):
    """What a fresh process prints; `folder` is its compiledir."""
    text = textwrap.dedent(code).format(before=before, batch=batch, name=name, number=number)
    env = {**os.environ, "CKERNELS_FLAGS": f"compiledir={folder}{flags}"}
    done = subprocess.run(
        [sys.executable, "-c", text], capture_output=True, text=True, env=env, timeout=120
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_a_second_process_plans_nothing(tmp_path):
    first, second = run(tmp_path / "c"), run(tmp_path / "c")
    assert first[1] and not second[1]
    assert first[0] == second[0] and first[2:] == second[2:]
    assert "int k_" in second[4]


def test_names_and_order_of_creation_do_not_matter(tmp_path):
    run(tmp_path / "c")
    other = run(
        tmp_path / "c", before="junk = [K.variable(1.0) + i for i in range(7)]", name="renamed"
    )
    assert not other[1]


@pytest.mark.sampled(0)
@pytest.mark.parametrize(
    "change",
    [dict(number="0.5"), dict(flags=",optimizer=none"), dict(flags=",cc.cflags=-fno-unroll-loops")],
)
def test_whatever_decides_the_plan_is_in_its_key(tmp_path, change):
    run(tmp_path / "c")
    assert run(tmp_path / "c", **change)[1]


def test_a_damaged_plan_is_made_again(tmp_path):
    folder = tmp_path / "c"
    first = run(folder)
    (plan,) = folder.glob("*.plan")
    data = bytearray(plan.read_bytes())
    data[len(data) // 2] ^= 1
    plan.write_bytes(data)
    again, third = run(folder), run(folder)
    assert again[1] and again[0] == first[0]
    assert not third[1] and third[0] == first[0]


def test_a_plan_without_its_kernels_is_made_again(tmp_path):
    folder = tmp_path / "c"
    first = run(folder)
    for entry in folder.glob("*.so"):
        entry.unlink()
    again = run(folder)
    assert again[1] and again[0] == first[0]


WITHOUT_NOTES = """
    import json
    import numpy as np
    import ckernels as K
    x = K.placeholder((None, 4), name="x")
    f = K.function([x], [K.exp(x[:, ::-1] * 2) + K.sum(x, 0), K.cumsum(x, axis=1)])
    for a in ({number}):
        f([a])
    print(json.dumps([f.source(), len(f.stats()["kernels"])]))
"""
ROWS, PLACED = "np.ones((5, 4))", "np.ones((5, 4)), np.asfortranarray(np.ones((6, 4)))[::-1]"


@pytest.mark.sampled(0)
@pytest.mark.parametrize("calls", [ROWS + ",", PLACED])
def test_a_plan_whose_notes_are_gone_has_its_source(tmp_path, calls):
    """The notes beside kernels have their C: it is not lost with them, now or for later plans."""
    folder = tmp_path / "c"
    first = run(folder, code=WITHOUT_NOTES, number=calls)
    assert first[0].count("int k_") == first[1] > 0
    notes = list(folder.glob("*.json"))
    for note in notes:
        note.rename(note.with_suffix(".away"))
    second = run(folder, code=WITHOUT_NOTES, number=calls)
    assert second == first
    run(folder, code=WITHOUT_NOTES, number=PLACED)  # another plan, of kernels without notes
    for note in notes:
        note.with_suffix(".away").rename(note)
    other = run(tmp_path / "other", code=WITHOUT_NOTES, number=PLACED)
    assert run(folder, code=WITHOUT_NOTES, number=PLACED) == other


ORACLES = """
    import json, sys
    import numpy as np
    import ckernels as K
    x = K.placeholder((3, 4))
    f = K.function([x], [K.get_value(K.variable(2.0)) * K.argmax(x, 1) if {number} > 1 else
                         K.sum(K.svd(x)[1]), K.cumsum(x, axis=1)])
    a = np.arange(12.0).reshape(3, 4) ** 2
    print(json.dumps([[np.asarray(v).tolist() for v in f([a])],
                      "ckernels.schedule.fuse" in sys.modules]))
"""


def test_ops_without_c_are_called_again(tmp_path):
    first, second = (run(tmp_path / "c", code=ORACLES) for _ in range(2))
    assert first[1] and not second[1] and first[0] == second[0]
    values = np.linalg.svd(np.arange(12.0, dtype="f").reshape(3, 4) ** 2, compute_uv=False)
    np.testing.assert_allclose(second[0][0], values.sum(), rtol=1e-5)


def test_errors_of_a_stored_plan_name_the_line(tmp_path):
    code = """
    import json, sys
    import numpy as np
    import ckernels as K
    i = K.placeholder((None,), dtype="int64")
    table = K.variable(np.ones((3, 2)))
    picked = K.gather(table, i)      # line 7
    f = K.function([i], [picked])
    try:
        f([np.array([5])])
    except Exception as problem:
        text = str(problem)
    print(json.dumps([text, "ckernels.schedule.fuse" in sys.modules]))
    """
    first, second = (run(tmp_path / "c", code=code) for _ in range(2))
    assert not second[1] and first[0] == second[0]
    assert "<string>:7" in second[0] or "line 7" in second[0]


def test_layouts_and_kinds_of_shapes_have_plans_of_their_own():
    x = K.placeholder((None, None))
    f = K.function([x], [x + K.cumsum(x, axis=0)])
    program = f.info.program
    a = np.ones((3, 3), "f")
    kinds = {
        kind_of(program, [v])[0]
        for v in (
            a,
            a[::2],
            np.asfortranarray(a),
            a[:2],
            a[:1],
            a[:0],
            a.copy(),
            np.ones((9, 7), "f"),
        )
    }
    assert len(kinds) == 5  # contiguous, rows apart, columns first, one row, no row
    key, _ = stored.describe(program)
    assert len({stored.numbered(key, kind, n) for kind in kinds for n in range(2)}) == 10


def test_a_stored_plan_serves_other_sizes(tmp_path):
    code = """
    import json, sys
    import numpy as np
    import ckernels as K
    x = K.placeholder((None, None))
    f = K.function([x], [K.softmax(K.tanh(x) * K.mean(x)), K.sum(x, axis=1)])
    a = np.arange({number} * 5.0).reshape(-1, 5).astype("f") / 100
    values = [v.tolist() for v in f([a])]
    y = np.tanh(a) * a.mean()
    e = np.exp(y - y.max(1, keepdims=True))
    good = np.allclose(values[0], e / e.sum(1, keepdims=True), rtol=1e-5) and \
        np.allclose(values[1], a.sum(1))
    print(json.dumps([bool(good), "ckernels.schedule.fuse" in sys.modules]))
    """
    found = [run(tmp_path / "c", code=code, number=n) for n in ("4", "9", "1", "300", "7", "1")]
    assert all(good for good, _ in found)
    assert [planned for _, planned in found] == [True, False, False, False, False, False]


def test_large_constants_are_not_stored(tmp_path):
    code = """
    import json, os, sys
    import numpy as np
    import ckernels as K
    x = K.placeholder((1500, 1500))
    f = K.function([x], [x * K.constant(np.random.default_rng(0).random((1500, 1500)))])
    f([np.ones((1500, 1500))])
    from ckernels.compiler import cache
    print(json.dumps([len(cache.current().entries("plan"))]))
    """
    assert run(tmp_path / "c", code=code) == [0]
    assert stored.LARGEST < 1500 * 1500 * 4


def test_clear_and_verify_know_plans(tmp_path):
    run(tmp_path / "c")
    store = cache.Cache(str(tmp_path / "c"))
    ((_, _, [key]),) = store.entries("plan")
    path = store.path(key, ".plan")
    with open(path, "ab") as stream:
        stream.write(b"x")
    assert [bad for bad, _ in store.verify()] == [key]
    store.remove(key)
    assert not os.path.exists(path)


def test_plans_of_another_version_are_not_read(monkeypatch):
    """Also where a packager gave the files of both versions one time, and their sizes agree."""
    found = []
    for version in ("1.0", "1.1", "1.0"):
        monkeypatch.setattr(stored, "VERSION", version)
        monkeypatch.setattr(stored, "_code", {})
        found.append(stored.code_version())
    assert found[0] == found[2] != found[1]
