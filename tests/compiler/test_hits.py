"""How often kernels are read: appends of many processes, one file, summed up now and then."""

import os

import pytest

from ckernels.compiler import hits


def filled(directory, count):
    """`count` keys of which kernels are there, each read three times."""
    keys = [f"{number:064x}" for number in range(count)]
    for key in keys:
        (directory / f"{key}.so").touch()
    hits.record(str(directory), keys * 3)
    return keys


def test_counts_are_those_of_all_records(tmp_path):
    keys = filled(tmp_path, 5)
    hits.record(str(tmp_path), keys[:2])
    hits.record(str(tmp_path), keys[1:2])
    assert list(hits.counts(str(tmp_path)).values()) == [4, 5, 3, 3, 3]
    assert set(hits.counts(str(tmp_path))) == set(keys)


@pytest.mark.sampled(1 / 2)
@pytest.mark.parametrize("kernels", (1, 5000))
def test_a_long_file_is_summed_up_once_in_many_reads(tmp_path, kernels):
    """However many kernels there are, most reads cost one append."""
    keys = filled(tmp_path, kernels)
    path = tmp_path / hits.NAME
    sums, before = 0, os.stat(path).st_ino
    records = 3000
    for turn in range(records):
        hits.record(str(tmp_path), [keys[turn % kernels]] * 2)
        sums, before = sums + (os.stat(path).st_ino != before), os.stat(path).st_ino
    assert sums == 1
    assert sum(hits.counts(str(tmp_path)).values()) == 3 * kernels + 2 * records
    assert path.stat().st_size <= 2 * max(hits.LARGEST, 90 * kernels)


def test_a_sum_leaves_out_kernels_that_are_gone_and_keeps_its_counts(tmp_path):
    keys = filled(tmp_path, 3)
    (tmp_path / f"{keys[1]}.so").unlink()
    hits.sum_up(str(tmp_path))
    assert hits.counts(str(tmp_path)) == {keys[0]: 3, keys[2]: 3}
    hits.sum_up(str(tmp_path))
    assert hits.counts(str(tmp_path)) == {keys[0]: 3, keys[2]: 3}
    assert limit_of(tmp_path) == hits.LARGEST


def limit_of(directory):
    fd = os.open(directory / hits.NAME, os.O_RDONLY)
    try:
        return hits.limit(fd)
    finally:
        os.close(fd)


def test_what_is_no_line_of_a_key_is_no_count_and_nowhere_to_write_is_no_error(tmp_path):
    (tmp_path / hits.NAME).write_bytes(
        b"\xff\nlimit 12\n" + b"a" * 63 + b"\n" + b"b" * 64 + b" 7\n"
    )
    assert hits.counts(str(tmp_path)) == {"b" * 64: 7}
    hits.record(str(tmp_path / "gone"), ["c" * 64])
    assert hits.counts(str(tmp_path / "gone")) == {}
