"""What tests compile for themselves is made once, by the process that comes first.

Once in a run; with CKERNELS_TESTS_KERNELS, once for all that it depends on.
"""

import fcntl
import functools
import hashlib
import os
import shutil
import subprocess
import time
from pathlib import Path

WEEK = 7 * 86_400  # seconds


@functools.cache
def machine():
    """What compiles here, and for which processor: bytes."""
    compiler = shutil.which("gcc") or shutil.which("cc")
    version = subprocess.run([compiler, "--version"], capture_output=True).stdout
    described = Path("/proc/cpuinfo")
    lines = described.read_bytes().splitlines() if described.exists() else ()
    return b"".join([version, *sorted({n for n in lines if n.startswith((b"flags", b"model"))})])


def once(name, make, *of):
    """A folder of that name after make(folder) was called in it; `of`: texts that it depends on."""
    kept = os.environ.get("CKERNELS_TESTS_KERNELS")
    digest = hashlib.sha256(repr((name, of)).encode() + machine()).hexdigest()[:16]
    folder = Path(os.environ["CKERNELS_TESTS_SCRATCH"]) / name
    if kept:
        folder = Path(kept) / "made-by-tests" / f"{name}-{digest}"
    folder.mkdir(exist_ok=True, parents=True)
    with open(folder / "lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not (folder / "made").exists():
            make(folder)
            (folder / "made").touch()
            for other in folder.parent.glob("*/made") if kept else ():
                if time.time() - other.stat().st_mtime > WEEK:
                    shutil.rmtree(other.parent, ignore_errors=True)
    return folder
