"""What tests compile for themselves is made once in a run, by the process that comes first."""

import fcntl
import os
from pathlib import Path


def once(name, make):
    """The folder of that name, kept to the end of the run, after make(folder) was called in it."""
    folder = Path(os.environ["CKERNELS_TESTS_SCRATCH"]) / name
    folder.mkdir(exist_ok=True)
    with open(folder / "lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not (folder / "made").exists():
            make(folder)
            (folder / "made").touch()
    return folder
