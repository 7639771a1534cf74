"""Running the compiler: argument lists, never a shell; a clean environment; no wait without end.

On Linux nothing touches the disk: the source goes in through a pipe, object and shared object are
memory files (22 ms for a tiny kernel, against 33 ms for `cc -shared` over files). Elsewhere, or
where that fails, a private temporary directory serves. Imports are late here and in the rest of the
room: a warm start needs neither subprocess nor tempfile nor logging, 12 ms together.
"""

import contextlib
import os
import threading
import time

from . import directories, system

OUTPUT = 1 << 20  # bytes of a command's output that are kept
# Variables that change what a compiler does, or what is preloaded into it.
DROPPED = {"LD_PRELOAD", "CPATH", "C_INCLUDE_PATH", "DEPENDENCIES_OUTPUT", "SUNPRO_DEPENDENCIES",
           "GCC_COMPARE_DEBUG", "CCC_OVERRIDE_OPTIONS", "LANGUAGE"}  # fmt: skip


class Failed(Exception):
    """A command that did not succeed. `output` is the start of what it wrote to stderr."""

    def __init__(self, command, reason, output=""):
        super().__init__(f"{os.path.basename(command[0])}: {reason}\n{output}")
        lines = [line for line in output.splitlines() if line.strip()]
        errors = [line for line in lines if "error" in line.lower()]
        self.output = output
        self.first_line = (errors or lines or [f"{command[0]} {reason}"])[0].strip()


def environment(command=()):
    kept = {name: value for name, value in os.environ.items() if name not in DROPPED}
    if command and ("ziglang" in command or is_zig(command[0])):
        place = _place_for_zig()
        if place:
            kept.setdefault("ZIG_GLOBAL_CACHE_DIR", place)
    return {**kept, "LC_ALL": "C"}


def is_zig(program):
    return os.path.basename(program).startswith("zig")


def _place_for_zig():
    """Where Zig is to keep what it prepares, "" where it may be in the user's cache, as usual: it
    compiles nothing where it cannot write there."""
    usual = system.cache_home()
    at = os.path.join(usual, "zig")
    while usual and not os.path.exists(at) and os.path.dirname(at) != at:
        at = os.path.dirname(at)
    if usual and os.access(at, os.W_OK | os.X_OK):
        return ""
    private = directories.private_directory()
    if not private or directories.make(private):
        return ""
    return os.path.join(private, "zig")


_running = {}  # process -> the thread that waits for it


def forget():
    """A child of fork waits for none of its parent's compilers."""
    _running.clear()


def run(command, data=b"", timeout=None, fds=()):
    """Run to the end and return stdout; Failed otherwise. On any exception its whole group dies."""
    import subprocess  # 5 ms that a warm start never pays

    try:
        child = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env=environment(command),
            pass_fds=fds,
            **system.apart(),
        )
    except (OSError, ValueError) as error:  # ValueError: a NUL in an argument
        raise Failed(command, getattr(error, "strerror", None) or str(error)) from error
    _running[child] = threading.get_ident()
    try:
        talk = _converse_by_threads if system.WINDOWS else _converse
        out, err = talk(child, data, timeout)
    except BaseException as error:
        stop(child)
        if isinstance(error, TimeoutError):
            reason = f"took more than cc.timeout={timeout:g} seconds and was stopped"
            failed = Failed(command, reason)
            failed.timed_out = True
            raise failed from None
        raise
    finally:
        _running.pop(child, None)
    if child.returncode:
        raise Failed(command, _ending(child.returncode), err.decode("utf-8", "replace"))
    return out


def _converse(child, data, timeout):
    """Write `data`, read both outputs to their ends and wait; beyond OUTPUT bytes are dropped.

    TimeoutError when that takes too long. Popen.communicate would keep whatever a compiler gone
    mad prints until memory is full.
    """
    import selectors  # start-up

    limit = None if timeout is None else time.monotonic() + timeout
    texts = {child.stdout: bytearray(), child.stderr: bytearray()}
    view = memoryview(data)
    with selectors.DefaultSelector() as ready:
        for stream in texts:
            ready.register(stream, selectors.EVENT_READ)
        os.set_blocking(child.stdin.fileno(), False)
        ready.register(child.stdin, selectors.EVENT_WRITE)
        while ready.get_map():
            left = None if limit is None else limit - time.monotonic()
            if left is not None and left <= 0:
                raise TimeoutError
            for key, _ in ready.select(left):
                stream = key.fileobj
                if stream is child.stdin:
                    view = view[_feed(stream, view) :] if view else view
                    done = not view
                else:
                    piece = os.read(stream.fileno(), 1 << 16)
                    text = texts[stream]
                    text += piece[: max(0, OUTPUT - len(text))]
                    done = not piece
                if done:
                    ready.unregister(stream)
                    stream.close()
    _wait(child, limit)
    return bytes(texts[child.stdout]), bytes(texts[child.stderr])


def _converse_by_threads(child, data, timeout):
    """The same where pipes cannot be waited for together: a thread for each."""
    limit = None if timeout is None else time.monotonic() + timeout
    texts = {child.stdout: bytearray(), child.stderr: bytearray()}

    def read(stream, text):
        while piece := os.read(stream.fileno(), 1 << 16):
            text += piece[: max(0, OUTPUT - len(text))]
        stream.close()

    def feed():
        with contextlib.suppress(OSError):  # it no longer reads
            child.stdin.write(data)
        with contextlib.suppress(OSError):
            child.stdin.close()

    threads = [threading.Thread(target=read, args=pair, daemon=True) for pair in texts.items()]
    threads.append(threading.Thread(target=feed, daemon=True))
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(None if limit is None else max(0.0, limit - time.monotonic()))
        if thread.is_alive():
            raise TimeoutError
    _wait(child, limit)
    return bytes(texts[child.stdout]), bytes(texts[child.stderr])


def _feed(stream, view):
    """How many bytes the program took; all of them when it no longer reads."""
    try:
        return os.write(stream.fileno(), view[: 1 << 16])
    except BlockingIOError:
        return 0
    except BrokenPipeError:
        return len(view)


def _wait(child, limit):
    import subprocess  # start-up

    try:
        child.wait(None if limit is None else max(0.0, limit - time.monotonic()))
    except subprocess.TimeoutExpired:  # it closed its outputs and still runs
        raise TimeoutError from None


def stop(child):
    """Kill a command with all it started, and wait for it, so that no zombie stays."""
    system.kill(child)
    for stream in (child.stdin, child.stdout, child.stderr):
        quietly(stream.close)
    child.wait()


def stop_those_of(threads):
    """Kill the commands that these threads wait for: the user does not want to wait for them."""
    for child, thread in list(_running.items()):
        if thread in threads:
            system.kill(child)


def _ending(status):
    """'exit status 1', 'killed by SIGSEGV'."""
    if status > 0:
        return f"exit status {status}"
    import signal  # start-up

    try:
        return f"was killed by {signal.Signals(-status).name}"
    except ValueError:
        return f"was killed by signal {-status}"


def output(command, timeout=60):
    """stdout of a command as text, or None if it did not work."""
    try:
        return run(command, timeout=timeout).decode("utf-8", "replace")
    except Failed:
        return None


def shared_object(command, text, linker, libraries, timeout):
    """C text -> bytes of a shared object. `linker`: the path of ld, or "" to link by `command`."""
    if hasattr(os, "memfd_create") and os.path.isdir("/proc/self/fd"):
        try:
            return _in_memory(command, text, linker, libraries, timeout)
        except (Failed, OSError) as error:
            output = getattr(error, "output", "")
            if getattr(error, "timed_out", False) or "error:" in output and "/proc/" not in output:
                raise  # a complaint about the source, not a failure of memory files
    return _in_directory(command, text, libraries, timeout)


def _in_memory(command, text, linker, libraries, timeout):
    code = os.memfd_create("ck-object")
    image = os.memfd_create("ck-shared")
    try:
        compile_c = [*command, "-pipe", "-c", "-x", "c", "-", "-o", f"/proc/self/fd/{code}"]
        run(compile_c, text.encode(), timeout, (code,))
        names = [f"/proc/self/fd/{code}", "-o", f"/proc/self/fd/{image}"]
        if linker and not libraries:
            run([linker, "-shared", "-z", "noexecstack", *names], b"", timeout, (code, image))
        else:
            link = [*command, "-shared", "-nostdlib", *names, *libraries]
            run(link, b"", timeout, (code, image))
        return system.read_all(image)
    finally:
        os.close(code)
        os.close(image)


def _in_directory(command, text, libraries, timeout):
    import tempfile  # start-up

    with tempfile.TemporaryDirectory(prefix="ckernels-") as directory:
        target = os.path.join(directory, "kernels.so")
        run(
            [*command, "-pipe", "-shared", "-x", "c", "-", "-o", target, *libraries],
            text.encode(),
            timeout,
        )
        with open(target, "rb") as stream:
            return stream.read()


def stamp(path):
    """Size and mtime, or "" for a file that is not there."""
    try:
        info = os.stat(path)
    except OSError:
        return ""
    return f"{info.st_size}:{info.st_mtime_ns}"


def write_atomically(path, data):
    """A reader sees the whole file or the file before it."""
    temporary = write_temporary(os.path.dirname(path), data)
    try:
        system.replace(temporary, path)
    except BaseException:
        quietly(os.unlink, temporary)
        raise


def write_temporary(directory, data):
    """Path of a new private file with `data`. No fsync: what a crash tears, a digest finds."""
    path = temporary_name(directory)
    try:  # around the call too: Ctrl-C may come right after the file was made
        fd = os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY | system.BINARY, 0o600)
        with os.fdopen(fd, "wb") as stream:
            stream.write(data)
    except BaseException:
        quietly(os.unlink, path)
        raise
    return path


def temporary_name(directory):
    """Unique among processes, forks and machines: no counter, no pid alone."""
    name = f"tmp-{_machine()}-{os.getpid()}-{os.urandom(8).hex()}"
    return os.path.join(directory, name)


def _machine():
    """Names the set of processes whose numbers mean what they mean here: boot and pid namespace."""
    global _machine_name
    if _machine_name is None:
        import hashlib  # start-up

        parts = [os.uname().nodename if hasattr(os, "uname") else ""]
        try:
            parts.append(str(os.stat("/proc/self/ns/pid").st_ino))
            with open("/proc/sys/kernel/random/boot_id", "rb") as stream:
                parts.append(stream.read().hex())
        except OSError:
            parts.append(os.urandom(8).hex())  # of no machine: only a file's age tells
        _machine_name = hashlib.sha256("\0".join(parts).encode()).hexdigest()[:8]
    return _machine_name


_machine_name = None


def writer_is_dead(name):
    """Whether a temporary file was written by a process of this machine that is no more."""
    parts = name.split("-")
    if len(parts) != 4 or parts[1] != _machine() or not parts[2].isdecimal():
        return False
    return system.is_dead(int(parts[2]))


def quietly(function, *args):
    """Call it; False where the system refused."""
    try:
        function(*args)
        return True
    except OSError:
        return False


def which(name):
    """The path of a program, or None. shutil.which without the 2 ms of importing shutil."""
    places = [""] if os.path.dirname(name) else os.get_exec_path()
    for place in places:
        for ending in system.endings():
            path = os.path.join(place, name + ending)
            if os.path.isfile(path) and os.access(path, os.X_OK):
                return path
    return None


def log(room, level, message, *args):
    """A line in the log `ckernels.<room>`."""
    import logging  # start-up

    getattr(logging.getLogger(f"ckernels.{room}"), level)(message, *args)


def usable_cores():
    """Cores this process may use: affinity and the cgroup's quota, at least one."""
    try:
        cores = len(os.sched_getaffinity(0))
    except AttributeError:
        cores = os.cpu_count() or 1
    try:
        with open("/sys/fs/cgroup/cpu.max", encoding="ascii") as stream:
            quota, period = stream.read().split()
        cores = min(cores, -(-int(quota) // int(period)))
    except (OSError, ValueError):
        pass
    return max(1, cores)
