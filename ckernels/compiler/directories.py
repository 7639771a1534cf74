"""Where the compiledir is, and whether a place may be trusted.

The flags name the directory; where it cannot be used, a private one in the temporary directory
serves, and where that cannot be used either, memory. Nobody else may be able to write what is
loaded into this process: owner and mode are checked, of directories and of each file.
"""

import os
import re
import stat
import sys

from ..base.config import config
from ..base.errors import ConfigError
from . import system
from .entry import ABI


def compiledir():
    """The path of the compiledir as the flags give it, "" without a home; nothing is created."""
    named = config["compiledir"]
    if named:
        return _absolute(named)
    base = config["base_compiledir"]
    if not base:
        base = system.cache_home()
        if not base:
            return ""
        base = os.path.join(base, "ckernels")
    return _absolute(os.path.join(base, _directory_name()))


def private_directory():
    """The compiledir of last resort, in the temporary directory; "" where there is none.

    The temporary directory is that of the module tempfile, whose import costs more than a warm
    start may.
    """
    chosen = getattr(sys.modules.get("tempfile"), "tempdir", None)
    named = [os.environ.get(name) for name in ("TMPDIR", "TEMP", "TMP")]
    for place in [chosen] if chosen else [*filter(None, named), "/tmp", "/var/tmp", "/usr/tmp"]:
        if os.path.isdir(place) and os.access(place, os.W_OK | os.X_OK):
            return os.path.join(_absolute(place), f"ckernels-{_user()}")
    return ""


def _absolute(path):
    try:
        return os.path.abspath(path)
    except OSError:  # the working directory is gone
        return path


def _user():
    return str(os.geteuid()) if hasattr(os, "geteuid") else os.environ.get("USERNAME", "user")


def _directory_name():
    import platform  # start-up

    known = {
        "system": lambda: sys.platform,
        "platform": platform.platform,
        "machine": platform.machine,
        "processor": lambda: platform.processor() or platform.machine(),
        "hostname": platform.node,
        "user": _user,
        "abi": lambda: str(ABI),
        "python_version": platform.python_version,
    }

    def word(match):
        name = match[1] or match[2] or ""
        if name not in known:
            raise ConfigError(f"compiledir_format knows {', '.join(known)}; not {match[0]}")
        return known[name]()

    return re.sub(r"\{(\w*)\}|%\((\w+)\)s", word, config["compiledir_format"])


def unsafe(info, own=True):
    """Why a directory or file must not be trusted, or "". Nobody else may be able to write it."""
    if not hasattr(os, "geteuid"):
        return ""
    if info.st_uid not in ((os.geteuid(),) if own else (os.geteuid(), 0)):
        return f"it belongs to user {info.st_uid}"
    if info.st_mode & (stat.S_IWGRP | stat.S_IWOTH):
        return f"others may write it (mode {stat.S_IMODE(info.st_mode):o}); `chmod go-w` it"
    return ""


def distrust(directory, own=True):
    """Why a directory is not used, or "". FileNotFoundError where there is none."""
    try:
        info = os.stat(directory)
    except FileNotFoundError:
        raise
    except (OSError, ValueError) as error:  # ValueError: a NUL in the path
        return getattr(error, "strerror", None) or str(error)
    return unsafe(info, own) if stat.S_ISDIR(info.st_mode) else "it is not a directory"


def make(directory):
    """Make a directory for this user alone where there is none; why that failed, or ""."""
    try:
        os.makedirs(os.path.dirname(directory), 0o700, exist_ok=True)
        try:
            os.mkdir(directory, 0o700)
        except FileExistsError:
            pass
        return distrust(directory)
    except (OSError, ValueError, RecursionError) as error:  # a path of thousands of folders
        return f"it cannot be made ({getattr(error, 'strerror', None) or error})"


def executable(directory):
    """Whether files of this directory may be run: None where the system does not say."""
    try:
        return not os.statvfs(directory).f_flag & os.ST_NOEXEC
    except (OSError, AttributeError):
        return None
