"""Every kind of instruction and every native kernel has its C in an export, or is refused."""

import re
from pathlib import Path

import numpy as np
import pytest

import ckernels as K
from ckernels import ops
from ckernels.api.tensor import wrap
from ckernels.base.errors import ArgumentError, CKernelsError, DTypeError, NotSupported, ShapeError
from ckernels.export.calls import WRITERS
from ckernels.export.model import rehearsal
from ckernels.export.natives import NATIVES, REFUSED
from ckernels.export.routine import UpdateCopy, routine
from ckernels.plan import instructions
from ckernels.plan.instructions import flatten

from .programs import PROGRAMS

PACKAGE = Path(K.__file__).parent


def kinds():
    """{name: number} of the kinds of instructions of the runtime."""
    text = (PACKAGE / "src" / "ckernels.h").read_text()
    return {
        name: int(n)
        for name, n in re.findall(
            r"CK_(\w+) = (\d)", text[text.index("CK_KERNEL = 0") : text.index("CK_NATIVE = 5") + 15]
        )
    }


def test_every_kind_of_instruction_is_written_or_refused():
    runtime = {c.kind for c in WRITERS if c is not UpdateCopy} | {instructions.PyCall.kind}
    assert set(kinds().values()) == runtime


def test_every_native_kernel_has_c():
    text = (PACKAGE / "src" / "plan" / "records.h").read_text()
    names = re.findall(r"CK_\w+", text[text.index("CK_CONV, ") : text.index("CK_NATIVES\n")])
    assert sorted([*NATIVES, *REFUSED]) == list(range(len(names)))
    for row in NATIVES.values():
        assert (PACKAGE / "export" / "c" / f"{row.file}.c.in").exists()


@pytest.mark.slow
def test_programs_use_every_kind_and_every_native_kernel():
    seen, natives = set(), set()
    for make in PROGRAMS.values():
        functions, _ = make()
        for name, f in functions.items():
            for instr in flatten(routine(name, f).instructions):
                seen.add(type(instr))
                if isinstance(instr, instructions.Native):
                    natives.add(instr.record.op)
    assert seen == set(WRITERS)
    assert natives == set(NATIVES)


def test_templates_are_all_exported_or_left_out_by_name():
    """A new template of kernels needs a look at what of it is not C99."""
    from ckernels.export import portable

    known = {
        "check_indices",
        "cholesky",
        "convolve",  # in vectors, which C99 has not: refused
        "csr",
        "ctc",
        "ctc_beam",
        "ctc_collapse",
        "equal_bins",
        "expm",
        "fft",
        "gather",
        "interpolate",
        "interpolate_grad",
        "kernel",
        "lu",
        "matmul_of_bytes",
        "mrg",
        "mrg_choice",
        "own",
        "qr",
        "scan_columns",
        "scan_rows",
        "scatter",
        "searchsorted",
        "select",
        "steps",  # exports loop over steps themselves
        "sylvester",
        "system",
        "triangular",
        "triangular_vector",
    }
    found = {p.name.removesuffix(".c.in") for p in (PACKAGE / "templates").glob("*.c.in")}
    assert found == known
    for path in (PACKAGE / "templates").glob("*.in"):
        text = re.sub(r"/\*.*?\*/", "", portable.c99(path.read_text()), flags=re.S)
        text = re.sub(r"#if defined\(__(AVX2|AVX512F|x86_64)__\).*?#endif", "", text, flags=re.S)
        left = set(portable._LEFT.findall(text))
        # with FMA hardware; a count of bits, which is refused; a macro for all inline functions;
        # holes that take one more letter
        known = {"__builtin_fma", "__builtin_popcountll", "__attribute__"}
        known |= {"vector_size"} if path.name == "convolve.c.in" else set()
        assert left <= known | {x for x in left if f"{x}$F" in text}, path.name


def test_what_runs_in_numpy_is_refused_with_the_line():
    x = K.placeholder((4, 4), name="x")
    y = K.tanh(K.det(x))  # the line meant
    with pytest.raises(NotSupported, match="det cannot be exported: it runs in NumPy") as e:
        K.export(K.function([x], y), "unused")
    assert "the line meant" in str(e.value)


def test_kernels_in_vectors_are_refused_in_c99_with_the_line(tmp_path):
    x, w = K.placeholder((30,), name="x"), K.placeholder((5,), name="w")
    f = K.function([x, w], wrap(ops.convolve(x.node, w.node, 2, 30)))  # the line meant
    with pytest.raises(NotSupported, match=r"convolve\) is written with .*, which C99 has not"):
        K.export(f, tmp_path / "m")
    K.export(f, tmp_path / "n", target="native")


def test_sizes_that_are_not_known_are_asked_for():
    x = K.placeholder((None, 4), name="x")
    f = K.function([x], K.sum(x))
    with pytest.raises(ShapeError, match=r"input x has shape \(\?, 4\); say its sizes with shapes"):
        routine("f", f)
    with pytest.raises(ShapeError, match=r"declared with shape .* \(3, 5\) does not fit"):
        routine("f", f, {"x": (3, 5)})
    assert routine("f", f, {x: (3, 4)}).inputs == [("float32", (3, 4))]


def test_shapes_are_named_or_listed(tmp_path):
    x, w = K.placeholder((None, 4), name="x"), K.placeholder((None,), name="w")
    f = K.function([x, w], K.sum(x) + K.sum(w), name="total")
    for shapes in ([(3, 4), (2,)], ((3, 4), 2), {"x": (3, 4), "w": 2}, {x: (3, 4), 1: [2]}):
        assert [shape for _, shape in routine("f", f, shapes).inputs] == [(3, 4), (2,)]
    batched = routine("f", f, [None, 2], batch=5, write=rehearsal(False))
    assert [shape for _, shape in batched.inputs] == [(5, 4), (2,)]
    for shapes, sentence in (
        ([(3, 4)], "f has the inputs x, w: a shape for each makes 2, and 1 are given"),
        ({"z": (3, 4)}, "there is no input 'z': f has x, w"),
        ({7: (3, 4)}, "there is no input 7: f has x, w"),
        (3, "shapes must be a list"),
        ({"x": "a"}, "shape of the input x must be a sequence of integers"),
        ([(3, 4), 2.5], "shape of the input w must be"),
    ):
        with pytest.raises(CKernelsError, match=sentence):
            routine("f", f, shapes)
    g = K.function([x], x * 2)
    report = K.export({"f": f, "g": g}, tmp_path, shapes={"x": (3, 4), "w": (2,)})
    assert set(report.multiplied) == {"f", "g"}
    with pytest.raises(ArgumentError, match="several functions are a dict"):
        K.export({"f": f, "g": g}, tmp_path, shapes=[(3, 4)])


def test_sparse_inputs_are_refused_by_their_name():
    s = K.placeholder((None, 4), sparse=True, name="visits")
    f = K.function([s], K.dot(s, K.constant(np.ones((4, 2)))))
    for shapes in (None, {"visits": (2, 4)}):
        with pytest.raises(NotSupported, match=r"\(visits\)> takes sparse matrices"):
            K.export(f, "unused", shapes=shapes)


X = K.placeholder((3,), name="x")
ROWS = K.placeholder((None, 3), name="rows")
EXAMPLES = [
    ([(np.ones(3), np.ones(3), 1)], "an item of examples, .* must be a pair"),
    (3, "examples must be a list, not 3"),
    ([("g", [np.ones(3)])], "there is no function 'g' among f"),
    ([("f", 3)], "the arrays for f in examples must be a list"),
    ([("f", [])], "f takes 1 arrays, got 0"),
    ([("f", [np.ones(4)])], r"input 0 of f has shape \(4,\), and \(3,\) was declared"),
    ([("f", [["a"] * 3])], "input 0 of f is float32: could not convert"),
]


@pytest.mark.parametrize("examples, sentence", EXAMPLES, ids=range(len(EXAMPLES)))
def test_examples_that_do_not_fit_are_refused_in_words(examples, sentence, tmp_path):
    f = K.function([X], X * 2, name="f")
    with pytest.raises(CKernelsError, match=sentence):
        K.export(f, tmp_path, examples=examples)


def test_examples_of_open_sizes_have_their_rank(tmp_path):
    f = K.function([ROWS], ROWS * 2, name="f")
    K.export(f, tmp_path, batch=8, examples=[("f", [np.ones((4, 3))])])
    for shape in ((9, 3), (3,)):
        with pytest.raises(ArgumentError, match="examples: "):
            K.export(f, tmp_path, batch=8, examples=[("f", [np.ones(shape)])])


def test_random_numbers_that_a_function_refuses_ask_for_examples(tmp_path):
    ends = K.placeholder((4,), dtype="int32", name="ends")
    rows = K.sparse.CSR(K.ones((4,)), [0, 4, 1, 2], ends, (3, 5))
    f = K.function([ends], K.sparse.dense_from_sparse(rows), name="f")
    with pytest.raises(ArgumentError, match=r"give examples=\[\('f', arrays\)\].* indptr must"):
        K.export(f, tmp_path)
    K.export(f, tmp_path, examples=[("f", [[0, 2, 2, 4]])])


def test_shapes_that_data_decides_are_refused():
    x = K.placeholder((6,), name="x")
    with pytest.raises(NotSupported, match="follows from values"):
        routine("f", K.function([x], x[K.nonzero(x > 0)[0]]))


def test_wider_floats_are_refused_where_asked():
    x = K.placeholder((3,), name="x")
    f = K.function([x], K.cast(K.cast(x, "float64") * 3, "float32"))
    with pytest.raises(DTypeError, match="float64, and dtype='float32' was asked for"):
        routine("f", f, dtype="float32")
    routine("f", K.function([x], x * 3), dtype="float32")
