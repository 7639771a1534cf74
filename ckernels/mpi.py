"""Training over MPI: `from ckernels.mpi import Trainer`, run by `mpirun -n 4 python program.py`.

Needs mpi4py and an MPI: `pip install ckernels[mpi]`. See docs/guide/many-machines.md.
"""

from .bridges.batches import Batches
from .bridges.mpi import MPITrainer as Trainer

__all__ = ["Batches", "Trainer"]
