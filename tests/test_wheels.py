"""build_tools/wheels.py and release.py: archives of the same bytes each time, with records."""

import base64
import csv
import hashlib
import io
import json
import shutil
import subprocess
import sys
import sysconfig
import zipfile
from pathlib import Path

import numpy
import pytest

import ckernels

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))
from build_tools import release, wheels  # noqa: E402

FILES = {
    "ckernels/b.py": b"b = 2\n",
    "ckernels/a.py": b"a = 1\n" * 100,
    "ckernels-9.dist-info/METADATA": b"Metadata-Version: 2.1\nName: ckernels\nVersion: 9\n",
}
TAGS = ("manylinux_2_17_x86_64", "manylinux2014_x86_64")


def made(folder, files, monkeypatch, epoch="1700000000"):
    folder.mkdir()
    monkeypatch.setenv("SOURCE_DATE_EPOCH", epoch)
    return Path(wheels.wheel(str(folder), files, TAGS))


def test_two_wheels_are_the_same_bytes(tmp_path, monkeypatch):
    first = made(tmp_path / "a", FILES, monkeypatch)
    second = made(tmp_path / "b", dict(reversed(FILES.items())), monkeypatch)
    assert first.name == f"ckernels-9-cp310-abi3-{'.'.join(TAGS)}.whl"
    assert first.read_bytes() == second.read_bytes()
    third = made(tmp_path / "c", FILES, monkeypatch, epoch="1600000000")
    assert third.read_bytes() != first.read_bytes()


def test_record_has_every_file(tmp_path, monkeypatch):
    with zipfile.ZipFile(made(tmp_path / "a", FILES, monkeypatch)) as archive:
        names = archive.namelist()
        rows = list(csv.reader(io.StringIO(archive.read("ckernels-9.dist-info/RECORD").decode())))
        assert names == [*sorted(n for n in names if "dist-info" not in n),
                         *sorted(n for n in names if "dist-info" in n)]  # fmt: skip
        assert {row[0] for row in rows} == set(names)
        for name, digest, size in rows:
            if not name.endswith("RECORD"):
                data = archive.read(name)
                sha = base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()
                assert (digest, int(size)) == (f"sha256={sha}", len(data))
        text = archive.read("ckernels-9.dist-info/WHEEL").decode()
    assert all(f"Tag: cp310-abi3-{tag}\n" in text for tag in TAGS)


def test_no_flag_of_this_machine_is_in_a_wheel():
    flags = [*wheels.FLAGS, *(f for p in wheels.PLATFORMS.values() for f in p.link)]
    assert not [f for f in flags if "native" in f or "march" in f]
    assert {p.target.split("-")[0] for p in wheels.PLATFORMS.values()} == {"x86_64", "aarch64"}


@pytest.mark.skipif(not shutil.which("gcc"), reason="asks gcc what a wheel's compiler would say")
@pytest.mark.parametrize(
    "name", sorted(path.name for path in (ROOT / "ckernels" / "src" / "python").glob("*.c"))
)
def test_the_runtime_asks_for_names_of_the_stable_abi_alone(name):
    headers = sysconfig.get_path("include"), numpy.get_include()
    flags = [*wheels.FLAGS, *wheels.included(str(ROOT), *headers), "-fsyntax-only"]
    flags.remove("-fno-sanitize=undefined")
    done = subprocess.run(
        ["gcc", *flags, str(ROOT / "ckernels" / "src" / "python" / name)],
        capture_output=True, text=True,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr


def test_sizes_of_other_systems_replace_those_of_this_one():
    import numpy

    path = Path(numpy.get_include()) / "numpy" / "_numpyconfig.h"
    text = wheels.with_sizes(path.read_text(), *wheels.SIZES["x86_64", "windows"])
    sizes = dict(line.split()[1:3] for line in text.splitlines() if "define NPY_SIZEOF" in line)
    assert (sizes["NPY_SIZEOF_LONG"], sizes["NPY_SIZEOF_LONGDOUBLE"]) == ("4", "8")
    assert (sizes["NPY_SIZEOF_LONGLONG"], sizes["NPY_SIZEOF_INTP"]) == ("8", "8")
    with pytest.raises(SystemExit, match="NPY_SIZEOF_LONG once"):
        wheels.with_sizes("", 8, 8)


def test_what_was_built_twice_is_compared_byte_by_byte(tmp_path, monkeypatch, capsys):
    first = made(tmp_path / "a", FILES, monkeypatch)
    second = made(tmp_path / "b", FILES, monkeypatch)
    release.compare(str(first.parent), str(second.parent))
    assert "1 files built again: the same bytes" in capsys.readouterr().out
    data = bytearray(second.read_bytes())
    data[-30] ^= 1
    second.write_bytes(data)
    with pytest.raises(SystemExit, match=f"these differ: .'{first.name}'"):
        release.compare(str(first.parent), str(second.parent))
    first.unlink()
    with pytest.raises(SystemExit, match="not in .*abi3"):
        release.compare(str(first.parent), str(second.parent))


def test_version_stands_in_one_place():
    assert release.version() == ckernels.__version__
    assert f'version = "{ckernels.__version__}"' not in (ROOT / "pyproject.toml").read_text()


def test_release_notes_sums_and_bill(tmp_path):
    text = "# Changelog\n\n## 2.0 (unreleased)\nnew\n\n## 1.9\nold\n"
    assert release.section(text, "2.0") == "new\n" and release.section(text, "1.9") == "old\n"
    with pytest.raises(SystemExit, match="no section for 2.1"):
        release.section(text, "2.1")
    (tmp_path / "x.whl").write_bytes(b"abc")
    known = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"
    assert release.sums(tmp_path, ["x.whl"]) == f"{known}  x.whl\n"
    bill = json.loads(json.dumps(release.bill(release.dependencies(), "2.0", ["x.whl"])))
    named = {row["name"] for row in bill["components"]}
    assert {"numpy", "cffi", "dagre", "x.whl"} <= named and bill["bomFormat"] == "CycloneDX"


def test_release_refuses_files_of_another_version(tmp_path):
    (tmp_path / "ckernels-0.0.1.tar.gz").write_bytes(b"")
    with pytest.raises(SystemExit, match="0.0.1"):
        release.write(str(tmp_path))
