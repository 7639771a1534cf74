"""`python -m benchmarks` is `python benchmarks/run.py`; `python -m benchmarks deep`: deep nets."""

import sys

from benchmarks.deep import measure
from benchmarks.run import main

if __name__ == "__main__":
    deep = sys.argv[1:2] == ["deep"]
    raise SystemExit(measure.main(sys.argv[2:]) if deep else main())
