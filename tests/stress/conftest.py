"""Fixtures of the stress tests, and which of them `make test` runs."""

import tempfile

import pytest


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items):
    """The first test of each file, and all about histories: `make stress` and `make rest` run the
    others. Before those that `-m` does not ask for are left out."""
    first = {}
    for item in items:
        if item.path.parent.name != "stress" or item.path.name.startswith("test_histor"):
            continue
        test = item.nodeid.partition("[")[0]
        if first.setdefault(item.path, test) != test:
            item.add_marker(pytest.mark.rest)


@pytest.fixture(autouse=True)
def private_directory(tmp_path, monkeypatch):
    """The compiledir of last resort is one of the test's own, in processes it forks too."""
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
