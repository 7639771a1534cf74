"""Trains a Keras 3 model on all ranks of MPI, and shows that one process alone has the same losses.

    mpirun -n 2 python -m mpi4py examples/distributed/train_keras3_mpi.py

Every rank makes the same model; the trainer gives all of them the weights of the first.
"""

import ckernels.keras3  # noqa: F401, I001 (before Keras is)
import keras
import numpy as np
from keras import layers
from model import digits

from ckernels.keras3 import training_function
from ckernels.mpi import Batches, Trainer

STEPS = 40


def classifier():
    model = keras.Sequential([
        keras.Input((64,)), layers.Dense(64, "relu"), layers.Dense(64, "relu"), layers.Dense(10),
    ])  # fmt: skip
    model.compile(
        keras.optimizers.Adam(0.003, global_clipnorm=1.0),
        keras.losses.SparseCategoricalCrossentropy(from_logits=True),
        metrics=["accuracy"],
    )
    return model


def main():
    images, labels, test_images, test_labels = digits()
    model = classifier()
    function, slopes = training_function(model, images[:1], labels[:1])
    trainer = Trainer(function, gradients=slopes)
    alone = classifier()
    alone.set_weights(model.get_weights())
    source, losses = Batches(images, labels, batch=128, seed=3), []
    for step in range(STEPS):
        losses.append(trainer.step(*source(step, trainer.rank, trainer.size)))
    if trainer.rank == 0:
        wanted = [alone.train_on_batch(*source(step, 0, 1))[0] for step in range(STEPS)]
        apart = np.max(np.abs(np.subtract(losses, wanted)))
        print(
            f"{trainer.size} ranks: loss {losses[0]:.4f} to {losses[-1]:.4f}, at most {apart:.1e}"
        )
        print("from those of one process;", end=" ")
        accuracy = model.evaluate(test_images, test_labels, verbose=0)[1]
        print(f"{accuracy:.1%} of the test images are right")


if __name__ == "__main__":
    main()
