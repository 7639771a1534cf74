"""Trains a classifier of digits on all ranks of MPI.

    mpirun -n 2 python -m mpi4py examples/distributed/train_mlp_mpi.py
    mpirun -n 2 python -m mpi4py examples/distributed/train_mlp_mpi.py --checkpoint states

`-m mpi4py` ends all ranks when one fails. The model is an ordinary one (model.py).
"""

import argparse
import time

import numpy as np
from model import classifier, digits

from ckernels.mpi import Batches, Trainer


def main():
    options = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    options.add_argument("--epochs", type=int, default=12)
    options.add_argument("--batch", type=int, default=64)
    options.add_argument("--checkpoint", help="folder for the state after each epoch")
    given = options.parse_args()

    images, labels, test_images, test_labels = digits()
    train, predict, _ = classifier(images.shape[1])
    source = Batches(images, labels, batch=given.batch, seed=3)
    trainer = Trainer(train, checkpoint=given.checkpoint, every=source.steps)
    losses, begin = [], time.perf_counter()
    while trainer.steps < given.epochs * source.steps:
        losses.append(trainer.step(*source(trainer.steps, trainer.rank, trainer.size)))
        if trainer.steps % source.steps == 0 and trainer.rank == 0:
            print(f"step {trainer.steps:5d}   loss {np.mean(losses):.4f}")
            losses.clear()
    seconds = time.perf_counter() - begin
    right = np.mean(predict(test_images) == test_labels)
    if trainer.rank == 0:
        print(f"{trainer.size} ranks, {seconds:.1f} s, {right:.1%} of the test images are right")


if __name__ == "__main__":
    main()
