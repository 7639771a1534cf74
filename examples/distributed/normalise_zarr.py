"""Normalises and reduces a Zarr that is larger than the memory this process may use.

    python examples/distributed/normalise_zarr.py                      8 GB within 2 GB
    python examples/distributed/normalise_zarr.py --size 0.5 --limit 1 --scheduler tcp://...

Columns get mean 0 and standard deviation 1: one pass adds up sums and squares of blocks, a second
writes the normalised array and reduces it. The limit is one of
the operating system's, on address space; the largest amount of memory in use is printed.
"""

import argparse
import os
import resource
import shutil
import tempfile
import time

import dask
import dask.array as da
import numpy as np
import zarr
from dask.diagnostics import ProgressBar
from distributed import Client

import ckernels as K
import ckernels.dask

COLUMNS = 1024


def written(path, rows, block):
    """Write the data, block by block; the sums and squares of its columns in float64."""
    made = zarr.create_array(
        path, shape=(rows, COLUMNS), chunks=(block, COLUMNS), dtype="float32", compressors=None
    )
    rng = np.random.default_rng(0)
    scale, shift = rng.uniform(0.5, 2, COLUMNS), rng.normal(size=COLUMNS)
    pattern = rng.normal(size=(block, COLUMNS)).astype("float32") * scale.astype("float32")
    sums, squares = np.zeros(COLUMNS), np.zeros(COLUMNS)
    for k, start in enumerate(range(0, rows, block)):
        part = np.roll(pattern, 7 * k, 0)[: rows - start]
        part += (shift + 0.001 * k).astype("float32")
        made[start : start + block] = part
        for low in range(0, len(part), 1024):
            wide = part[low : low + 1024].astype("float64")
            sums += wide.sum(0)
            squares += np.square(wide).sum(0)
    return sums, squares


def normalised(source):
    """(the normalised dask array, mean, scale) of one on disk."""
    rows = source.shape[0]
    x = K.placeholder((None, COLUMNS), name="x")
    both = K.concatenate([K.sum(x, 0, keepdims=True), K.sum(K.square(x), 0, keepdims=True)], axis=0)
    parts = ckernels.dask.map_blocks(K.function([x], both, name="moments"), source)
    sums, squares = parts.compute().astype("float64").reshape(-1, 2, COLUMNS).sum(0)
    mean = sums / rows
    scale = 1 / np.sqrt(squares / rows - mean**2)
    m, s = K.constant(mean.astype("float32")), K.constant(scale.astype("float32"))
    f = K.function([x], (x - m) * s, name="normalise")
    return ckernels.dask.map_blocks(f, source), mean, scale


def energy(y):
    """The sum of tanh(y)**2 over each row."""
    x = K.placeholder((None, COLUMNS), name="y")
    f = K.function([x], K.sum(K.square(K.tanh(x)), 1), name="energy")
    return ckernels.dask.map_blocks(f, y, drop_axis=1)


def main():
    options = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    options.add_argument("--size", type=float, default=8, help="GB of data")
    options.add_argument("--limit", type=float, default=2, help="GB of address space; 0: none")
    options.add_argument("--block", type=int, default=8192, help="rows of a block")
    options.add_argument("--folder", help="where the arrays are written, and deleted again")
    options.add_argument("--scheduler", help="address of a scheduler; by default threads")
    given = options.parse_args()
    if given.limit:
        most = int(given.limit * 1e9)
        resource.setrlimit(resource.RLIMIT_AS, (most, most))
    folder = tempfile.mkdtemp(dir=given.folder)
    client = Client(given.scheduler) if given.scheduler else None
    try:
        rows = int(given.size * 1e9) // (4 * COLUMNS)
        begin = time.perf_counter()
        sums, squares = written(os.path.join(folder, "data.zarr"), rows, given.block)
        print(f"written: {rows} x {COLUMNS} float32, {time.perf_counter() - begin:.0f} s")
        begin = time.perf_counter()
        with ProgressBar(minimum=5):
            y, mean, scale = normalised(da.from_zarr(os.path.join(folder, "data.zarr")))
            print(f"sums: {time.perf_counter() - begin:.0f} s")
            stored = y.to_zarr(os.path.join(folder, "normalised.zarr"), compute=False)
            _, most, least = dask.compute(stored, energy(y).max(), energy(y).min())
        print(f"normalised, written, reduced: {time.perf_counter() - begin:.0f} s in all")
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6
        print(f"largest memory in use {peak:.2f} GB")
        exact = sums / rows
        assert np.allclose(mean, exact, atol=1e-5)
        assert np.allclose(scale, 1 / np.sqrt(squares / rows - exact**2), rtol=1e-5)
        check = zarr.open_array(os.path.join(folder, "normalised.zarr"), mode="r")
        data = zarr.open_array(os.path.join(folder, "data.zarr"), mode="r")
        for start in (0, rows // 2, rows - 100):
            rows_here = slice(start, start + 100)
            expected = (data[rows_here] - exact) * scale
            assert np.allclose(check[rows_here], expected, atol=1e-4)
        print(f"rows have energies from {least:.3f} to {most:.3f}; checked with NumPy")
    finally:
        shutil.rmtree(folder)
        if client is not None:
            client.close()


if __name__ == "__main__":
    main()
