"""Flash and memory of exported models on a Cortex-M4, as docs/guide/export.md tells them.

    python benchmarks/export_sizes.py       needs arm-none-eabi-gcc

The sizes are those of the model's object file: code, constants and tables (text), the static arena
(bss), without start-up code and libm. Time is not measured: QEMU counts no cycles.
"""

import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np

import ckernels as K

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "examples" / "export"))
import train_on_device as digits  # noqa: E402

M4 = ["arm-none-eabi-gcc", "-std=c99", "-mcpu=cortex-m4", "-mthumb", "-mfloat-abi=hard",
      "-mfpu=fpv4-sp-d16", "-ffunction-sections", "-fdata-sections"]  # fmt: skip


def sine(batch=16):
    """The net 1-16-16-1 of TensorFlow Lite Micro's "Hello World", and its training step."""
    sizes = (1, 16, 16, 1)
    layers = [digits.weights(n, m) for n, m in zip(sizes, sizes[1:])]

    def net(x):
        for w, b in layers[:-1]:
            x = K.relu(K.dot(x, w) + b)
        return K.dot(x, layers[-1][0]) + layers[-1][1]

    x, t, one = (K.placeholder((n, 1), name=s) for n, s in ((batch, "x"), (batch, "t"), (1, "x")))
    loss = K.mean(K.square(net(x) - t))
    parameters = [p for layer in layers for p in layer]
    return {
        "train": K.function([x, t], loss, updates=digits.sgd(loss, parameters)),
        "predict": K.function([one], net(one)),
    }


def measure(made, names, flag):
    """(text, data, bss, state) in bytes."""
    with tempfile.TemporaryDirectory() as folder:
        report = K.export({n: made[n] for n in names}, folder, prefix="m", calls=1)
        built = Path(folder) / "m.o"
        subprocess.run([*M4, flag, "-c", str(Path(folder) / "m.c"), "-o", str(built)], check=True)
        line = subprocess.run(
            ["arm-none-eabi-size", str(built)], check=True, text=True, capture_output=True
        ).stdout.splitlines()[1]
    text, data, bss = map(int, line.split()[:3])
    return text, data, bss, report.state, report.multiplied


def main():
    np.random.seed(0)
    print("| model | functions | flag | text | bss | state | multiply-adds |")
    print("|---|---|---|---:|---:|---:|---:|")
    for name, make in {"sine": sine, **{k: v for k, (v, _) in digits.MODELS.items()}}.items():
        made = make()
        for names in (["predict"], ["train", "predict"]):
            for flag in ("-Os", "-O2"):
                text, data, bss, state, macs = measure(made, names, flag)
                print(
                    f"| {name} | {', '.join(names)} | {flag} | {text + data} | {bss} | {state} | "
                    f"{', '.join(map(str, macs.values()))} |"
                )


if __name__ == "__main__":
    main()
