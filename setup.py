"""Builds ckernels: the C runtime `ckernels._runtime` and the fixed cffi module that loads kernels.

Everything static lives in pyproject.toml. Where there is no C compiler, or the build fails, the
install still succeeds: ckernels then runs through its NumPy reference until there is one.
"""

import os
import shutil
import sys

from setuptools import setup
from setuptools.command.build_ext import build_ext
from setuptools.command.build_py import build_py

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))  # PEP 517 builds leave it out
from build_tools import cffi_module, extension  # noqa: E402


def write_loader(directory):
    try:
        cffi_module.generate(os.path.join(directory, cffi_module.TARGET))
    except Exception as error:  # only costs 56 ms at the first load
        print(f"ckernels: no prepared cffi module ({error})", file=sys.stderr)


def write_start(directory):
    """What Python runs when it starts: see ckernels/keras3/start.py."""
    os.makedirs(directory, exist_ok=True)
    shutil.copyfile("ckernels/keras3/start.py", os.path.join(directory, "_ckernels_keras3.py"))
    with open(os.path.join(directory, "ckernels_keras3.pth"), "w") as file:
        file.write("import _ckernels_keras3\n")


class BuildPython(build_py):
    def run(self):
        super().run()
        in_place = getattr(self, "editable_mode", False)
        write_loader("." if in_place else self.build_lib)
        # of an editable install it is the folder of its wheel that lands beside other packages
        write_start(
            self.get_finalized_command("install").install_lib if in_place else self.build_lib
        )


class BuildRuntime(build_ext):
    """build_ext that never fails an install; CKERNELS_REQUIRE_RUNTIME=1 makes failure fatal."""

    def finalize_options(self):
        super().finalize_options()
        if os.environ.get("CKERNELS_NATIVE"):  # its objects are not those of other runtimes
            self.build_temp = os.path.join(self.build_temp, "native")

    def build_extensions(self):
        for each in self.extensions:  # linked anew: the last one may be of other objects
            made = os.path.join(self.build_lib, self.get_ext_filename(each.name))
            if os.path.exists(made):
                os.remove(made)
        if not self.force:
            extension.compile_changed(self.compiler, self.extensions[0].depends)
        super().build_extensions()

    def run(self):
        if self.inplace:
            write_loader(".")
        try:
            super().run()
        except Exception as error:
            if os.environ.get("CKERNELS_REQUIRE_RUNTIME"):
                raise
            self.extensions.clear()  # so that nothing downstream looks for the missing file
            print(
                f"ckernels: the C runtime was not built ({error}).\n"
                "ckernels will run through NumPy. Install a C compiler (gcc or clang) and the\n"
                "Python headers, then install ckernels again.",
                file=sys.stderr,
            )


runtime = extension.runtime_extension()
setup(
    ext_modules=[runtime] if runtime else [],
    cmdclass={"build_py": BuildPython, "build_ext": BuildRuntime},
)
