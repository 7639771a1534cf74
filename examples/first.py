"""The first program: an expression and its derivative, compiled to C and called with arrays."""

import numpy as np

import ckernels as K

x = K.placeholder(shape=(None, 3))
w = K.variable(np.ones((3, 2)), name="w")
y = K.tanh(K.dot(x, w))
gradient = K.gradients(K.sum(y), [w])[0]

f = K.function([x], [y], updates=[K.update_sub(w, 0.1 * gradient)])

for step in range(3):
    print(f"step {step}:", f([np.ones((1, 3))])[0])
print("w is now", K.get_value(w).round(3))
