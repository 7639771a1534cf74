"""Models that learn handwritten digits in C: exported with their training step, run where you like.

    python examples/export/train_on_device.py mlp            export, compile with cc, train, compare
    python examples/export/train_on_device.py cnn --machine cortex_m4     the same under QEMU
    python examples/export/train_on_device.py rbm --only-export out/

The C program trains on the digits that are part of it and prints how many of the test it gets right
(the RBM: its error). The same steps are run in Python: both learn the same.
"""

import argparse
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np

import ckernels as K

DIGITS = Path(__file__).resolve().parents[1] / "data" / "digits.npz"
BATCH, SIDE, CLASSES = 32, 8, 10
MACHINE = Path(__file__).resolve().parents[2] / "tests" / "export" / "machine"
MACHINES = {  # name: (compiler and flags, what runs the program)
    "here": (["cc", "-O2"], []),
    "aarch64": (["aarch64-linux-gnu-gcc", "-O2", "-static"], ["qemu-aarch64"]),
    "cortex_m4": (
        ["arm-none-eabi-gcc", "-O2", "-mcpu=cortex-m4", "-mthumb", "-mfloat-abi=hard",
         "-mfpu=fpv4-sp-d16", "--specs=rdimon.specs", "-T", str(MACHINE / "cortex_m4.ld"),
         str(MACHINE / "cortex_m4.c")],
        ["qemu-system-arm", "-M", "mps2-an386", "-nographic", "-monitor", "none", "-serial", "none",
         "-semihosting-config", "enable=on,target=native", "-kernel"]),
}  # fmt: skip


# ---- models: {"train": ..., "predict": ...} over one state --------------------------------------


def weights(*shape):
    """A variable with He's scale, and a bias."""
    scale = (2 / np.prod(shape[:-1])) ** 0.5
    value = np.random.default_rng(len(shape) + shape[0]).standard_normal(shape) * scale
    return K.variable(value.astype("float32")), K.zeros(shape[-1:])


def sgd(loss, parameters, rate=0.1):
    return [(p, p - rate * g) for p, g in zip(parameters, K.gradients(loss, parameters))]


def adam(loss, parameters, rate=0.003):
    t = K.variable(np.float32(0), name="t")
    updates = [(t, t + 1)]
    step = rate * K.sqrt(1 - K.pow(0.999, t + 1)) / (1 - K.pow(0.9, t + 1))
    for p, g in zip(parameters, K.gradients(loss, parameters)):
        m, v = K.zeros(K.int_shape(p)), K.zeros(K.int_shape(p))
        new_m, new_v = 0.9 * m + 0.1 * g, 0.999 * v + 0.001 * K.square(g)
        updates += [(m, new_m), (v, new_v), (p, p - step * new_m / (K.sqrt(new_v) + 1e-7))]
    return updates


def functions(net, parameters, optimiser):
    """The training step on a batch, and the prediction for one image."""
    x, t = K.placeholder((BATCH, SIDE * SIDE), name="x"), K.placeholder((BATCH, CLASSES), name="t")
    one = K.placeholder((1, SIDE * SIDE), name="x")
    loss = K.mean(K.categorical_crossentropy(net(x), t))
    return {
        "train": K.function([x, t], loss, updates=optimiser(loss, parameters)),
        "predict": K.function([one], net(one)),
    }


def mlp(optimiser=sgd):
    (w1, b1), (w2, b2) = weights(SIDE * SIDE, 32), weights(32, CLASSES)

    def net(x):
        return K.softmax(K.dot(K.relu(K.dot(x, w1) + b1), w2) + b2)

    return functions(net, [w1, b1, w2, b2], optimiser)


def mlp_adam():
    return mlp(adam)


def cnn():
    (k1, b1), (k2, b2), (w, b) = weights(3, 3, 1, 8), weights(3, 3, 8, 16), weights(64, CLASSES)

    def net(x):
        h = K.reshape(x, (-1, SIDE, SIDE, 1))
        for k, bias in ((k1, b1), (k2, b2)):
            h = K.relu(K.bias_add(K.conv2d(h, k, padding="same"), bias))
            h = K.pool2d(h, (2, 2), (2, 2))
        return K.softmax(K.dot(K.batch_flatten(h), w) + b)

    return functions(net, [k1, b1, k2, b2, w, b], sgd)


def lstm(units=24):
    """Reads an image row by row."""
    (w, b), (u, _), (v, c) = (
        weights(SIDE, 4 * units),
        weights(units, 4 * units),
        weights(units, CLASSES),
    )

    def step(x, h, cell):
        z = K.dot(x, w) + K.dot(h, u) + b
        i, f, g, o = (z[:, k * units : (k + 1) * units] for k in range(4))
        cell = K.sigmoid(f + 1) * cell + K.sigmoid(i) * K.tanh(g)
        return [K.sigmoid(o) * K.tanh(cell), cell]

    def net(x):
        rows = K.permute_dimensions(K.reshape(x, (-1, SIDE, SIDE)), (1, 0, 2))
        start = K.zeros((K.int_shape(x)[0], units))
        (h, _), _ = K.scan(step, sequences=[rows], outputs_info=[start, start])
        return K.softmax(K.dot(h[-1], v) + c)

    return functions(net, [w, b, u, v, c], adam)


def rbm(hidden=32):
    """A restricted Boltzmann machine, trained by CD-1; predict gives the error of an image."""
    (w, b_hidden), b_visible = weights(SIDE * SIDE, hidden), K.zeros((SIDE * SIDE,))
    w = K.variable(K.get_value(w) * np.float32(0.1))

    def up(v):
        return K.sigmoid(K.dot(v, w) + b_hidden)

    def down(h):
        return K.sigmoid(K.dot(h, K.transpose(w)) + b_visible)

    x, t = K.placeholder((BATCH, SIDE * SIDE), name="x"), K.placeholder((BATCH, CLASSES), name="t")
    h0 = up(x)
    x1 = down(K.cast(K.random_uniform((BATCH, hidden), seed=3) < h0, "float32"))
    h1 = up(x1)
    change = K.dot(K.transpose(x), h0) - K.dot(K.transpose(x1), h1)
    rate = np.float32(0.1)
    updates = [
        (w, w + rate / BATCH * change),
        (b_visible, b_visible + rate * K.mean(x - x1, axis=0)),
        (b_hidden, b_hidden + rate * K.mean(h0 - h1, axis=0)),
    ]
    one = K.placeholder((1, SIDE * SIDE), name="x")
    error = K.mean(K.square(one - down(up(one))))
    train = K.function([x, t], K.mean(K.square(x - x1)) + 0 * K.sum(t), updates=updates)
    return {"train": train, "predict": K.function([one], error)}


MODELS = {"mlp": (mlp, 12), "mlp_adam": (mlp_adam, 6), "cnn": (cnn, 5), "lstm": (lstm, 8),
          "rbm": (rbm, 10)}  # fmt: skip


# ---- the same training twice --------------------------------------------------------------------


def digits():
    with np.load(DIGITS) as file:
        return {part: (file[f"{part}.data"], file[f"{part}.lbl"]) for part in ("train", "test")}


def train_here(made, epochs):
    """What the C program does, in Python: how many test images are right, or the RBM's error."""
    data = digits()
    images, labels = data["train"]
    for _ in range(epochs):
        for k in range(0, len(images) - BATCH + 1, BATCH):
            x = images[k : k + BATCH].astype("float32") / np.float32(16)
            made["train"](x, np.eye(CLASSES, dtype="float32")[labels[k : k + BATCH]])
    found = [made["predict"](x[None].astype("float32") / np.float32(16)) for x in data["test"][0]]
    if found[0].size == 1:
        return float(np.mean(found))
    return int(sum(np.argmax(y) == t for y, t in zip(found, data["test"][1])))


MAIN = """\
/* Trains NAME on the digits and counts how many of the test it gets right. */
#include "NAME.h"
#include "digits.h"
#include <stdio.h>

enum { BATCH = %d, PIXELS = %d, CLASSES = %d, EPOCHS = %d, OUTPUTS = %d };
static NAME_state state;
static float x[BATCH * PIXELS], t[BATCH * CLASSES], loss, out[OUTPUTS];

static void read(const unsigned char *images, int count)
{
    for (int i = 0; i < count * PIXELS; i++) x[i] = (float)images[i] / 16.0f;
}

int main(void)
{
    int right = 0;
    double error = 0;
    NAME_reset(&state);
    for (int epoch = 0; epoch < EPOCHS; epoch++)
        for (int k = 0; k + BATCH <= TRAIN; k += BATCH) {
            read(train_data + k * PIXELS, BATCH);
            for (int i = 0; i < BATCH * CLASSES; i++) t[i] = 0;
            for (int i = 0; i < BATCH; i++) t[i * CLASSES + train_labels[k + i]] = 1;
            if (NAME_train(&state, x, t, &loss) != 0) return 1;
        }
    for (int k = 0; k < TEST; k++) {
        int best = 0;
        read(test_data + k * PIXELS, 1);
        if (NAME_predict(&state, x, out) != 0) return 1;
        for (int i = 1; i < OUTPUTS; i++)
            if (out[i] > out[best]) best = i;
        right += OUTPUTS > 1 && best == test_labels[k];
        error += (double)out[0] / TEST;
    }
    if (OUTPUTS > 1) printf("%%d\\n", right);
    else printf("%%.6f\\n", error);
    return 0;
}
"""


def write(name, folder):
    """Export the model and the program that trains it; (the functions, what K.export reports)."""
    make, epochs = MODELS[name]
    made, folder = make(), Path(folder)
    report = K.export(made, folder, prefix=name, calls=1)
    data = digits()
    lines = ["/* Images of 8 x 8 pixels from 0 to 16, and what they show. */"]
    for part, (images, labels) in data.items():
        lines.append(f"enum {{ {part.upper()} = {len(images)} }};")
        for what, array in (("data", images), ("labels", labels)):
            flat = array.ravel().tolist()
            rows = [", ".join(map(str, flat[k : k + 32])) for k in range(0, len(flat), 32)]
            lines.append(
                f"static const unsigned char {part}_{what}[{len(flat)}] = {{\n    "
                + ",\n    ".join(rows)
                + "\n};"
            )
    (folder / "digits.h").write_text("\n".join(lines) + "\n")
    outputs = int(np.prod(made["predict"].outputs[0].shape))
    text = MAIN % (BATCH, SIDE * SIDE, CLASSES, epochs, outputs)
    (folder / f"{name}_main.c").write_text(text.replace("NAME", name))
    return made, report


def train_there(name, folder, machine="here"):
    """Compile and run the program; what it printed."""
    compiler, runner = MACHINES[machine]
    program = Path(folder) / f"{name}_{machine}"
    sources = [str(Path(folder) / f"{name}{part}.c") for part in ("", "_main")]
    strict = ["-std=c99", "-pedantic", "-Wall", "-Wextra", "-Werror"]
    subprocess.run([*compiler, *strict, *sources, "-lm", "-o", str(program)], check=True)
    done = subprocess.run([*runner, str(program)], check=True, capture_output=True, text=True)
    return float(done.stdout)


def main():
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("model", choices=MODELS)
    parser.add_argument("--machine", choices=MACHINES, default="here")
    parser.add_argument("--only-export", metavar="FOLDER")
    arguments = parser.parse_args()
    name = arguments.model
    with tempfile.TemporaryDirectory() as temporary:
        made, report = write(name, arguments.only_export or temporary)
        print(report)
        if arguments.only_export:
            return
        there = train_there(name, temporary, arguments.machine)
    here = train_here(made, MODELS[name][1])
    what = "mean squared error" if name == "rbm" else "right of 270"
    print(f"{what}: {there:g} on {arguments.machine}, {here:g} in Python")


if __name__ == "__main__":
    sys.exit(main())
