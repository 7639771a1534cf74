"""The commands, run as commands, on a compiledir with real kernels."""

import json
import os
import re
import shutil
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

from ckernels import cli, compiler
from ckernels.base.config import config
from ckernels.compiler import KernelSource, build, cache

ROOT = Path(__file__).resolve().parents[1]
pytestmark = pytest.mark.skipif(
    not (shutil.which("cc") or shutil.which("gcc") or shutil.which("clang")),
    reason="needs a C compiler",
)


def kernel(number):
    name = f"k_cli_{number}"
    head = f"int {name}(void *const *p, const int64_t *dims, int64_t lo, int64_t hi)"
    body = f"{{ (void)p; (void)dims; return (int)(lo + hi) * {number}; }}\n"
    return KernelSource(name, f"{head} {body}", meta={"number": number})


@pytest.fixture
def filled(tmp_path):
    """A compiledir with three kernels: (path, keys)."""
    directory = tmp_path / "kernels"
    with config.change({"compiledir": str(directory)}):
        for store in (compiler._loaded, compiler._toolchains, cache._opened):
            store.clear()
        keys = [build([kernel(n)]).keys[0] for n in range(3)]
        yield directory, keys
    for store in (compiler._loaded, compiler._toolchains, cache._opened):
        store.clear()


@pytest.fixture
def run(filled, capsys):
    """run("list", ...) -> (status, output) of ckernels-cache on that compiledir."""

    def command(*words):
        status = cli.cache_main(list(words))
        return status, capsys.readouterr().out

    return command


def test_path_list_stats(run, filled):
    directory, keys = filled
    assert run("path") == (0, f"{directory}\n")
    assert json.loads(run("path", "--json")[1])["path"] == str(directory)
    status, text = run("list")
    assert status == 0 and len(text.splitlines()) == 3 and "k_cli_2" in text
    rows = json.loads(run("list", "--json")[1])
    assert {row["key"] for row in rows} == set(keys) and all(row["bytes"] > 0 for row in rows)
    stats = json.loads(run("stats", "--json")[1])
    assert stats["kernels"] == 3 and stats["bytes"] == cache.current().usage()[0]
    assert "3 kernels" in run("stats")[1]


def test_show(run, filled):
    status, text = run("show", filled[1][1][:20])
    assert status == 0 and "name: k_cli_1" in text and "return (int)(lo + hi) * 1" in text
    assert json.loads(run("show", filled[1][1], "--json")[1])["meta"] == {"number": 1}
    assert run("show", "zz")[0] == 1 and run("show", "")[0] == 1


def test_verify_and_gc(run, filled):
    directory, keys = filled
    assert run("verify") == (0, "3 kernels and 0 plans are whole\n0 bad entries\n")
    path = directory / f"{keys[0]}.so"
    path.write_bytes(path.read_bytes()[:-1])
    status, text = run("verify", "--keep")
    assert status == 1 and text.startswith(keys[0]) and path.exists()
    status, text = run("verify", "--json")
    assert status == 1 and json.loads(text) == [
        {"key": keys[0], "reason": json.loads(text)[0]["reason"], "removed": True}
    ]
    assert not path.exists() and run("verify")[0] == 0
    stale = directory / "tmp-1-00"
    stale.write_text("")
    assert "0 stale" in run("gc")[1] and stale.exists()
    os.utime(stale, (0, 0))
    assert "1 stale" in run("gc")[1] and not stale.exists()
    with config.change({"cache.max_files": 1}):
        assert "2 kernels evicted" in run("gc")[1]
        assert json.loads(run("gc", "--json")[1])["evicted"] == 0


def test_clear(run, filled, monkeypatch):
    directory, keys = filled
    (directory / "mine.txt").write_text("not yours")
    monkeypatch.setattr("builtins.input", lambda: "n")
    assert run("clear")[0] == 1 and len(list(directory.glob("*.so"))) == 3
    monkeypatch.setattr("sys.stdin.isatty", lambda: True, raising=False)
    assert run("clear", "--older-than", "30d")[0] == 0  # nothing is that old: nobody is asked
    os.utime(directory / f"{keys[0]}.so", (0, 0))
    assert run("clear", "--older-than", "30d")[0] == 1 and len(list(directory.glob("*.so"))) == 3
    monkeypatch.setattr("sys.stdin.isatty", lambda: False, raising=False)  # as cron has it
    status, text = run("clear", "--older-than", "30d")
    assert status == 0 and text.startswith("1 kernel and 0 plans deleted, ")
    assert "2 kernels kept" in text
    assert not (directory / f"{keys[0]}.so").exists()
    status, text = run("clear", "--yes")
    assert status == 0 and text.startswith("2 kernels and 0 plans deleted, ")
    assert "KiB freed" in text
    assert [item.name for item in directory.iterdir()] == ["mine.txt"]
    assert run("clear", "--yes")[0] == 0


def test_what_is_deleted_as_json(run, filled, monkeypatch):
    directory, keys = filled
    monkeypatch.setattr("builtins.input", lambda: "n")
    status, text = run("clear", "--json")
    assert (status, json.loads(text)["kernels"]) == (1, 0) and directory.exists()
    found = json.loads(run("clear", "--yes", "--json")[1])
    assert found["kernels"] == len(keys) and found["plans"] == 0 and found["bytes"] > 0
    assert json.loads(run("unlock", "--json")[1]) == {"locks": 0}
    assert json.loads(run("basecompiledir", "--json")[1]) == {"path": str(directory.parent)}
    (row,) = json.loads(run("basecompiledir", "list", "--json")[1])
    assert row["path"] == str(directory)
    status, text = run("purge", "--json")
    assert (status, json.loads(text)) == (1, {"deleted": [], "bytes": 0}) and directory.exists()
    found = json.loads(run("purge", "--yes", "--json")[1])
    assert found["deleted"] == [str(directory)] and not directory.exists()
    assert json.loads(run("basecompiledir", "purge", "--yes", "--json")[1])["deleted"] == []


def test_every_command_of_the_compiledir_prints_json():
    (commands,) = [a.choices for a in cli.cache_parser()._actions if a.choices]
    lacking = [n for n, c in commands.items() if "--json" not in c._option_string_actions]
    assert lacking == ["keys"]  # of tab completion


def test_looking_creates_nothing(tmp_path, capsys):
    with config.change({"compiledir": str(tmp_path / "absent")}):
        for words in (["list"], ["stats"], ["verify"], ["gc"], ["clear", "--yes"], ["path"]):
            assert cli.cache_main(words) == 0
    assert not (tmp_path / "absent").exists()


def test_the_words_of_theano_cache(run, filled, monkeypatch):
    directory, _ = filled
    above, other, mine = directory.parent, directory.parent / "other", directory.parent / "mine"
    for folder, name in ((other, "k.so"), (mine, "notes.txt")):
        folder.mkdir()
        (folder / name).write_text("x")
    (above / "link").symlink_to(other)
    assert run("basecompiledir") == (0, f"{above}\n")
    status, text = run("basecompiledir", "list")
    assert status == 0 and [line.split("\t")[0] for line in text.splitlines()] == [
        "kernels",
        "other",
    ]
    assert run("unlock")[0] == 0 and "stale" in run("cleanup")[1]
    for answer in ("n", EOFError()):

        def answered(answer=answer):
            if isinstance(answer, str):
                return answer
            raise answer

        monkeypatch.setattr("builtins.input", answered)
        assert run("purge")[0] == 1 and directory.exists()
    assert run("purge", "--yes")[0] == 0 and not directory.exists() and other.exists()
    assert run("purge", "--yes") == (0, "0 compiledirs, 0 B deleted\n")
    assert run("basecompiledir", "purge", "--yes")[0] == 0
    assert not other.exists() and (mine / "notes.txt").exists()


def test_hits_and_order(run, filled):
    """Loads by other processes are counted; `--sort hits` puts the busiest first."""
    keys = filled[1]
    for number, count in ((1, 3), (2, 1)):
        for _ in range(count):
            compiler._loaded.clear()
            assert build([kernel(number)]).from_cache == 1
    rows = json.loads(run("list", "--json", "--sort", "hits")[1])
    assert [(row["key"], row["hits"]) for row in rows] == [(keys[1], 3), (keys[2], 1), (keys[0], 0)]
    assert json.loads(run("stats", "--json")[1])["hits"] == 4
    assert json.loads(run("show", keys[1], "--json")[1])["hits"] == 3


def test_bundle_and_restore(run, filled, tmp_path, monkeypatch):
    """A warm cache goes to a machine without a compiler; what was tampered with stays out."""
    directory, keys = filled
    archive = tmp_path / "kernels.tar.gz"
    assert run("bundle", str(archive))[1].startswith("3 kernels and 0 plans in ")
    other = tmp_path / "image"
    monkeypatch.delenv("CC", raising=False)
    with config.change({"compiledir": str(other), "cc": ""}):  # one asked for by name must be there
        assert run("restore", str(archive))[0] == 0
        here = {path.name for path in directory.iterdir()} - {"hits", "claims"}
        assert here == set(os.listdir(other))
        assert json.loads(run("show", keys[1], "--json")[1])["meta"] == {"number": 1}
        for store in (compiler._loaded, compiler._toolchains, cache._opened):
            store.clear()
        monkeypatch.setenv("PATH", "/nonexistent")
        monkeypatch.setitem(sys.modules, "ziglang", None)
        assert build([kernel(n) for n in range(3)]).from_cache == 3


def test_restore_refuses_what_it_cannot_vouch_for(run, filled, tmp_path):
    import io
    import tarfile

    directory, keys = filled
    whole = (directory / f"{keys[0]}.so").read_bytes()
    flipped = bytes([whole[0] ^ 1]) + whole[1:]
    members = {
        f"{keys[0]}.so": flipped,
        f"{keys[1]}.so": whole,
        "../../evil.so": whole,
        "/etc/evil": b"x",
        f"{keys[2]}.exe": whole,
        "toolchain-" + "0" * 32: b"0\nx=y",
    }
    archive = tmp_path / "bad.tar.gz"
    with tarfile.open(archive, "w:gz") as stream:
        for name, data in members.items():
            member = tarfile.TarInfo(name)
            member.size = len(data)
            stream.addfile(member, io.BytesIO(data))
        for kind in (tarfile.SYMTYPE, tarfile.LNKTYPE, tarfile.FIFOTYPE):
            member = tarfile.TarInfo(f"{keys[2]}.so")
            member.type, member.linkname = kind, "/etc/passwd"
            stream.addfile(member)
    with config.change({"compiledir": str(tmp_path / "image")}):
        status, text = run("restore", str(archive), "--json")
        done = json.loads(text)
        assert status == 1 and done["kernels"] == done["compilers"] == 0
        assert len(done["refused"]) == len(members) + 3
        assert os.listdir(tmp_path / "image") == []
    assert not (tmp_path / "evil.so").exists()


def huge(kind, keys, whole):
    """(tar members of a bundle whose sizes are a trap, what the refusal says)."""
    import tarfile

    zeros = b"0" * (64 << 20)
    if kind == "notes":
        entry = (f"{keys[0]}.so", whole, None)
        return [entry, (f"{keys[0]}.json", zeros, None)], "more than a file"
    if kind == "entry":
        return [(f"{keys[0]}.so", b"0" * (257 << 20), None)], "more than a file"
    if kind == "compiler":
        return [("toolchain-" + "0" * 32, zeros, None)], "more than a file"
    return [
        ("longname", zeros, tarfile.GNUTYPE_LONGNAME if kind == "name" else tarfile.XHDTYPE)
    ], "a header claims|(invalid|end of file) header"  # Python 3.14 says less


@pytest.mark.sampled(1 / 3)
@pytest.mark.parametrize("kind", ["notes", "entry", "compiler", "name", "header"])
def test_restore_of_members_that_claim_too_much(run, filled, tmp_path, kind):
    """Memory stays bounded by what one member can need, whatever a bundle claims."""
    import io
    import subprocess
    import sys
    import tarfile

    directory, keys = filled
    archive, image = tmp_path / "huge.tar.gz", tmp_path / "image"
    members, words = huge(kind, keys, (directory / f"{keys[0]}.so").read_bytes())
    with tarfile.open(archive, "w:gz", compresslevel=1) as stream:
        for name, data, kind_of_member in members:
            member = tarfile.TarInfo(name)
            member.size, member.type = len(data), kind_of_member or tarfile.REGTYPE
            stream.addfile(member, io.BytesIO(data))
    code = (
        "import resource, sys; from ckernels import cli; "
        "before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss; "
        f"status = cli.cache_main(['restore', {str(archive)!r}]); "
        "after = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss; "
        "print('grown', after - before); sys.exit(status)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        env={**os.environ, "CKERNELS_FLAGS": f"compiledir={image}"},
    )
    assert done.returncode == 1 and re.search(words, done.stdout + done.stderr), done.stderr
    assert int(done.stdout.split("grown")[1]) < 40 << 10  # kB; the traps hold 64 MB each
    assert not list(image.glob("*.json"))
    assert (image / f"{keys[0]}.so").exists() == (kind == "notes")


@pytest.mark.parametrize("spoil", [lambda d: d[: len(d) // 2], lambda d: b"no archive", bytes])
def test_restore_of_a_broken_file(run, filled, tmp_path, capsys, spoil):
    archive = tmp_path / "kernels.tar.gz"
    run("bundle", str(archive))
    data = archive.read_bytes()
    archive.write_bytes(spoil(data) if spoil is not bytes else b"")
    assert cli.cache_main(["restore", str(archive)]) == 1
    assert "cannot be read" in capsys.readouterr().err
    assert cli.cache_main(["restore", str(tmp_path / "absent")]) == 1
    assert cli.cache_main(["bundle", str(tmp_path / "absent" / "file")]) == 1
    assert json.loads(run("verify", "--json")[1]) == []


def test_a_pipe_gets_plain_text_and_a_terminal_a_table(filled):
    """Whole keys between tabs in a pipe; headings and columns that fit the window on a terminal."""
    import pty

    flags = {"CKERNELS_FLAGS": f"compiledir={filled[0]}", "COLUMNS": "60"}
    lines = command("cache", "list", **flags).stdout.splitlines()
    assert {line.split("\t")[0] for line in lines} == set(filled[1])
    assert {len(line.split("\t")) for line in lines} == {6}
    leader, follower = pty.openpty()
    environment = {**os.environ, "PYTHONPATH": str(ROOT), **flags}
    done = subprocess.Popen(
        [sys.executable, "-m", "ckernels.cli", "cache", "list"], stdout=follower, env=environment
    )
    os.close(follower)
    text = b""
    try:
        while piece := os.read(leader, 4096):
            text += piece
    except OSError:  # the other end is closed
        pass
    assert done.wait(60) == 0
    head, *rows, count = text.decode().splitlines()
    assert "\x1b[1m" in head and "SIGNATURE" in head and count == "3 kernels"
    assert all(len(row) <= 60 and filled[1][0] not in row for row in rows) and len(rows) == 3


def test_notes_cannot_drive_a_terminal(run, filled):
    note = filled[0] / f"{filled[1][0]}.json"
    note.write_text(
        json.dumps(
            {
                "name": "\x1b]0;owned\x07\tx\ny",
                "meta": "none",
                "source": "int k;\n\x1b[2J/* \u202e */",
            }
        )
    )
    assert "\x1b" not in run("list")[1] and len(run("list")[1].splitlines()) == 3
    assert "\x1b" not in run("show", filled[1][0])[1]
    note.write_text("[]")
    assert run("list")[0] == 0


LINES = [
    ("ckernels-cache ver", {"verify"}),
    ("ckernels-cache --ver", {"--version"}),
    ("ckernels-cache clear --o", {"--older-than"}),
    ("ckernels-cache list --so", {"--sort"}),
    ("ckernels-cache list --sort s", {"size"}),
    ("ckernels do", {"doctor"}),
    ("ckernels completion f", {"fish"}),
    ("ckernels config cache.max_s", {"cache.max_size"}),
    ("ckernels doctor --j", {"--json"}),
]  # fmt: skip


@pytest.mark.sampled(1 / 3)
@pytest.mark.skipif(not shutil.which("bash"), reason="needs bash")
@pytest.mark.parametrize("line, wanted", [*LINES, ("/usr/bin/ckernels do", {"doctor"})])
def test_completion(line, wanted):
    script = command("completion", "bash").stdout
    words = line.split(" ")
    array = " ".join(f"'{word}'" for word in words)
    code = (
        f"{script}\nCOMP_WORDS=({array}); COMP_CWORD={len(words) - 1}; _ckernels; "
        'printf "%s\\n" "${COMPREPLY[@]}"'
    )
    done = subprocess.run(["bash", "-c", code], capture_output=True, text=True, timeout=240)
    assert done.returncode == 0 and not done.stderr
    assert set(done.stdout.split()) == wanted


@pytest.mark.skipif(not shutil.which("fish"), reason="fish is not installed")
def test_completion_in_fish(tmp_path):
    script = tmp_path / "ckernels.fish"
    script.write_text(command("completion", "fish").stdout)
    asked = "".join(f"\ncomplete -C '{line}'; echo" for line, _ in LINES)
    done = subprocess.run(
        ["fish", "-c", f"source {script}{asked}"],
        capture_output=True,
        text=True,
        env={**os.environ, "HOME": str(tmp_path)},
        timeout=240,
    )
    assert done.returncode == 0 and not done.stderr
    answers = [
        {row.split("\t")[0] for row in text.splitlines()} for text in done.stdout.split("\n\n")
    ]
    assert answers[: len(LINES)] == [wanted for _, wanted in LINES]


@pytest.mark.skipif(not shutil.which("zsh"), reason="zsh is not installed")
def test_completion_in_zsh(tmp_path):
    """At a terminal, with the Tab key: zsh completes nowhere else."""
    import pty
    import re

    script = tmp_path / "ckernels.zsh"
    script.write_text(command("completion", "zsh").stdout)
    pid, terminal = pty.fork()
    if pid == 0:
        os.chdir(tmp_path)
        plain = {**os.environ, "TERM": "dumb", "PS1": "", "HOME": str(tmp_path)}
        os.execvpe("zsh", ["zsh", "-f", "-i"], plain)

    def send(text, until):
        os.write(terminal, text.encode())
        seen = ""
        while until not in seen:  # Ctrl-U between two lines: what is shown is of this line
            seen += re.sub(r"\x1b\[[^a-zA-Z]*[a-zA-Z]", "", os.read(terminal, 4096).decode())

    send(f"autoload -U compinit && compinit -u -D; source {script}; echo rea''dy\n", "ready")
    for line, (wanted,) in LINES:
        send(f"{line}\t", line.rsplit(" ", 1)[0] + " " + wanted)
        send("\x15echo next''line\n", "nextline")
    os.write(terminal, b"exit\n")
    os.waitpid(pid, 0)
    os.close(terminal)


@pytest.mark.parametrize("text, days", [("30", 30), ("12h", 0.5), ("2w", 14), ("90 min", 0.0625)])
def test_ages(text, days):
    assert cli._days(text) == days
    with pytest.raises(SystemExit) as caught:
        cli.cache_main(["clear", "--older-than", "soon"])
    assert caught.value.code == 2


def test_config_and_version():
    assert command("config", "arch", CKERNELS_FLAGS="arch=generic").stdout == "generic\n"
    found = json.loads(command("config", "--json", CKERNELS_FLAGS="arch=generic").stdout)
    assert found["arch"]["origin"] == "CKERNELS_FLAGS" and found["arch"]["default"] == "native"
    assert "arch = native" in command("config", CKERNELS_FLAGS="").stdout
    assert command("config", "arhc").returncode == 2
    assert command("--version").stdout.startswith("ckernels")


def command(*words, **environment):
    merged = {**os.environ, "PYTHONPATH": str(ROOT), **environment}
    return subprocess.run(
        [sys.executable, "-m", "ckernels.cli", *words],
        env=merged,
        text=True,
        capture_output=True,
        stdin=subprocess.DEVNULL,
        timeout=240,
    )


def test_doctor(tmp_path):
    done = command("doctor", "--json", CKERNELS_FLAGS=f"compiledir={tmp_path / 'd'}")
    report = json.loads(done.stdout)
    assert report["compiler"]["ok"] and report["probe"]["ok"], report
    assert report["works"] == report["runtime"]["ok"] == (done.returncode == 0)
    assert str(tmp_path / "d") in report["compiledir"]["text"]
    assert "-march" in report["flags"]["text"] or "aarch64" in report["versions"]["text"]
    parts = "versions settings compiler flags features openmp probe cores runtime threads blas"
    assert set(report) - {"keras"} == {"works", *parts.split(), "loading", "compiledir"}
    assert report["compiledir"]["writable"] and report["compiledir"]["used"] == str(tmp_path / "d")
    assert report["threads"]["rule"] and report["blas"]["name"] and report["versions"]["numpy"]
    text = command("doctor", CKERNELS_FLAGS=f"compiledir={tmp_path / 'd'}").stdout
    assert text.endswith("compiled mode works\n") and "ok  probe" in text


def test_doctor_says_how_blas_was_found(tmp_path):
    """And what is wrong with the flag, where it names no BLAS: no traceback."""
    pytest.importorskip("ckernels._runtime", reason="the C runtime is not built")
    flags = f"compiledir={tmp_path},blas="
    done = command("doctor", "--json", CKERNELS_FLAGS=flags + "/nonexistent.so")
    report = json.loads(done.stdout)
    assert done.returncode == 1 and report["blas"]["ok"] is report["works"] is False
    assert "/nonexistent.so" in report["blas"]["text"] and "flag blas" in report["blas"]["text"]
    for flag, named, rule in (
        ("builtin", "", "the flag blas"),
        ("", "builtin", "CKERNELS_BLAS"),
        ("", "/nonexistent.so", "CKERNELS_BLAS=/nonexistent.so is no"),
    ):
        done = command("doctor", "--json", CKERNELS_FLAGS=flags + flag, CKERNELS_BLAS=named)
        assert done.returncode == 0 and rule in json.loads(done.stdout)["blas"]["rule"]


@pytest.mark.skipif(bool(find_spec("ziglang")), reason="ziglang is a compiler")
def test_doctor_without_compiler(tmp_path):
    done = command(
        "doctor",
        PATH=str(tmp_path),
        CC="",
        CKERNELS_CC="",
        CKERNELS_FLAGS="",
        HOME=str(tmp_path),
        XDG_CACHE_HOME=str(tmp_path),
    )
    assert done.returncode == 1
    assert "found no C compiler" in done.stdout and "Install" in done.stdout
    assert "Traceback" not in done.stderr


def test_doctor_with_a_cpu_too_old_for_the_flags(tmp_path):
    flags = f"compiledir={tmp_path / 'd'},cc.cflags=-mavx512pf"
    if not config.cc and "avx512pf" in Path("/proc/cpuinfo").read_text():
        pytest.skip("this CPU has what the test takes for missing")
    done = command("doctor", "--json", CKERNELS_FLAGS=flags)
    report = json.loads(done.stdout)
    if "-mavx512pf" not in report.get("flags", {}).get("text", ""):
        pytest.skip("this compiler does not know the instructions the test asks for")
    assert done.returncode == 1 and "avx512pf" in report["features"]["lacking"]


def test_bad_flags_and_bad_words(tmp_path):
    done = command("cache", "path", CKERNELS_FLAGS="compildir=/x")
    assert done.returncode == 2 and "`compiledir`" in done.stderr
    assert len(done.stderr.splitlines()) == 1
    assert command("cache", "frobnicate").returncode == 2
