"""Records of dims: Python's fields are C's, word for word, and dims begin with their words."""

import re
import shutil
import subprocess
from types import SimpleNamespace

import pytest

from build_tools.records import HEADER, MODULE, generate
from ckernels import _runtime
from ckernels.plan import records
from ckernels.plan.agreement import check_records
from ckernels.plan.instructions import words
from ckernels.plan.records import AxisDims, GemmDims, TransposeDims, WindowDims

STRUCTS = {
    "ck_gemm_dims": GemmDims,
    "ck_axis_dims": AxisDims,
    "ck_window_dims": WindowDims,
    "ck_transpose_dims": TransposeDims,
}


def test_the_module_is_what_the_header_says():
    assert generate(HEADER.read_text()) == MODULE.read_text(), "python -m build_tools.records"


@pytest.mark.parametrize(
    "before, now", [("trans_a, trans_b", "trans_b, trans_a"), ("near[5]", "near[4]")]
)
def test_another_header_is_another_module(before, now):
    text = HEADER.read_text()
    assert before in text
    assert generate(text.replace(before, now)) != MODULE.read_text()


def places(kind, at=0):
    """{name of a member, of structs in it too: its first word}."""
    found = {}
    for name in kind.FIELDS:
        count, inner = kind.NESTED.get(name, (1, None))
        found[name] = at
        if inner:
            found.update(
                (f"{name}[{k}].{member}", word)
                for k in range(count)
                for member, word in places(inner, at + k * inner.WORDS).items()
            )
        at += count * (inner.WORDS if inner else 1)
    assert at - min(found.values()) == kind.WORDS
    return found


def test_words_are_where_c_has_them(tmp_path):
    compiler = shutil.which("gcc") or shutil.which("cc")
    if compiler is None:
        pytest.skip("there is no C compiler")
    lines, expected = [], []
    for struct, kind in STRUCTS.items():
        for member, word in places(kind).items():
            lines.append(f"offsetof({struct}, {member}) / 8")
            expected.append(word)
        lines.append(f"sizeof({struct}) / 8")
        expected.append(kind.WORDS)
    ops = [name for name in vars(records) if name.isupper()]
    lines += [f"(size_t)CK_{name}" for name in ops] + ["(size_t)CK_NATIVES"]
    expected += [getattr(records, name) for name in ops] + [len(ops)]
    source = tmp_path / "words.c"
    source.write_text(
        f'#include <stddef.h>\n#include <stdio.h>\n#include "{HEADER}"\n'
        f"static const size_t words[] = {{{', '.join(lines)}}};\n"
        f"int main(void) {{ for (int i = 0; i < {len(lines)}; i++) "
        'printf("%zu\\n", words[i]); }\n'
    )
    subprocess.run([compiler, source, "-o", tmp_path / "words"], check=True)
    out = subprocess.run([tmp_path / "words"], check=True, capture_output=True, text=True).stdout
    assert [int(n) for n in out.split()] == expected
    assert len(expected) > 70


def test_the_runtime_counts_the_same_words():
    assert (_runtime.GEMM_WORDS, _runtime.NATIVE_WORDS) == (GemmDims.WORDS, WindowDims.WORDS)
    assert TransposeDims.WORDS == WindowDims.WORDS
    check_records(_runtime)


def test_a_runtime_of_other_sources_is_refused():
    old = SimpleNamespace(__file__="_runtime.so", GEMM_WORDS=16, NATIVE_WORDS=35)
    with pytest.raises(ImportError, match=r"_runtime.so was built from other .* \(16, 35\) words"):
        check_records(old)


def record_of(kind, numbers):
    """A record with the next of these numbers in its fields, one after the other."""
    values = []
    for name in kind.FIELDS:
        count, inner = kind.NESTED.get(name, (None, None))
        many = [record_of(inner, numbers) if inner else next(numbers) for _ in range(count or 1)]
        values.append(many[0] if count is None else tuple(many))
    return kind(*values)


@pytest.mark.parametrize("kind", STRUCTS.values(), ids=lambda kind: kind.__name__)
def test_words_of_a_record_are_in_the_order_of_its_fields(kind):
    dims = list(range(100, 100 + kind.WORDS))
    record = record_of(kind, iter(dims))
    assert words(record) == dims
    for name, word in places(kind).items():
        value = record
        for part in re.findall(r"\w+", name):
            value = value[int(part)] if part.isdigit() else getattr(value, part)
        assert (words(value) if isinstance(value, tuple) else [value])[0] == dims[word]


def test_fields_are_named_once():
    axis = AxisDims(7, 5, kernel=3, stride=1, dilation=1, low=0)
    assert axis.size == 7 and axis.but(low=1) == (7, 5, 3, 1, 1, 1)
    with pytest.raises(TypeError, match="AxisDims wants dilation, low, not dilation, pad"):
        AxisDims(7, 5, 3, 1, dilation=1, pad=0)
    with pytest.raises(TypeError, match="AxisDims wants size"):
        axis.but(pad=0)
