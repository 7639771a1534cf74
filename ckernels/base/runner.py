"""`python -m MODULE program.py arguments`: a program that runs as it is, after MODULE has set up.

One runner for all modules of ours that stand in for another library.
"""

import os
import runpy
import sys


def run_program(ours, install, arguments=None):
    """Run `program.py arguments`, or `-m module arguments`, after install(); the exit status.

    ours: the name of the module that is run, for its usage; arguments: None: those of the command.
    """
    given = list(sys.argv[1:] if arguments is None else arguments)
    wanted = given[:1] in (["-h"], ["--help"])
    if not given or wanted or given == ["-m"]:
        print(
            f"usage: python -m {ours} program.py [arguments]\n"
            f"       python -m {ours} -m module [arguments]",
            file=sys.stdout if wanted else sys.stderr,
        )
        return 0 if wanted else 2
    install()
    if given[0] == "-m":
        sys.argv = given[1:]
        sys.path.insert(0, "")
        runpy.run_module(given[1], run_name="__main__", alter_sys=True)
    else:
        sys.argv = given
        sys.path.insert(0, os.path.dirname(os.path.abspath(given[0])))
        runpy.run_path(given[0], run_name="__main__")
    return 0
