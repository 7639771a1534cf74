"""The programs of a folder that has both suites: their functions and their arguments by preset.

NPBench says in bench_info/*.json how a program's arguments are made; pyhpc-benchmarks has a
function for it. Neither is imported as it stands in its harness: only programs run.
"""

import importlib
import importlib.util
import json
import sys
from pathlib import Path

OCEAN = {"pyhpc_eos": "equation_of_state", "pyhpc_iso": "isoneutral_mixing",
         "pyhpc_tke": "turbulent_kinetic_energy"}  # fmt: skip
OCEAN_SIZES = {"S": 4096, "M": 65536, "L": 1048576}
MADE = {"numba": ("numba_n", "numba_np", "numba_npr", "numba_o", "numba_op", "numba_opr")}


def names(folder):
    """The names of all programs below `folder`."""
    found = sorted(p.stem for p in Path(folder).glob("npbench*/bench_info/*.json"))
    return found + (sorted(OCEAN) if list(Path(folder).glob("pyhpc*")) else [])


def program(folder, name, preset, who="numpy"):
    """(functions of this implementation, function that makes new arguments)."""
    if name in OCEAN:
        return ocean(folder, name, preset, who)
    root = next(Path(folder).glob("npbench*/bench_info")).parent
    sys.path.insert(0, str(root))
    info = json.loads((root / "bench_info" / f"{name}.json").read_text())["benchmark"]
    path = "npbench.benchmarks." + info["relative_path"].replace("/", ".")
    modules = MADE.get(who, (who,))
    functions = []
    for kind in modules:
        try:
            module = importlib.import_module(f"{path}.{info['module_name']}_{kind}")
        except ModuleNotFoundError:
            continue
        functions.append(getattr(module, info["func_name"]))
    return functions, lambda: arguments(path, info, preset)


def arguments(path, info, preset):
    """New arguments of a program of NPBench."""
    values = dict(info["parameters"][preset])
    init = info.get("init")
    if init:
        module = importlib.import_module(f"{path}.{info['module_name']}")
        made = getattr(module, init["func_name"])(*[values[a] for a in init["input_args"]])
        made = made if len(init["output_args"]) > 1 else (made,)
        values.update(zip(init["output_args"], made))
    return [values[a] for a in info["input_args"]]


def ocean(folder, name, preset, who):
    """A program of pyhpc-benchmarks, whose package has the name of this one: read from its file."""
    path = next(Path(folder).glob("pyhpc*/benchmarks")) / OCEAN[name] / "__init__.py"
    spec = importlib.util.spec_from_file_location(OCEAN[name], path)
    package = sys.modules[OCEAN[name]] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(package)
    module = package.try_import(who)
    functions = [module.run] if module is not None else []
    return functions, lambda: list(package.generate_inputs(OCEAN_SIZES[preset]))
