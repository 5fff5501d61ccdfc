"""The examples in docstrings print what they say; everything public says what it is."""

import doctest
import importlib
import inspect
import json
import pathlib
import pkgutil
import re
import unittest

import numpy
import tcnum

MODULES = [importlib.import_module(f"tcnum.{m.name}") for m in pkgutil.iter_modules(tcnum.__path__)] + [tcnum]


def load_tests(loader, tests, pattern):
    for module in MODULES:
        names = {"np": numpy, "tcnum": tcnum}
        tests.addTests(doctest.DocTestSuite(module, extraglobs=names))
    return tests


ROOT = pathlib.Path(__file__).parents[2]


def anchors_of(page):
    """As GitHub makes them of headings: small letters, hyphens for spaces, and no other punctuation."""
    headings = re.findall(r"^#+ (.*)$", re.sub(r"```.*?```", "", page.read_text(), flags=re.DOTALL), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


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

    def test_links_lead_somewhere(self):
        for page in [*ROOT.glob("*.md"), *ROOT.glob("docs/*.md"), *ROOT.glob("python/*.md")]:
            text = re.sub(r"```.*?```", "", page.read_text(), flags=re.DOTALL)
            for link in re.findall(r"\]\(([^)\s]+)\)", text):
                with self.subTest(page=page.name, link=link):
                    path, _, anchor = link.partition("#")
                    target = (page.parent / path).resolve() if path else page
                    if not link.startswith("https://"):
                        self.assertTrue(target.exists())
                        self.assertTrue(not anchor or anchor in anchors_of(target))

    def test_all_pages_are_listed(self):
        index = (ROOT / "docs/README.md").read_text()
        for page in ROOT.glob("docs/*.md"):
            self.assertTrue(page.name == "README.md" or f"[{page.name}]({page.name})" in index, page.name)

    def test_plans_of_kernels_are_plans(self):
        page = (ROOT / "docs/kernels.md").read_text()
        plans = [json.loads(block) for block in re.findall(r"```json\n(.*?)```", page, re.DOTALL)]
        files = {plan["name"]: plan for plan in plans}
        named = tcnum.Plan.names()
        for name in re.findall(r"--plan ([\w-]+)(?:\.json)?", page):
            self.assertTrue(name in named or name in files or name in ("NAME", "FILE", "P1", "P2"), name)
        self.assertGreater(len(files), 5)
        for name, plan in files.items():
            with self.subTest(name):
                operands = "fp8e4m3" if "e4m3" in plan["instruction"] else "fp16"
                a, b = (tcnum.cast(numpy.ones(shape), operands) for shape in ((2, 2100), (2100, 3)))
                scale = numpy.full((1, 1), 2, numpy.float32)
                d = tcnum.matmul(a, b, plan=plan, a_scales=scale, b_scales=scale)
                numpy.testing.assert_allclose(tcnum.decode(d), numpy.full((2, 3), 4 * 2100), rtol=0.01)
