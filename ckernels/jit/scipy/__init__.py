"""Functions of SciPy as plain NumPy programs, which a trace runs in their place."""
