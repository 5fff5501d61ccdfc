"""Runs the tests of the package: python3 -m tests [--xml FILE] [NAME…], in python/.

FILE gets a line for each test, as GoogleTest writes them, for tests/count_results.sh.
"""

from __future__ import annotations

import argparse
import importlib.util
import pathlib
import sys
import unittest
from xml.sax.saxutils import quoteattr

HERE = pathlib.Path(__file__).resolve().parent


class _Result(unittest.TextTestResult):
    """Remembers what became of each test."""

    def __init__(self, *arguments, **more):  # type: ignore[no-untyped-def]
        super().__init__(*arguments, **more)
        self.lines: dict[str, str] = {}

    def startTest(self, test):  # type: ignore[no-untyped-def]
        super().startTest(test)
        self.lines[test.id()] = ""

    def addError(self, test, error):  # type: ignore[no-untyped-def]
        super().addError(test, error)
        self.lines[test.id()] = "<failure/>"

    def addFailure(self, test, error):  # type: ignore[no-untyped-def]
        super().addFailure(test, error)
        self.lines[test.id()] = "<failure/>"

    def addSubTest(self, test, subtest, error):  # type: ignore[no-untyped-def]
        super().addSubTest(test, subtest, error)
        if error is not None:
            self.lines[test.id()] = "<failure/>"

    def addSkip(self, test, reason):  # type: ignore[no-untyped-def]
        super().addSkip(test, reason)
        self.lines[test.id()] = f"<skipped message={quoteattr(reason)}/>"


def main() -> int:
    parser = argparse.ArgumentParser(prog="python3 -m tests", description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--xml", type=pathlib.Path)
    parser.add_argument("names", nargs="*", metavar="NAME", help="such as tests.test_matmul")
    given = parser.parse_args()
    lines: dict[str, str]
    if importlib.util.find_spec("numpy") is None:
        reason = f"{sys.executable} has no numpy (python3-numpy)"
        print(f"skipped: {reason}")
        lines, status = {"python": f"<skipped message={quoteattr(reason)}/>"}, 0
    else:
        loader = unittest.TestLoader()
        tests = loader.loadTestsFromNames(given.names) if given.names else loader.discover(str(HERE), top_level_dir=str(HERE.parent))
        result = unittest.TextTestRunner(resultclass=_Result, verbosity=1).run(tests)
        assert isinstance(result, _Result)
        lines, status = result.lines, int(not result.wasSuccessful())
    if given.xml is not None:
        given.xml.write_text(
            "".join(f'<testcase name={quoteattr(name)} status="run">\n{line}\n</testcase>\n' for name, line in lines.items())
        )
    return status


sys.exit(main())
