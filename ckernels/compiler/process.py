"""Running the compiler: argument lists, never a shell; a clean environment; no wait without end.

On Linux nothing touches the disk: the source goes in through a pipe, object and shared object are
memory files (22 ms for a tiny kernel, against 33 ms for `cc -shared` over files). Elsewhere, or
where that fails, a private temporary directory serves. Imports are late here and in the rest of the
room: a warm start needs neither subprocess nor tempfile nor logging, 12 ms together.
"""

import os

# Variables that change what a compiler does, or what is preloaded into it.
DROPPED = {"LD_PRELOAD", "CPATH", "C_INCLUDE_PATH", "DEPENDENCIES_OUTPUT", "SUNPRO_DEPENDENCIES",
           "GCC_COMPARE_DEBUG", "CCC_OVERRIDE_OPTIONS", "LANGUAGE"}  # fmt: skip


class Failed(Exception):
    """A command that did not succeed. `output` is what it wrote to stderr."""

    def __init__(self, command, reason, output=""):
        super().__init__(f"{os.path.basename(command[0])}: {reason}\n{output}")
        lines = [line for line in output.splitlines() if line.strip()]
        errors = [line for line in lines if "error" in line.lower()]
        self.output = output
        self.first_line = (errors or lines or [f"{command[0]} {reason}"])[0].strip()


def environment():
    kept = {name: value for name, value in os.environ.items() if name not in DROPPED}
    return {**kept, "LC_ALL": "C"}


def run(command, data=b"", timeout=None, fds=()):
    """Run to the end and return stdout; Failed otherwise. On any exception its whole group dies."""
    import subprocess  # 5 ms that a warm start never pays

    try:
        child = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
            env=environment(), pass_fds=fds, start_new_session=True,
        )  # fmt: skip
    except OSError as error:
        raise Failed(command, error.strerror or str(error)) from error
    try:
        out, err = child.communicate(data, timeout)
    except BaseException as error:
        try:
            os.killpg(child.pid, 9)  # the driver alone would leave cc1 running
        except (OSError, AttributeError):
            child.kill()
        child.communicate()
        if isinstance(error, subprocess.TimeoutExpired):
            reason = f"took more than cc.timeout={timeout:g} seconds and was stopped"
            failed = Failed(command, reason)
            failed.timed_out = True
            raise failed from None
        raise
    if child.returncode:
        reason = f"exit status {child.returncode}"
        raise Failed(command, reason, err.decode("utf-8", "replace"))
    return out


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
                raise  # about the source, not about the files
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
        return read_all(image)
    finally:
        os.close(code)
        os.close(image)


def _in_directory(command, text, libraries, timeout):
    import tempfile

    with tempfile.TemporaryDirectory(prefix="ckernels-") as directory:
        target = os.path.join(directory, "kernels.so")
        run(
            [*command, "-pipe", "-shared", "-x", "c", "-", "-o", target, *libraries],
            text.encode(), timeout,
        )  # fmt: skip
        with open(target, "rb") as stream:
            return stream.read()


def read_all(fd):
    """The whole of a file through its descriptor, from the start."""
    parts, size = [], 0
    while part := os.pread(fd, 1 << 20, size):
        parts.append(part)
        size += len(part)
    return b"".join(parts)


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
        os.replace(temporary, path)
    except BaseException:
        quietly(os.unlink, temporary)
        raise


def write_temporary(directory, data):
    """Path of a new private file with `data`. No fsync: what a crash tears, a digest finds."""
    path = temporary_name(directory)
    fd = os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600)
    try:
        with os.fdopen(fd, "wb") as stream:
            stream.write(data)
    except BaseException:
        quietly(os.unlink, path)
        raise
    return path


def temporary_name(directory):
    """Unique among processes, forks and machines: no counter, no pid alone."""
    return os.path.join(directory, f"tmp-{os.getpid()}-{os.urandom(8).hex()}")


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
    for path in (os.path.join(place, name) for place in places):
        if os.path.isfile(path) and os.access(path, os.X_OK):
            return path
    return None


def log(room, level, message, *args):
    """A line in the log `ckernels.<room>`."""
    import logging

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
