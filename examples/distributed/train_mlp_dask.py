"""Trains a classifier of digits on the workers of a Dask cluster.

    python examples/distributed/train_mlp_dask.py                       two workers on this machine
    python examples/distributed/train_mlp_dask.py --scheduler tcp://... a cluster that runs already
    python examples/distributed/train_mlp_dask.py --checkpoint states   goes on where it was stopped

The model is an ordinary one (model.py). At the end the images are classified block by block.
"""

import argparse
import time

import dask.array as da
import numpy as np
from distributed import Client, LocalCluster
from model import classifier, digits

import ckernels.dask


def main():
    options = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    options.add_argument("--scheduler", help="address of a scheduler")
    options.add_argument("--workers", type=int, default=2)
    options.add_argument("--epochs", type=int, default=12)
    options.add_argument("--batch", type=int, default=64)
    options.add_argument("--checkpoint", help="folder for the state after each epoch")
    given = options.parse_args()

    images, labels, test_images, test_labels = digits()
    train, predict, _ = classifier(images.shape[1])
    source = ckernels.dask.Batches(images, labels, batch=given.batch, seed=3)
    cluster = given.scheduler or LocalCluster(n_workers=given.workers, threads_per_worker=1)
    with Client(cluster) as client:
        kept = dict(checkpoint=given.checkpoint, every=source.steps)
        with ckernels.dask.Trainer(train, client, **kept) as trainer:
            begin = time.perf_counter()
            while trainer.steps < given.epochs * source.steps:
                losses = trainer.run(source, source.steps)
                print(f"step {trainer.steps:5d}   loss {np.mean(losses):.4f}")
            seconds = time.perf_counter() - begin
            trainer.pull()  # the weights, into the variables of this process
            size = len(trainer.addresses)
        blocks = da.from_array(test_images, chunks=(200, -1))
        found = ckernels.dask.map_blocks(predict, blocks, drop_axis=1).compute()
    right = np.mean(found == test_labels)
    print(f"{size} workers, {seconds:.1f} s, {right:.1%} of the test images are right")
    if not given.scheduler:
        cluster.close()


if __name__ == "__main__":
    main()
