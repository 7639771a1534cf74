"""Whether the runtime and the planner have the same layout of records."""

from .records import GemmDims, WindowDims


def check_records(runtime):
    """ImportError where the runtime was built when records had another number of words."""
    wanted = {"GEMM_WORDS": GemmDims.WORDS, "NATIVE_WORDS": WindowDims.WORDS}
    found = {name: getattr(runtime, name, count) for name, count in wanted.items()}
    if found != wanted:
        raise ImportError(
            f"{runtime.__file__} was built from other sources than the Python files beside it: "
            f"its instructions have {tuple(found.values())} words, here they have "
            f"{tuple(wanted.values())}. Build it again: python setup.py build_ext --inplace, or "
            f"install ckernels again."
        )
