"""A hundred programs of real fields, as their users write them, beside NumPy, torch and JAX.

`python -m benchmarks.breadth` runs them and writes RESULTS.md. They were chosen before anything was
measured, and no program is there to be tuned: what is slow has a cause in the engine.
"""
