"""Flags: precedence, names, values, and what is never read or written."""

import json
import os
import re
import subprocess
import sys
import traceback
from pathlib import Path

import pytest

from ckernels.base.config import ALIASES, FLAGS, TABLE, Config, byte_size, config
from ckernels.base.errors import CKernelsWarning, ConfigError

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture
def home(tmp_path, monkeypatch):
    """An empty home, no flags in the environment."""
    monkeypatch.setenv("HOME", str(tmp_path))
    for name in ("CKERNELS_FLAGS", "KERAS_HOME"):
        monkeypatch.delenv(name, raising=False)
    return tmp_path


def keras_json(directory, **settings):
    directory.mkdir(parents=True, exist_ok=True)
    (directory / "keras.json").write_text(json.dumps(settings))


def test_defaults(home):
    fresh = Config()
    assert fresh.mode == "compiled" and fresh.floatX == "float32" and fresh.epsilon == 1e-7
    assert fresh.on_unused_input == "ignore" and fresh.cast_policy == "standard"
    assert fresh.image_data_format == "channels_last" and fresh.seed is None
    assert {fresh.origin(flag.name) for flag in FLAGS} == {"default"}


def test_precedence(home, monkeypatch):
    keras_json(home / ".keras", floatx="float64", epsilon=1e-3, image_data_format="channels_first")
    assert Config().floatX == "float64" and Config().epsilon == 1e-3
    assert Config().image_data_format == "channels_first"
    (home / ".ckernelsrc").write_text("[global]\nfloatX = float16\nmode = debug\n[cc]\ntimeout=7\n")
    assert Config().floatX == "float16" and Config().cc.timeout == 7.0
    assert Config().origin("mode") == str(home / ".ckernelsrc")
    monkeypatch.setenv("CKERNELS_FLAGS", "floatX=float64,mode=reference,floatx=float32")
    fresh = Config()
    assert fresh.floatX == "float32", "the right-most item wins"
    assert fresh.mode == "reference" and fresh.origin("mode") == "CKERNELS_FLAGS"
    assert fresh.epsilon == 1e-3 and fresh.cc.timeout == 7.0
    fresh.mode = "fast_compile"
    assert fresh.mode == "fast_compile" and fresh.origin("mode") == "code"


def test_values_may_hold_commas_and_equal_signs(home, monkeypatch):
    flags = "cc.cflags=-fsanitize=address,undefined -DX=1, mode=debug ,blas=/a,b.so"
    monkeypatch.setenv("CKERNELS_FLAGS", flags)
    fresh = Config()
    assert fresh.cc.cflags == "-fsanitize=address,undefined -DX=1"
    assert fresh.mode == "debug" and fresh.blas == "/a,b.so"


@pytest.mark.parametrize(
    "flags, words",
    [
        ("floatXX=float32", ["floatXX", "`floatX`", "CKERNELS_FLAGS"]),
        ("cc.cflag=-g", ["cc.cflag", "`cc.cflags`"]),
        ("cache.maxsize=1G", ["`cache.max_size`"]),
        ("mode=debgu", ["mode", "did you mean `debug`?"]),
        ("arch=x86-64-v9", ["x86-64-v2, x86-64-v3"]),
        ("cc.timeout=soon", ["a number"]),
        ("cc.timeout=-3", ["cc.timeout", "a number, 0 or more"]),
        ("epsilon=nan", ["epsilon", "a number, 0 or more"]),
        ("cache.max_files=-1", ["cache.max_files", "an integer, 0 or more"]),
        ("openmp_elemwise_minsize=-1", ["an integer, 0 or more"]),
        ("mode=fastest", ["mode", "fastest", "compiled, fast_compile", "CKERNELS_FLAGS"]),
        ("seed=one", ["seed", "an integer"]),
        ("openmp=maybe", ["openmp", "true or false"]),
        ("cache.max_size=big", ["cache.max_size", "512M"]),
        ("debug", ["name=value"]),
    ],
)
def test_errors_say_which_flag_and_where(home, monkeypatch, flags, words):
    monkeypatch.setenv("CKERNELS_FLAGS", flags)
    fresh = Config()
    for _ in range(2):  # an error is not forgotten after it was raised once
        with pytest.raises(ConfigError) as caught:
            fresh.mode  # noqa: B018
        assert all(word in str(caught.value) for word in words), str(caught.value)


def test_errors_in_files_name_the_file(home):
    (home / ".ckernelsrc").write_text("[global]\nmoode = debug\n")
    with pytest.raises(ConfigError, match=r"moode.*`mode`.*\.ckernelsrc"):
        Config().mode  # noqa: B018
    (home / ".ckernelsrc").write_text("mode = debug\n")
    with pytest.raises(ConfigError, match="not a valid ini file"):
        Config().mode  # noqa: B018


def test_keras_home_and_bad_keras_files(home, monkeypatch):
    monkeypatch.setenv("KERAS_HOME", str(home / "k"))
    keras_json(home / ".keras", floatx="float64")
    assert Config().floatX == "float32"
    keras_json(home / "k", floatx="float16", image_dim_ordering="th", backend="theano")
    assert Config().floatX == "float16" and Config().image_data_format == "channels_first"
    for text in ("{", "[]", '{"floatx": "float8"}'):
        (home / "k" / "keras.json").write_text(text)
        with pytest.warns(CKernelsWarning, match="keras.json"):
            assert Config().floatX == "float32"


def test_setting_and_changing(home):
    fresh = Config()
    with pytest.raises(ConfigError, match="did you mean `floatX`"):
        fresh.flotX = "float32"
    with pytest.raises(ConfigError):
        fresh.floatX = "float8"
    version = fresh.version
    with fresh.change({"cc.cflags": "-g", "floatx": "float64"}, openmp=False):
        assert fresh.cc.cflags == "-g" and fresh.floatX == "float64" and fresh.openmp is False
        assert fresh.version > version
    assert fresh.cc.cflags == "" and fresh.floatX == "float32" and fresh.openmp is True
    assert fresh.origin("floatX") == "default"
    with pytest.raises(ConfigError), fresh.change(mode="debug", openmp="perhaps"):
        pass
    assert fresh.mode == "compiled"
    fresh.cc.cflags = "-g"
    assert fresh["cc.cflags"] == "-g"


def test_sections_are_strings_too(home):
    fresh = Config()
    fresh.cache = "off"
    assert fresh.cache == "off" and fresh.cache.max_files == 20_000
    assert not hasattr(fresh, "nothing") and not hasattr(fresh.cache, "nothing")


def test_words_of_other_systems(home):
    fresh = Config()
    for word, meaning in (
        ("FAST_RUN", "compiled"),
        ("FAST_COMPILE", "fast_compile"),
        ("DebugMode", "debug"),
        ("DEBUG_MODE", "debug"),
    ):
        fresh.mode = word
        assert fresh.mode == meaning
    fresh.cast_policy = "numpy+floatX"
    assert fresh.cast_policy == "keep_float"


def test_names_of_other_systems(home, monkeypatch):
    monkeypatch.setenv("CKERNELS_FLAGS", "cxx=clang,gcc.cxxflags=-g -O1")
    fresh = Config()
    assert fresh.cc == "clang" and fresh.cc.cflags == "-g -O1"
    fresh.cxx = "gcc"
    assert fresh["cc"] == "gcc" and fresh.origin("cc") == "code"


def test_listing(home, monkeypatch):
    """Every flag with its value, default, meaning and where the value came from."""
    (home / ".ckernelsrc").write_text("[global]\nseed = 7\n")
    monkeypatch.setenv("CKERNELS_FLAGS", "arch=generic")
    fresh = Config()
    fresh.profile = True
    blocks = str(fresh).split("\n")
    assert len(blocks) == 3 * len(FLAGS)
    for flag, value, meaning, origin in zip(FLAGS, blocks[::3], blocks[1::3], blocks[2::3]):
        assert value.startswith(f"{flag.name} = ") and not value.endswith("= ")
        assert meaning == f"    {flag.meaning}" and origin.startswith("    default: ")
        assert origin.endswith(f"; from: {fresh.origin(flag.name)}")
    assert f"seed = 7\n    {TABLE['seed'].meaning}\n    default: None; from: {home}" in str(fresh)
    assert "arch = generic" in str(fresh) and "default: native; from: CKERNELS_FLAGS" in str(fresh)
    assert "profile = True" in str(fresh) and "default: False; from: code" in str(fresh)


def test_the_flags_the_manuals_name_are_there():
    wanted = """compiledir base_compiledir compiledir_format cxx cc cc.cflags arch cache
        cache.max_size cache.max_files cache.path openmp openmp_elemwise_minsize blas mode optimizer
        optimizer_including optimizer_excluding floatX cast_policy warn_float64 on_unused_input
        exception_verbosity profile print_progress seed""".split()
    assert not [name for name in wanted if ALIASES.get(name, name) not in TABLE]


def test_only_we_guess_which_flag_was_meant():
    """Python 3.12 and later append a guess of their own to most attribute errors."""
    with pytest.raises(AttributeError, match="did you mean `floatX`") as caught:
        config.floatY  # noqa: B018
    text = "".join(traceback.format_exception_only(caught.value))
    assert text.lower().count("did you mean") == 1, text


def test_every_flag_is_read_somewhere():
    """A flag nobody reads would be a promise nobody keeps."""
    texts = {
        p: p.read_text()
        for p in (ROOT / "ckernels").rglob("*.py")
        if p.name != "config.py" or p.parent.name == "api"
    }
    for flag in FLAGS:
        name = re.escape(flag.name)
        read = re.compile(rf"""config\.{name}\b|["']{name}["']""")
        assert any(read.search(text) for text in texts.values()), flag.name


@pytest.mark.parametrize(
    "text, size", [("1024", 1024), ("1k", 1024), ("2 GiB", 2 << 30), ("1.5M", 3 << 19), ("0", 0)]
)
def test_sizes(text, size):
    assert byte_size(text) == size


def test_defaults_are_values_their_flag_takes():
    for flag in FLAGS:
        assert flag.parse(str(flag.default)) == flag.default


def test_import_reads_and_writes_nothing(home):
    """The files are opened at the first use of a flag, and the home stays empty."""
    code = (
        "import sys; opened = []\n"
        "hook = lambda name, args: opened.append(str(args[0])) if name == 'open' else 0\n"
        "sys.addaudithook(hook)\n"
        "from ckernels.config import config\n"
        "mine = lambda: [p for p in opened if 'keras.json' in p or 'ckernelsrc' in p]\n"
        "assert not mine(), mine()\n"
        "config.mode\n"
        "assert len(mine()) == 1, mine()\n"
    )
    keras_json(home / ".keras", floatx="float32")
    before = (home / ".keras" / "keras.json").read_bytes()
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    done = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True)
    assert done.returncode == 0, done.stderr.decode()
    assert os.listdir(home) == [".keras"]
    assert (home / ".keras" / "keras.json").read_bytes() == before


def test_the_one_object():
    assert isinstance(config, Config) and "flags" in repr(config)


def test_without_a_home_no_file_is_read(home, monkeypatch):
    """Where nobody knows a home, `~` stays as it is: a folder of that name is none of ours."""
    monkeypatch.chdir(home)
    monkeypatch.setenv("HOME", "~")
    (home / "~" / ".keras").mkdir(parents=True)
    (home / "~" / ".ckernelsrc").write_text("[global]\ncc = evil\n")
    keras_json(home / "~" / ".keras", floatx="float64")
    assert Config().cc == "" and Config().floatX == "float32"


def test_where_the_compiledir_is(home, monkeypatch, tmp_path):
    """compiledir, else base_compiledir with compiledir_format below it, else the user's cache."""
    import platform

    from ckernels.compiler import directories

    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    below = f"{sys.platform}-{platform.machine()}"
    plain = {"compiledir": "", "base_compiledir": "", "compiledir_format": "{system}-{machine}"}
    with config.change(plain):
        assert directories.compiledir() == str(home / ".cache" / "ckernels" / below)
        monkeypatch.setenv("XDG_CACHE_HOME", "relative")
        assert directories.compiledir() == str(home / ".cache" / "ckernels" / below)
        monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "x"))
        assert directories.compiledir() == str(tmp_path / "x" / "ckernels" / below)
        config.base_compiledir = "~/base"
        assert directories.compiledir() == str(home / "base" / below)
        config.compiledir = str(tmp_path / "this one")
        assert directories.compiledir() == str(tmp_path / "this one")


@pytest.mark.parametrize(
    "text, name",
    [
        ("kernels", "kernels"),
        ("{python_version}-{abi}", None),
        ("k-%(python_version)s-%(abi)s", None),  # as Theano writes it
        ("{hostname}", None),
        ("{user}/{system}", None),
    ],
)
def test_the_name_of_the_compiledir(tmp_path, text, name):
    import platform

    from ckernels.compiler import cache, directories

    known = {
        "python_version": platform.python_version(),
        "abi": cache.ABI,
        "system": sys.platform,
        "hostname": platform.node(),
        "user": os.geteuid(),
    }
    name = name or (text % known if "%" in text else text.format(**known))
    with config.change(compiledir="", base_compiledir=str(tmp_path), compiledir_format=text):
        assert directories.compiledir() == str(tmp_path / name)


def test_a_format_with_an_unknown_word(tmp_path):
    from ckernels.compiler import directories

    with config.change(compiledir="", base_compiledir=str(tmp_path), compiledir_format="{gcc}"):
        with pytest.raises(ConfigError, match="knows system, platform, .*; not {gcc}"):
            directories.compiledir()
