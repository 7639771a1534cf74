"""The compiler room: C text of kernels in, addresses of machine code out.

`build` names every kernel by the SHA-256 of all that decides its machine code, takes what this
process or the compiledir already has, and sends the rest to the C compiler in few batches, in
parallel. It knows nothing of graphs, shapes or Python arrays.
"""

import hashlib
import os
import threading
import time
from typing import NamedTuple

from ..base import locks
from ..base.config import config
from ..base.errors import CompileError, CompilerMissing
from . import cache, claims, cpu, loader, prebuilt, process, toolchain
from .entry import keys_of, unseal
from .progress import Phases, Progress
from .toolchain import own_flags

__all__ = ["Build", "CompileError", "CompilerMissing", "KernelSource", "Phases", "build", "lacking",
           "ready_made", "key_parts"]  # fmt: skip

# Generated C includes no headers: they cost more than the kernels (stdio x1.2, immintrin x6).
PREAMBLE = """\
typedef __INT8_TYPE__ int8_t;     typedef __UINT8_TYPE__ uint8_t;
typedef __INT16_TYPE__ int16_t;   typedef __UINT16_TYPE__ uint16_t;
typedef __INT32_TYPE__ int32_t;   typedef __UINT32_TYPE__ uint32_t;
typedef __INT64_TYPE__ int64_t;   typedef __UINT64_TYPE__ uint64_t;
typedef __SIZE_TYPE__ size_t;     typedef __INTPTR_TYPE__ intptr_t;
enum { CK_EINDEX = 1, CK_EVALUE = 4 }; /* what kernels return when not 0: ckernels.h */
#define CK_RESTRICT restrict
#define CK_TEXT(...) #__VA_ARGS__
#ifdef __clang__ /* reduction(max:x) starts at the lowest finite number: it loses -inf */
#define CK_SIMD_EXTREME(...)
#else
#define CK_SIMD_EXTREME(...) _Pragma(CK_TEXT(omp simd __VA_ARGS__))
#endif
#if defined(__AVX512F__) /* floats in a vector */
#define CK_LANES 16
#elif defined(__AVX__)
#define CK_LANES 8
#else
#define CK_LANES 4
#endif
#ifdef __clang__ /* sums several vectors side by side of itself */
#define CK_SIDE_BY_SIDE(n, block, least) ((n) * 0)
#else
#define CK_SIDE_BY_SIDE(n, block, least) ((n) < (least) ? 0 : (n) - (n) % (block))
#endif
"""
TABLE = """\
typedef int (*ck_fn)(void *const *p, const int64_t *dims, int64_t lo, int64_t hi);
typedef struct { const char *key; ck_fn fn; } ck_entry;
const ck_entry ck_kernels[] = {
%s    { 0, 0 }
};
"""
# A run of the compiler costs as much as this many characters of kernel text (22 ms to start it).
BATCH_OVERHEAD = 1500
BATCH_MOST = 120_000  # and no run is to take many seconds: there would be no progress to show


class KernelSource(NamedTuple):
    name: str  # the C symbol, unique by content
    text: str  # the definition of `int name(void *const *p, const int64_t *dims, lo, hi)`
    snippets: tuple = ()  # helpers it needs, in order; each is printed once per translation unit
    flags: tuple = ()  # extra compiler flags; kernels are batched by them
    meta: dict = {}  # what it was generated from, for people; JSON-able
    alone: bool = False  # it needs a translation unit of its own: it brings names of a user's


class Build(NamedTuple):
    addresses: list  # of the functions, aligned with the sources
    keys: list
    built: int  # kernels compiled by this call
    from_cache: int  # kernels this call read from a compiledir, or got from another process
    seconds: float
    paths: list  # where each entry is in the compiledir, whether or not it could be written


class Pending:
    """A kernel that another thread is building."""

    def __init__(self):
        self.done = threading.Event()
        self.error = None


_lock = locks.lock()
_loaded = {}  # key -> address, for the life of the process
_building = {}  # key -> Pending
_toolchains = {}
_others = None  # what register_others was given
ROUNDS = 3  # of asking others for kernels, before they are compiled here after all


def current_toolchain():
    """The Toolchain the flags ask for; looked for once per process and setting."""
    names = ("CKERNELS_CC", "CC", "PATH")
    wanted = (str(config["cc"]), config["arch"], own_flags(), *map(os.environ.get, names))
    if wanted not in _toolchains:
        store = cache.current()
        try:
            found = toolchain.find(store.directory if store.readable else None, store.writable)
        except CompilerMissing:
            if not prebuilt.level():
                raise
            found = prebuilt.stand_in(prebuilt.level())
        if found.host == cpu.host_fingerprint():
            cpu.trust(found.detected)
        _toolchains[wanted] = found
    return _toolchains[wanted]


def ready_made():
    """Whether there is no compiler, but some kernels came with the wheel. Those read numbers such
    as learning rates from memory, so that one kernel serves all of them."""
    try:
        return not current_toolchain().path
    except CompilerMissing:
        return False


def lacking(sources):
    """The names of those kernels that neither this process, nor a compiledir, nor the wheel has."""
    tools, there, store = current_toolchain(), prebuilt.kernels(), cache.current()
    keyed = [(source.name, key_of(source, tools)) for source in sources]
    return {name for name, key in keyed if key not in there and not _from_cache(key, store)}


def key_parts(source, tools):
    """[(name, text)] of all that decides a kernel's machine code; the key is their SHA-256."""
    return [
        ("abi", str(cache.ABI)),
        ("compiler", tools.identity),
        ("cpu", tools.macros),
        ("flags", "\0".join((*tools.flags, *source.flags, *own_flags()))),
        ("source", "\0".join((source.name, PREAMBLE, TABLE, *source.snippets, source.text))),
    ]


def key_of(source, tools):
    digest = hashlib.sha256()
    for name, text in key_parts(source, tools):
        digest.update(f"{name}={len(text)}:{text}\0".encode())
    return digest.hexdigest()


def build(sources):
    """Addresses of the kernels; compiles those that neither this process nor a compiledir holds."""
    start, phases = time.perf_counter(), Phases()
    tools = current_toolchain()
    store = cache.current()
    keys = [key_of(source, tools) for source in sources]
    mine, theirs = _claim(keys)
    counts = [0, 0]
    try:
        found = _all_from_cache(mine, store)
        missing = [
            (k, s) for k, s in dict(zip(keys, sources)).items() if k in mine and k not in _loaded
        ]
        counts = [len(missing), len(found)]
        if missing and not tools.available():
            missing = _without_compiler(missing)
        if missing and not _gone_on(tools):
            counts[0] = _provide(missing, tools)
            counts[1] += len(missing) - counts[0]
        elif missing:  # the compiler was upgraded meanwhile: its kernels have other keys
            _release(mine, None)
            return build(sources)
        _release(mine, None)
    except BaseException as error:
        _release(mine, error)
        raise
    for pending in theirs:
        pending.done.wait()
        if pending.error is not None:
            raise pending.error
    if not all(key in _loaded for key in keys):  # a thread whose compiler was upgraded
        return build(sources)
    paths = [cache.current().path(key) for key in keys]
    seconds = time.perf_counter() - start
    phases("provided %d kernels: %d compiled, %d from the compiledir,", len(keys), *counts)
    return Build([_loaded[key] for key in keys], keys, *counts, seconds, paths)


def _without_compiler(missing):
    """What is still missing after a look at the kernels that came with the wheel."""
    if not prebuilt.level():
        return missing
    tools, there = prebuilt.stand_in(prebuilt.level()), prebuilt.kernels()
    for key, source in missing:
        address = there.get(key_of(source, tools))
        if address is not None:
            _loaded[key] = address
    return [(key, source) for key, source in missing if key not in _loaded]


def _provide(missing, tools):
    """Compile [(key, source)], but for those that other processes compile; how many it compiled."""
    todo, count, store = dict(missing), 0, cache.current()
    there = [key for key in todo if os.path.exists(store.path(key))]
    _all_from_cache(there, store)  # published since the first look
    todo = {key: source for key, source in todo.items() if key not in _loaded}
    if not todo:
        return 0
    others = _others or claims.KernelClaims(store, [key for key in there if key in todo])
    try:
        for _ in range(ROUNDS):
            mine = others.claim(list(todo))
            count += len(mine)
            try:
                if mine:
                    _compile_all([(key, todo.pop(key)) for key in mine], tools)
            finally:
                others.done(mine)
            if todo:
                for data in others.wait(list(todo)):
                    adopt(data)
                _all_from_cache(list(todo), cache.current())
            todo = {key: source for key, source in todo.items() if key not in _loaded}
            if not todo:
                return count
    finally:
        others.close()
    _compile_all(list(todo.items()), tools)  # those that no other process provided
    return count + len(todo)


def register_others(others):
    """Let processes share the work of compiling in another way than by the compiledir: None, or an
    object with four methods.

    claim(keys): those this process is to compile; done(keys): they were compiled, or could not be
    (`sealed` has their entries); wait(keys): the entries of kernels that others compile, as soon as
    these are done; close(): no more of that. Nothing is raised: what fails is compiled here.
    """
    global _others
    _others = others


def sealed(keys):
    """The entries of the compiledir that hold these kernels, as bytes: what `adopt` takes."""
    store, found, seen = cache.current(), [], set()
    for key in keys:
        data = None if key in seen else store.entry(key)
        if data is not None:
            found.append(data)
            seen.update(keys_of(data))
    return found


def adopt(data):
    """Load and keep an entry of another process; False where it is damaged or for another CPU."""
    try:
        keys = keys_of(data)
        elf = unseal(data, keys[0], cpu.lacking)
        for key, address in loader.load(elf).items():
            _loaded.setdefault(key, address)
    except (ValueError, IndexError, OSError) as error:
        cache.warning("an entry of another process is not taken: %s", error)
        return False
    cache.publish(lambda store: store.adopt(data, keys))
    return True


def _gone_on(tools):
    """Whether the compiler was replaced since it was probed; CompilerMissing where it is gone."""
    if tools.available():
        return False
    _toolchains.clear()
    now = current_toolchain()
    if not now.available():
        gone = (
            f"the C compiler {now.path} is gone"
            if now.path
            else (
                "ckernels found no C compiler, and a kernel this program needs did not come with it"
            )
        )
        raise CompilerMissing(gone, toolchain.install_hint())
    process.log("compiler", "info", "%s has changed; using %s", tools.path, now.identity)
    return True


def fetch(keys):
    """The Build of kernels this process or a compiledir holds already; None if one is missing."""
    start = time.perf_counter()
    store = cache.current()
    mine, theirs = _claim(keys)
    try:
        found = _all_from_cache(mine, store)
        whole = len(found) == len(mine)
    finally:
        _release(mine, None)
    for pending in theirs:
        pending.done.wait()
    if not whole or not all(key in _loaded for key in keys):
        return None
    return Build(
        [_loaded[key] for key in keys],
        list(keys),
        0,
        len(mine),
        time.perf_counter() - start,
        [store.path(key) for key in keys],
    )


def keep(key, body):
    """Store bytes that are no kernel (a plan) in the compiledir under their key; False if not."""
    return cache.publish(lambda store: store.put_plan(key, body))


def kept(key):
    """The verified bytes that `keep` stored under `key`, or None."""
    return cache.current().get(key, ".plan")


def note(key):
    """What is written beside a kernel for people: a dict, {} when there is none."""
    return cache.current().note(key)


def _claim(keys):
    """({key: Pending} this thread must provide, [Pending] of other threads to wait for)."""
    wanted = [key for key in dict.fromkeys(keys) if key not in _loaded]
    mine, theirs = {}, []
    with _lock:
        for key in wanted:
            if key in _building:
                theirs.append(_building[key])
            elif key not in _loaded:
                mine[key] = _building[key] = Pending()
    return mine, theirs


def _release(mine, error):
    with _lock:
        for key in mine:
            _building.pop(key, None)
    for key, pending in mine.items():
        pending.error = None if key in _loaded else error
        pending.done.set()


def _all_from_cache(keys, store):
    """Load what the compiledir has of these kernels; the keys found, some beside others."""
    for key in keys:
        _from_cache(key, store)
    if not current_toolchain().path:  # none is here: kernels of the wheel have their keys
        _loaded.update((key, a) for key, a in prebuilt.kernels().items() if key in keys)
    found = [key for key in keys if key in _loaded]
    store.hit(found)
    return found


def _from_cache(key, store):
    """Load a kernel from the compiledir; all kernels that came with it are known from then on."""
    if key in _loaded:
        return True
    elf = store.get(key)
    if elf is None:
        return False
    try:
        for found, address in loader.load(elf).items():
            _loaded.setdefault(found, address)
    except OSError as error:
        cache.warning("%s does not load (%s); building it again", store.path(key), error)
    return key in _loaded


def _compile_all(missing, tools):
    lacking = cpu.lacking(tools.features)
    if lacking:
        raise CompileError(
            f"the flags {' '.join((*tools.flags, *own_flags()))} ask for "
            f"{', '.join(lacking)}, which this CPU lacks"
        )
    batches = split(missing, process.usable_cores())
    errors, todo = [], list(reversed(batches))

    def work():
        while todo and not errors:
            try:
                batch = todo.pop()
            except IndexError:
                return
            try:
                for key, address in _compile_batch(batch, tools).items():
                    _loaded.setdefault(key, address)
                progress.done(len(batch))
            except BaseException as error:
                errors.append(error)

    count = min(len(batches), process.usable_cores()) - 1
    threads = [threading.Thread(target=work) for _ in range(count)]
    with Progress(len(missing)) as progress:
        for thread in threads:
            thread.start()
        try:
            work()
        except BaseException as error:  # an interrupt between two batches
            errors.append(error)
        interrupted = any(not isinstance(error, Exception) for error in errors)
        for thread in threads:
            while thread.is_alive():
                if interrupted:
                    process.stop_those_of({thread.ident for thread in threads})
                thread.join(0.05 if interrupted else None)
    if errors:
        raise min(errors, key=lambda error: isinstance(error, Exception))  # an interrupt goes first


def split(missing, cores):
    """[(key, source)] -> batches: by flags, then over the cores, longest kernels first.

    What a user wrote stands alone: two bodies may have helpers of one name.
    """
    groups = {}
    for key, source in missing:
        groups.setdefault((source.flags, source.alone and key), []).append((key, source))
    total = sum(len(source.text) + BATCH_OVERHEAD for _, source in missing)
    batches = []
    for group in groups.values():
        size = sum(len(source.text) + BATCH_OVERHEAD for _, source in group)
        count = min(len(group), max(1, round(size / total * cores), -(-size // BATCH_MOST)))
        bins = [[0, []] for _ in range(count)]
        for key, source in sorted(group, key=lambda item: -len(item[1].text)):
            lightest = min(bins, key=lambda item: item[0])
            lightest[0] += len(source.text) + BATCH_OVERHEAD
            lightest[1].append((key, source))
        batches += [members for _, members in bins]
    return batches


def translation_unit(batch):
    """The C text of a batch: preamble, every snippet once, the kernels, the table of them."""
    snippets = dict.fromkeys(snippet for _, source in batch for snippet in source.snippets)
    texts = dict.fromkeys(source.text for _, source in batch)
    rows = "".join(f'    {{ "{key}", {source.name} }},\n' for key, source in batch)
    return "\n".join((PREAMBLE, *snippets, *texts, TABLE % rows))


def _compile_batch(batch, tools):
    """Compile, load, publish; {key: address}."""
    text = translation_unit(batch)
    extra = (*batch[0][1].flags, *own_flags())
    keys = [key for key, _ in batch]
    try:
        elf = tools.compile(text, extra)
        try:
            addresses = loader.load(elf)
        except OSError as error:
            if "undefined symbol" not in str(error):
                raise
            elf = tools.link_again(text, extra)
            addresses = loader.load(elf)
        if not set(keys) <= addresses.keys():
            raise OSError("the shared object holds other kernels than the source")
    except (CompileError, process.Failed, OSError) as error:
        path = cache.current().keep_source(keys[0], text)
        names = ", ".join(source.name for _, source in batch)
        reason = str(error).splitlines()[0].replace("<stdin>", path or "<stdin>")
        message = f"the C compiler {tools.path} failed on {names}: {reason}"
        raise CompileError(f"{message}\nThe source was kept: {path}", path, reason) from error
    notes = {key: _note(key, source, tools, extra) for key, source in batch}
    cache.publish(lambda store: store.put(elf, keys, notes, tools.features))
    return addresses


def _note(key, source, tools, extra):
    return {
        "key": key,
        "name": source.name,
        "date": time.strftime("%Y-%m-%dT%H:%M:%S%z"),
        "compiler": tools.identity,
        "flags": [*tools.flags, *extra],
        "features": tools.features,
        "meta": source.meta,
        "parts": {
            name: hashlib.sha256(text.encode()).hexdigest()[:16]
            for name, text in key_parts(source, tools)
        },
        "source": "\n".join((*source.snippets, source.text)),
    }


def _after_fork():
    """A child has the loaded kernels, but no thread that would finish those under way."""
    _building.clear()
    process.forget()
    claims.after_fork()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)
