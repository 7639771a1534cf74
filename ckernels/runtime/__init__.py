"""The runtime room: state, plans, the callable. Its C side is ckernels/src, `ckernels._runtime`."""
