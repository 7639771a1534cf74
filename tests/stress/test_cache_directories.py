"""Places where a compiledir cannot be, or only half: everything works, with one line at most.

Real mounts where root may make them (full, noexec, read-only), real users where root may become
them; otherwise the test is skipped with its reason. A child does the work, so that changed users,
limits and homes end with it.
"""

import ctypes
import errno
import os
import platform
import resource
import shutil
import struct
import subprocess
import sys
import tempfile
import warnings

import numpy as np
import pytest

import ckernels as K
from ckernels.base.config import config
from ckernels.base.errors import CompileError
from ckernels.compiler import build, cache, directories
from ckernels.runtime import function as functions

from .harness import (
    ROOT,
    Child,
    check,
    forget,
    needs_compiler,
    needs_fork,
    run,
    source,
)

pytestmark = [needs_compiler, needs_fork]
NOBODY = 65534
needs_root = pytest.mark.skipif(os.geteuid() != 0, reason="needs to become another user")


@pytest.fixture
def open_place():
    """A directory that any user can reach."""
    path = tempfile.mkdtemp(prefix="ckernels-place-", dir="/tmp")
    os.chmod(path, 0o755)
    yield path
    shutil.rmtree(path, ignore_errors=True)


def as_nobody(work, *args):
    """Run it without privileges. Everything is imported before: Python may be root's alone."""
    import random  # noqa: F401  what tempfile imports late

    with config.change(cache="off"):
        check(900)
    os.setgid(NOBODY)
    os.setuid(NOBODY)
    return work(*args)


def twice(*numbers):
    """Build, start afresh, build again: what was built each time."""
    first = check(*numbers)
    forget()
    return [first, check(*numbers)]


def test_a_full_disk(mounted):
    """The disk holds the directory and little else: kernels go to the private directory."""
    place = mounted("size=16k,mode=755")
    made, errors = run(twice, 1, 2, 3, flags={"compiledir": str(place / "kernels")})
    assert made == [[3, 0], [0, 3]] and errors.count("No space left on device") >= 1
    assert all("kernels are kept in" in line for line in errors.splitlines())
    assert not [name for name in os.listdir(place / "kernels") if name.startswith("tmp-")]
    assert cache.Cache(str(place / "kernels")).verify() == []


def test_a_full_disk_everywhere(mounted, monkeypatch):
    place = mounted("size=16k,mode=755")
    (place / "tmp").mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(place / "tmp"))
    made, errors = run(check, 1, 2, 3, flags={"compiledir": str(place / "kernels")})
    assert made == [3, 0] and len(errors.splitlines()) == 1 and "in memory only" in errors


def limited():
    """Publish an entry larger than any file may be; whether that was possible."""
    resource.setrlimit(resource.RLIMIT_FSIZE, (4096, 4096))
    key = "0" * 64
    return cache.publish(lambda store: store.put(os.urandom(9000), [key], {key: {}}))


def test_files_that_may_not_grow(tmp_path):
    """A limit on the size of files, as a quota: EFBIG in the middle of a write."""
    made, errors = run(limited, flags={"compiledir": str(tmp_path / "kernels")})
    assert made is False and len(errors.splitlines()) == 1 and "memory only" in errors
    assert os.listdir(tmp_path / "kernels") == ["usage"]


def test_a_noexec_compiledir(mounted):
    """What is loaded is a verified copy in memory, so the mount does no harm."""
    place = mounted("size=10m,noexec,mode=755")
    made, errors = run(twice, 1, 2, flags={"compiledir": str(place / "kernels")})
    assert made == [[2, 0], [0, 2]] and errors == ""
    assert directories.executable(str(place)) is False and directories.executable("/") is True


@pytest.fixture
def no_memory_files():
    """deny(): from then on the kernel refuses memory files to this process and its children.

    A seccomp filter, as of a container's policy; it cannot be taken back, so call it in a child.
    """
    if not (sys.platform == "linux" and platform.machine() == "x86_64"):
        pytest.skip("the seccomp filter of this test is one for Linux on x86-64")

    def deny():
        libc = ctypes.CDLL(None, use_errno=True)
        code = [
            (0x20, 0, 0, 0),
            (0x15, 0, 1, 319),  # the number of the call; memfd_create?
            (0x06, 0, 0, 0x00050000 | errno.EACCES),  # yes: the error
            (0x06, 0, 0, 0x7FFF0000),
        ]  # no: allowed
        text = ctypes.create_string_buffer(b"".join(struct.pack("HBBI", *line) for line in code))
        program = struct.pack("HxxxxxxP", len(code), ctypes.addressof(text))
        if libc.prctl(38, 1, 0, 0, 0) or libc.prctl(22, 2, ctypes.c_char_p(program), 0, 0):
            return f"no seccomp filter is allowed here: {os.strerror(ctypes.get_errno())}"
        with pytest.raises(PermissionError):
            os.memfd_create("denied")
        return ""

    reason = run(deny)[0]
    if reason:
        pytest.skip(reason)
    return deny


def test_no_memory_files(no_memory_files, tmp_path):
    """Compiler and loader do without: copies in the temporary directory, none of them left."""

    def work():
        no_memory_files()
        return twice(1, 2)

    made, errors = run(work, flags={"compiledir": str(tmp_path / "kernels")})
    assert made == [[2, 0], [0, 2]] and errors == ""
    assert sorted(os.listdir(tmp_path)) == ["kernels"]


def test_a_noexec_temporary_directory_and_no_memory_files(
    mounted, no_memory_files, monkeypatch, tmp_path
):
    """Other places serve: /dev/shm, the user's runtime directory, the compiledir."""
    monkeypatch.setattr(tempfile, "tempdir", str(mounted("size=10m,noexec,mode=755")))

    def work():
        no_memory_files()
        return twice(1)

    made, errors = run(work, flags={"compiledir": str(tmp_path / "kernels")})
    assert made == [[1, 0], [0, 1]] and errors == ""


@pytest.mark.usefixtures("refused_kernels_run_in_numpy")
def test_nowhere_to_run_kernels_from(mounted, no_memory_files, monkeypatch):
    """Then compiled mode cannot work; the sentence says so, and NumPy runs the function."""
    place = mounted("size=10m,noexec,mode=755")
    monkeypatch.setattr(tempfile, "tempdir", str(place))
    monkeypatch.setattr(functions, "_warned", set())  # another test may have said it
    monkeypatch.delenv("XDG_RUNTIME_DIR", raising=False)

    def work():
        if ctypes.CDLL(None).unshare(0x20000):  # mounts of its own, for /dev/shm
            return "skip", ""
        for command in (
            ["mount", "--make-rprivate", "/"],
            ["mount", "-t", "tmpfs", "-o", "noexec", "none", "/dev/shm"],
        ):
            if subprocess.run(command, capture_output=True).returncode:
                return "skip", ""
        no_memory_files()
        try:
            build([source(1)])
        except CompileError as error:
            x = K.placeholder((None,), name="x")
            with warnings.catch_warnings(record=True) as seen:
                warnings.simplefilter("always")
                y = K.function([x], x * 2 + 1, mode="compiled")(np.ones(3, "f"))
            return str(error), [y.tolist(), len(seen)]

    (text, ran), _ = run(work, flags={"compiledir": str(place / "kernels")})
    if text == "skip":
        pytest.skip("a process may have no mounts of its own here")
    assert "no place from which kernels may be run; TMPDIR can name one" in text
    assert ran == [[3.0, 3.0, 3.0], 1]


def test_a_read_only_file_system(mounted):
    """Warm kernels are read from it; new ones go to the private directory."""
    place = mounted("size=10m,mode=755")
    flags = {"compiledir": str(place / "kernels")}
    run(check, 1, flags=flags)
    done = subprocess.run(["mount", "-o", "remount,ro", str(place)], capture_output=True)
    if done.returncode:
        pytest.skip("a mount cannot be made read-only here")
    made, errors = run(twice, 1, 2, flags=flags)
    assert made == [[1, 1], [0, 2]] and all("kept in" in line for line in errors.splitlines())


@needs_root
def test_a_read_only_home(open_place, monkeypatch):
    home = os.path.join(open_place, "home")
    os.mkdir(home, 0o555)
    os.chown(home, NOBODY, NOBODY)
    private = os.path.join(open_place, "tmp")
    os.mkdir(private)
    os.chmod(private, 0o1777)
    monkeypatch.setattr(tempfile, "tempdir", private)
    monkeypatch.setenv("HOME", home)
    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    made, errors = run(as_nobody, check, 1, flags={"compiledir": "", "base_compiledir": ""})
    assert made == [1, 0] and len(errors.splitlines()) == 1 and f"{private}/ckernels-" in errors
    assert os.listdir(home) == []
    (kept,) = os.listdir(private)
    assert os.stat(os.path.join(private, kept)).st_mode & 0o777 == 0o700


@needs_root
@pytest.mark.parametrize("mode", [0o755, 0o700, 0o777])
def test_a_directory_of_root(open_place, monkeypatch, mode):
    """Not written, and not read: as a main compiledir only one's own is used."""
    directory = os.path.join(open_place, "kernels")
    run(check, 1, flags={"compiledir": directory})
    os.chmod(directory, mode)
    private = os.path.join(open_place, "tmp")
    os.mkdir(private)
    os.chmod(private, 0o1777)
    monkeypatch.setattr(tempfile, "tempdir", private)
    before = sorted(os.listdir(directory))
    made, errors = run(as_nobody, check, 1, flags={"compiledir": directory})
    assert made == [1, 0] and "it belongs to user 0" in errors or "Permission" in errors
    assert len(errors.splitlines()) == 1 and sorted(os.listdir(directory)) == before


@needs_root
def test_a_layer_of_root_is_read(open_place):
    """A read-only layer may be root's, as in an image; anybody else's may not."""
    layer = os.path.join(open_place, "layer")
    run(check, 1, flags={"compiledir": layer})
    for path, _, names in os.walk(layer):
        os.chmod(path, 0o755)
        for name in names:
            os.chmod(os.path.join(path, name), 0o644)
    own = os.path.join(open_place, "own")
    os.mkdir(own, 0o700)
    os.chown(own, NOBODY, NOBODY)
    flags = {"compiledir": own, "cache.path": layer}
    assert run(as_nobody, check, 1, flags=flags)[0] == [0, 1]
    os.chown(layer, 12345, 12345)
    made, errors = run(as_nobody, check, 1, flags=flags)
    assert made == [1, 0] and "belongs to user 12345" in errors


@needs_root
def test_entries_of_another_user_in_ones_own_directory(tmp_path):
    """Planted before the directory was closed: refused one by one, replaced."""
    flags = {"compiledir": str(tmp_path / "kernels")}
    run(check, 1, flags=flags)
    (path,) = (tmp_path / "kernels").glob("*.so")
    os.chown(path, NOBODY, NOBODY)
    made, errors = run(check, 1, flags=flags)
    assert made == [1, 0] and f"it belongs to user {NOBODY}" in errors
    assert path.stat().st_uid == 0


@needs_root
def test_a_private_directory_that_somebody_else_made(open_place, monkeypatch):
    """/tmp/ckernels-<uid> of another user is not used: memory is."""
    monkeypatch.setattr(tempfile, "tempdir", open_place)
    squatter = os.path.join(open_place, f"ckernels-{os.geteuid()}")
    os.mkdir(squatter)
    os.chown(squatter, NOBODY, NOBODY)
    os.chmod(squatter, 0o777)
    made, errors = run(check, 1, flags={"compiledir": "/dev/null/kernels"})
    assert made == [1, 0] and "memory only" in errors and len(errors.splitlines()) == 1
    assert os.listdir(squatter) == []


def test_symbolic_links(tmp_path):
    """A link to one's own directory is what one asked for; a link into nothing is not."""
    (tmp_path / "real").mkdir(mode=0o700)
    (tmp_path / "link").symlink_to(tmp_path / "real")
    (tmp_path / "loop").symlink_to(tmp_path / "loop")
    (tmp_path / "dangling").symlink_to(tmp_path / "absent" / "deeper")
    assert run(twice, 1, flags={"compiledir": str(tmp_path / "link")})[0] == [[1, 0], [0, 1]]
    for name in ("loop", "dangling"):
        made, errors = run(check, 2, flags={"compiledir": str(tmp_path / name)})
        assert made in ([1, 0], [0, 1]) and len(errors.splitlines()) == 1, (name, errors)


def test_a_working_directory_that_is_gone(tmp_path):
    def work():
        gone = tmp_path / "gone"
        gone.mkdir()
        os.chdir(gone)
        gone.rmdir()
        return check(1)

    assert run(work, flags={"compiledir": "relative/kernels"})[0] == [1, 0]


@pytest.mark.parametrize("umask", [0o000, 0o077, 0o777])
def test_any_umask(tmp_path, umask):
    def work():
        os.umask(umask)
        return twice(1)

    made, errors = run(work, flags={"compiledir": str(tmp_path / "kernels")})
    assert made[0] == [1, 0] and "Traceback" not in errors
    if umask != 0o777:
        assert made[1] == [0, 1] and errors == ""
        assert (tmp_path / "kernels").stat().st_mode & 0o077 == 0


HOMELESS = """
import os, pwd, tempfile
def nobody(*args): raise KeyError("no such user")
pwd.getpwuid = nobody
tempfile.tempdir = {temporary!r}
from ckernels.compiler import cache
print(cache.compiledir() or "none")
from tests.stress.harness import check
print(check(1))
"""


def test_no_home_at_all(tmp_path):
    """No HOME, and a user the system does not know: as in many containers."""
    unset = ("HOME", "XDG_CACHE_HOME", "CKERNELS_FLAGS")
    env = {k: v for k, v in os.environ.items() if k not in unset}
    env["PYTHONPATH"] = str(ROOT)
    (tmp_path / "~").mkdir()  # what expanduser leaves standing must not be taken for a directory
    code = HOMELESS.format(temporary=str(tmp_path / "tmp"))
    (tmp_path / "tmp").mkdir()
    done = subprocess.run(
        [sys.executable, "-c", code],
        env=env,
        cwd=tmp_path,
        text=True,
        capture_output=True,
        timeout=240,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines() == ["none", "[1, 0]"]
    assert len(done.stderr.splitlines()) == 1 and "are kept in" in done.stderr
    assert os.listdir(tmp_path / "~") == []


def test_children_keep_to_the_place_of_their_parent(tmp_path):
    """The place is chosen once per process; a fork inherits the choice, and the notice is not said
    again."""

    def parent():
        check(1)
        child = Child(lambda: cache.current().directory)
        return [cache.current().directory, child.wait()[1]]

    made, _ = run(parent, flags={"compiledir": str(tmp_path / "kernels")})
    assert made[0] == made[1] == str(tmp_path / "kernels")
