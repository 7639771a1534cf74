"""`ckernels doctor`: what works here, what does not, and which rule decided.

Each line of the report is (name, state, text, facts). state: whether a part works that compiled
mode needs, None for what is only good to know; facts: a dict for --json.
"""

import os
import platform
import time

from .. import compiler
from ..base import native
from ..base.config import FLAGS, config
from ..base.errors import CKernelsError
from ..compiler import cache, cpu, directories, loader, process, toolchain
from .output import as_json, bold, human, plain

PROBE = """\
int {name}(void *const *p, const int64_t *dims, int64_t lo, int64_t hi) {{
    const float *a = p[0]; float *c = p[1];
    for (int64_t i = lo; i < hi; i++) c[i] = 2.0f * a[i] + (float)dims[0];
    return 0;
}}
"""


def run_probe():
    """Compile, load and call a kernel nobody has compiled before; seconds, or an exception."""
    name = f"k_probe_{os.urandom(8).hex()}"
    source = compiler.KernelSource(name, PROBE.format(name=name))
    tools = compiler.current_toolchain()
    start = time.perf_counter()
    text = compiler.translation_unit([("probe", source)])
    addresses = loader.load(tools.compile(text, compiler.own_flags()))
    if "probe" not in addresses:
        raise CKernelsError("the compiler wrote something else than the probe")
    seconds = time.perf_counter() - start
    ffi = loader.ffi()
    given, result = ffi.new("float[]", [1.0, 2.0, 3.0]), ffi.new("float[3]")
    pointers, dims = ffi.new("void *[]", [given, result]), ffi.new("int64_t[]", [7])
    kernel = ffi.cast(
        "int(*)(void *const *, const int64_t *, int64_t, int64_t)", addresses["probe"]
    )
    if kernel(pointers, dims, 0, 3) != 0 or list(result) != [9.0, 11.0, 13.0]:
        raise CKernelsError(f"the kernel computed {list(result)}, not [9, 11, 13]")
    return seconds


def versions():
    import importlib.metadata  # start-up

    import numpy  # start-up

    def version(name):
        try:
            return importlib.metadata.version(name)
        except importlib.metadata.PackageNotFoundError:
            return "not installed"

    facts = {
        "ckernels": version("ckernels"),
        "python": platform.python_version(),
        "numpy": numpy.__version__,
        "cffi": version("cffi"),
        "platform": platform.platform(),
        "abi": cache.ABI,
    }
    text = (
        f"ckernels {facts['ckernels']} (kernel ABI {cache.ABI}), Python {facts['python']}, "
        f"NumPy {facts['numpy']}, cffi {facts['cffi']}, {facts['platform']}"
    )
    return [("versions", None, text, facts)]


def flags():
    """The flags that are not at their defaults, and where they come from."""
    changed = {
        flag.name: {"value": str(config[flag.name]), "origin": config.origin(flag.name)}
        for flag in FLAGS
        if config.origin(flag.name) != "default"
    }
    text = ", ".join(f"{name}={fact['value']} ({fact['origin']})" for name, fact in changed.items())
    return [("settings", None, text or "all flags have their defaults", changed)]


def tools():
    """Compiler, its flags, the CPU features it enables, OpenMP's pragmas, and the probe."""
    try:
        found = compiler.current_toolchain()
    except CKernelsError as error:
        return [("compiler", False, one_line(error), {})]
    if not found.path:
        kernels = compiler.prebuilt.kernels()
        text = f"none is here; {len(kernels)} kernels for {found.macros} came with the wheel"
        return [("compiler", False, text, {"kernels": len(kernels), "level": found.macros})]
    there = found.available()
    facts = {
        "command": list(found.command),
        "path": found.path,
        "version": found.version,
        "identity": found.identity,
        "linker": found.linker,
    }
    text = f"{found.path} {found.version}" + ("" if there else ": it is gone")
    given = [*found.flags, *compiler.own_flags()]
    missing = cpu.lacking(found.features)
    features = " ".join(found.features) or "none beyond the baseline"
    rows = [
        ("compiler", there, text, facts),
        ("flags", None, " ".join(given), {"flags": given, "own": list(compiler.own_flags())}),
        (
            "features",
            not missing,
            features + (f"; this CPU lacks {' '.join(missing)}" if missing else ""),
            {"features": list(found.features), "lacking": missing, "arch": str(config["arch"])},
        ),
        (
            "openmp",
            None,
            openmp(found),
            {"simd_pragmas": "-fopenmp-simd" in found.flags, "enabled": bool(config["openmp"])},
        ),
    ]
    try:
        seconds = run_probe()
        rows.append(
            (
                "probe",
                True,
                f"compiled, loaded and ran in {seconds * 1e3:.0f} ms",
                {"seconds": seconds},
            )
        )
    except (CKernelsError, OSError, process.Failed) as error:
        rows.append(("probe", False, one_line(error), {}))
    return rows


def openmp(found):
    pragmas = "simd pragmas are understood" if "-fopenmp-simd" in found.flags else "no simd pragmas"
    team = "on" if config["openmp"] else "off (flag openmp), one thread"
    return f"{pragmas}; threads are ckernels' own, not libgomp's, and are {team}"


def runtime():
    """The C runtime with its threads and BLAS."""
    cores = process.usable_cores()
    rows = [
        (
            "cores",
            None,
            f"{cores} usable of {os.cpu_count()}",
            {"usable": cores, "all": os.cpu_count()},
        )
    ]
    if native.runtime is None:
        hint = f"{native.why_none()}; with a C compiler, install ckernels again"
        return [*rows, ("runtime", False, hint, {})]
    from ..runtime.function import apply_flags  # start-up

    try:
        apply_flags()
        refused = ""
    except ValueError as error:  # the flag blas names no library that can be used
        refused = f"flag blas: {one_line(error)}"
    threads, blas = native.runtime.threads_info(), native.runtime.blas_info()
    rule = blas_rule(blas["name"], blas["builtin"])
    text = refused or f"{blas['name']}: {rule}"
    return [
        *rows,
        ("runtime", True, native.runtime.__file__, {"path": native.runtime.__file__}),
        ("threads", None, words(threads), dict(threads)),
        ("blas", False if refused else None, text, {**blas, "rule": rule}),
    ]


def blas_rule(name, builtin):
    """How the library for matrix products was found (ckernels/src/gemm/blas.c has the order)."""
    named = os.environ.get("CKERNELS_BLAS", "")
    for value, origin in ((config["blas"], "the flag blas"), (named, "CKERNELS_BLAS")):
        if value and (value == "builtin" or os.path.basename(value) in name):
            return f"named by {origin}"
    missed = f"CKERNELS_BLAS={named} is no usable library; " if named else ""
    if name == builtin:
        return missed + "no library was found that is faster on this CPU; the flag blas names one"
    return missed + "found in this process or the system, and not slower than the built-in"


def loading():
    if not hasattr(os, "memfd_create"):
        return [("loading", None, "kernels are opened as private copies", {"memory": False})]
    try:
        os.close(os.memfd_create("ckernels"))
        text, memory = "kernels are opened as memory files: a noexec compiledir does no harm", True
    except OSError as error:
        text, memory = f"no memory files ({error.strerror}): private copies are opened", False
    return [("loading", None, text, {"memory": memory})]


def compiledir():
    """Where kernels are kept, and whether files can be written and run there."""
    store = cache.current()
    wanted = cache.compiledir()
    facts = {
        "path": wanted,
        "used": store.directory,
        "cache": str(config["cache"]),
        "writable": store.writable,
        "executable": directories.executable(store.directory),
        "trouble": store.trouble,
        "layers": list(store.layers),
    }
    if config["cache"] != "on":
        state = f"cache={config['cache']}"
    elif not store.writable:
        state = f"not writable: {store.trouble}; kernels live in memory only"
    elif store.directory != wanted:
        state = f"{wanted or 'there is no home directory: it'} cannot be used; this serves"
    else:
        state = "writable"
    if facts["executable"] is not None:
        state += ", executable" if facts["executable"] else ", noexec"
    if store.readable:
        size, files = store.usage()
        facts.update(bytes=size, files=files)
        state += f", {human(size)} in {files} files"
    layers = "".join(f"; read first: {layer}" for layer in store.layers)
    return [("compiledir", None, f"{store.directory or '(none)'} ({state}){layers}", facts)]


def keras():
    """What importing Keras on ckernels changes for the whole process, if Keras is installed."""
    import importlib.metadata  # start-up

    try:
        version = importlib.metadata.version("keras")
    except importlib.metadata.PackageNotFoundError:
        return []
    if not version.startswith(("1.", "2.0.", "2.1.", "2.2.", "2.3.")):
        return []
    from ..compat import _modern  # start-up

    names = [f"{module.__name__}.{name}" for module, name, _ in _modern.lacking()]
    policy = config.origin("cast_policy") == "default"
    text = f"{version}; its import on ckernels " + " and ".join(
        (["sets cast_policy=keep_float"] if policy else [])
        + [f"puts back {', '.join(names) or 'no names'}"]
    )
    return [("keras", None, text, {"version": version, "names": names, "cast_policy": policy})]


def words(info):
    return ", ".join(f"{name} {value}" for name, value in info.items())


def one_line(error):
    return " ".join(str(error).splitlines())


def examine():
    return [*versions(), *flags(), *tools(), *runtime(), *loading(), *compiledir(), *keras()]


def doctor(arguments):
    """Exit status 0 only where a kernel was compiled and the runtime that calls it is there."""
    rows = examine()
    bad = [row for row in rows if row[1] is False]
    if arguments.json:
        report = {name: {"ok": state, "text": text, **facts} for name, state, text, facts in rows}
        as_json({"works": not bad, **report})
        return 1 if bad else 0
    marks = {True: "ok  ", False: "BAD ", None: "    "}
    for name, state, text, _ in rows:
        print(f"{marks[state]}{bold(name.ljust(11))}{plain(text)}")
    print("compiled mode works" if not bad else f"compiled mode does not work: {advise(bad[0])}")
    return 1 if bad else 0


def advise(row):
    """One sentence about the first thing that is wrong."""
    name, _, text, _ = row
    if name == "compiler":
        return toolchain.install_hint()
    if name == "features":
        return "the flags arch or cc.cflags ask for instructions this CPU lacks"
    return f"{name}: {text}"
