"""signal.downsample: the old names of pooling."""

from ....tensor.signal.pool import max_pool_2d_same_size, pool_2d, pool_3d  # noqa: F401

max_pool_2d = pool_2d
