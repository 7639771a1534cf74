"""Commands of `ckernels-cache` on whole directories, by the words of `theano-cache`.

The compiledir of this machine and its siblings below base_compiledir: which there are, and away
with them. A directory counts as one of ours by its name and what is in it.
"""

import os
import shutil
import sys

from ..base.errors import CacheError
from ..compiler import cache
from .output import agreed, as_json, counted, human


def unlock(arguments):
    """Nothing is ever locked: kernels are published by one rename."""
    if arguments.json:
        as_json({"locks": 0})
        return 0
    print("no lock to remove: kernels are published by one rename, and nobody waits")
    return 0


def purge(arguments):
    """Delete the compiledir, whatever is in it."""
    return _away([d for d in [_compiledir()] if os.path.isdir(d)], arguments)


def base(arguments):
    """Print the directory above the compiledir, list what it holds, or delete that."""
    above = os.path.dirname(_compiledir())
    if arguments.action is None:
        as_json({"path": above}) if arguments.json else print(above)
        return 0
    found = siblings(above)
    if arguments.action == "purge":
        return _away(found, arguments)
    if arguments.json:
        as_json([{"path": directory, "bytes": _size(directory)} for directory in found])
        return 0
    for directory in found:
        print(f"{os.path.basename(directory)}\t{human(_size(directory))}")
    return 0


def siblings(above):
    """The compiledirs in a directory: it holds kernels or plans, or is the one of the flags."""
    own, found = _compiledir(), []
    for name in sorted(os.listdir(above)) if os.path.isdir(above) else ():
        path = os.path.join(above, name)
        if not os.path.isdir(path) or os.path.islink(path):
            continue
        if path == own or any(n.endswith((".so", ".plan")) for n in os.listdir(path)):
            found.append(path)
    return found


def _compiledir():
    directory = cache.compiledir()
    if not directory:
        raise CacheError(
            "there is no home directory to keep kernels in; set CKERNELS_FLAGS=base_compiledir=..."
        )
    return directory


def _size(directory):
    return sum(
        os.path.getsize(os.path.join(folder, name))
        for folder, _, names in os.walk(directory)
        for name in names
    )


def _away(found, arguments):
    """Delete directories, after a question unless `--yes`; the exit status."""
    size = sum(map(_size, found))
    what = f"{counted(len(found), 'compiledir')}, {human(size)}"
    gone = []
    if found and not arguments.yes:
        print(*found, sep="\n", file=sys.stderr if arguments.json else sys.stdout)
        if not agreed(f"Delete {what}?"):
            if arguments.json:
                as_json({"deleted": gone, "bytes": 0})
            print("nothing deleted; --yes does not ask", file=sys.stderr)
            return 1
    for directory in found:
        try:
            shutil.rmtree(directory)
        except OSError as problem:
            print(f"ckernels-cache: {directory}: {problem}", file=sys.stderr)
            if arguments.json:
                as_json({"deleted": gone, "bytes": size - sum(map(_size, found))})
            return 1
        gone.append(directory)
    as_json({"deleted": gone, "bytes": size}) if arguments.json else print(f"{what} deleted")
    return 0
