"""The kernels that come with a wheel: recorded while common programs run, compiled for each level.

`python build_tools/prebuilt.py OUT.json` plans layers of Keras 2 (forwards, backwards, SGD, Adam)
and the programs of plain_programs.py, runs the examples of the guide with the compiler that is
here, and writes down every kernel they asked for. Kernels hold no sizes, and these none of a
program's rates and limits: those of small models serve large ones.
"""

import json
import os
import shutil
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from itertools import product

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
TEXT = 100_000  # characters of C in one run of the compiler
# What a wheel is compiled with: the flags of ckernels.compiler.toolchain, an instruction set for
# -march, and for AVX-512 its whole width (see ckernels.compiler.cpu).
LEVELS = {
    "x86-64-v4": ("-march=x86_64_v4", "-mprefer-vector-width=512"),
    "x86-64-v3": ("-march=x86_64_v3",),
    "armv8-a": (),
}


# ---- recording --------------------------------------------------------------------------------


class Recorder:
    """Stands before `compiler.build` and keeps the sources it is asked for. compiles: whether they
    are built too, for programs that run."""

    def __init__(self):
        from ckernels import compiler

        self.build, self.seen, self.compiles = compiler.build, {}, True
        compiler.build, compiler.ready_made = self, lambda: True
        compiler.lacking = lambda sources: ()

    def __call__(self, sources):
        from ckernels import compiler

        for source in sources:
            if "#line" not in source.text:  # no C that the guide shows users to write
                self.seen[source.name] = [source.name, source.text, source.snippets, source.flags]
        if self.compiles:
            return self.build(sources)
        names = [source.name for source in sources]
        return compiler.Build([1] * len(names), names, 0, 0, 0.0, names)

    def rows(self):
        return [self.seen[name] for name in sorted(self.seen)]


def kinds(L, units, filters, image, hidden, steps):
    """{name: [(layer, its arguments, its named ones)]} of nets without their last layer."""
    relu = dict(activation="relu")
    return {
        "mlp": [
            (L.Dense, (units,), dict(activation="relu", input_shape=(8,))),
            (L.Dropout, (0.2,), {}),
            (L.Dense, (units,), dict(activation="tanh")),
            (L.Dense, (units,), dict(activation="sigmoid")),
            (L.BatchNormalization, (), {}),
        ],
        "cnn": [
            (
                L.Conv2D,
                (filters, (3, 3)),
                dict(relu, padding="same", input_shape=(image, image, 1)),
            ),
            (L.BatchNormalization, (), {}),
            (L.MaxPooling2D, ((2, 2),), {}),
            (L.Conv2D, (filters, (3, 3)), relu),
            (L.MaxPooling2D, ((2, 2),), {}),
            (L.Dropout, (0.25,), {}),
            (L.Flatten, (), {}),
            (L.Dense, (units,), relu),
        ],
        "cnn without norm": [
            (L.Conv2D, (filters, (3, 3)), dict(relu, input_shape=(image, image, 3))),
            (L.Conv2D, (filters, (3, 3)), relu),
            (L.AveragePooling2D, ((2, 2),), {}),
            (L.Flatten, (), {}),
        ],
        "mlp with dropout": [
            (L.Dense, (units,), dict(relu, input_shape=(8,))),
            (L.Dropout, (0.2,), {}),
            (L.Dense, (units,), relu),
            (L.Dropout, (0.2,), {}),
        ],
        "cnn with dropout": [
            (L.Conv2D, (filters, (3, 3)), dict(relu, input_shape=(image, image, 1))),
            (L.Conv2D, (filters, (3, 3)), relu),
            (L.MaxPooling2D, ((2, 2),), {}),
            (L.Dropout, (0.25,), {}),
            (L.Flatten, (), {}),
            (L.Dense, (units,), relu),
            (L.Dropout, (0.5,), {}),
        ],
        "cnn of two pools": [
            (L.Conv2D, (filters, (3, 3)), dict(relu, input_shape=(image, image, 3))),
            (L.MaxPooling2D, ((2, 2),), {}),
            (L.Conv2D, (filters, (3, 3)), relu),
            (L.MaxPooling2D, ((2, 2),), {}),
            (L.Flatten, (), {}),
            (L.Dense, (units,), relu),
        ],
        "lstm with dropout": [
            (L.LSTM, (hidden,), dict(input_shape=(steps, 5))),
            (L.Dropout, (0.5,), {}),
        ],
        "lstm": [(L.Embedding, (30, hidden), dict(input_length=steps)), (L.LSTM, (hidden,), {})],
        "lstm of rows": [
            (L.LSTM, (hidden,), dict(return_sequences=True, input_shape=(steps, 5))),
            (L.LSTM, (hidden,), {}),
        ],
        "gru": [(L.GRU, (hidden,), dict(input_shape=(steps, 5)))],
        "rnn": [(L.SimpleRNN, (hidden,), dict(input_shape=(steps, 5)))],
        "conv1d": [
            (L.Conv1D, (filters, 3), dict(relu, input_shape=(image, 4))),
            (L.MaxPooling1D, (2,), {}),
            (L.GlobalAveragePooling1D, (), {}),
        ],
    }


def layers(recorder):
    """Plan what trains, evaluates and predicts each kind of net, small and large, with each
    optimizer, with and without a metric; what draws their weights runs."""
    import numpy as np

    os.environ["KERAS_BACKEND"] = "ckernels.compat.keras2"
    from keras import layers as L
    from keras import optimizers
    from keras.models import Sequential

    heads = {
        "categorical_crossentropy": (3, "softmax"),
        "binary_crossentropy": (1, "sigmoid"),
        "mse": (1, None),
    }

    def plan(function, phase, *shapes):
        program = getattr(function, "of", lambda phase: function)(phase).info.program
        recorder.compiles = False
        program.plan_arguments([np.zeros(shape, "float32") for shape in shapes])
        recorder.compiles = True

    def programs(nets, losses, count, classes=None):
        for name, rows in nets.items():
            for loss in losses:
                width, activation = heads[loss]
                width = classes or width
                metric = "accuracy" if activation else "mae"
                for chosen, metrics in product(("sgd", "adam", "nesterov"), ([metric], [])):
                    optimizer = chosen
                    if chosen == "nesterov":
                        optimizer = optimizers.SGD(0.01, momentum=0.9, nesterov=True)
                    model = Sequential([kind(*args, **named) for kind, args, named in rows])
                    model.add(L.Dense(width, activation=activation))
                    model.compile(loss=loss, optimizer=optimizer, metrics=metrics)
                    model._make_train_function()
                    inputs = model.input_shape[1:]
                    # Axes of one sample are left out; other rows are served by the same kernels.
                    for n in (count, 1) if metrics and chosen != "nesterov" else (count,):
                        plan(model.train_function, 1, (n, *inputs), (n, width), (n,))
                        if chosen == "sgd":  # no optimizer has a say in these
                            model._make_test_function()
                            plan(model.test_function, 0, (n, *inputs), (n, width), (n,))
                        if chosen == "sgd" and metrics:
                            model._make_predict_function()
                            plan(model.predict_function, 0, (n, *inputs))
                print(name, loss, flush=True)

    small = kinds(L, 16, 8, 12, 8, 6)
    programs(small, heads, 16)
    # Rows of 16 numbers and more have kernels of their own.
    programs({"mlp": small["mlp"]}, ["categorical_crossentropy"], 16, 20)
    # Sums over many rows are made in chunks, by kernels of their own: sizes as programs have them.
    programs(kinds(L, 512, 32, 28, 64, 28), ["categorical_crossentropy"], 256)


def guide():
    """Run the examples of the README and of the guide."""
    sys.path.insert(0, os.path.join(ROOT, "tests"))
    import test_docs

    for page in test_docs.PAGES:
        if "guide" in str(page) or page.name == "README.md":
            space = test_docs.Page()
            for _, _, language, text in test_docs.BLOCK.findall(page.read_text()):
                try:
                    if language == "python":
                        space.execute(text, "exec")
                    elif language == "pycon":
                        for example in test_docs.doctest.DocTestParser().get_examples(text):
                            space.execute(example.source, "single")
                except Exception as error:
                    print(f"{page.name}: {error}", flush=True)


def record(path):
    # A compiledir of its own: plans stored by an earlier run would not ask for their kernels.
    with tempfile.TemporaryDirectory() as place:
        flags = os.environ.get("CKERNELS_FLAGS", "")
        os.environ["CKERNELS_FLAGS"] = f"{flags},base_compiledir={place}".lstrip(",")
        import plain_programs

        recorder = Recorder()
        layers(recorder)
        guide()
        recorder.compiles = False
        plain_programs.asked()
        rows = recorder.rows()
    with open(path, "w", encoding="utf-8") as stream:
        json.dump(rows, stream)
    print(f"{len(rows)} kernels, {sum(len(r[1]) for r in rows) / 1e6:.1f} MB of C")


# ---- compiling --------------------------------------------------------------------------------


_objects = {}  # (target, instruction set) -> those that this run compiled


def compiled(zig, kernels, target, level, rows, work):
    """The bytes of the library of recorded kernels for a target of Zig and an instruction set;
    kernels: the target for which they are compiled, if only the library is of another."""
    objects = _objects.get((kernels, level))
    if objects is None:
        objects = _objects[kernels, level] = compile_all(zig, kernels, level, rows, work)
    place, library = os.path.dirname(objects[0]), f"{target}.so"
    # macOS writes into a library where it was made: as seen from there
    run([*zig, "-target", target, "-shared", "-s", "-o", library, *objects, "-lm"], cwd=place)
    with open(os.path.join(place, library), "rb") as stream:
        return stream.read()


def compile_all(zig, target, level, rows, work):
    """Paths of the objects of recorded kernels, and of the table of them."""
    from ckernels import compiler
    from ckernels.compiler import prebuilt, toolchain

    # Unrolled they take an eighth more: over 5 MB for a wheel.
    small = ["-fno-unroll-loops", "-fno-sanitize=undefined", "-g0"]
    flags = [*toolchain.CLANG, *LEVELS[level], *small]
    sources = [compiler.KernelSource(r[0], r[1], tuple(r[2]), tuple(r[3])) for r in rows]
    place = os.path.join(work, "kernels", f"{target}-{level}")
    shutil.rmtree(place, ignore_errors=True)
    os.makedirs(place)
    units = list(batches(sources))
    tools = prebuilt.stand_in(level)
    table = [(compiler.key_of(source, tools), source) for source in sources]
    texts = [(unit[0].flags, translation_unit(unit)) for unit in units] + [((), index(table))]
    command = [*zig, "-target", target]

    def build(numbered):
        number, (extra, text) = numbered
        made = os.path.join(place, f"{number}.o")
        with open(made[:-1] + "c", "w", encoding="utf-8") as stream:
            stream.write(text)
        run([*command, *flags, *extra, "-c", made[:-1] + "c", "-o", made])
        return made

    with ThreadPoolExecutor(os.cpu_count() or 1) as pool:
        made = pool.map(build, enumerate(texts))
        return list(progress(f"kernels for {target}, {level}", made, len(texts)))


def progress(what, results, total):
    """`results` one by one; stderr says how far they are, on a terminal in one line, elsewhere in a
    line for each tenth."""
    alive = sys.stderr.isatty()
    for done, result in enumerate(results, 1):
        if alive or done * 10 // total > (done - 1) * 10 // total:
            start, end = ("\r", "" if done < total else "\n") if alive else ("", "\n")
            print(f"{start}{what}: {done} of {total}", end=end, file=sys.stderr, flush=True)
        yield result


def run(command, cwd=None):
    done = subprocess.run(command, capture_output=True, text=True, cwd=cwd)
    if done.returncode:
        raise SystemExit(f"{' '.join(command)}\n{done.stderr[:4000]}")


def batches(sources):
    """Sources of the same flags, at most TEXT characters of them together."""
    unit, size = [], 0
    for source in sorted(sources, key=lambda s: (s.flags, s.name)):
        if unit and (unit[0].flags != source.flags or size > TEXT):
            yield unit
            unit, size = [], 0
        unit.append(source)
        size += len(source.text)
    if unit:
        yield unit


def translation_unit(sources):
    from ckernels import compiler

    snippets = dict.fromkeys(s for source in sources for s in source.snippets)
    hidden = "#pragma GCC visibility push(hidden)"
    return "\n".join((compiler.PREAMBLE, hidden, *snippets, *(s.text for s in sources)))


def index(table):
    """C of the table of all kernels, by their keys."""
    from ckernels import compiler

    declared = "".join(
        f'__attribute__((visibility("hidden"))) '
        f"int {s.name}(void *const *, const int64_t *, int64_t, int64_t);\n"
        for _, s in table
    )
    rows = "".join(f'    {{ "{key}", {source.name} }},\n' for key, source in table)
    return "\n".join((compiler.PREAMBLE, declared, compiler.TABLE % rows))


if __name__ == "__main__":
    sys.path.insert(0, ROOT)
    record(sys.argv[1])
