"""One module per kind of work; each ends with `WORKLOADS`, a list of Workload objects."""

import importlib

MODULES = (
    "call",
    "light",
    "heavy",
    "black_scholes",
    "softmax",
    "layer_norm",
    "batch_norm",
    "reductions",
    "dense",
    "logistic",
    "mlp",
    "conv",
    "pool",
    "cnn",
    "operands",
    "embedding",
    "tables",
    "order",
    "sparse",
    "ctc",
    "random",
    "scan",
    "lstm",
    "rbm",
    "keras_fit",
    "scaling",
)  # fmt: skip


def load():
    """{name: Workload} in the order of the table."""
    found = {}
    for module in MODULES:
        for workload in importlib.import_module(f"benchmarks.workloads.{module}").WORKLOADS:
            found[workload.name] = workload
    return found
