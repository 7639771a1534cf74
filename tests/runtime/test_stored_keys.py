"""The key of a stored plan holds all that decides a result: each attribute of each op, and where an
op comes from."""

import itertools
import re
from pathlib import Path

import numpy as np
import pytest
from api.empty_cases import CASES

import ckernels as K
import ckernels.compat.theano.tensor as T
from ckernels.errors import CKernelsError
from ckernels.graph.node import Literal, Node, make, placeholder
from ckernels.graph.op import REGISTRY, Op, having
from ckernels.graph.walk import toposort
from ckernels.ops.bodies import Body, closed
from ckernels.runtime import stored
from ckernels.theano.classes import special

from .test_stored import run

UNWRITTEN = {"own", "store"}  # functions and storage: plans of such graphs are not kept


def written(op, attrs, inputs=()):
    """What the key says of a node, or None where there is no key."""
    node = Node()
    node.op, node.attrs, node.inputs, node.dtype = REGISTRY[op], attrs, tuple(inputs), "float32"
    found = stored.Description()
    for k, leaf in enumerate(node.inputs):
        found.leaf(leaf, f"input {k}")
    try:
        return found.text(node)
    except stored.Unknown:
        return None


def others(value):
    """Values of an attribute that are not this one, near it where that can be."""
    if type(value) is bool:
        return [not value, None]
    if type(value) is int:
        return [value + 1, -value - 1, str(value)]
    if type(value) is float:
        return [np.nextafter(value, np.inf).item(), -value, None]
    if type(value) is str:
        return [value + " ", value.upper() + "'", None]
    if type(value) is tuple:
        longer = [(*value, None), (value,)]
        return longer + [
            (*value[:k], other, *value[k + 1 :])
            for k, part in enumerate(value)
            for other in others(part)
        ]
    if type(value) is Literal:
        array = value.array.copy()
        array.view("uint8" if array.ndim else array.dtype)[...] += 1
        return [Literal(array), Literal(value.array, not value.sized)]
    if isinstance(value, Body):
        return [Body(value.inputs, value.outputs[::-1] + value.outputs[:1])]
    return ["something"]


def nodes_of_all_functions():
    """Nodes with attributes, from a call of every K function and from the gradient of it."""
    roots = []
    for _, build, shapes, dtypes, _ in CASES:
        leaves = [
            K.placeholder(tuple(int(c) if c.isdigit() else 3 for c in shape), dtype=dtype)
            for shape, dtype in zip(shapes, dtypes)
        ]
        floats = [leaf for leaf in leaves if leaf.dtype == "float32"]
        try:
            found = build(*leaves)
            found = list(found) if isinstance(found, (list, tuple)) else [found]
            roots += [one.node for one in found]
            roots += [g.node for g in K.gradients(K.sum(K.cast(found[0], "float32")), floats)]
        except (CKernelsError, AttributeError, ValueError):  # of this size, or without a gradient
            continue
    return [n for n in toposort(roots) if n.attrs and n.op.kind != "leaf"]


def distinct(nodes):
    """One node for each op and the types of its attributes."""
    found = {}
    for n in nodes:
        found.setdefault((n.op.name, *((k, type(v)) for k, v in n.attrs.items())), n)
    return list(found.values())


def test_every_attribute_of_every_node_is_in_the_key():
    nodes = distinct(nodes_of_all_functions())
    assert len({n.op.name for n in nodes}) > 60
    for n in nodes:
        text = written(n.op.name, n.attrs, n.inputs)
        assert (text is None) == bool(UNWRITTEN & n.attrs.keys()), n
        for name, value in n.attrs.items():
            inert = name in having("inert").get(n.op.name, ())
            for other in others(value) if text and name != "uid" else ():
                changed = written(n.op.name, {**n.attrs, name: other}, n.inputs)
                assert (changed == text) == inert, (n, name, value, other)


def test_every_op_has_each_attribute_that_any_op_has_in_its_key():
    """So that an op of tomorrow whose `name` is that of its function is no exception."""
    names = {k for n in nodes_of_all_functions() for k in n.attrs} - UNWRITTEN - {"uid"}
    x = K.placeholder((3,)).node
    values = (1, True, 0.5, "a", (1, 2), closed([x], [make("tanh", (x,))]))
    for op, name in itertools.product(REGISTRY, sorted({*names, "name", "function"})):
        if REGISTRY[op].kind == "leaf" or name in having("inert").get(op, ()):
            continue
        texts = [written(op, {}), *(written(op, {name: value}) for value in values)]
        assert None not in texts and len(set(texts)) == len(texts), (op, name)


def test_what_is_inert_is_the_name_of_a_scan():
    x = K.placeholder((None, 3))

    def key(name, number=2.0):
        states, _ = K.scan(lambda r, h: h * number + r, x, x[0] * 0.0, name=name)
        return stored.describe(K.function([x], states).info.program)[0]

    assert key("a") == key("b") != key("a", 3.0)
    assert having("inert").keys() == {"scan", "scan_debug"}


@pytest.mark.parametrize("pair", [(0.0, -0.0), (1.0, np.nextafter(1.0, 2.0).item())])
def test_nodes_with_numbers_that_differ_in_a_bit_are_not_one(pair):
    x = K.placeholder((3,)).node
    a, b = (make("grad_scale", (x,), {"factor": number}) for number in pair)
    assert a is not b and a is make("grad_scale", (x,), {"factor": pair[0]})


def test_constants_made_of_sizes_are_told_from_others():
    numbers = np.arange(3)
    a, b = (make("constant", (), {"value": Literal(numbers, sized)}) for sized in (False, True))
    assert written("neg", {}, ()) and len({stored.Description().text(n) for n in (a, b)}) == 2


# --- through the compiledir ---------------------------------------------------------------------

OPS = """
    import json, sys
    import numpy as np
    import ckernels as K
    from ckernels.api.tensor import Tensor
    from ckernels.graph.node import make
    from ckernels.graph.op import Op
    Op("theirs", "opaque", lambda attrs, x: (x.dtype, x.shape), lambda attrs, x: x + {number})
    x = K.placeholder((3,))
    f = K.function([x], Tensor(make("theirs", (x.node,))))
    print(json.dumps(f(np.zeros(3)).tolist()))
"""


def test_an_op_of_another_package_may_change_its_meaning(tmp_path):
    found = [run(tmp_path / "c", code=OPS, number=number) for number in (1.0, 2.0)]
    assert found == [[1.0] * 3, [2.0] * 3]
    assert REGISTRY["add"].home == "ckernels.ops.elementwise"
    assert all(op.home.startswith("ckernels.") for op in REGISTRY.values())


FAMILY = """
    import json, sys
    import numpy as np
    import ckernels.compat.theano as theano
    import ckernels.compat.theano.tensor as T
    from ckernels.compat.theano.tensor.shared_randomstreams import RandomStreams
    draw = theano.function([], getattr(RandomStreams(3), "{name}")((200,)))()
    state = np.random.RandomState(np.random.RandomState(3).randint(2 ** 30))
    v = T.dvector()
    jv, iv = (theano.function([v], getattr(T, n)(v, 2.0))([1.0]).item() for n in ("jv", "iv"))
    print(json.dumps([bool(np.array_equal(draw, state.{name}(size=200))), jv, iv]))
"""


def test_functions_of_one_family_share_no_plan(tmp_path):
    """Their rows have the name of the function in an attribute called `name`."""
    scipy = pytest.importorskip("scipy.special")
    for name in ("normal", "uniform", "normal"):
        drawn, jv, iv = run(tmp_path / "c", code=FAMILY, name=name)
        assert drawn
        np.testing.assert_allclose([jv, iv], [scipy.jv(1, 2), scipy.iv(1, 2)], rtol=1e-12)


def test_special_functions_share_no_plan():
    z = T.zvector()
    point = np.array([0.3 + 0.2j, -0.1j])
    names = [n for n in special.TABLE if isinstance(getattr(np, n, None), np.ufunc)]
    assert len(names) > 9
    for name in names:
        f = K.function([K.Tensor(z.node)], K.Tensor(special.special(name, z.node)))
        np.testing.assert_array_equal(f(point), getattr(np, name)(point), err_msg=name)


# --- the version of the code --------------------------------------------------------------------


def test_files_of_the_engine_are_in_the_key_and_those_of_its_fronts_are_not(tmp_path, monkeypatch):
    monkeypatch.setattr(stored, "__file__", str(tmp_path / "runtime" / "stored.py"))
    for name in ("runtime", "ops/indexing", "keras3", "templates"):
        (tmp_path / name).mkdir(parents=True)
    for name in ("one.py", "ops/indexing/two.py", "templates/three.c.in", "keras3/four.py"):
        (tmp_path / name).write_text("1")

    def versions():
        monkeypatch.setattr(stored, "_code", {})
        return stored.code_version(), stored.code_version(None)

    was = versions()
    for name in ("one.py", "ops/indexing/two.py", "templates/three.c.in"):
        (tmp_path / name).write_text("22")
        now = versions()
        assert now[0] != was[0] and now[1] != was[1]
        was = now
    (tmp_path / "keras3/four.py").write_text("22")
    now = versions()
    assert now[0] == was[0] and now[1] != was[1]


def test_ops_that_a_front_declares_have_all_files_in_their_key(monkeypatch):
    def text(home, version):
        op = Op("of_front", "opaque", lambda attrs, x: (x.dtype, x.shape), lambda attrs, x: x)
        del REGISTRY["of_front"]
        op.home = home
        monkeypatch.setattr(stored, "code_version", lambda rooms=stored.ENGINE: version[rooms])
        written, x = stored.Description(), placeholder("float32", (3,))
        written.leaf(x, "x")
        return written.text(make(op, (x,)))

    versions = [{None: whole, stored.ENGINE: "engine"} for whole in ("a", "b")]
    front, engine = ([text(home, v) for v in versions]
                     for home in ("ckernels.theano.classes.op", "ckernels.ops.own"))  # fmt: skip
    assert front[0] != front[1] and engine[0] == engine[1]


def test_only_the_engine_registers_what_decides_a_plan():
    """A front's rule of batches runs while a graph is made, which the key holds."""
    root = Path(K.__file__).parent
    outside = [path for path in root.rglob("*.py")
               if path.relative_to(root).parts[0] not in stored.ENGINE]  # fmt: skip
    found = {kind for path in outside
             for kind in re.findall(r'register_rule\(\s*"(\w+)"', path.read_text())}  # fmt: skip
    assert found <= {"batch"}
