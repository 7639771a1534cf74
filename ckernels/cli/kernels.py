"""The commands of `ckernels-cache`, and the small ones of `ckernels`.

Each takes the parsed arguments and returns the exit status. Only `restore` creates the compiledir.
"""

import os
import sys
import time

from ..base.config import FLAGS, config
from ..base.errors import CacheError
from ..compiler import bundle as bundles
from ..compiler import cache, directories, hits
from . import completion
from .output import ago, agreed, as_json, bold, counted, human, on_terminal, plain, table


def opened(create=False):
    """The compiledir that the flags name; it is read and written whatever `cache=` is."""
    directory = cache.compiledir()
    if not directory:
        raise CacheError(
            "there is no home directory to keep kernels in; set CKERNELS_FLAGS=base_compiledir=..."
        )
    there = os.path.isdir(directory)
    store = cache.Cache(directory, "on" if there or create else "off")
    if store.trouble and (create or store.trouble != "it is not writable"):
        raise CacheError(f"{directory}: {store.trouble}")
    return store


def path(arguments):
    private = directories.private_directory()
    if arguments.json:
        as_json({"path": cache.compiledir(), "private": private})
        return 0
    print(cache.compiledir())
    if on_terminal() and private and os.path.isdir(private):
        print(f"(kernels that could not be kept there are in {private})", file=sys.stderr)
    return 0


def rows(store):
    """What is known of each kernel, the oldest first."""
    counts, found = hits.counts(store.directory), []
    for modified, size, keys in store.entries():
        for key in sorted(keys):
            note = store.note(key)
            meta = note.get("meta")
            meta = meta if isinstance(meta, dict) else {}
            found.append(
                {
                    "key": key,
                    "name": note.get("name", "?"),
                    "date": note.get("date", ""),
                    "signature": meta.get("signature") or meta.get("form") or note.get("name", "?"),
                    "bytes": size,
                    "shared_by": len(keys),
                    "last_used": modified,
                    "hits": counts.get(key, 0),
                    "features": note.get("features", []),
                }
            )
    return found


def show_list(arguments):
    found = rows(opened())
    order = {
        "size": lambda row: -row["bytes"],
        "hits": lambda row: -row["hits"],
        "name": lambda row: row["name"],
        "age": None,
    }[arguments.sort]
    if order:
        found.sort(key=order)
    if arguments.json:
        as_json(found)
        return 0
    short, now = on_terminal(), time.time()
    table(
        ["KEY", "SIZE", "USED", "HITS", "NAME", "SIGNATURE"],
        [
            (
                row["key"][:16] if short else row["key"],
                human(row["bytes"]) if short else row["bytes"],
                ago(now - row["last_used"]) if short else int(row["last_used"]),
                row["hits"],
                row["name"],
                row["signature"],
            )
            for row in found
        ],
        right=(1, 2, 3),
    )
    if short:
        print(counted(len(found), "kernel"))
    return 0


def keys(arguments):
    for _, _, found in opened().entries():
        print("\n".join(found))
    return 0


def show(arguments):
    store = opened()
    start = arguments.key
    found = [k for _, _, keys in store.entries() for k in keys if k.startswith(start)]
    named = [
        k
        for _, _, keys in store.entries()
        for k in keys
        if not found and store.note(k).get("name") == start
    ]
    found = found or named
    if len(found) != 1 or not start:
        reason = f"{len(found)} kernels start with" if found else "no kernel starts with"
        print(f"ckernels-cache: {reason} {start!r}", file=sys.stderr)
        return 1
    key = found[0]
    note = store.note(key)
    if arguments.json:
        as_json(
            {
                **note,
                "key": key,
                "file": store.path(key),
                "hits": hits.counts(store.directory).get(key, 0),
            }
        )
        return 0
    source = str(note.pop("source", "(no note was kept beside this entry)"))
    for name, value in note.items():
        value = " ".join(map(str, value)) if isinstance(value, list) else value
        print(f"{bold(plain(name))}: {plain(value)}")
    print(f"{bold('file')}: {store.path(key)}\n")
    print("\n".join(plain(line.expandtabs(4)) for line in source.splitlines()))
    return 0


def stats(arguments):
    store = opened()
    size, files = store.usage()
    entries, plans = store.entries(), store.entries("plan")
    counts = hits.counts(store.directory)
    known = {key for _, _, keys in entries for key in keys}
    found = {
        "path": store.directory,
        "kernels": len(known),
        "objects": len(entries),
        "plans": len(plans),
        "files": files,
        "bytes": size,
        "max_bytes": config["cache.max_size"],
        "max_files": config["cache.max_files"],
        "hits": sum(count for key, count in counts.items() if key in known),
        "oldest": entries[0][0] if entries else None,
        "newest": entries[-1][0] if entries else None,
    }
    if arguments.json:
        as_json(found)
        return 0
    print(
        f"{found['path']}\n{counted(len(known), 'kernel')} in "
        f"{counted(len(entries), 'shared object')}, {counted(len(plans), 'plan')}, "
        f"{counted(found['hits'], 'hit')}"
    )
    print(f"{human(size)} of {human(found['max_bytes'])}, {files} of {found['max_files']} files")
    if entries:
        now = time.time()
        print(f"used between {ago(now - found['oldest'])} and {ago(now - found['newest'])} ago")
    return 0


def verify(arguments):
    store = opened()
    remove = store.writable and not arguments.keep
    bad = store.verify(remove)
    if arguments.json:
        as_json([{"key": key, "reason": reason, "removed": remove} for key, reason in bad])
        return 1 if bad else 0
    for key, reason in bad:
        print(f"{key}: {reason}")
    after = ", removed: they are rebuilt at their next use" if bad and remove else ""
    count = sum(len(keys) for _, _, keys in store.entries())
    print(
        f"{counted(count, 'kernel')} and {counted(len(store.entries('plan')), 'plan')} are whole"
        f"\n{len(bad)} bad entries{after}"
    )
    return 1 if bad else 0


def collect(arguments):
    store = opened()
    before = store.usage()
    swept, evicted = store.sweep(), store.evict()
    freed = max(0, before[0] - store.usage()[0])
    if arguments.json:
        as_json({"stale": swept, "evicted": evicted, "bytes": freed})
    else:
        print(
            f"{swept} stale temporary files deleted, {evicted} kernels evicted, "
            f"{human(freed)} freed"
        )
    return 0


def clear(arguments):
    store = opened()
    days = arguments.older_than
    limit = time.time() - 86400 * days if days is not None else None
    kernels, plans = (
        [
            key
            for modified, _, found in store.entries(suffix)
            for key in found
            if limit is None or modified < limit
        ]
        for suffix in ("so", "plan")
    )
    what = f"{counted(len(kernels), 'kernel')} and {counted(len(plans), 'plan')}"
    alone = sys.stdin is None or not sys.stdin.isatty()  # a cron job: nobody can be asked
    if (kernels or plans or limit is None) and not (arguments.yes or limit is not None and alone):
        if not agreed(f"Delete {what} in {store.directory}?"):
            if arguments.json:
                as_json({"kernels": 0, "plans": 0, "bytes": 0, "stale": 0})
            print("nothing deleted; --yes does not ask", file=sys.stderr)
            return 1
    before = store.usage()[0]
    store.remove(*kernels, *plans)
    if limit is None:
        store.forget()
    swept = store.sweep()
    left = sum(len(found) for _, _, found in store.entries())
    freed = max(0, before - store.usage()[0])
    if arguments.json:
        as_json({"kernels": len(kernels), "plans": len(plans), "bytes": freed, "stale": swept})
        return 0
    print(
        f"{what} deleted, {human(freed)} freed"
        + (f", {counted(swept, 'stale temporary file')}" if swept else "")
        + (f"; {counted(left, 'kernel')} kept" if left else "")
    )
    return 0


def bundle(arguments):
    store = opened()
    kernels, plans, size = bundles.write(store, arguments.file)
    if arguments.json:
        as_json({"file": arguments.file, "kernels": kernels, "plans": plans, "bytes": size})
        return 0
    print(
        f"{counted(kernels, 'kernel')} and {counted(plans, 'plan')} in {arguments.file}, "
        f"{human(size)}"
    )
    return 0


def restore(arguments):
    store = opened(create=True)
    done = bundles.restore(store, arguments.file)
    if arguments.json:
        as_json(
            {
                "kernels": done.kernels,
                "plans": done.plans,
                "compilers": done.compilers,
                "foreign": done.foreign,
                "refused": done.refused,
            }
        )
        return 1 if done.refused else 0
    for name, reason in done.refused:
        print(f"{plain(name)} was refused: {reason}")
    print(
        f"{counted(done.kernels, 'kernel')} and {counted(done.plans, 'plan')} restored to "
        f"{store.directory}, {counted(len(done.refused), 'file')} refused"
    )
    if done.foreign:
        print(
            f"{counted(done.foreign, 'kernel')} will not be used here: this CPU lacks "
            "instructions they need"
        )
    return 1 if done.refused else 0


def show_config(arguments):
    if arguments.flag:
        print(config[arguments.flag])
    elif arguments.json:
        as_json(
            {
                flag.name: {
                    "value": config[flag.name],
                    "default": flag.default,
                    "meaning": flag.meaning,
                    "origin": config.origin(flag.name),
                }
                for flag in FLAGS
            }
        )
    else:
        print(config)
    return 0


def show_completion(arguments):
    from . import cache_parser, main_parser  # start-up

    parsers = {"ckernels-cache": cache_parser(), "ckernels": main_parser()}
    print(completion.script(arguments.shell, parsers), end="")
    return 0
