"""The heavy chain with all threads against the same with one."""

from benchmarks.workload import Case, Target
from benchmarks.workloads.heavy import Heavy


class Scaling(Heavy):
    name = "scaling"
    title = "threads: the heavy chain, float32, 1e7"
    peers = ("ckernels", "ckernels-1", "limit", "limit-1")

    def cases(self):
        params = {"n": 10_000_000, "dtype": "float32"}
        return [Case("threads, heavy f32 1e7", params, (Target("ckernels-1", 1.8),))]


WORKLOADS = [Scaling()]
