"""keras-vis on Keras 2.2.4: what the pictures of a trained net show."""

import numpy as np
import pytest
from keras import layers
from keras.models import Sequential
from vis.visualization import visualize_activation, visualize_cam, visualize_saliency

rng = np.random.RandomState(0)


@pytest.fixture(scope="module")
def net():
    """Images of 8 x 8, bright in the upper (0) or the lower (1) half."""
    y = rng.randint(0, 2, 200)
    x = rng.uniform(size=(200, 8, 8, 1)) * 0.2
    for image, label in zip(x, y):
        image[4 * label : 4 * label + 4] += 0.7
    net = Sequential()
    net.add(layers.Conv2D(4, 3, padding="same", activation="relu", input_shape=(8, 8, 1)))
    net.add(layers.Flatten())
    net.add(layers.Dense(2))
    net.compile("adam", "mse")
    net.fit(x, np.eye(2)[y], epochs=15, verbose=0)
    return net, x, y


def test_saliency_and_cam(net):
    net, x, y = net
    image = x[y == 1][0]
    found = visualize_saliency(net, -1, 1, image, grad_modifier="absolute")
    assert found.shape == (8, 8) and found.min() >= 0 and 0.9999 < found.max() <= 1
    cam = visualize_cam(net, -1, 1, image, penultimate_layer_idx=0)
    assert cam.shape[:2] == (8, 8) and np.isfinite(cam).all()


def test_activation_is_bright_where_the_class_is(net):
    net, *_ = net
    found = visualize_activation(net, -1, 1, input_range=(0.0, 1.0), max_iter=60, tv_weight=0.0)
    found = np.asarray(found, "float64").reshape(8, 8)
    assert found[4:].mean() > found[:4].mean()
