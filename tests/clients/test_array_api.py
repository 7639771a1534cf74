"""The array API standard's own tests through ckernels.numpy, where they are at hand.

ARRAY_API_TESTS names the folder of an unpacked array-api-tests; its failures are those of
`array_api_failures.txt`, each with its reason.
"""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

LIST = Path(__file__).with_name("array_api_failures.txt")
MOST = 29  # of 1,380 tests


def known():
    """{test: reason} of the list: a line of reason, then the tests it holds for."""
    found, reason = {}, ""
    for line in LIST.read_text().splitlines():
        if line.startswith("# "):
            reason = line[2:]
        elif line:
            found[line] = reason
    return found


def test_each_failure_has_a_reason():
    assert 0 < len(known()) <= MOST and all(known().values())


@pytest.mark.skipif("ARRAY_API_TESTS" not in os.environ, reason="array-api-tests is not at hand")
@pytest.mark.parametrize("flags", ["lazy_from=0,mode=reference", ""], ids=["late", "at once"])
def test_the_standards_own_tests(flags):
    env = {**os.environ, "ARRAY_API_TESTS_MODULE": "ckernels.numpy", "CKERNELS_FLAGS": flags,
           "ARRAY_API_TESTS_VERSION": "2024.12"}  # fmt: skip
    command = [sys.executable, "-m", "pytest", "array_api_tests", "--max-examples=5", "-q", "-rf",
               "--tb=no", "-p", "no:cacheprovider"]  # fmt: skip
    folder = os.environ["ARRAY_API_TESTS"]
    output = subprocess.run(command, cwd=folder, env=env, capture_output=True, text=True).stdout
    failed = set(re.findall(r"^FAILED array_api_tests/(.*?)(?: - .*)?$", output, re.M))
    assert re.search(r"\b1\d\d\d passed", output), output[-2000:]
    assert failed <= set(known()), failed - set(known())
