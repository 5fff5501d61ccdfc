"""What people do in notebooks: arguments of every kind, copies, comparisons, threads, oracles that misbehave."""

import copy
import pickle
import unittest

import numpy as np
import tcnum

MMA = "mma.m16n8k16.f32.f16.f16.f32"
A, B = np.ones((4, 16), np.float16), np.ones((16, 4), np.float16)


def of_zeros(a, b, c):
    return np.zeros_like(c)


def nested(levels):
    inner = {}
    for _ in range(levels):
        inner = {"x": inner}
    return inner


class Arguments(unittest.TestCase):
    def refused(self, cases):
        for message, call in cases.items():
            with self.subTest(message), self.assertRaisesRegex(tcnum.InputError, message):
                call()

    def test_that_are_no_numbers_are_named(self):
        tiles = tcnum.Tiles("sm_90", MMA)
        dot = {"a": "fp16", "d": "fp32", "k": 16}
        self.refused({
            "threads: is 1.5; expected a whole number": lambda: tcnum.matmul(A, B, threads=1.5),
            "threads: is '2'; expected a whole number": lambda: tcnum.error(A @ B, A, B, threads="2"),
            "threads: is -1; expected a whole number from 0": lambda: tiles.emulate(threads=-1),
            "alpha: is 'x'; expected a number": lambda: tcnum.matmul(A, B, plan="nvjet", alpha="x"),
            "beta: is 1j; expected a number": lambda: tcnum.matmul(A, B, plan="nvjet", beta=1j),
            "alpha: is 1000.*…; expected a number that a double": lambda: tcnum.matmul(A, B, plan="nvjet", alpha=10**400),
            "alpha: is a int; expected": lambda: tcnum.matmul(A, B, plan="nvjet", alpha=10**5000),
            "any_nan: is 'x'; expected True or False": lambda: tcnum.probe(of_zeros, **dot, any_nan="x"),
            "k: 1099511627776; expected 1 to 256 products": lambda: tcnum.probe(of_zeros, **{**dot, "k": 2**40}),
            "datapath: .*expected a value that JSON can hold": lambda: tcnum.datapath(nested(100_000)),
            "alpha: is array": lambda: tcnum.error(A @ B, A, B, alpha=np.ones(3)),
            "k: is '16'; expected a whole number": lambda: tcnum.probe(of_zeros, **{**dot, "k": "16"}),
            "seed: is None; expected a whole number": lambda: tcnum.probe(of_zeros, **dot, seed=None),
            "count: is 1.5; expected a whole number": lambda: tcnum.Tiles("sm_90", MMA, 1.5),
            "m: is -1; expected a whole number": lambda: tcnum.Tiles("sm_90", MMA, 1, -1),
            "link: is 0.5; expected a whole number": lambda: tcnum.explain(A[0], B[:, 0], link=0.5),
            r"index: is 3; expected an index into \(1, 8, 8\)": lambda: tiles.explain(3),
            r"shape: is \(1, 2\); expected \(M, N, K\)": lambda: tcnum.fit_gemm(
                np.matmul, a="fp16", b="fp16", d="fp16", shape=(1, 2)
            ),
        })  # fmt: skip

    def test_that_are_no_texts_are_named(self):
        self.refused({
            "arch: is 90; expected a text": lambda: tcnum.matmul(A, B, arch=90),
            "instr: is b'x'; expected a text": lambda: tcnum.matmul(A, B, instr=b"x"),
            "processor: is 1; expected a text": lambda: tcnum.matmul(A, B, processor=1),
            "path: is 0; expected a text": lambda: tcnum.load(0),
            "datapath: is 3; expected a text": lambda: tcnum.matmul(A, B, datapath=3),
            "arch: is 3; expected a text": lambda: tcnum.catalogue(3),
            "value: is 5; expected a text": lambda: tcnum.Tiles("sm_90", MMA).metadata.update(note=5),
        })  # fmt: skip

    def test_of_other_kinds_are_named(self):
        self.refused({
            "format: is .*; expected one, or a pair": lambda: tcnum.matmul(A, B, format=("fp16",)),
            "format: is .*; expected one, or three": lambda: tcnum.error(A @ B, A, B, format=("fp16", "fp16")),
            "plan: .* not JSON": lambda: tcnum.matmul(A, B, plan={"slices": {1}}),
            "datapath: .* not JSON": lambda: tcnum.matmul(A, B, datapath={"k": {1}}),
            "dtype: is 'zzz'; expected float64": lambda: tcnum.decode(A, "zzz"),
            r"bias: has the shape \(3,\)": lambda: tcnum.error(A @ B, A, B, bias=np.ones(3, np.float32)),
            r"c: has the shape \(3, 3\); expected \(4, 4\)": lambda: tcnum.error(A @ B, A, B, np.ones((3, 3))),
            r"actual: has the shape \(4, 16\)": lambda: tcnum.testing.ulps(A, B),
            "a: is object": lambda: tcnum.matmul(None, B),
            "masked": lambda: tcnum.matmul(np.ma.masked_array(A, mask=np.eye(4, 16)), B),
            "seed: is -1; expected": lambda: tcnum.probe(of_zeros, a="fp16", d="fp32", k=4, seed=-1),
            r"a: has the shape \(\)": lambda: tcnum.matmul(np.float16(1), B),
            r"a: has the shape \(0, 16\)": lambda: tcnum.matmul(A[:0], B),
            r"a: has the shape \(4, 0\)": lambda: tcnum.matmul(A[:, :0], B[:0]),
        })  # fmt: skip

    def test_numbers_of_numpys_are_numbers(self):
        d = tcnum.matmul(A, B, plan="nvjet", alpha=np.float32(2), threads=np.int64(1))
        self.assertTrue((d == 32).all())

class Copies(unittest.TestCase):
    def test_of_what_never_changes_are_equal(self):
        plan = tcnum.Plan.named("nvjet").with_(split_k={"chunk": 512})
        own = tcnum.datapath(arch="sm_90", instr=MMA)
        for each in (plan, own):
            for again in (pickle.loads(pickle.dumps(each)), copy.deepcopy(each), copy.copy(each)):
                self.assertEqual(again, each)
                self.assertEqual(hash(again), hash(each))
                self.assertEqual(repr(again), repr(each))
        self.assertEqual(pickle.loads(pickle.dumps(own)).origin, own.origin)
        self.assertNotEqual(plan, tcnum.Plan.named("nvjet"))
        self.assertNotEqual(own, tcnum.datapath(arch="sm_80", instr=MMA))
        self.assertEqual(own, tcnum.datapath(f"h100:{MMA}"))
        self.assertEqual(tcnum.datapath(f"sm_90:{MMA}:fitted").account, "fitted")

    def test_of_tiles_have_memory_of_their_own(self):
        scaled = tcnum.datapath(arch="sm_120", instr="mma.m16n8k64.mxf4nvf4.4x.f32.e2m1.e2m1.f32.ue4m3")
        of_instruction, of_datapath = tcnum.Tiles("sm_90", MMA, 2, 3, 4), tcnum.Tiles.of_datapath(scaled, 1, 2, 3)
        of_datapath["SB"].bits[...] = 0x38
        for tiles in (of_instruction, of_datapath):
            tiles["A"].bits[...] = 3
            tiles["D"].bits[...] = 5
            tiles.metadata["note"] = "kept"
            for again in (pickle.loads(pickle.dumps(tiles)), copy.deepcopy(tiles)):
                self.assertEqual(repr(again), repr(tiles))
                self.assertEqual(again.metadata["note"], "kept")
                for name in ("A", "B", "C", "D") + (("SA", "SB") if tiles is of_datapath else ()):
                    tcnum.testing.assert_bits_equal(again[name], tiles[name])
                again["A"].bits[...] = 0
                self.assertTrue((tiles["A"].bits == 3).all())

    def test_codes_are_compared_by_their_bits(self):
        x = tcnum.Codes(np.uint16([0x3F80, 0x8000]), "bf16")
        again = pickle.loads(pickle.dumps(x))
        self.assertTrue((x == again).all())
        self.assertEqual((x != tcnum.Codes(np.uint16([0x3F80, 0]), "bf16")).tolist(), [False, True])
        self.assertFalse(x == "bf16")
        with self.assertRaisesRegex(tcnum.InputError, "expected one format"):
            x == tcnum.Codes(np.uint16([0, 0]), "fp16")  # noqa: B015
        with self.assertRaisesRegex(tcnum.InputError, "expected .bits"):
            np.asarray(x)


class Oracles(unittest.TestCase):
    dot = {"a": "fp16", "d": "fp32", "k": 4}

    def test_that_contradict_themselves_are_found(self):
        calls = []

        def drifting(a, b, c):
            calls.append(None)
            return np.full_like(c, len(calls))

        with self.assertRaisesRegex(
            tcnum.InputError,
            r"oracle: answers differently the second time: batch 1, tile 0, element \(0, 0\) is 0x3f800000 at first and "
            "0x40000000 then",
        ):
            tcnum.probe(drifting, **self.dot)
        self.assertEqual(len(calls), 2)

    def test_may_give_any_nan_if_nobody_looks(self):
        codes = iter([0x7FC00000, 0x7FC00001] * 10_000)

        def nans(a, b, c):
            return np.full(c.shape, next(codes), np.uint32).view(np.float32)

        self.assertEqual(tcnum.probe(nans, **self.dot, any_nan=True).verdict, "unexplained")
        with self.assertRaisesRegex(tcnum.InputError, "answers differently"):
            tcnum.probe(nans, **self.dot)

if __name__ == "__main__":
    unittest.main()
