"""The runtime room: state, plans, the callable. The C side lives in ckernels/src and is `ckernels._runtime`."""
