"""`pytest --jobs 2`: one process collects the tests, forks of it run them, a file at a time.

With pytest-xdist each process collects them all, and what it tells the first of each test costs
more than most tests do. Here it is a few numbers where a test passed. A process that dies fails the
test it ran, and a new one goes on after that.
"""

import atexit
import contextlib
import mmap
import os
import pickle
import sys
import traceback
import warnings
from multiprocessing import Pipe
from multiprocessing.connection import wait

import pytest

MORE, DONE, GONE = "more", "done", "gone"  # what a process says beside results: of files of tests


def add_option(parser):
    parser.addoption(
        "--jobs", type=int, default=0, help="so many processes run the tests; 0: this one"
    )


def run(session):
    """What `pytest_runtestloop` is: None where pytest's own is to run them, in this process."""
    asked = session.config.option
    if asked.jobs < 2 or asked.collectonly or asked.usepdb or session.testsfailed:
        return None
    if not hasattr(os, "fork"):
        return None
    return Forks(session, asked.jobs).run()


class Fork:
    """One of the processes, seen from the first: what it was given, and which test it runs."""

    def __init__(self):
        self.here, self.there = Pipe()
        self.at = mmap.mmap(-1, 8)  # the number of the test it runs, plus one
        self.given = []
        self.process = None
        self.done = False  # whether it said that all is run

    def end(self):
        """How it ended, in words."""
        self.here.close()
        _, status = os.waitpid(self.process, 0)
        code = os.waitstatus_to_exitcode(status)
        return f"exit status {code}" if code >= 0 else f"killed by signal {-code}"


class Forks:
    def __init__(self, session, count):
        self.session, self.config, self.items = session, session.config, session.items
        files = {}
        for number, item in enumerate(self.items):
            files.setdefault(item.nodeid.partition("::")[0], []).append(number)
        self.todo = sorted(files.values(), key=len)  # taken from the end: the longest first
        self.running = []
        self.count = min(count, len(self.todo))

    def run(self):
        terminal = self.config.pluginmanager.get_plugin("terminalreporter")
        if terminal:
            terminal.showfspath = False  # files are run side by side
        try:
            for _ in range(self.count):
                self.start()
            while self.running:
                for ready in wait([fork.here for fork in self.running]):
                    self.hear(next(fork for fork in self.running if fork.here is ready))
                if self.session.shouldfail:
                    raise self.session.Failed(self.session.shouldfail)
                if self.session.shouldstop:
                    raise self.session.Interrupted(self.session.shouldstop)
        finally:
            for fork in self.running:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(fork.process, 15)
                fork.end()
        return True

    def start(self):
        fork = Fork()
        for stream in (sys.stdout, sys.stderr):
            stream.flush()
        with warnings.catch_warnings():  # threads of OpenBLAS, which knows of forks
            warnings.simplefilter("ignore", DeprecationWarning)
            fork.process = os.fork()
        if not fork.process:
            try:
                fork.here.close()
                for other in self.running:
                    other.here.close()
                Worker(self, fork).run()
            except Exception:
                traceback.print_exc(file=sys.__stderr__)
            finally:
                atexit._run_exitfuncs()
                os._exit(0)
        fork.there.close()
        self.running.append(fork)

    def hear(self, fork):
        try:
            told = fork.here.recv()
        except (EOFError, OSError):
            told = GONE
        if told == GONE:
            self.running.remove(fork)
            self.gone(fork, fork.end())
        elif told == DONE:
            fork.done = True
        elif told == MORE:
            fork.given.append(self.todo.pop() if self.todo else [])
            with contextlib.suppress(OSError):  # it may have died since
                fork.here.send(fork.given[-1])
        elif isinstance(told, tuple):
            number, *durations = told
            for when, duration in zip(("setup", "call", "teardown"), durations):
                self.report(number, "passed", None, when, duration)
        elif "warning_message" in told:
            self.config.hook.pytest_warning_recorded.call_historic(kwargs=told)
        else:
            hook = self.config.hook
            report = hook.pytest_report_from_serializable(config=self.config, data=told)
            hook.pytest_runtest_logreport(report=report)

    def report(self, number, outcome, text, when, duration=0.0):
        item = self.items[number]
        report = pytest.TestReport(item.nodeid, item.location, {}, outcome, text, when,
                                   duration=duration)  # fmt: skip
        self.config.hook.pytest_runtest_logreport(report=report)

    def gone(self, fork, how):
        """What a process leaves that ended: nothing, or the test it ran and those after it."""
        number = int.from_bytes(fork.at[:], "little") - 1
        given = [n for file in fork.given for n in file]
        if fork.done:
            return
        if number not in given:
            raise RuntimeError(f"a process that was to run tests ended: {how}")
        self.report(number, "failed", f"the process that ran this test ended: {how}", "call")
        left = given[given.index(number) + 1 :]
        if left:
            self.todo.append(left)
        if self.todo:
            self.start()


class Worker:
    """What a fork does."""

    def __init__(self, forks, fork):
        self.session, self.config, self.items = forks.session, forks.config, forks.items
        self.pipe, self.at = fork.there, fork.at
        self.number, self.durations = None, []

    def run(self):
        plugins = self.config.pluginmanager
        terminal = plugins.get_plugin("terminalreporter")
        if terminal:  # what others write through it goes where errors go
            terminal._tw._file = sys.__stderr__
            plugins.unregister(terminal)
            plugins.register(Writer(terminal._tw), "terminalreporter")
        capture = plugins.get_plugin("capturemanager")
        if capture and capture.is_globally_capturing():  # into files of its own
            capture.stop_global_capturing()
            capture.start_global_capturing()
            capture.suspend_global_capture()
        plugins.register(self, "forks")
        hook, numbers = self.config.hook, self.ask()
        while numbers:
            after = self.ask()  # what is torn down depends on the test that comes next
            for number, following in zip(numbers, [*numbers[1:], *(after[:1] or [None])]):
                self.at[:] = (number + 1).to_bytes(8, "little")
                self.number, self.durations = number, []
                item = self.items[number]
                nextitem = None if following is None else self.items[following]
                hook.pytest_runtest_protocol(item=item, nextitem=nextitem)
                if len(self.durations) == 3:
                    self.pipe.send((number, *self.durations))
                if self.session.shouldfail or self.session.shouldstop:
                    after = []
                    break
            numbers = after
        self.pipe.send(DONE)

    def ask(self):
        self.pipe.send(MORE)
        return self.pipe.recv()

    def pytest_runtest_logreport(self, report):
        plain = report.passed and not (
            report.sections or report.user_properties or hasattr(report, "wasxfail")
        )
        if plain and type(report) is pytest.TestReport and len(self.durations) < 3:
            self.durations.append(report.duration)
            return
        for when, duration in zip(("setup", "call", "teardown"), self.durations):
            self.send(self.plain(when, duration))
        self.durations = []
        self.send(report)

    def plain(self, when, duration):
        item = self.items[self.number]
        return pytest.TestReport(
            item.nodeid, item.location, {}, "passed", None, when, duration=duration
        )

    def send(self, report):
        hook = self.config.hook
        self.pipe.send(hook.pytest_report_to_serializable(config=self.config, report=report))

    def pytest_warning_recorded(self, warning_message, when, nodeid, location):
        if self.number is None:  # what the first process knows: pytest repeats it
            return
        told = {"warning_message": warning_message, "when": when, "nodeid": nodeid,
                "location": location}  # fmt: skip
        try:
            pickle.dumps(told)
        except Exception:
            same = warning_message
            text = UserWarning(f"{same.category.__name__}: {same.message}")
            told["warning_message"] = warnings.WarningMessage(
                text, UserWarning, same.filename, same.lineno
            )
        self.pipe.send(told)


class Writer:
    """The part of the terminal reporter that others ask for."""

    def __init__(self, writer):
        self._tw = writer
