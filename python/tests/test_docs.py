"""The examples in docstrings print what they say; everything public says what it is."""

import doctest
import importlib
import inspect
import pkgutil
import unittest

import numpy
import tcnum

MODULES = [importlib.import_module(f"tcnum.{m.name}") for m in pkgutil.iter_modules(tcnum.__path__)] + [tcnum]


def load_tests(loader, tests, pattern):
    for module in MODULES:
        names = {"np": numpy, "tcnum": tcnum}
        tests.addTests(doctest.DocTestSuite(module, extraglobs=names))
    return tests


class Documentation(unittest.TestCase):
    def test_all_that_is_public_says_what_it_is(self):
        for name in tcnum.__all__:
            what = getattr(tcnum, name)
            with self.subTest(name):
                self.assertTrue(inspect.getdoc(what))
                if inspect.isclass(what) and what.__module__.startswith("tcnum"):
                    for member, value in vars(what).items():
                        if not member.startswith("_") and inspect.isfunction(value):
                            self.assertTrue(value.__doc__ or len(inspect.getsource(value).splitlines()) < 4, member)
