"""Builds the sdist and the wheels on one x86-64 Linux machine: `make wheels`.

Zig (from the package index) compiles for each platform; the runtime keeps to the stable ABI of
Python 3.10, so that one wheel serves all later Pythons. A wheel has no compiler's choices of this
machine in it: neither -march=native nor the headers of its Python. Two runs give the same bytes.
"""

import argparse
import base64
import gzip
import hashlib
import importlib.util
import io
import json
import os
import platform
import re
import shutil
import subprocess
import sys
import sysconfig
import tarfile
import time
import zipfile
from concurrent.futures import ThreadPoolExecutor
from glob import glob
from typing import NamedTuple

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
STABLE_ABI = "0x030a0000"  # Python 3.10
FLAGS = (
    "-O3", "-g0", "-std=gnu11", "-Wall", "-Wextra", "-Werror",
    "-fno-math-errno", "-fno-sanitize=undefined", "-fvisibility=hidden",
    f"-DPy_LIMITED_API={STABLE_ABI}", "-DNPY_NO_DEPRECATED_API=NPY_1_7_API_VERSION",
)  # fmt: skip
EPOCH = 1704067200  # of files in archives, where SOURCE_DATE_EPOCH does not say: 2024-01-01


class Platform(NamedTuple):
    """What a wheel is built for. levels: instruction sets of the kernels that come with it."""

    target: str  # of Zig
    tags: tuple
    levels: tuple = ()
    link: tuple = ()
    library: str = "_runtime.abi3.so"
    kernels: str = ""  # the target their objects are compiled for, where it is another one

    @property
    def system(self):
        return self.target.split("-")[1].split(".")[0]


X86, ARM = ("x86-64-v3", "x86-64-v4"), ("armv8-a",)
GLIBC = ("-pthread", "-lm", "-ldl")
GNU_X86, GNU_ARM = "x86_64-linux-gnu.2.17", "aarch64-linux-gnu.2.17"
# Kernels call memcpy, memset and a few functions of libm: objects of one libc serve the other.
# On macOS Python's functions are those of the program; Windows wants a library that names them.
PLATFORMS = {
    "linux-x86_64": Platform(
        GNU_X86, ("manylinux_2_17_x86_64", "manylinux2014_x86_64"), X86, GLIBC
    ),
    "linux-aarch64": Platform(
        GNU_ARM, ("manylinux_2_17_aarch64", "manylinux2014_aarch64"), ARM, GLIBC
    ),
    "musl-x86_64": Platform("x86_64-linux-musl", ("musllinux_1_2_x86_64",), X86, kernels=GNU_X86),
    "musl-aarch64": Platform(
        "aarch64-linux-musl", ("musllinux_1_2_aarch64",), ARM, kernels=GNU_ARM
    ),
    "macos-arm64": Platform(
        "aarch64-macos.11.0", ("macosx_11_0_arm64",), ARM, ("-undefined", "dynamic_lookup")
    ),
    "macos-x86_64": Platform(
        "x86_64-macos.11.0", ("macosx_11_0_x86_64",), (), ("-undefined", "dynamic_lookup")
    ),
    "windows-amd64": Platform("x86_64-windows-gnu", ("win_amd64",), library="_runtime.pyd"),
}


def epoch():
    return int(os.environ.get("SOURCE_DATE_EPOCH", EPOCH))


def run(command, **options):
    done = subprocess.run(command, capture_output=True, text=True, **options)
    if done.returncode:
        raise SystemExit(f"{' '.join(command)}\n{done.stdout}{done.stderr}")
    return done.stdout


def zig():
    """The Zig of the package ziglang as a C compiler: a command."""
    found = importlib.util.find_spec("ziglang")
    if found is None:
        raise SystemExit("the wheels are built with Zig: pip install ziglang")
    return [os.path.join(os.path.dirname(found.origin), "zig"), "cc"]


# ---- the sdist ------------------------------------------------------------------------------


def sdist(out, work):
    """Path of the sdist in `out`, its members in order and without the time of their writing."""
    made = os.path.join(work, "sdist")
    shutil.rmtree(made, ignore_errors=True)
    run([sys.executable, "setup.py", "-q", "sdist", "-d", made], cwd=ROOT)
    (path,) = glob(os.path.join(made, "*.tar.gz"))
    with tarfile.open(path) as archive:
        members = [
            (m.name, m.mode, archive.extractfile(m).read() if m.isfile() else None)
            for m in archive.getmembers()
        ]
    target = os.path.join(out, os.path.basename(path))
    with open(target, "wb") as stream, gzip.GzipFile("", "wb", 9, stream, epoch()) as packed:
        with tarfile.open(fileobj=packed, mode="w", format=tarfile.PAX_FORMAT) as archive:
            for name, mode, data in sorted(members):
                member = tarfile.TarInfo(name)
                member.mtime, member.mode = epoch(), 0o755 if mode & 0o100 else 0o644
                if data is None:
                    member.type, member.mode = tarfile.DIRTYPE, 0o755
                else:
                    member.size = len(data)
                archive.addfile(member, io.BytesIO(data or b""))
    return target


def unpacked(path, work):
    """The folder with the files of an sdist: what wheels are made of, and nothing else."""
    place = os.path.join(work, "tree")
    shutil.rmtree(place, ignore_errors=True)
    with tarfile.open(path) as archive:
        archive.extractall(place, filter="data")
    (folder,) = os.listdir(place)
    return os.path.join(place, folder)


def pure(tree, work):
    """{name: bytes} of a wheel without a runtime: the package, its metadata."""
    made = os.path.join(work, "pure")
    shutil.rmtree(made, ignore_errors=True)
    build = f"import setuptools.build_meta as b; b.build_wheel({made!r})"
    os.makedirs(made)
    run([sys.executable, "-c", build], cwd=tree, env={**os.environ, "CKERNELS_NO_RUNTIME": "1"})
    (path,) = glob(os.path.join(made, "*.whl"))
    with zipfile.ZipFile(path) as archive:
        files = {name: archive.read(name) for name in archive.namelist()}
    return {name: data for name, data in files.items() if not name.endswith(("RECORD", "WHEEL"))}


# ---- the runtime ----------------------------------------------------------------------------


def python_headers(work):
    """Python's headers with a pyconfig.h that asks the target's compiler (pyconfig.h beside)."""
    made = os.path.join(work, "python")
    shutil.rmtree(made, ignore_errors=True)
    shutil.copytree(sysconfig.get_path("include"), made)
    shutil.copy(os.path.join(ROOT, "build_tools", "pyconfig.h"), made)
    return made


def numpy_headers(chosen, work):
    """NumPy's headers; for other systems than Linux with the sizes of C's types on those."""
    import numpy

    if chosen.system == "linux":  # the sizes in them are those of all 64-bit platforms
        return numpy.get_include()
    made = os.path.join(work, "numpy", chosen.target)
    shutil.rmtree(made, ignore_errors=True)
    shutil.copytree(numpy.get_include(), made)
    path = os.path.join(made, "numpy", "_numpyconfig.h")
    with open(path, encoding="utf-8") as stream:
        text = stream.read()
    with open(path, "w", encoding="utf-8") as stream:
        stream.write(with_sizes(text, *SIZES[chosen.target.split("-", 1)[0], chosen.system]))
    return made


# Bytes of a long and a long double, as Python and NumPy of that system have them.
SIZES = {
    ("aarch64", "macos"): (8, 8),
    ("x86_64", "macos"): (8, 16),
    ("x86_64", "windows"): (4, 8),
}


def with_sizes(text, long, long_double):
    """NumPy's table of sizes with those of another system."""
    sizes = {"LONG": long, "LONGDOUBLE": long_double, "COMPLEX_LONGDOUBLE": 2 * long_double}
    for name, size in sizes.items():
        text, count = re.subn(rf"(#define NPY_SIZEOF_{name}) \d+", rf"\1 {size}", text)
        if count != 1:
            raise SystemExit(f"NumPy's headers do not say NPY_SIZEOF_{name} once")
    return text.replace("#define NPY_HAVE_ENDIAN_H 1\n", "")


def import_library(chosen, objects, place):
    """The library by which Windows finds what objects use of python3.dll: its stable ABI, since
    the headers declare nothing else."""
    names = set()
    for path in objects:
        with open(path, "rb") as stream:
            found = re.findall(rb"__imp_(_?Py\w+)\0", stream.read())
        names.update(name.decode() for name in found)
    definition = os.path.join(place, "python3.def")
    with open(definition, "w", encoding="ascii") as stream:
        stream.write("LIBRARY python3.dll\nEXPORTS\n")
        stream.writelines(f"{name}\n" for name in sorted(names))
    made = os.path.join(place, "libpython3.a")
    tool = [zig()[0], "dlltool", "-m", "i386:x86-64", "-D", "python3.dll"]
    run([*tool, "-d", definition, "-l", made])
    return made


def compiled(what, jobs):
    """Run commands side by side, as many as there are cores, and say how far they are."""
    from build_tools.prebuilt import progress

    with ThreadPoolExecutor(os.cpu_count() or 1) as pool:
        list(progress(what, pool.map(run, jobs), len(jobs)))


def runtime(chosen, tree, work):
    """The bytes of the runtime for a platform."""
    place = os.path.join(work, "objects", chosen.target)
    shutil.rmtree(place, ignore_errors=True)
    os.makedirs(place)
    compiler = [*zig(), "-target", chosen.target]
    include = included(tree, python_headers(work), numpy_headers(chosen, work))
    objects = {
        name: os.path.join(place, os.path.basename(name) + ".o") for name in sources(tree, "c")
    }
    own = () if chosen.system == "windows" else ("-fPIC", "-pthread")
    flags = [*compiler, *FLAGS, *own, *include]
    jobs = [[*flags, "-c", name, "-o", to] for name, to in objects.items()]
    compiled(f"runtime for {chosen.target}", jobs)
    link = list(chosen.link)
    if chosen.system == "windows":
        link.append(import_library(chosen, objects.values(), place))
    # macOS writes into a library where it was made: as seen from there
    run([*compiler, "-shared", "-s", "-o", chosen.library, *objects.values(), *link], cwd=place)
    with open(os.path.join(place, chosen.library), "rb") as stream:
        return undated(stream.read()) if chosen.system == "windows" else stream.read()


def included(tree, *systems):
    """Flags for the headers of the runtime's rooms in `tree` and for those of `systems`."""
    rooms = sorted({os.path.dirname(name) for name in sources(tree, "h") + sources(tree, "c")})
    return [*(f"-I{path}" for path in rooms), *(f"-isystem{path}" for path in systems)]


def undated(data):
    """A library of Windows without the time it was linked, in the header behind "PE"."""
    at = int.from_bytes(data[0x3C:0x40], "little") + 8
    return data[:at] + bytes(4) + data[at + 4 :]


def sources(tree, suffix):
    found = glob(os.path.join(tree, "ckernels", "src", "**", f"*.{suffix}"), recursive=True)
    return sorted(found)


# ---- wheels ---------------------------------------------------------------------------------


def wheel(out, files, tags):
    """Path of a wheel with these files: in order, of one time, with its RECORD."""
    (folder,) = {name.split("/")[0] for name in files if ".dist-info/" in name}
    text = "Wheel-Version: 1.0\nGenerator: ckernels\nRoot-Is-Purelib: false\n"
    text += "".join(f"Tag: cp310-abi3-{tag}\n" for tag in tags)
    files = {**files, f"{folder}/WHEEL": text.encode()}
    rows = [f"{name},sha256={digest(data)},{len(data)}\n" for name, data in sorted(files.items())]
    record = f"{folder}/RECORD"
    files[record] = "".join([*rows, f"{record},,\n"]).encode()
    path = os.path.join(out, f"{folder.removesuffix('.dist-info')}-cp310-abi3-{'.'.join(tags)}.whl")
    stamp = time.gmtime(max(epoch(), 315532800))[:6]  # zip knows no time before 1980
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as archive:
        for name in sorted(files, key=lambda name: (".dist-info/" in name, name)):
            member = zipfile.ZipInfo(name, stamp)
            member.external_attr = 0o644 << 16
            member.create_system = 3
            archive.writestr(member, files[name], zipfile.ZIP_DEFLATED, 9)
    return path


def digest(data):
    return base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()


def check(path, chosen):
    """Whether a wheel for Linux may have its tags, as auditwheel says."""
    tag = chosen.tags[0]
    if tag.startswith("musllinux"):
        return check_musl(path, tag)
    text = run([sys.executable, "-m", "auditwheel", "show", path])
    if f'"{tag}"' not in text.replace("\n", " "):
        raise SystemExit(f"auditwheel does not allow {tag}:\n{text}")


def check_musl(path, tag):
    """A musllinux wheel may need musl's libc alone; auditwheel would look at this machine's."""
    from elftools.elf.elffile import ELFFile  # auditwheel brings it

    with zipfile.ZipFile(path) as archive:
        for name in (n for n in archive.namelist() if n.endswith(".so")):
            dynamic = ELFFile(io.BytesIO(archive.read(name))).get_section_by_name(".dynamic")
            needed = {t.needed for t in dynamic.iter_tags() if t.entry.d_tag == "DT_NEEDED"}
            if not needed <= {"libc.so"}:
                raise SystemExit(f"{name} is not for {tag}: it needs {sorted(needed)}")


def build(out, names, kernels=None, work=None):
    """The sdist and the wheels of some platforms: their paths."""
    work = work or os.path.join(ROOT, "build", "wheels")
    os.makedirs(work, exist_ok=True)
    os.makedirs(out, exist_ok=True)
    made = [sdist(out, work)]
    tree = unpacked(made[0], work)
    files = pure(tree, work)
    for name in names:
        chosen = PLATFORMS[name]
        own = {f"ckernels/{chosen.library}": runtime(chosen, tree, work)}
        if kernels:
            from build_tools import prebuilt

            for level in chosen.levels:
                objects = chosen.kernels or chosen.target
                library = prebuilt.compiled(zig(), objects, chosen.target, level, kernels, work)
                own[f"ckernels/prebuilt/{level}.so"] = library
        made.append(wheel(out, {**files, **own}, chosen.tags))
        if chosen.system == "linux":
            check(made[-1], chosen)
        print(
            f"{os.path.getsize(made[-1]) / 1e6:5.2f} MB  {os.path.basename(made[-1])}", flush=True
        )
    return made


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", type=os.path.abspath, default=os.path.join(ROOT, "dist"))
    parser.add_argument("--platform", action="append", choices=PLATFORMS, help="all, if not given")
    parser.add_argument(
        "--work", type=os.path.abspath, help="folder of what is made on the way: build/wheels"
    )
    parser.add_argument(
        "--kernels", help="what build_tools/prebuilt.py recorded; none, if not given"
    )
    options = parser.parse_args()
    if platform.machine() != "x86_64" or sys.platform != "linux":
        raise SystemExit("wheels are built on x86-64 Linux")
    kernels = None
    if options.kernels:
        with open(options.kernels, encoding="utf-8") as stream:
            kernels = json.load(stream)
    build(options.out, options.platform or PLATFORMS, kernels, options.work)


if __name__ == "__main__":
    sys.path.insert(0, ROOT)
    main()
