"""What differs between operating systems, for files and programs: POSIX and Windows.

Opening, reading and renaming files, whether a process lives, starting and ending programs, where
caches are kept. The rest of the room asks here and nowhere else. No imports that cost time: a warm
start passes by.
"""

import os
import sys
import time

WINDOWS = os.name == "nt"
# Without O_BINARY Windows ends lines its own way; a link is not followed, a pipe not waited for.
BINARY = getattr(os, "O_BINARY", 0)
CAREFUL = BINARY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0)
TRIES = 8  # at renaming over a file that somebody reads: 1, 2, 4 ... ms, a quarter of a second
LEFT_AFTER = 3600  # seconds after which nobody is about to open a library that was copied
# What kernels that call functions are linked with. GCC's own library is only where GCC is.
LIBRARIES = {"linux": ("-lm", "-lgcc"), "darwin": ("-lm",), "win32": ()}.get(sys.platform, ("-lm",))


def replace(source, target, windows=WINDOWS):
    """os.replace, which Windows refuses while somebody has the target open: readers are quick."""
    for attempt in range(TRIES):
        try:
            return os.replace(source, target)
        except PermissionError:
            if not windows or attempt == TRIES - 1:
                raise
            time.sleep(0.001 * 2**attempt)


def read_all(fd):
    """The whole of a file through its descriptor, from the start."""
    if not hasattr(os, "pread"):
        os.lseek(fd, 0, os.SEEK_SET)
    parts, size = [], 0
    while part := os.pread(fd, 1 << 20, size) if hasattr(os, "pread") else os.read(fd, 1 << 20):
        parts.append(part)
        size += len(part)
    return b"".join(parts)


def is_dead(pid, windows=WINDOWS):
    """Whether no process has this number; False where the system does not say."""
    if windows:  # where os.kill(pid, 0) is no question: it presses Ctrl-C
        return _windows_is_dead(pid)
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return True
    except (OSError, OverflowError):
        return False  # another user's, or no number of a process
    return False


def _windows_is_dead(pid):
    import ctypes  # start-up

    SYNCHRONIZE, INVALID_PARAMETER = 0x100000, 87
    if not 0 < pid < 1 << 32:
        return False
    kernel32 = ctypes.WinDLL("kernel32", use_last_error=True)
    kernel32.OpenProcess.restype = ctypes.c_void_p
    handle = kernel32.OpenProcess(SYNCHRONIZE, False, pid)
    if not handle:
        return ctypes.get_last_error() == INVALID_PARAMETER
    ended = kernel32.WaitForSingleObject(ctypes.c_void_p(handle), 0) == 0
    kernel32.CloseHandle(ctypes.c_void_p(handle))
    return ended


def apart(windows=WINDOWS):
    """Arguments of Popen for a program that dies with all it starts, and that Ctrl-C spares."""
    if windows:
        return {"creationflags": 0x200 | 0x08000000}  # a process group of its own, no window
    return {"start_new_session": True}


def kill(child, windows=WINDOWS):
    """Kill a program started `apart` with all it started: the driver alone leaves cc1 running."""
    if windows:
        import subprocess  # start-up

        tree = ["taskkill", "/T", "/F", "/PID", str(child.pid)]
        try:
            subprocess.run(tree, capture_output=True, timeout=10, creationflags=0x08000000)
        except (OSError, subprocess.SubprocessError):
            pass
        child.kill()
        return
    try:
        os.killpg(child.pid, 9)
    except OSError:
        child.kill()


def endings(windows=WINDOWS):
    """What programs' names may end with, in the order in which they are tried."""
    if not windows:
        return ("",)
    named = os.environ.get("PATHEXT", "").lower().split(os.pathsep)
    return ("", *(filter(None, named) if any(named) else (".exe", ".bat", ".cmd")))


def cache_home(platform=sys.platform):
    """The folder in which programs keep what they can make again, "" without a home."""
    home = os.path.expanduser("~")
    there = os.path.isabs(home) and os.path.isdir(home)
    if platform == "win32":
        base = os.environ.get("LOCALAPPDATA", "")
        return base or (os.path.join(home, "AppData", "Local") if there else "")
    base = os.environ.get("XDG_CACHE_HOME", "")
    if os.path.isabs(base):  # relative ones are to be ignored, says the XDG specification
        return base
    return os.path.join(home, *_CACHES.get(platform, (".cache",))) if there else ""


_CACHES = {"darwin": ("Library", "Caches")}


def sweep_copies(place, now=None):
    """Delete copies of libraries that ended processes left in a folder: an open library cannot be
    deleted on Windows, so each process leaves the ones it opened."""
    now = time.time() if now is None else now
    for entry in os.scandir(place):
        if entry.name.startswith("ckernels-") and entry.is_dir(follow_symlinks=False):
            path = os.path.join(entry.path, "kernels.so")
            try:
                if now - os.stat(path).st_mtime > LEFT_AFTER:
                    os.unlink(path)  # refused where it is still open
                    os.rmdir(entry.path)
            except OSError:
                pass
