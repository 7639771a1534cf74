"""Compiled functions on a Dask cluster: `ckernels.dask.map_blocks` and `ckernels.dask.Trainer`.

Needs Dask: `pip install ckernels[dask]`. See docs/guide/many-machines.md.
"""

from .bridges.batches import Batches
from .bridges.dask.blocks import map_blocks
from .bridges.dask.cluster import install
from .bridges.dask.trainer import DaskTrainer as Trainer

__all__ = ["Batches", "Trainer", "install", "map_blocks"]
