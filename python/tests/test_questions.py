"""Explaining, finding, files, the catalogue, and what a failing test says."""

import json
import pathlib
import tempfile
import unittest
import weakref

import numpy as np
import tcnum

ROOT = pathlib.Path(__file__).resolve().parents[2]
MMA = "mma.m16n8k8.f32.f16.f16.f32"


def halves(*shape, seed=1):
    return np.random.default_rng(seed).standard_normal(shape).astype(np.float16)


class Explanations(unittest.TestCase):
    def test_the_last_link_ends_with_the_products_element(self):
        a, b = halves(3, 50), halves(50, 4, seed=2)
        d = tcnum.matmul(a, b, instr=MMA)
        text = tcnum.explain(a[1], b[:, 2], instr=MMA)
        self.assertTrue(text.startswith(f"fp16 by {MMA} of sm_90, link 7 of 7: products 48 to 49; c is the sum before them\n"))
        self.assertIn(f"d = {d.view(np.uint32)[1, 2]:#010x} = ", text)
        first = tcnum.matmul(a[:, :8], b[:8], instr=MMA)
        self.assertTrue(tcnum.explain([1.0, 2.0], [3.0, 4.0]).startswith("fp64 by "))
        self.assertIn(f"d = {first.view(np.uint32)[1, 2]:#010x} = ", tcnum.explain(a[1], b[:, 2], instr=MMA, link=0))

    def test_c_and_datapaths_and_the_instruction_that_matmul_takes(self):
        a, b = halves(1, 16), halves(16, 1, seed=2)
        for c in (1.5, np.float32(1.5)):
            d = tcnum.matmul(a, b, np.float32([[1.5]]))
            self.assertIn(f"d = {d.view(np.uint32)[0, 0]:#010x} = ", tcnum.explain(a[0], b[:, 0], c))
        own = tcnum.datapath(ROOT / "docs/datapaths/hopper-fp16.json")
        d = tcnum.matmul(a, b, datapath=own)
        self.assertIn(f"d = {d.view(np.uint32)[0, 0]:#010x} = ", tcnum.explain(a[0], b[:, 0], datapath=own))

    def test_a_plan_ends_with_the_rounding_to_d(self):
        a, b = halves(3, 200), halves(200, 4, seed=2)
        how = {"plan": tcnum.Plan.named("nvjet").with_(promote_every=64, k_tile=64, split_k={"count": 2}), "alpha": 0.75}
        d = tcnum.matmul(a, b, np.full((3, 4), 0.5, np.float16), bias=halves(4), **how)
        text = tcnum.explain(a[1], b[:, 2], 0.5, bias=halves(4)[2], **how)
        self.assertIn(f"D has {d.view(np.uint16)[1, 2]:#06x} = ", text)
        for part in ("k in 2 parts", "promoted to the total", "parts added", "0.75 · sum", "fp16 keeps the bits"):
            self.assertIn(part, text)

    def test_what_is_wrong_is_said(self):
        a = halves(16)
        for message, call in {
            "b_column: has the shape": lambda: tcnum.explain(a, a[:8]),
            "link: is 9; expected -1 to 0": lambda: tcnum.explain(a, a, link=9),
            "c: 0.1 is not a number of fp32": lambda: tcnum.explain(a, a, 0.1),
            "a_row: is fp16; expected bf16": lambda: tcnum.explain(
                a, a, instr="mma.m16n8k16.f32.bf16.bf16.f32"
            ),
            "alpha: is given without a plan": lambda: tcnum.explain(a, a, alpha=2.0),
            "bias: has the shape": lambda: tcnum.explain(a, a, plan="nvjet", bias=a),
            "which is sparse": lambda: tcnum.explain(a, a, instr="mma.sp.m16n8k16.f32.f16.f16.f32"),
        }.items():
            with self.subTest(message), self.assertRaisesRegex(tcnum.InputError, message):
                call()


class Differences(unittest.TestCase):
    def test_say_how_often_and_why(self):
        found = tcnum.diff("sm_70", "sm_90", "fp16")
        self.assertFalse(found.equal)
        self.assertTrue(0 < found.different < found.tried)
        self.assertIn("units.sum.fraction_bits", found.decisive)
        self.assertIn(f"{found.different} of {found.tried} dot products differ", str(found))
        small = found.smallest
        a, b = ([int(x, 16) for x in small[which]] for which in "ab")
        d = tcnum.matmul(
            tcnum.Codes(np.uint16([a]), "fp16"), tcnum.Codes(np.uint16([b]).T, "fp16"),
            tcnum.Codes(np.uint32([[int(small["c"], 16)]]), "fp32"), instr="mma.m16n8k16.f32.f16.f16.f32",
        )  # fmt: skip
        self.assertEqual(np.asarray(d.bits if isinstance(d, tcnum.Codes) else d).view(np.uint32)[0, 0], int(small["observed"], 16))

    def test_of_the_same_are_none(self):
        own = tcnum.datapath(ROOT / "docs/datapaths/hopper-fp16.json")
        self.assertEqual(str(tcnum.diff(own, own)), "they never differ: the descriptions are the same")

    def test_what_is_wrong_is_said(self):
        for message, call in {
            "format: is None; expected the format of the operands": lambda: tcnum.diff("sm_80", "sm_90"),
            "sm_91": lambda: tcnum.diff("sm_80", "sm_91", "fp16"),
            "expected the same formats": lambda: tcnum.diff("sm_80", "sm_90", instr=(MMA, "mma.m16n8k8.f32.bf16.bf16.f32")),
        }.items():
            with self.subTest(message), self.assertRaisesRegex(tcnum.InputError, message):
                call()


class Assertions(unittest.TestCase):
    def failure(self, actual, expected, **how):
        with self.assertRaises(AssertionError) as raised:
            tcnum.testing.assert_bits_equal(actual, expected, **how)
        return str(raised.exception)

    def test_equal_bits_are_equal(self):
        x = np.float32([1, -0.0, np.nan])
        tcnum.testing.assert_bits_equal(x, x.copy())

    def test_says_which_by_how_much_and_why(self):
        a, b = halves(8, 64), halves(64, 8, seed=2)
        expected = tcnum.matmul(a, b, plan="nvjet", out_dtype=np.float32)
        actual = np.array(expected)
        actual[3, 4] = np.nextafter(actual[3, 4], np.float32(np.inf))
        actual[5, 5] = np.nextafter(np.nextafter(actual[5, 5], np.float32(-np.inf)), np.float32(-np.inf))
        with self.assertRaises(AssertionError) as raised:
            tcnum.testing.assert_matmul(actual, a, b, plan="nvjet", out_dtype=np.float32, msg="the kernel")
        text = str(raised.exception)
        self.assertTrue(text.startswith("the kernel\n2 of 64 elements differ in their bits (fp32)\n  first, [3, 4]: actual"))
        self.assertIn("\n  by 1 ulp\n  the most, of all that differ: 2 ulps\n", text)
        self.assertIn("How tcnum computed expected[3, 4]:\n  nvjet: one chain of wgmma.m64n8k16.f32.f16.f16 of sm_90.\n", text)
        self.assertIn(f"D has {expected.view(np.uint32)[3, 4]:#010x} = ", text)

    def test_shows_where_two_plans_part(self):
        a, b = (tcnum.cast(halves(*shape, seed=shape[0]), "fp8e4m3") for shape in ((8, 512), (512, 8)))
        how = {"bias": np.float32(0.25), "out_dtype": np.float32}
        slow, fast = (tcnum.matmul(a, b, plan=p, bias=np.full(8, 0.25, np.float32), out_dtype=np.float32) for p in ("nvjet-fp8-slow", "nvjet-fp8"))
        row, column = np.argwhere(np.asarray(slow) != np.asarray(fast))[0]
        text = tcnum.explain(a[row], b[:, column], plan="nvjet-fp8-slow", other_plan="nvjet-fp8", **how)
        for part in ("promotes every 128 products to fp32", "The sums after 4 steps are those of the other plan too; then:"):
            self.assertIn(part, text)
        for d in (slow, fast):
            self.assertIn(f"D has {d.view(np.uint32)[row, column]:#010x} = ", text)

    def test_results_do_not_keep_operands_alive(self):
        a, b = (tcnum.Codes(halves(16, 16, seed=s).view(np.uint16), "fp16") for s in (1, 2))
        d = tcnum.matmul(a, b)
        gone = weakref.ref(a)
        del a
        self.assertIsNone(gone())
        self.assertEqual(d.shape, (16, 16))

    def test_zeros_nans_formats_and_shapes(self):
        self.assertIn("by 0 ulps: the other zero", self.failure(np.float16([0.0]), np.float16([-0.0])))
        nan = np.array([0x7FC00000, 0x7FFFFFFF], np.uint32).view(np.float32)
        self.assertIn("one of them is NaN", self.failure(nan[:1], nan[1:]))
        self.assertIn("actual is fp16, expected is fp32", self.failure(np.float16([1]), np.float32([1])))
        self.assertIn("actual has the shape (2,), expected (1,)", self.failure(nan, nan[:1]))
        self.assertIn("by -3 ulps", self.failure(np.uint16([0x3F80]), np.uint16([0x3F83]), format="bf16"))

    def test_ulps_go_through_zero(self):
        tiny = np.float32([-(2.0**-149), 0.0, 2.0**-149])
        self.assertEqual(list(tcnum.testing.ulps(tiny, tiny[::-1].copy())), [-2, 0, 2])
        self.assertEqual(tcnum.testing.ulps(np.float64([1.0]), np.float64([np.nextafter(1.0, 2)]))[0], -1)


class Finding(unittest.TestCase):
    def test_a_datapath_behind_a_function(self):
        known = tcnum.datapath(arch="sm_90", instr=MMA)
        report = tcnum.probe(lambda a, b, c: tcnum.matmul(a, b, c, datapath=known), instr=MMA, device="itself")
        self.assertEqual(report.verdict, "identified")
        self.assertEqual(report.json["source"]["device"], "itself")
        self.assertEqual(report.summary["fraction_bits"], 25)
        again = tcnum.probe(lambda a, b, c: tcnum.matmul(a, b, c, datapath=report.datapath), instr=MMA)
        self.assertEqual(again.json["instructions"][0]["datapath"], report.json["instructions"][0]["datapath"])

    def test_block_scales_go_to_the_function(self):
        instr = "mma.m16n8k32.mxf8f6f4.1x.f32.e4m3.e4m3.f32.ue8m0"
        known = tcnum.datapath(arch="sm_120", instr=instr)

        def scaled(a, b, c, sa, sb):
            tiles = tcnum.Tiles.of_datapath(known, a.shape[0], a.shape[1], b.shape[2])
            for name, value in {"A": a, "B": b, "C": c, "SA": sa, "SB": sb}.items():
                tiles[name] = value
            return tiles.emulate()["D"]

        report = tcnum.probe(scaled, arch="sm_120", instr=instr)
        self.assertEqual(report.verdict, "identified")
        self.assertEqual(report.summary["fraction_bits"], 25)
        of_ones_own = tcnum.probe(scaled, a="fp8e4m3", d="fp32", k=32, scale_block=32)
        self.assertEqual(of_ones_own.verdict, "identified")
        self.assertEqual(of_ones_own.summary, report.summary)
        for wrong, how in {"scale-block: 3": {"scale_block": 3}, "scale_block: is 0": {"scale_format": "ue4m3"}}.items():
            with self.subTest(wrong), self.assertRaisesRegex(tcnum.InputError, wrong):
                tcnum.probe(scaled, a="fp8e4m3", d="fp32", k=32, **how)

    def test_a_datapath_behind_recorded_answers(self):
        tiles = tcnum.load(ROOT / "vectors/sm_90/mma.m8n8k4.f32.f16.f16.f16.safetensors")
        self.assertEqual(tcnum.probe(tiles).verdict, "identified")
        with self.assertRaisesRegex(tcnum.InputError, "know their instruction"):
            tcnum.probe(tiles, instr=MMA)

    def test_a_dot_product_of_ones_own(self):
        def tree(a, b, c):
            with np.errstate(all="ignore"):
                p = [(a[:, :, i, None] * b[:, i, None, :]) for i in range(4)]
                return ((p[0] + p[1]) + (p[2] + p[3])) + c

        report = tcnum.probe(tree, a=np.float32, d=np.float32, k=4, any_nan=True)
        self.assertEqual((report.verdict, report.summary["structure"]), ("identified", "fp_add_tree"))
        self.assertIsNone(report.json["arch"])
        self.assertIn("hypotheses explain", str(report))

        def noisy(a, b, c):  # of which nothing is known
            with np.errstate(all="ignore"):
                return (tree(a, b, c).view(np.uint32) ^ (a[:, :, :1].view(np.uint32) & 1)).view(np.float32)

        report = tcnum.probe(noisy, a="fp32", d="fp32", k=4, any_nan=True)
        self.assertEqual(report.verdict, "unexplained")
        self.assertIn("which should be", str(report))
        for message, how in {
            "not both": {},
            "k: is None": {"a": "fp16", "d": "fp32"},
            "arch: is given": {"a": "fp16", "d": "fp32", "k": 4, "arch": "sm_90"},
            "format: complex64 is unknown": {"a": np.complex64, "d": "fp32", "k": 4},
        }.items():
            with self.subTest(message), self.assertRaisesRegex(tcnum.InputError, message):
                tcnum.probe(tree, **how)

    def test_what_a_function_does_wrong_is_said(self):
        for message, error, oracle in (
            ("division", ZeroDivisionError, lambda a, b, c: 1 / 0),
            ("has the shape", tcnum.InputError, lambda a, b, c: c[:, :1]),
            ("is fp64; expected fp32", tcnum.InputError, lambda a, b, c: np.zeros(c.shape)),
            ("is not a format", tcnum.InputError, lambda a, b, c: None),
        ):
            with self.subTest(message), self.assertRaisesRegex(error, message):
                tcnum.probe(oracle, instr=MMA)
        with self.assertRaisesRegex(tcnum.InputError, "oracle: is 3"):
            tcnum.probe(3, instr=MMA)

    def test_operands_are_the_functions_to_keep_and_to_spoil(self):
        kept = []

        def keeps(a, b, c):
            with np.errstate(all="ignore"):
                d = a[:, :, 0, None] * b[:, 0, None, :] + c
            kept.append((a, a.copy()))
            b[...] = 0
            return d

        report = tcnum.probe(keeps, a="fp32", d="fp32", k=1, any_nan=True)
        self.assertEqual(report.verdict, "identified")
        for array, then in kept:
            self.assertEqual(array.tobytes(), then.tobytes())

    def test_a_plan_goes_by_how_operands_lie(self):
        of = {"a": "bf16", "d": "bf16", "k": 515, "m": 256, "n": 1}
        slices = {layout: tcnum.Plan.from_cublaslt({"id": 14}, layout=layout, **of).json()["slices"] for layout in ("tn", "tt", "nn", "nt")}
        self.assertEqual(slices, {"tn": 256, "tt": 256, "nn": 128, "nt": 128})
        apart = tcnum.Plan.from_cublaslt({"id": 14}, layout="tt", b_lead=2, **of)
        self.assertEqual(apart.json()["slices"], 128)
        with self.assertRaisesRegex(tcnum.InputError, "layout: is 'xy'; expected 'tn'"):
            tcnum.Plan.from_cublaslt({"id": 14}, layout="xy", **of)

    def test_a_plan_says_what_becomes_of_c_and_a_bias(self):
        config, of = {"id": 66, "stages": 35}, {"a": "bf16", "d": "bf16", "k": 640, "m": 64, "n": 48, "epilogue": True}
        usual, in_place = (tcnum.Plan.from_cublaslt(config, adds_to_d=x, **of) for x in (False, True))
        self.assertEqual(usual.json()["epilogue"], {"alpha": "fused", "beta": "rounded", "bias": "last"})
        self.assertEqual(in_place.json()["epilogue"]["beta"], "on_result")
        with self.assertRaisesRegex(tcnum.InputError, "no plan is known; expected no alpha, C or bias"):
            tcnum.Plan.from_cublaslt({"id": 12, "stages": 15}, **of)

    def test_a_plan_that_divides_k_for_some_of_d(self):
        config = {"id": 43, "stages": 34, "split_k": -1, "tile": 20, "cluster": 3}
        room = {"workspace": 524467, "clusters_at_once": 66}
        library = tcnum.Plan.from_cublaslt(config | room, a="fp32", d="fp32", k=1024, m=2560, n=2560)
        self.assertEqual(library.json()["split_k"]["tail"]["blocks"], 2)
        with self.assertRaisesRegex(tcnum.InputError, "expected m, n and clusters_at_once of 1 or more"):
            tcnum.Plan.from_cublaslt(config | room, a="fp32", d="fp32", k=1024)

    def test_a_plan_behind_a_function_and_behind_arrays(self):
        plan = tcnum.Plan.named("nvjet", "fp16").with_(split_k={"chunk": 128})
        report = tcnum.fit_gemm(
            lambda a, b: tcnum.matmul(a, b, plan=plan), a="fp16", b="fp16", d="fp16", shape=(64, 64, 512)
        )
        self.assertEqual(report.verdict, "identified")
        a, b = halves(64, 512), halves(512, 64, seed=2)
        tcnum.testing.assert_bits_equal(tcnum.matmul(a, b, plan=report.plan), tcnum.matmul(a, b, plan=plan))
        self.assertNotEqual(tcnum.fit_gemm((a, b, tcnum.matmul(a, b, plan=plan))).verdict, "unexplained")
        with self.assertRaisesRegex(tcnum.InputError, "shape: is None"):
            tcnum.fit_gemm(lambda a, b: a, a="fp16", b="fp16", d="fp16")

    def test_an_epilogue_behind_a_function(self):
        plan = tcnum.Plan.named("nvjet", "fp16").with_(epilogue={"alpha": "first", "beta": "fused", "bias": "on_result"})

        def addmm(a, b, alpha, beta, c, bias):
            return tcnum.matmul(a, b, c, plan=plan, alpha=alpha, beta=beta if c is not None else None, bias=bias)

        of = {"a": "fp16", "b": "fp16", "d": "fp16", "shape": (40, 64, 200)}
        report = tcnum.fit_gemm(lambda a, b: tcnum.matmul(a, b, plan=plan), epilogue=addmm, **of)
        self.assertEqual(report.epilogue["verdict"], "identified")
        self.assertEqual(report.epilogue["plan"]["epilogue"], plan.json()["epilogue"])
        report = tcnum.fit_gemm(
            lambda a, b: tcnum.matmul(a, b, plan=plan), epilogue=lambda a, b, *_: tcnum.matmul(a, b, plan=plan), **of
        )
        self.assertEqual((report.verdict, report.epilogue["verdict"]), ("identified", "unexplained"))
        self.assertIsNone(tcnum.fit_gemm(lambda a, b: tcnum.matmul(a, b, plan=plan), **of).epilogue)
        with self.assertRaisesRegex(tcnum.InputError, "epilogue: is 3; expected a function"):
            tcnum.fit_gemm(lambda a, b: a, epilogue=3, **of)


class Errors(unittest.TestCase):
    def test_rounding_to_nearest_is_half_an_ulp_at_most(self):
        a, b = halves(9, 40), halves(40, 7, seed=2)
        exact = a.astype(np.float64) @ b.astype(np.float64)  # near enough
        self.assertLess(tcnum.error(exact.astype(np.float32), a, b).max_ulps, 0.5001)
        report = tcnum.error(tcnum.matmul(a, b), a, b)
        self.assertGreater(report.max_ulps, 0.5)
        self.assertEqual(sum(report.histogram.values()) + report.json["exact"], 63)
        self.assertIn("worst: [", str(report))
        bias, c = np.arange(7, dtype=np.float32), np.ones((9, 7), np.float32)
        whole = (2 * exact + 3 * c + bias).astype(np.float32)
        self.assertLess(tcnum.error(whole, a, b, c, alpha=2, beta=3, bias=bias).max_ulps, 0.5001)

    def test_scaled_products_and_what_their_operands_were(self):
        m, k, n, block = 3, 200, 5, 128
        random = np.random.default_rng(4)
        was = [random.standard_normal((m, k)), random.standard_normal((k, n))]
        scales = [(0.01 + random.random((m, 2))).astype(np.float32), (0.01 + random.random((2, n))).astype(np.float32)]
        full = [np.repeat(scales[0], block, 1)[:, :k], np.repeat(scales[1], block, 0)[:k]]
        codes = [tcnum.cast(x / scale, "fp8e4m3") for x, scale in zip(was, full)]
        of = dict(zip(("a_scales", "b_scales"), scales))
        d = tcnum.matmul(*codes, plan="deepgemm", **of, out_dtype="float32")
        report = tcnum.error(d, *codes, **of, exact_a=was[0], exact_b=was[1])
        multiplied = [tcnum.decode(code) * scale for code, scale in zip(codes, full)]
        apart = np.abs(multiplied[0] @ multiplied[1] - was[0] @ was[1]) / (np.abs(was[0]) @ np.abs(was[1]))
        self.assertAlmostEqual(report.json["quantisation"]["relative"]["max"] / apart.max(), 1, 9)
        self.assertEqual(report.percentile(90), report.json["relative"]["p90"])
        self.assertEqual(report.json["a_scale_block"], block)
        self.assertIn("quantisation, of Σ|a||b|: mean ", str(report))
        self.assertIsNone(tcnum.error(d, *codes, **of).quantisation)

    def test_what_is_wrong_is_said(self):
        a = halves(8, 8)
        for message, call in {
            r"exact_a is 4 × 8; expected 8 × 8, as the operand is": lambda: tcnum.error(a, a, a, exact_a=a[:4]),
            "a_scales is of fp16; expected fp32, ue8m0, ue4m3": lambda: tcnum.error(a, a, a, a_scales=a[0, 0]),
            "percentile: 95 of 'relative'; expected 50, 90 or 99": lambda: tcnum.error(a, a, a).percentile(95),
            "d: has the shape": lambda: tcnum.error(a[0], a, a),
            r"bias: has the shape \(3,\); expected \(1, 8\)": lambda: tcnum.error(a, a, a, bias=a[0, :3]),
            "expected": lambda: tcnum.error(a[:3], a, a),
        }.items():
            with self.subTest(message), self.assertRaisesRegex(tcnum.InputError, message):
                call()


class Files(unittest.TestCase):
    def test_tiles_are_written_and_read(self):
        tiles = tcnum.Tiles("sm_90", MMA, 2, 3, 4)
        tiles["A"] = halves(2, 3, 8)
        tiles["B"] = halves(2, 8, 4, seed=2)
        tiles.emulate()
        expected = tcnum.matmul(tiles["A"], tiles["B"], instr=MMA)
        np.testing.assert_array_equal(tiles["D"].bits, expected.bits if hasattr(expected, "bits") else expected.view(np.uint32))
        np.testing.assert_array_equal(tiles.emulate(exact=True)["D"].bits, tiles["D"].bits)
        tiles.metadata["note"] = "here"
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "x.safetensors"
            tiles.save(path)
            again = tcnum.load(path)
        self.assertEqual(again.metadata["note"], "here")
        self.assertTrue(again.verify())
        again["D"].bits[1, 2, 3] ^= 1
        found = again.verify()
        self.assertEqual((found.mismatches, found.first), (1, (1, 2, 3)))
        self.assertIn("d = ", again.explain((1, 2, 3)))
        del again.metadata["note"]
        self.assertNotIn("note", again.metadata)

    def test_what_is_wrong_is_said(self):
        with tempfile.TemporaryDirectory() as folder:
            bad = pathlib.Path(folder) / "bad.safetensors"
            bad.write_bytes(b"no")
            with self.assertRaisesRegex(tcnum.InputError, "bad.safetensors"):
                tcnum.load(bad)
        tiles = tcnum.Tiles("sm_90", MMA)
        for message, call in {
            "expected fp16, as": lambda: tiles.__setitem__("A", np.zeros((1, 8, 8), np.float32)),
            r"A: has the shape \(2, 2\); expected \(1, 8, 8\)": lambda: tiles.__setitem__("A", np.zeros((2, 2), np.float16)),
            "index: is": lambda: tiles.explain((5, 0, 0)),
            "name": lambda: tiles["Q"],
        }.items():
            with self.subTest(message), self.assertRaisesRegex(tcnum.InputError, message):
                call()


class Catalogue(unittest.TestCase):
    def test_has_every_architecture(self):
        self.assertIn("sm_90", [arch.name for arch in tcnum.archs()])
        entries = tcnum.catalogue("sm_90", "wgmma.m64n8k32.f32.e4m3.e4m3")
        self.assertTrue(entries[0].datapath.is_fitted)
        self.assertEqual(entries[0].datapath.k, 32)

    def test_plans(self):
        self.assertIn("nvjet-fp8-slow", tcnum.Plan.names())
        plan = tcnum.Plan.named("nvjet")
        self.assertIn("bf16", plan.json("bf16")["instruction"])
        again = tcnum.Plan(plan.json("bf16"))
        self.assertEqual(again.json(), plan.json("bf16"))
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "plan.json"
            path.write_text(json.dumps(plan.json("fp16")))
            self.assertEqual(tcnum.Plan.read(path).json(), plan.json("fp16"))
        with self.assertRaisesRegex(tcnum.InputError, "colour"):
            plan.with_(colour="red")

