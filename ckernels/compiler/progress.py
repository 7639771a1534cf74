"""What people see while kernels are compiled: a line on a terminal, once it takes over a second.

With the flag `print_progress` each phase is a line of its own, terminal or not. Everything goes to
stderr, looked up at each write, since programs and tests replace it.
"""

import sys
import threading
import time

from ..base.config import config

PATIENCE = 1.0  # seconds before anything is shown
CLEAR = "\r\x1b[K"


class Phases:
    """`phases = Phases(); ...; phases("planned %d nodes", 7)`: with print_progress, one line about
    the phase that has just ended, and how long it took."""

    def __init__(self):
        self.since = time.perf_counter()

    def __call__(self, text, *args):
        now = time.perf_counter()
        took, self.since = now - self.since, now
        if config["print_progress"]:
            line = f"ckernels: {text % args} in {took * 1e3:.1f} ms"
            print(line, file=sys.stderr, flush=True)


def on_terminal():
    try:
        return sys.stderr.isatty()
    except (AttributeError, ValueError):  # there is none, or it was closed
        return False


class Progress:
    """`with Progress(kernels) as progress: ... progress.done(3)`."""

    def __init__(self, total):
        self.total, self.finished = total, 0
        self.start = time.monotonic()
        self.over = threading.Event()
        self.thread = None

    def __enter__(self):
        if on_terminal() and not config["print_progress"]:
            self.thread = threading.Thread(target=self._show, name="ckernels-progress", daemon=True)
            self.thread.start()
        return self

    def done(self, count):
        self.finished += count

    def _show(self):
        shown = False
        while not self.over.wait(0.2 if shown else PATIENCE):
            self._write(
                f"{CLEAR}ckernels: compiling {self.total} kernels, {self.finished} done, "
                f"{time.monotonic() - self.start:.0f} s"
            )
            shown = True
        if shown:
            self._write(CLEAR)

    @staticmethod
    def _write(text):
        try:
            sys.stderr.write(text)
            sys.stderr.flush()
        except (OSError, ValueError, AttributeError):
            pass

    def __exit__(self, *exception):
        self.over.set()
        if self.thread is not None:
            self.thread.join()
