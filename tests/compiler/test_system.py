"""compiler/system.py: the rules for files and programs, those of Windows and macOS included, by
what the operating system would answer there."""

import ctypes
import os
import subprocess
import sys
import time

import pytest

from ckernels.compiler import process, system


class Refusing:
    """os.replace as Windows does it while `readers` looks find the target open."""

    def __init__(self, readers):
        self.left, self.real = readers, os.replace

    def __call__(self, source, target):
        self.left -= 1
        if self.left >= 0:
            raise PermissionError(13, "in use")
        self.real(source, target)


@pytest.mark.parametrize(
    "windows, readers, done",
    [(True, 3, True), (True, system.TRIES, False), (False, 1, False), (False, 0, True)],
)
def test_renaming_waits_for_readers_where_they_are_in_the_way(
    tmp_path, monkeypatch, windows, readers, done
):
    new, old = tmp_path / "new", tmp_path / "old"
    new.write_text("new")
    old.write_text("old")
    waits = []
    monkeypatch.setattr(time, "sleep", waits.append)
    monkeypatch.setattr(os, "replace", Refusing(readers))
    if done:
        system.replace(new, old, windows=windows)
    else:
        with pytest.raises(PermissionError):
            system.replace(new, old, windows=windows)
    assert old.read_text() == ("new" if done else "old") and new.exists() != done
    expected = min(readers, system.TRIES - 1) if windows else 0
    assert waits == [0.001 * 2**k for k in range(expected)]


def test_a_process_that_ended_is_dead():
    child = subprocess.Popen([sys.executable, "-c", ""])
    child.wait()
    assert system.is_dead(child.pid) and not system.is_dead(os.getpid())
    assert not system.is_dead(1 << 70)


class Kernel32:
    """OpenProcess and its kin: no such process, not allowed to ask, ended, running."""

    def __init__(self, handle, waited):
        self.OpenProcess = type("F", (), {"__call__": lambda _, *asked: handle})()
        self.WaitForSingleObject = lambda handle, ms: waited
        self.closed = []
        self.CloseHandle = self.closed.append


@pytest.mark.parametrize(
    "handle, error, waited, dead",
    [(0, 87, None, True), (0, 5, None, False), (8, 0, 0, True), (8, 0, 258, False)],
)
def test_windows_is_asked_whether_a_process_lives(monkeypatch, handle, error, waited, dead):
    library = Kernel32(handle, waited)
    monkeypatch.setattr(ctypes, "WinDLL", lambda *name, **options: library, raising=False)
    monkeypatch.setattr(ctypes, "get_last_error", lambda: error, raising=False)
    kills = []
    monkeypatch.setattr(os, "kill", lambda *what: kills.append(what))
    assert system.is_dead(1234, windows=True) == dead
    assert len(library.closed) == bool(handle) and not kills
    assert not system.is_dead(0, windows=True) and not system.is_dead(1 << 32, windows=True)


def test_programs_have_endings_on_windows(tmp_path, monkeypatch):
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setenv("PATHEXT", os.pathsep.join((".COM", ".EXE")))
    assert system.endings(windows=True) == ("", ".com", ".exe") and system.endings() == ("",)
    tool = tmp_path / "cc.exe"
    tool.write_text("")
    tool.chmod(0o700)
    assert process.which("cc") is None
    monkeypatch.setattr(system, "endings", lambda: (".com", ".exe"))
    assert process.which("cc") == str(tool)
    monkeypatch.delenv("PATHEXT")
    monkeypatch.undo()
    monkeypatch.delenv("PATHEXT", raising=False)
    assert system.endings(windows=True) == ("", ".exe", ".bat", ".cmd")


def test_caches_are_where_each_system_keeps_them(tmp_path, monkeypatch):
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("USERPROFILE", str(tmp_path))
    monkeypatch.delenv("LOCALAPPDATA", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", "relative")
    found = {name: system.cache_home(name) for name in ("linux", "darwin", "win32")}
    assert found == {
        "linux": str(tmp_path / ".cache"),
        "darwin": str(tmp_path / "Library" / "Caches"),
        "win32": str(tmp_path / "AppData" / "Local"),
    }
    monkeypatch.setenv("XDG_CACHE_HOME", "/var/caches")
    monkeypatch.setenv("LOCALAPPDATA", "C:\\Local")
    assert system.cache_home("linux") == system.cache_home("darwin") == "/var/caches"
    assert system.cache_home("win32") == "C:\\Local"
    monkeypatch.setenv("HOME", "/no/such/home")
    monkeypatch.delenv("XDG_CACHE_HOME")
    assert system.cache_home("linux") == ""


def test_a_file_is_read_from_its_start_with_and_without_pread(tmp_path, monkeypatch):
    data = bytes(range(256)) * 5000
    (tmp_path / "x").write_bytes(data)
    fd = os.open(tmp_path / "x", os.O_RDONLY | system.CAREFUL)
    try:
        os.read(fd, 100)
        assert system.read_all(fd) == data
        monkeypatch.delattr(os, "pread", raising=False)
        assert system.read_all(fd) == data == system.read_all(fd)
    finally:
        os.close(fd)


def test_a_program_is_heard_by_threads_where_pipes_cannot_wait_together(monkeypatch):
    monkeypatch.setattr(system, "WINDOWS", True)
    echo = "import sys; d = sys.stdin.buffer.read(); sys.stderr.write('e' * len(d));"
    data = b"x" * 300_000
    out = process.run([sys.executable, "-c", echo + "sys.stdout.buffer.write(d[::-1])"], data)
    assert out == data
    with pytest.raises(process.Failed, match="exit status 3") as failed:
        process.run([sys.executable, "-c", echo + "sys.exit(3)"], data)
    assert failed.value.output == "e" * len(data)
    monkeypatch.setattr(process, "OUTPUT", 1000)
    assert process.run([sys.executable, "-c", "print('y' * 99999)"]) == b"y" * 1000
    with pytest.raises(process.Failed, match="was stopped") as failed:
        process.run([sys.executable, "-c", "import time; time.sleep(600)"], data, timeout=0.3)
    assert failed.value.timed_out


def test_a_program_ends_with_all_it_started(monkeypatch):
    assert system.apart(windows=False) == {"start_new_session": True}
    new_group = getattr(subprocess, "CREATE_NEW_PROCESS_GROUP", 0x200)
    assert system.apart(windows=True)["creationflags"] & new_group
    asked = []
    monkeypatch.setattr(subprocess, "run", lambda command, **options: asked.append(command))
    child = type("Child", (), {"pid": 77, "kill": lambda self: asked.append("kill")})()
    system.kill(child, windows=True)
    assert asked == [["taskkill", "/T", "/F", "/PID", "77"], "kill"]


def test_copies_of_libraries_go_once_nobody_opens_them_any_more(tmp_path):
    now = time.time()
    ages = {"ckernels-old": 2, "ckernels-new": 0.5, "other-old": 2}
    for name, age in ages.items():
        (tmp_path / name).mkdir()
        file = tmp_path / name / "kernels.so"
        file.write_bytes(b"MZ")
        os.utime(file, (now - age * system.LEFT_AFTER,) * 2)
    (tmp_path / "ckernels-file").write_text("")
    system.sweep_copies(tmp_path, now)
    assert {p.name for p in tmp_path.iterdir()} == {"ckernels-new", "other-old", "ckernels-file"}
