"""
The shape of thirteen atoms
===========================

SciPy minimises, ckernels gives the value and its gradient in one call.
"""

import matplotlib.pyplot as plt
import numpy as np
from scipy.optimize import minimize

import ckernels as ck


def energy(flat):
    at = flat.reshape(-1, 3)
    apart = at[:, None] - at
    far = (apart**2).sum(2) + np.eye(len(at))
    return 4 * np.sum(np.triu(far**-6 - far**-3, 1))


both = ck.jit.value_and_grad(energy)

# %%
# From sixty random starts. The best known energy of thirteen atoms is -44.3268, an icosahedron.

rng = np.random.default_rng(0)
found = [minimize(both, rng.uniform(-1.6, 1.6, 39), jac=True, method="L-BFGS-B") for _ in range(60)]
best = min(found, key=lambda result: result.fun)
print(f"{best.fun:.4f} after {sum(result.nfev for result in found)} calls")

figure = plt.figure(figsize=(9, 4), layout="constrained")
left = figure.add_subplot(1, 2, 1, projection="3d")
atoms = best.x.reshape(-1, 3)
left.scatter(*atoms.T, s=400, c=np.linalg.norm(atoms - atoms.mean(0), axis=1), cmap="viridis")
left.set_axis_off()
right = figure.add_subplot(1, 2, 2)
right.hist([result.fun for result in found], bins=20)
right.set(xlabel="energy where a search ended", ylabel="searches")
