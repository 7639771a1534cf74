"""`ckernels explain`, `draw`, `bench`: functions of a program, looked at and timed."""

import json

import numpy as np
import pytest

import ckernels as K
from ckernels.base.errors import ArgumentError, NotSupported
from ckernels.cli import main, programs

PROGRAM = """
import numpy as np
import ckernels as K

x, t = K.placeholder((None, 3), name="x"), K.placeholder((None,), dtype="int64", name="t")
w = K.variable(np.ones((3, 2)), name="w")
y = K.softmax(K.dot(x, w))
loss = K.mean(K.sparse_categorical_crossentropy(y, t))
train = K.function([x, t], [loss], [K.update_sub(w, 0.1 * K.grad(loss, w))])
called = K.function([x], y)
called(np.ones((5, 3)))
number = 3

def energy(a, scale):
    a *= scale
    return (np.exp(-a * a)).sum()

def broken(a, scale):
    raise RuntimeError("no such thing")

given = (np.ones(1000), 1.0)
"""


@pytest.fixture
def program(tmp_path):
    path = tmp_path / "program.py"
    path.write_text(PROGRAM)
    return str(path)


def test_explain_says_what_steps_do(program, capsys):
    assert main(["explain", f"{program}:called"]) == 0
    assert "matmul" in capsys.readouterr().out
    assert main(["explain", f"{program}:train", "--batch", "4", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["function"] == "train" and found["steps"]


def test_explain_and_draw_take_functions_of_numpy(program, capsys, tmp_path):
    assert main(["explain", f"{program}:energy", "--arguments", "given", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["steps"] == ["0: mul+square+neg+exp+sum"] and "a trace of" in found["explanation"]
    page = tmp_path / "energy.html"
    assert main(["draw", f"{program}:energy", str(page), "--arguments", "given"]) == 0
    assert "energy" in page.read_text()


def test_a_function_is_called_with_the_shapes_that_were_asked_for(program):
    train, *_ = programs.loaded(f"{program}:train")
    x, t = programs.inputs_of(train, 7, {"x": (2, 3)})
    assert x.shape == (2, 3) and x.dtype == np.float32
    assert t.shape == (7,) and t.dtype == np.int64 and set(t) <= {0, 1}
    with pytest.raises(ArgumentError, match="no input named z"):
        programs.inputs_of(train, 7, {"z": (2,)})


@pytest.mark.parametrize("dtype", ["float16", "float64", "uint8", "bool", "complex64", "int8"])
def test_inputs_of_any_dtype_fit(dtype):
    a = K.placeholder((None, 0, 2), dtype=dtype, name="a")
    (found,) = programs.inputs_of(K.function([a], a), 3, {})
    assert found.dtype == dtype and found.shape == (3, 0, 2)


def test_draw_writes_a_page(program, tmp_path, capsys):
    assert main(["draw", f"{program}:called", str(tmp_path / "a.html")]) == 0
    assert "<html" in (tmp_path / "a.html").read_text()


@pytest.mark.parametrize("name", ["train", "energy"])
def test_bench_times_in_turns(program, name, capsys, monkeypatch):
    monkeypatch.setattr(programs, "BUDGET", 0.01)
    more = ["--arguments", "given"] if name == "energy" else ["--batch", "4"]
    assert main(["bench", f"{program}:{name}", "--json", *more]) == 0
    rows = json.loads(capsys.readouterr().out)["rows"]
    assert {r["who"] for r in rows} >= {"ckernels", "NumPy"}
    assert all(0 < r["seconds"] and 0 < r["first"] for r in rows)
    assert main(["bench", f"{program}:{name}", *more]) == 0
    assert "ckernels" in capsys.readouterr().out


@pytest.mark.parametrize("command", ["explain", "draw", "export"])
def test_what_a_program_prints_is_not_in_json(command, program, tmp_path, capsys):
    with open(program, "a") as file:
        file.write("\nimport sys\nprint('said by', sys.argv[1:])\n")
    more = {"draw": [f"{tmp_path}/a.svg"], "export": [f"{tmp_path}/c", "--shape", "x=2,3"]}
    assert main([command, f"{program}:called", "--json", *more.get(command, [])]) == 0
    said = capsys.readouterr()
    assert json.loads(said.out) and "said by []" in said.err


def test_draw_has_a_file_by_itself(program, tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert main(["draw", f"{program}:called"]) == 0
    assert capsys.readouterr().out == "called.html\n" and (tmp_path / "called.html").exists()


def test_a_program_that_ends_itself_is_told(program, capsys):
    with open(program, "a") as file:
        file.write("\nraise SystemExit(3)\n")
    assert main(["explain", f"{program}:called"]) == 1
    assert "ended by sys.exit(3)" in capsys.readouterr().err


@pytest.mark.parametrize(
    "word, meant",
    [
        ("cache", "ckernels-cache"),
        ("explan", "ckernels explain"),
        ("version", "ckernels --version"),
        ("zzz", "--help"),
    ],
)
def test_a_command_that_is_none_says_which_was_meant(word, meant, capsys):
    with pytest.raises(SystemExit):
        main([word])
    assert f"no command '{word}'" in (said := capsys.readouterr().err) and meant in said


def test_options_that_are_none_show_those_of_the_command(program, capsys):
    with pytest.raises(SystemExit):
        main(["draw", f"{program}:train", "-o", "page.html"])
    said = capsys.readouterr().err
    assert "ckernels draw [-h]" in said and "unrecognized arguments: -o page.html" in said


def test_bench_changes_no_arguments(program, monkeypatch):
    """Functions that write into their arguments get copies."""
    monkeypatch.setattr(programs, "BUDGET", 0.01)
    given = (np.arange(3.0),)

    def doubled(a):
        a[0] += 2
        return a

    programs.in_turns({"ckernels": doubled, "NumPy": doubled}, given)
    assert given[0].tolist() == [0, 1, 2]


@pytest.mark.parametrize(
    "words, said",
    [
        (
            ["explain", "{}:nothing"],
            "has no nothing at its top level, but the functions train, called, energy, broken",
        ),
        (["explain", "{}:tain"], "did you mean train?"),
        (["explain", "{}"], "it has the functions train, called, energy, broken"),
        (["explain", "{}:a b"], "say program.py:function"),
        (["explain", "train"], "say program.py:function"),
        (["explain", "{}:energy"], "energy is a NumPy function: say with --arguments"),
        (["explain", "{}:energy", "--arguments", "gven"], "the program has no gven at its top"),
        (["explain", "{}:broken", "--arguments", "given"], "RuntimeError: no such thing"),
        (["explain", "{}:number"], "number is no function, but int"),
        (["draw", "{}:called", "{}/no/a.html"], "a.html cannot be written: "),
        (["explain", "missing.py:f"], "there is no file missing.py"),
        (["bench", "{}:number"], "no function, but int"),
        (["bench", "{}:energy"], "say with --arguments"),
        (["bench", "{}:energy", "--arguments", "absent"], "say with --arguments"),
        (["draw", "{}:called", "a.tiff"], ".html"),
    ],
)
def test_mistakes_are_told_in_words(program, words, said, capsys):
    assert main([w.format(program) for w in words]) == 1
    assert said in capsys.readouterr().err


def test_a_call_that_fails_is_told(program, capsys):
    with pytest.raises(NotSupported, match="no such thing"):
        value, _, space = programs.loaded(f"{program}:broken")
        programs.in_turns({"ckernels": value}, space["given"])


@pytest.mark.parametrize("seconds, text", [(2.5, "2.5 s"), (3e-3, "3 ms"), (4.25e-6, "4.25 us"),
                                           (8e-8, "80 ns")])  # fmt: skip
def test_times_have_a_unit(seconds, text):
    assert programs.took(seconds) == text
