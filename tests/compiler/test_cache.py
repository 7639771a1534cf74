"""The compiledir's promises: a real compiler, real files and, where it matters, processes."""

import logging
import os
import random
import shutil
import stat
import tempfile
import time

import pytest

from ckernels import compiler
from ckernels.base.config import config
from ckernels.compiler import build, cache, process

compiler_there = shutil.which("cc") or shutil.which("gcc") or shutil.which("clang")
pytestmark = pytest.mark.skipif(not compiler_there, reason="needs a C compiler")


def entry(directory, key):
    return directory / f"{key}.so"


def temporaries(directory):
    return [name for name in os.listdir(directory) if name.startswith("tmp-")]


def test_second_process_finds_what_the_first_built(compiledir, source, call, expected, restart):
    first = build([source(n) for n in range(5)])
    assert (first.built, first.from_cache) == (5, 0)
    again = build([source(n) for n in range(5)])
    assert (again.built, again.from_cache, again.addresses) == (0, 0, first.addresses)
    restart()
    second = build([source(n) for n in range(5)])
    assert second.built == 0 and second.from_cache == 5 and second.keys == first.keys
    for n, address in enumerate(second.addresses):
        assert call(address) == expected(n)


def test_directory_is_private_and_entries_are_links(compiledir, source):
    made = build([source(n) for n in range(4)])
    assert stat.S_IMODE(compiledir.stat().st_mode) == 0o700
    assert {stat.S_IMODE(item.stat().st_mode) for item in compiledir.iterdir()} == {0o600}
    inodes = {entry(compiledir, key).stat().st_ino for key in made.keys}
    assert len(inodes) < len(made.keys) or process.usable_cores() >= 4
    assert not temporaries(compiledir)
    assert made.paths == [str(entry(compiledir, key)) for key in made.keys]


def test_same_source_twice_in_one_build(compiledir, source):
    made = build([source(1), source(1)])
    assert made.built == 1 and made.addresses[0] == made.addresses[1]


def damaged(data, rng):
    """Every way of spoiling a file this test knows, as (what, bytes)."""
    size = len(data)
    for cut in (0, 1, 63, 64, 1000, size // 2, size - 1):
        yield f"cut at {cut}", data[:cut]
    yield "longer", data + b"\0"
    for offset in rng.sample(range(size), 200):
        flipped = bytearray(data)
        flipped[offset] ^= 1 << rng.randrange(8)
        yield f"bit at {offset}", bytes(flipped)
    for offset in rng.sample(range(size - 512), 200):
        hole = data[:offset] + bytes(512) + data[offset + 512 :]
        if hole != data:
            yield f"hole at {offset}", hole


def test_no_damaged_entry_passes(compiledir, source):
    (key,) = build([source(1)]).keys
    data = entry(compiledir, key).read_bytes()
    assert cache.unseal(data, key)
    for what, bad in damaged(data, random.Random(1)):
        with pytest.raises(ValueError):
            cache.unseal(bad, key)
            pytest.fail(what)


def test_damaged_entries_are_rebuilt(compiledir, source, call, expected, restart, caplog):
    made = build([source(n) for n in range(3)])
    path = entry(compiledir, made.keys[0])
    data = path.read_bytes()
    for bad in (data[: len(data) // 2], data[:100] + b"\xff" + data[101:], b""):
        path.write_bytes(bad)
        restart()
        caplog.clear()
        with caplog.at_level(logging.WARNING, "ckernels.cache"):
            again = build([source(n) for n in range(3)])
        assert again.built >= 1 and again.keys == made.keys
        assert [call(address) for address in again.addresses] == [expected(n) for n in range(3)]
        assert any("building it again" in record.message for record in caplog.records)
        assert not cache.current().verify()


def test_swapped_entries_are_rebuilt(compiledir, source, call, expected, restart):
    a, b = build([source(1)]), build([source(2)])
    one, two = entry(compiledir, a.keys[0]), entry(compiledir, b.keys[0])
    spare = one.read_bytes()
    one.write_bytes(two.read_bytes())
    two.write_bytes(spare)
    restart()
    assert len(cache.current().verify()) == 2
    made = build([source(1), source(2)])
    assert made.built == 2
    assert [call(address) for address in made.addresses] == [expected(1), expected(2)]


def test_spoiling_a_loaded_entry_reaches_nobody(compiledir, source, call, expected):
    made = build([source(1)])
    with open(entry(compiledir, made.keys[0]), "r+b") as stream:
        stream.truncate(0)
    assert call(made.addresses[0]) == expected(1)


def test_symlink_or_foreign_entry_is_not_followed(compiledir, source, restart, tmp_path):
    made = build([source(1)])
    path = entry(compiledir, made.keys[0])
    path.rename(tmp_path / "elsewhere.so")
    path.symlink_to(tmp_path / "elsewhere.so")
    restart()
    assert build([source(1)]).built == 1
    path.chmod(0o666)
    restart()
    assert build([source(1)]).built == 1


@pytest.mark.rest
def test_racing_processes(compiledir, python, finish):
    code = f"""
    config.compiledir = {str(compiledir)!r}
    check(*range(6))
    """
    started = [python(code) for _ in range(6)]
    for each in started:
        finish(each)
    assert not temporaries(compiledir)
    assert cache.Cache(str(compiledir)).verify() == []
    finish(python(code + "assert check(*range(6)).built == 0"))


@pytest.mark.rest
def test_kill_during_build(compiledir, python, finish):
    code = f"""
    config.compiledir = {str(compiledir)!r}
    print("ready", flush=True)
    check(*range({{0}}, {{0}} + 4))
    """
    rng = random.Random(2)
    for attempt in range(8):
        victim = python(code.format(10 * attempt))
        victim.stdout.readline()
        time.sleep(rng.uniform(0.0, 0.12))
        victim.kill()
        victim.communicate()
    for attempt in (0, 7):
        finish(python(code.format(10 * attempt)))
    store = cache.Cache(str(compiledir))
    assert store.verify() == []
    for name in temporaries(compiledir):
        os.utime(compiledir / name, (0, 0))
    store.sweep()
    assert not temporaries(compiledir)


@pytest.mark.rest
def test_clear_while_others_build(compiledir, python, finish):
    builder = python(f"""
    from ckernels import compiler
    config.compiledir = {str(compiledir)!r}
    for turn in range(12):
        compiler._loaded.clear()
        check(turn % 3, 100 + turn)
    """)
    store = cache.Cache(str(compiledir))
    cleared = 0
    while builder.poll() is None:
        for _, _, keys in store.entries():
            cleared += len(keys)
            for key in keys:
                store.remove(key)
        store.forget()
        time.sleep(0.005)
    finish(builder)
    assert cleared and store.verify() == []


def test_deleted_directory_is_made_again(compiledir, source, call, expected):
    build([source(1)])
    shutil.rmtree(compiledir)
    made = build([source(2)])
    assert call(made.addresses[0]) == expected(2)
    assert entry(compiledir, made.keys[0]).exists()


def test_unwritable_directory(python, finish):
    directory = tempfile.mkdtemp(dir="/tmp")  # tmp_path is closed to the user this test becomes
    private = tempfile.mkdtemp(dir="/tmp")
    os.chmod(private, 0o1777)
    out, err = finish(
        python(f"""
    import tempfile
    with config.change(cache="off"):
        check(9)  # imports everything: the next user may not be able to read Python's library
    tempfile.tempdir = {private!r}
    if os.getuid() == 0:  # nothing is read-only to root
        os.chown({directory!r}, 65534, 65534)
        os.setuid(65534)
    os.chmod({directory!r}, 0o555)
    config.compiledir = {directory!r}
    check(1)
    made = check(1, 2)
    print(made.built)
    """)
    )
    assert out == "1\n"
    assert err.count("kernels are kept in") == len(err.splitlines()) == 1
    assert os.listdir(directory) == []
    (kept,) = os.listdir(private)
    assert kept.startswith("ckernels-") and any(
        name.endswith(".so") for name in os.listdir(os.path.join(private, kept))
    )
    shutil.rmtree(private)
    os.rmdir(directory)


@pytest.mark.sampled(0)
@pytest.mark.parametrize("home", ["/dev/null/home", None])
def test_no_home(home, python, finish, tmp_path):
    if home is None:  # a home that is a file
        (tmp_path / "file").write_text("")
        home = str(tmp_path / "file")
    for temporary, built, words in (
        ("/dev/null", "1", "live in memory only"),
        (str(tmp_path), "1", "are kept in"),
        (str(tmp_path), "0", "are kept in"),
    ):
        out, err = finish(
            python(
                f"""
        import tempfile
        tempfile.tempdir = {temporary!r}
        print(check(3).built)
        """,
                HOME=home,
                CKERNELS_FLAGS="",
            )
        )
        assert out == built + "\n" and err.count(words) == len(err.splitlines()) == 1, err


def test_directory_that_is_a_file_or_open_to_all(tmp_path, source, call, expected, restart, caplog):
    (tmp_path / "file").write_text("")
    (tmp_path / "open").mkdir()
    (tmp_path / "open").chmod(0o777)
    for number, name in enumerate(("file", "open")):
        restart()
        with config.change({"compiledir": str(tmp_path / name)}):
            caplog.clear()
            made = build([source(number)])
            assert call(made.addresses[0]) == expected(number) and made.built == 1
            assert sum("cannot be used" in r.message for r in caplog.records) == 1
    restart()
    assert list((tmp_path / "open").iterdir()) == []


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() != 0, reason="needs chown")
def test_directory_of_another_user(compiledir, source, call, expected):
    compiledir.mkdir(mode=0o700)
    os.chown(compiledir, 65534, 65534)
    made = build([source(4)])
    assert call(made.addresses[0]) == expected(4)
    assert list(compiledir.iterdir()) == []


def test_awkward_path(tmp_path, source, restart):
    directory = tmp_path / "a b'c\"d\u00e9:,=$HOME\n" / ("x" * 200)
    directory.parent.mkdir()
    with config.change({"compiledir": str(directory)}):
        restart()
        assert build([source(5)]).built == 1
        restart()
        assert build([source(5)]).from_cache == 1
    restart()


def test_off_and_readonly(compiledir, source, restart):
    with config.change(cache="off"):
        restart()
        assert build([source(6)]).built == 1
        assert not compiledir.exists()
    with config.change(cache="readonly"):
        restart()
        assert build([source(6)]).built == 1
        assert not compiledir.exists()
    restart()
    build([source(6)])
    before = sorted(os.listdir(compiledir))
    with config.change(cache="readonly"):
        restart()
        assert build([source(6)]).from_cache == 1
        assert build([source(7)]).built == 1
        with config.change(arch="generic"):  # a compiler nobody has asked about yet
            assert build([source(6)]).built == 1
            with pytest.raises(compiler.CompileError):
                build([source(8)._replace(text="broken")])
        assert sorted(os.listdir(compiledir)) == before


def test_read_only_layer(compiledir, source, restart, tmp_path):
    build([source(8)])
    layer = tmp_path / "layer"
    compiledir.rename(layer)
    before = sorted(os.listdir(layer))
    with config.change({"cache.path": f"{tmp_path / 'missing'}{os.pathsep}{layer}"}):
        restart()
        made = build([source(8), source(9)])
        assert (made.built, made.from_cache) == (1, 1)
    assert sorted(os.listdir(layer)) == before
    assert not entry(compiledir, made.keys[0]).exists()
    assert entry(compiledir, made.keys[1]).exists()


def test_full_disk_costs_one_line(compiledir, source, call, expected, monkeypatch, caplog):
    def refuse(*args):
        raise OSError(28, "No space left on device")

    build([source(1)])
    monkeypatch.setattr(process, "write_temporary", refuse)
    made = [build([source(n)]) for n in (2, 3)]
    assert [call(each.addresses[0]) for each in made] == [expected(2), expected(3)]
    assert sum("No space left" in record.message for record in caplog.records) == 1


def test_without_hard_links(compiledir, source, restart, monkeypatch):
    def refuse(*args):
        raise OSError(1, "Operation not permitted")

    monkeypatch.setattr(os, "link", refuse)
    build([source(n) for n in range(4)])
    restart()
    assert build([source(n) for n in range(4)]).from_cache == 4


def test_least_recently_used_go_first(compiledir, source, restart):
    keys = [build([source(n)]).keys[0] for n in range(6)]
    for age, key in enumerate(keys):
        os.utime(entry(compiledir, key), (1e9 - age, 1e9 - age))
    restart()
    build([source(5)])  # the oldest by mtime is used, so it becomes the youngest
    store = cache.current()
    size, files = store.usage()
    with config.change({"cache.max_files": files - 1}):
        assert store.evict() >= 1
        left = [key for key in keys if entry(compiledir, key).exists()]
        assert keys[5] in left and keys[4] not in left and keys[0] in left
        assert store.usage()[1] <= files - 1
    with config.change({"cache.max_size": size // 3}):
        build([source(7)])
        assert store.usage()[0] <= size // 3


def test_fork_in_the_middle(compiledir, source, call, expected):
    build([source(1)])
    compiler._building["0" * 64] = compiler.Pending()  # a thread of the parent is at work
    child = os.fork()
    if child == 0:
        good = not compiler._building and call(build([source(2)]).addresses[0]) == expected(2)
        os._exit(0 if good else 1)
    compiler._building.clear()
    assert os.waitpid(child, 0)[1] == 0


def test_threads_build_each_kernel_once(compiledir, source, call, expected):
    import threading

    made = []
    threads = [
        threading.Thread(target=lambda: made.append(build([source(1), source(2)])))
        for _ in range(8)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(made) == 8 and sum(each.built for each in made) == 2
    assert len({tuple(each.addresses) for each in made}) == 1


def test_key_sees_what_decides_and_nothing_else(compiledir, source):
    tools = compiler.current_toolchain()
    base = compiler.key_of(source(1), tools)
    one = source(1)
    assert compiler.key_of(one._replace(meta={"x": 1}), tools) == base
    changed = [
        (one._replace(text=one.text + " "), tools),
        (one._replace(name="k_other"), tools),
        (one._replace(snippets=()), tools),
        (one._replace(flags=("-mprefer-vector-width=512",)), tools),
        (one, tools._replace(version="13.1")),
        (one, tools._replace(path="/opt/cc")),
        (one, tools._replace(stamp="1:2")),
        (one, tools._replace(macros="0" * 64)),
        (one, tools._replace(flags=(*tools.flags, "-g"))),
    ]
    keys = {compiler.key_of(*each) for each in changed}
    with config.change({"cc.cflags": "-DX=1"}):
        keys.add(compiler.key_of(one, tools))
    assert base not in keys and len(keys) == len(changed) + 1


def test_key_is_the_same_in_any_process(compiledir, source, python, finish, tmp_path):
    key = compiler.key_of(source(1), compiler.current_toolchain())
    os.mkdir(tmp_path / "other")
    code = "os.chdir('other'); print(build([source(1)]).keys[0])"
    for seed in ("0", "1"):
        out, _ = finish(python(code, PYTHONHASHSEED=seed, LANG="C", TZ="Asia/Tokyo"))
        assert out.strip() == key


def test_notes(compiledir, source):
    made = build([source(1)._replace(meta={"graph": "a + b"})])
    note = cache.current().note(made.keys[0])
    assert note["meta"] == {"graph": "a + b"} and "twice(a[i])" in note["source"]
    tools = compiler.current_toolchain()
    assert note["key"] == made.keys[0] and note["name"] == "k_test_1"
    assert note["compiler"] == tools.identity and note["flags"] == list(tools.flags)
    written = time.mktime(time.strptime(note["date"][:19], "%Y-%m-%dT%H:%M:%S"))
    assert abs(time.time() - written) < 86400
    os.unlink(cache.current().path(made.keys[0], ".json"))
    assert cache.current().note(made.keys[0]) == {} and cache.current().verify() == []
