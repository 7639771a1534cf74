"""An MNIST CNN exported as C beside LiteRT Micro: memory, and time on this machine.

    python benchmarks/export_peers.py       needs tensorflow-cpu and tflite-micro (PyPI), a C
                                            compiler, and arm-none-eabi-gcc for sizes

Both compute the same net with the same weights in float32; results are compared first. LiteRT Micro
is what its Python package has: the interpreter with its reference kernels, for this machine. The
third row is a program of plain loops, one function per layer, results in two buffers in turns and
padding tested at each tap: the form in which onnx2c writes a net, whose program was not at hand.
Times are of one image, on the CPU clock, the best of several runs.
"""

import os
import re
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

import ckernels as K

SIDE, FILTERS, CLASSES = 28, (8, 16), 10
X86 = {"-O2": ["cc", "-O2"], "-O3, vectors": [
    "cc", "-O3", "-march=native", "-DCK_VECTORS", "-fopenmp-simd"]}  # fmt: skip
M4 = ["arm-none-eabi-gcc", "-Os", "-std=c99", "-mcpu=cortex-m4", "-mthumb", "-mfloat-abi=hard",
      "-mfpu=fpv4-sp-d16"]  # fmt: skip


def weights():
    rng, found, channels = np.random.default_rng(0), [], 1
    for count in FILTERS:
        found += [rng.normal(size=(3, 3, channels, count)) / 3, rng.normal(size=count) * 0.1]
        channels = count
    flat = (SIDE // 4) ** 2 * channels
    found += [rng.normal(size=(flat, CLASSES)) / flat**0.5, rng.normal(size=CLASSES) * 0.1]
    return [w.astype("float32") for w in found]


def ours(values):
    k1, b1, k2, b2, w, b = (K.variable(v) for v in values)
    x = K.placeholder((1, SIDE, SIDE, 1), name="x")
    h = x
    for k, bias in ((k1, b1), (k2, b2)):
        h = K.pool2d(K.relu(K.bias_add(K.conv2d(h, k, padding="same"), bias)), (2, 2), (2, 2))
    return K.function([x], K.softmax(K.dot(K.batch_flatten(h), w) + b))


def litert(values):
    """The net as a file of LiteRT."""
    import tensorflow as tf

    layers = tf.keras.layers
    net = tf.keras.Sequential([tf.keras.Input((SIDE, SIDE, 1), batch_size=1)])
    for count in FILTERS:
        net.add(layers.Conv2D(count, 3, padding="same", activation="relu"))
        net.add(layers.MaxPool2D())
    net.add(layers.Flatten())
    net.add(layers.Dense(CLASSES, activation="softmax"))
    net.set_weights(values)
    return tf.lite.TFLiteConverter.from_keras_model(net).convert()


LOOPS = """
static float even[8 * 28 * 28], odd[8 * 28 * 28]; /* results, in turns */

#define CONV(NAME, C, M, N) \\
    static void NAME(const float x[C][N][N], const float w[M][C][3][3], const float *bias, \\
                     float y[M][N][N]) \\
    { \\
        for (int m = 0; m < M; m++) \\
            for (int r = 0; r < N; r++) \\
                for (int s = 0; s < N; s++) { \\
                    y[m][r][s] = bias[m]; \\
                    for (int c = 0; c < C; c++) \\
                        for (int i = 0; i < 3; i++) \\
                            for (int j = 0; j < 3; j++) { \\
                                const int p = r + i - 1, q = s + j - 1; \\
                                if (p < 0 || p >= N || q < 0 || q >= N) continue; \\
                                y[m][r][s] += x[c][p][q] * w[m][c][i][j]; \\
                            } \\
                } \\
    }
#define POOL(NAME, C, N) \\
    static void NAME(const float x[C][2 * N][2 * N], float y[C][N][N]) \\
    { \\
        for (int c = 0; c < C; c++) \\
            for (int r = 0; r < N; r++) \\
                for (int s = 0; s < N; s++) { \\
                    float most = -3.4e38f; \\
                    for (int i = 0; i < 2; i++) \\
                        for (int j = 0; j < 2; j++) { \\
                            const float v = x[c][2 * r + i][2 * s + j]; \\
                            most = v > most ? v : most; \\
                        } \\
                    y[c][r][s] = most; \\
                } \\
    }
CONV(first, 1, 8, 28)
CONV(second, 8, 16, 14)
POOL(smaller, 8, 14)
POOL(smallest, 16, 7)

static void relu(const float *x, float *y, int n)
{
    for (int i = 0; i < n; i++) y[i] = x[i] > 0 ? x[i] : 0;
}

int net_run(const float *x, float *out)
{
    first((const float(*)[28][28])x, k1, b1, (float(*)[28][28])even);
    relu(even, odd, 8 * 28 * 28);
    smaller((const float(*)[28][28])odd, (float(*)[14][14])even);
    second((const float(*)[14][14])even, k2, b2, (float(*)[14][14])odd);
    relu(odd, even, 16 * 14 * 14);
    smallest((const float(*)[14][14])even, (float(*)[7][7])odd);
    for (int i = 0; i < 784; i++) even[i] = odd[i];
    float *const dense = odd;
    for (int n = 0; n < 10; n++) {
        float sum = 0;
        for (int i = 0; i < 784; i++) sum += even[i] * w[n][i];
        dense[n] = sum + b[n];
    }
    float most = dense[0], sum = 0;
    for (int n = 1; n < 10; n++) most = dense[n] > most ? dense[n] : most;
    for (int n = 0; n < 10; n++) sum += out[n] = expf(dense[n] - most);
    for (int n = 0; n < 10; n++) out[n] /= sum;
    return 0;
}
"""
TIMED = """
#include "net.h"
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
static float x[784], out[10];
int main(int argc, char **argv)
{
    const int runs = argc > 1 ? atoi(argv[1]) : 1;
    double best = 1e9;
    if (fread(x, 4, 784, stdin) != 784) return 1;
    for (int k = 0; k < 15; k++) {
        const clock_t start = clock();
        for (int i = 0; i < runs; i++) net_run(x, out);
        const double taken = (double)(clock() - start) / CLOCKS_PER_SEC / runs;
        if (taken < best) best = taken;
    }
    printf("%.9g", best);
    for (int i = 0; i < 10; i++) printf(" %.9g", (double)out[i]);
    return 0;
}
"""


def loops(values, folder):
    """net.c and net.h of plain loops."""
    from ckernels.export.model import values as initialiser

    k1, b1, k2, b2, w, b = values
    arrays = dict(
        k1=k1.transpose(3, 2, 0, 1), b1=b1, k2=k2.transpose(3, 2, 0, 1), b2=b2,
        w=w.reshape(7, 7, 16, 10).transpose(3, 2, 0, 1).reshape(10, 784), b=b)  # fmt: skip
    sides = dict(
        k1="[8][1][3][3]", b1="[8]", k2="[16][8][3][3]", b2="[16]", w="[10][784]", b="[10]"
    )
    parts = ['#include "net.h"', "#include <math.h>"]
    for name, value in arrays.items():
        text = initialiser(np.ascontiguousarray(value))
        parts.append(f"static const float {name}_[] = {text};")
        inner = sides[name][sides[name].index("]") + 1 :]
        kind = f"(*const {name}){inner}" if inner else f"*const {name}"
        cast = f"(const float(*){inner})" if inner else ""
        parts.append(f"static const float {kind} = {cast}{name}_;")
    (folder / "net.c").write_text("\n".join(parts) + LOOPS)
    (folder / "net.h").write_text("int net_run(const float *x, float *out);\n")


def timed(folder, command, x, runs):
    """(seconds of one image, its result) of net.c in the folder."""
    (folder / "timed.c").write_text(TIMED)
    program = folder / "timed"
    sources = [str(folder / "net.c"), str(folder / "timed.c")]
    subprocess.run([*command, *sources, "-lm", "-o", str(program)], check=True)
    done = subprocess.run([program, str(runs)], input=x.tobytes(), check=True, capture_output=True)
    first, *rest = map(float, done.stdout.split())
    return first, rest


def sizes(folder):
    """(flash, with what it calls, static memory) of net.c on a Cortex-M4.

    The second is a program that is linked, less an empty one: with libm and arithmetic that the
    processor lacks, without what any program has.
    """
    made = folder / "net.o"
    subprocess.run([*M4, "-c", str(folder / "net.c"), "-o", str(made)], check=True)
    text, data, bss = counted(made)
    linked = []
    for body in ('#include "net.h"\n', ""):
        call = "net_run(x, out);" if body else ""
        (folder / "main.c").write_text(
            f"{body}float x[784], out[10];\nint main(void) {{ {call} return (int)out[0]; }}\n"
        )
        parts = [str(folder / "main.c"), *([str(folder / "net.c")] if body else [])]
        command = [*M4, "--specs=nano.specs", "--specs=nosys.specs", "-Wl,--gc-sections", "-w"]
        program = folder / "linked"
        subprocess.run([*command, *parts, "-lm", "-o", str(program)], check=True,
                       stderr=subprocess.DEVNULL)  # fmt: skip
        linked.append(sum(counted(program)[:2]))
    return text + data, linked[0] - linked[1], bss


def counted(path):
    """(text, data, bss) that the size tool tells."""
    done = subprocess.run(["arm-none-eabi-size", path], check=True, text=True, capture_output=True)
    return tuple(map(int, done.stdout.splitlines()[1].split()[:3]))


def interpreted(data, x, runs):
    """(seconds, result, bytes of its arena) of LiteRT Micro."""
    from tflite_micro import runtime

    made = runtime.Interpreter.from_bytes(data)
    made.set_input(x, 0)
    made.invoke()
    found, best = made.get_output(0).ravel(), 1e9  # later calls find the input overwritten
    for _ in range(15):
        start = time.process_time()
        for _ in range(runs):
            made.invoke()
        best = min(best, (time.process_time() - start) / runs)
    return best, found, allocations(made)


def allocations(interpreter):
    """What it says on standard error of its memory."""
    with tempfile.TemporaryFile() as file:
        kept = os.dup(2)
        os.dup2(file.fileno(), 2)
        try:
            interpreter.print_allocations()
        finally:
            os.dup2(kept, 2)
            os.close(kept)
        file.seek(0)
        text = file.read().decode()
    found = re.search(r"Arena allocation total (\d+) bytes", text)
    return int(found[1]) if found else text


def main(runs=300):
    values, x = weights(), np.random.default_rng(1).random((1, SIDE, SIDE, 1), "float32")
    f, rows = ours(values), []
    expected = f(x).ravel()
    with tempfile.TemporaryDirectory() as place:
        for name in ("export", "loops"):
            folder = Path(place) / name
            folder.mkdir()
            if name == "export":
                K.export({"run": f}, folder, prefix="net", calls=1)
            else:
                loops(values, folder)
            flash = sizes(folder)
            for flags, command in X86.items():
                seconds, found = timed(folder, command, x, runs)
                assert np.allclose(found, expected, atol=1e-5), (name, found, expected)
                rows.append((name, flags, *flash, seconds))
    data = litert(values)
    seconds, found, arena = interpreted(data, x, runs)
    assert np.allclose(found, expected, atol=1e-5), (found, expected)
    rows.append(("LiteRT Micro", "as packaged", f"model {len(data)}", "", arena, seconds))
    print("| | flags | flash, Cortex-M4 -Os | linked | memory | us per image |")
    print("|---|---|---:|---:|---:|---:|")
    for name, flags, flash, linked, memory, seconds in rows:
        print(f"| {name} | {flags} | {flash} | {linked} | {memory} | {seconds * 1e6:.0f} |")


if __name__ == "__main__":
    sys.exit(main())
