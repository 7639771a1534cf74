"""A program for two dialects of Keras and for Theano, as type checkers and Python see it."""

import numpy as np

from ckernels import Tensor, Variable
from ckernels.compat import keras1, keras2, theano


def dense(x: Tensor, weights: Variable, bias: Variable) -> Tensor:
    return keras2.relu(keras2.bias_add(keras2.dot(x, weights), bias), max_value=6.0)


x = keras2.placeholder((None, 4))
weights = keras2.variable(np.ones((4, 3)))
bias = keras2.zeros((3,))
y = dense(x, weights, bias)
loss = keras2.mean(keras2.square(keras2.softmax(y) - 0.5), axis=[0, 1])
steps = [
    keras2.update_sub(w, 0.1 * g)
    for w, g in zip([weights, bias], keras2.gradients(loss, [weights, bias]))
]
train = keras2.function([x], [loss], updates=steps)
with keras2.name_scope("outer"):
    value = float(train([np.ones((2, 4), "float32")])[0])
assert value >= 0 and keras2.int_shape(y) == (None, 3)
assert keras2.get_value(bias).shape == (3,)

old = keras1.placeholder(shape=(None, 4), ndim=2)
row = keras1.sum(keras1.sqrt(keras1.abs(old)), axis=-1)
print(keras1.function([old], [row])([np.ones((2, 4), "float32")])[0])

v = theano.tensor.dvector("v")
state = theano.shared(np.zeros(2), name="state")
total, updates = theano.scan(lambda a, b: a + b, sequences=v, outputs_info=state[0])
step = theano.function([v], total[-1], updates=[(state, state + 1)], mode=theano.FAST_RUN)
print(step(np.arange(3.0)), theano.grad((v**2).sum(), v), theano.__version__)
