"""What lowerings may ask: methods of the Context alone, and where it says that things lie."""

import ast
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from codegen.planned import leaf, plan

import ckernels as K
from ckernels import ops
from ckernels.codegen.layout import Layout, fresh
from ckernels.plan import binder
from ckernels.plan.context import Context
from ckernels.plan.instructions import KernelCall, Native

ROOM = Path(K.__file__).parent / "plan"
LOWERINGS = sorted((ROOM / "lowerings").glob("*.py")) + [
    ROOM / f"{name}.py" for name in ("native", "gemm", "scan", "partial", "scan_by_rows")
]
METHODS = {name for name, member in vars(Context).items() if callable(member) and name[0] != "_"}


def asked(text):
    """Names of all that a source asks of something called `plan`."""
    for n in ast.walk(ast.parse(text)):
        if isinstance(n, ast.Attribute):
            owner = n.value
            name = owner.attr if isinstance(owner, ast.Attribute) else getattr(owner, "id", "")
            if name == "plan":
                yield n.attr


@pytest.mark.parametrize("path", LOWERINGS, ids=lambda path: path.stem)
def test_lowerings_ask_methods_of_the_context_and_touch_nothing_else(path):
    assert {*asked(path.read_text(encoding="utf-8"))} - METHODS == set()


def test_the_check_sees_what_is_touched():
    text = "plan.layout(x)\nself.plan.parts[x] = 1\nother.stores\nplan.order"
    assert {*asked(text)} - METHODS == {"parts", "order"}
    assert sum("layout" in asked(path.read_text(encoding="utf-8")) for path in LOWERINGS) > 10


def test_every_lowering_says_whether_it_did(monkeypatch):
    """True or False; an instruction handed out could be taken for either."""
    answers = {}

    def heard(name, lower):
        def call(plan, node):
            answers.setdefault(name, []).append(lower(plan, node))
            return answers[name][-1]

        return call

    lowerings = {name: heard(name, lower) for name, lower in binder.LOWERINGS.items()}
    monkeypatch.setattr(binder, "LOWERINGS", lowerings)
    x, w, image = (np.ones(s, "float32") for s in ((6, 5), (5, 4), (1, 6, 6, 2)))
    plan(lambda x, w, i: [ops.matmul(x, w), ops.concatenate([x, x], 0), ops.cumsum(x, 1),
                          ops.pool_max(i, (2, 2)), ops.sort(x, 1)], x, w, image)  # fmt: skip
    flags = np.ones((2, 2), "bool")
    plan(lambda n: ops.matmul(n, n), flags)
    assert answers["matmul"][0] and not answers["matmul"][-1]  # bools are NumPy's
    assert {"concatenate", "cumsum", "pool_max", "sort"} <= answers.keys()
    assert all(type(a) is bool for found in answers.values() for a in found)


class Bodies:
    def body(self, *given):
        raise AssertionError("there is no body")


BODIES = Bodies()


def context(outer=None, invariant=()):
    made = Context({}, {}, BODIES.body, outer, invariant)
    made.orders = SimpleNamespace(of={})
    return made


def test_a_result_lies_where_it_was_assigned_and_else_in_a_buffer_of_its_own():
    here, x = context(), leaf((3, 4))
    y, z = ops.exp(x), ops.sin(x)
    here.assigned[y.uid] = "out", 0
    assert here.place(y) == here.layout(y) == fresh(("out", 0), (3, 4), "float32")
    assert here.own_buffer(y) == ("out", 0) and here.own_buffer(z) is None
    assert here.is_placed(y) and not here.is_placed(z)
    made = here.target(z)
    assert made.buffer[0] == "tmp" and here.bytes_of(made.buffer) == 48
    with pytest.raises(AssertionError, match="was not computed before it is read"):
        here.layout(z)  # a target is none before it is laid


def test_a_part_lies_in_the_whole_and_a_store_where_its_operand_does():
    here, x = context(), leaf((3, 4))
    y = ops.exp(x)
    whole = ops.concatenate([y, y], 0)
    here.parts[y.uid] = whole, [(3, 6, 1), (None, None, 1)], ()
    assert here.place(y) == Layout(here.target(whole).buffer, (3, 4), (4, 1), "float32", 12)
    store = ops.sin(x)
    here.stores[store.uid] = y
    assert here.target(store) == here.layout(y) and here.changed(store) is y


def test_constants_are_numbered_and_bodies_share_them():
    here = context()
    assert here.constant(np.zeros((2,), "int32")) == fresh(("const", 0), (2,), "int32")
    inside = context(here)
    assert inside.constant(np.zeros(())).buffer == ("const", 1) and len(here.constants) == 2
    assert inside.row()[1] != here.row()[1]


def test_what_a_scan_only_reads_is_copied_once_and_before_it():
    here = context()
    turned = Layout(("in", 0), (40, 30), (1, 40), "float32")
    inside = context(here, [("in", 0)])
    assert inside.is_invariant(turned) and not context(here).is_invariant(turned)
    made = inside.compact(turned)
    assert made.strides == (30, 1) and inside.compact(turned) == made and inside.is_invariant(made)
    assert len(here.instructions) == 1 and not inside.instructions
    inside.compact(Layout(("row", 1), (4, 3), (1, 4), "float32"))
    assert len(inside.instructions) == 1


def test_copies_are_kernels_or_the_runtimes_own():
    here = context()
    here.copy(Layout(("in", 0), (4, 3), (1, 4), "float32"))
    here.copy(Layout(("in", 0), (400, 300), (1, 400), "float32"))
    assert [type(i) for i in here.instructions] == [KernelCall, Native]
    assert [i.reads for i in here.instructions] == [[("in", 0)]] * 2
