"""Products: the same bits as the program's, from any kind of array; what is wrong is said."""

import importlib.util
import json
import pathlib
import subprocess
import sys
import unittest

import numpy as np
import tcnum
from tcnum import _arrays

ROOT = pathlib.Path(__file__).resolve().parents[2]
WGMMA = "wgmma.m64n8k16.f32.f16.f16"


def halves(*shape, seed=1):
    return np.random.default_rng(seed).standard_normal(shape).astype(np.float16)


def read_safetensors(path):
    """Tensors as unsigned integers, and the metadata."""
    data = path.read_bytes()
    length = int.from_bytes(data[:8], "little")
    header = json.loads(data[8 : 8 + length])
    about = header.pop("__metadata__")
    sizes = {"F8_E4M3": np.uint8, "BF16": np.uint16, "F16": np.uint16, "F32": np.uint32}
    body = data[8 + length :]
    return {
        name: np.frombuffer(body[slice(*entry["data_offsets"])], sizes[entry["dtype"]]).reshape(entry["shape"])
        for name, entry in header.items()
    }, about


def codes(x):
    return x.bits if isinstance(x, tcnum.Codes) else x.view(f"u{x.itemsize}")


class Products(unittest.TestCase):
    def assert_same(self, actual, expected):
        np.testing.assert_array_equal(codes(actual), codes(expected))

    def test_gives_what_recorded_hardware_gave(self):
        for name in ("mma.m16n8k16.f32.f16.f16.f32", "wgmma.m64n8k32.f32.e4m3.e4m3", "mma.m8n8k4.f64.f64.f64.f64"):
            tiles = tcnum.load(ROOT / f"vectors/sm_90/{name}.safetensors")
            a, b, c, d = (tiles[x] for x in "ABCD")
            for i in range(0, len(a), 37):
                self.assert_same(tcnum.matmul(a[i], b[i], c[i], instr=name), d[i])

    def test_layouts_change_nothing(self):
        a, b = halves(33, 70), halves(70, 21, seed=2)
        d = tcnum.matmul(a, b, instr=WGMMA)
        self.assert_same(tcnum.matmul(np.asfortranarray(a), np.asfortranarray(b), instr=WGMMA), d)
        strided = np.zeros((66, 140), np.float16)
        strided[::2, ::2] = a
        self.assert_same(tcnum.matmul(strided[::2, ::2], b, instr=WGMMA), d)
        self.assert_same(tcnum.matmul(a[::-1], b, instr=WGMMA), d[::-1])
        self.assert_same(tcnum.matmul(a.astype(">f2"), b, instr=WGMMA), d)

    def test_vectors_and_batches_are_as_in_numpy(self):
        a, b = halves(2, 3, 4, 16), halves(3, 16, 5, seed=2)
        d = tcnum.matmul(a, b, instr=WGMMA)
        self.assertEqual(d.shape, np.matmul(a, b).shape)
        for i in range(2):
            for j in range(3):
                self.assert_same(d[i, j], tcnum.matmul(a[i, j], b[j], instr=WGMMA))
        for x, y in ((a[0, 0, 0], b[0]), (a[0, 0], b[0, :, 0]), (a[0, 0, 0], b[0, :, 0]), (a, b[0, :, 0])):
            self.assertEqual(tcnum.matmul(x, y, instr=WGMMA).shape, np.matmul(x, y).shape)

    def test_codes_stand_for_numbers(self):
        a, b = halves(4, 16), halves(16, 4, seed=2)
        d = tcnum.matmul(a, b, instr=WGMMA)
        as_codes = tcnum.Codes(a.view(np.uint16), "fp16")
        self.assert_same(tcnum.matmul(as_codes, b, instr=WGMMA), d)
        self.assert_same(tcnum.matmul(a.view(np.uint16), b, instr=WGMMA, format=("fp16", None)), d)
        bf16 = tcnum.matmul(tcnum.cast(a, "bf16"), tcnum.cast(b, "bf16"), plan="nvjet")
        if importlib.util.find_spec("ml_dtypes") is None:
            self.assertIsInstance(bf16, tcnum.Codes)
        else:
            self.assertEqual(bf16.dtype.name, "bfloat16")

    def test_fp32_stands_for_tf32_as_the_hardware_reads_it(self):
        a = np.random.default_rng(3).standard_normal((4, 8)).astype(np.float32)
        cut = (a.view(np.uint32) & 0xFFFFE000).view(np.float32)
        instr = "mma.m16n8k8.f32.tf32.tf32.f32"
        self.assert_same(tcnum.matmul(a, a.T, instr=instr), tcnum.matmul(cut, cut.T, instr=instr))

    def test_plans_have_their_epilogue(self):
        a, b = tcnum.cast(halves(16, 256), "fp8e4m3"), tcnum.cast(halves(256, 24, seed=2), "fp8e4m3")
        fast, slow = (tcnum.matmul(a, b, plan=p, out_dtype=np.float32) for p in ("nvjet-fp8", "nvjet-fp8-slow"))
        self.assertTrue((fast != slow).any())
        bias = np.arange(24, dtype=np.float32)
        self.assert_same(tcnum.matmul(a, b, plan="nvjet-fp8", bias=bias, out_dtype=np.float32), fast + bias)
        self.assert_same(tcnum.matmul(a, b, plan="nvjet-fp8", alpha=0.5, out_dtype=np.float32), fast / 2)
        self.assert_same(tcnum.matmul(a, b, fast, plan="nvjet-fp8", beta=2, out_dtype=np.float32), fast + 2 * fast)
        halved = tcnum.Plan.named("nvjet-fp8", "fp16").with_(output_rounding="toward_zero")
        exact = np.abs(fast.astype(np.float64))
        self.assertTrue((np.abs(tcnum.matmul(a, b, plan=halved).astype(np.float64)) <= exact).all())

    def test_scaled_mm_has_torchs_meaning(self):
        a, b = tcnum.cast(halves(16, 256), "fp8e4m3"), tcnum.cast(halves(256, 16, seed=2), "fp8e4m3")
        plain = tcnum.matmul(a, b, plan="nvjet-fp8-slow", out_dtype=np.float32)
        self.assert_same(tcnum.scaled_mm(a, b, 0.5, np.float32([[4]]), out_dtype=np.float32), plain * 2)
        self.assertEqual(_arrays.read(tcnum.scaled_mm(a, b, 1, 1), "d").format.name, "fp8e4m3")
        fast = tcnum.matmul(a, b, plan="nvjet-fp8", out_dtype=np.float16)
        self.assert_same(tcnum.scaled_mm(a, b, 1, 1, out_dtype="fp16", use_fast_accum=True), fast)
        with self.assertRaisesRegex(ValueError, r"scale_a: has the shape \(16, 1\), scale_b has \(1, 1\); expected"):
            tcnum.scaled_mm(a, b, np.ones((16, 1), np.float32), 1)
        with self.assertRaisesRegex(ValueError, "use_fast_accum: is True with scales of blocks"):
            ones = np.ones((16, 2), np.float32)
            tcnum.scaled_mm(a, b, ones, ones.T, out_dtype="bf16", use_fast_accum=True)

    def test_scaled_mm_gives_what_torch_gave_on_an_h100(self):
        tensors, about = read_safetensors(ROOT / "vectors/products/torch_scaled_mm.safetensors")
        a, b = (tcnum.Codes(tensors[x], "fp8e4m3") for x in "AB")
        cases = json.loads(about["cases"])
        self.assertGreaterEqual(len(cases), 10)
        for case in cases:
            with self.subTest(case["name"]):
                scales = [tensors[case[x]].view(np.float32) for x in ("scale_a", "scale_b")]
                bias = tcnum.Codes(tensors[case["bias"]], "bf16") if "bias" in case else None
                d = tcnum.scaled_mm(a, b, *scales, bias, out_dtype=case["out_dtype"], use_fast_accum=case["fast"])
                np.testing.assert_array_equal(codes(d), tensors[case["d"]])

    def test_block_scales_multiply_their_blocks(self):
        own = tcnum.datapath(ROOT / "docs/datapaths/blackwell-mxf8f6f4.json")
        a, b = tcnum.cast(halves(4, 64), "fp8e4m3"), tcnum.cast(halves(64, 3, seed=2), "fp8e4m3")
        one, two = tcnum.cast(np.ones((4, 2)), "ue8m0"), tcnum.cast(np.full((2, 3), 2.0), "ue8m0")
        plain = tcnum.matmul(a, b, a_scales=one, b_scales=one.T[:, :3], datapath=own)
        self.assert_same(tcnum.matmul(a, b, a_scales=one, b_scales=two, datapath=own), plain * 2)
        with self.assertRaisesRegex(tcnum.InputError, "b_scales is missing; expected 2 × 3 of ue8m0"):
            tcnum.matmul(a, b, a_scales=one, datapath=own)

    def test_formats_of_ones_own(self):
        described = json.loads((ROOT / "docs/datapaths/hopper-fp16.json").read_text())
        described["formats"] = {"py-e5m8": {"exponent_bits": 5, "fraction_bits": 8}}
        for operand in "ab":
            described["operands"][operand]["format"] = "py-e5m8"
        own = tcnum.datapath(described)
        numbers = np.round(halves(4, 40) * 16) / 16
        a, b = tcnum.cast(numbers, "py-e5m8"), tcnum.cast(numbers.T, tcnum.format_of("py-e5m8"))
        self.assertEqual(a.bits.dtype, np.uint16)
        d = tcnum.matmul(a, b, datapath=own)
        self.assert_same(d, tcnum.matmul(numbers.astype(np.float16), numbers.T.astype(np.float16), arch="sm_90"))
        with self.assertRaisesRegex(tcnum.InputError, "py-e5m8"):
            tcnum.matmul(numbers.astype(np.float16), b, datapath=own)
        with self.assertRaisesRegex(tcnum.InputError, r"formats.py-x.bias: is 99; expected 1\.\.30"):
            tcnum.own_format("py-x", 5, 8, 99)

    def test_a_format_stays_what_it_is(self):
        wide = tcnum.own_format("py-same", 5, 9)
        x = tcnum.cast(np.array([1.0, 1 + 2**-9]), wide)
        narrow = tcnum.own_format("py-same", 5, 4)
        self.assertNotEqual(wide, narrow)
        self.assertEqual(tcnum.format_of("py-same"), narrow)
        self.assertEqual(tcnum.format_of(wide.text), wide)
        np.testing.assert_array_equal(x.to_numpy(), [1.0, 1 + 2**-9])
        np.testing.assert_array_equal(tcnum.cast(np.array([1 + 2**-9]), wide).bits, x.bits[1:])
        self.assertEqual(tcnum.own_format("py-same", 5, 9), wide)
        self.assertEqual(tcnum.format_of("py-same"), wide)
        described = json.loads((ROOT / "docs/datapaths/hopper-fp16.json").read_text())
        own = []
        for bits in (8, 6):
            described["formats"] = {"py-same": {"exponent_bits": 5, "fraction_bits": bits}}
            for operand in "ab":
                described["operands"][operand]["format"] = "py-same"
            own.append(tcnum.datapath(described))
        self.assertEqual([of.a.fraction_bits for of in own], [8, 6])
        a = tcnum.cast(np.array([[1 + 2**-8]]), own[0].a)
        self.assertEqual(tcnum.matmul(a, a, datapath=own[0])[0, 0], np.float32((1 + 2**-8) ** 2))

    def test_integers(self):
        a = np.random.default_rng(1).integers(-128, 128, (9, 100), np.int8)
        self.assert_same(tcnum.matmul(a, a.T), a.astype(np.int32) @ a.T.astype(np.int32))

    def test_what_is_wrong_is_said(self):
        a, b = halves(4, 16), halves(16, 4, seed=2)
        wrong = {
            r"a: is fp32; expected fp16, as tcnum.cast\(a, 'fp16'\)": lambda: tcnum.matmul(
                a.astype(np.float32), b, instr=WGMMA
            ),
            "a: is int64, which is not a format": lambda: tcnum.matmul(a.astype(np.int64), b),
            "as many rows of b as columns of a, 16": lambda: tcnum.matmul(a, a),
            "sm_91 is unknown": lambda: tcnum.matmul(a, b, arch="sm_91"),
            "expected one that": lambda: tcnum.matmul(a, b, instr="mma.m1n1k1"),
            "'nvjett' is unknown; expected one of nvjet": lambda: tcnum.matmul(a, b, plan="nvjett"),
            "arch: is given with a plan": lambda: tcnum.matmul(a, b, plan="nvjet", arch="sm_90"),
            "alpha: is given without a plan": lambda: tcnum.matmul(a, b, alpha=2.0),
            "c .* do not fit": lambda: tcnum.matmul(a, b, np.zeros((3, 4), np.float32)),
            "processor: \"tpu\" is unknown": lambda: tcnum.matmul(a, b, processor="tpu"),
            "processor: \"npu\" is unknown": lambda: tcnum.matmul(a, b, plan="nvjet", processor="npu"),
            "sm_70: no instruction takes": lambda: tcnum.matmul(a, b.astype(np.float32), arch="sm_70"),
            "expected uint16, the codes of bf16": lambda: tcnum.Codes(np.zeros(3, np.uint8), "bf16"),
            "expected codes of bf16 as uint16, or": lambda: tcnum.matmul(a.view(np.uint8), b, format="bf16"),
            "a_scales is given; expected none": lambda: tcnum.matmul(
                a, b, instr=WGMMA, a_scales=tcnum.cast(np.ones((4, 1)), "ue8m0")
            ),
            "format: complex64 is unknown": lambda: tcnum.cast(a, np.complex64),
            "datapath: ": lambda: tcnum.matmul(a, b, datapath={}),
            "nowhere.json": lambda: tcnum.matmul(a, b, plan="nowhere.json"),
        }
        for message, call in wrong.items():
            with self.subTest(message), self.assertRaisesRegex(tcnum.InputError, message):
                call()
        self.assertTrue(issubclass(tcnum.InputError, ValueError))

    def test_what_an_array_does_after_its_matrix_is_gone(self):
        d = tcnum.matmul(halves(64, 64), halves(64, 64))
        rows = [tcnum.matmul(halves(64, 64), halves(64, 64))[3] for _ in range(50)]
        for row in rows:
            self.assert_same(row, d[3])
        d[0, 0] = 1  # it is the caller's

    def test_what_comes_back_casts_and_decodes(self):
        for f in tcnum.formats():
            every = np.arange(2 ** min(f.bits, 16), dtype=np.uint64) << max(0, f.bits - 16)
            x = tcnum.Codes(every.astype(f.codes), f)
            numbers = tcnum.decode(x)
            kept = ~np.isnan(numbers) | f.has_nan
            back = tcnum.cast(numbers[kept], f)
            np.testing.assert_array_equal(tcnum.decode(back), numbers[kept], f.name)

    def test_cast_rounds_as_it_is_told(self):
        x = np.array([1.0625, -1.0625, 500.0])
        for rounding, expected in {
            "nearest_even": [1.0, -1.0], "nearest_away": [1.125, -1.125], "toward_zero": [1.0, -1.0],
            "up": [1.125, -1.0], "down": [1.0, -1.125],
        }.items():  # fmt: skip
            self.assertEqual(list(tcnum.decode(tcnum.cast(x, "e4m3", rounding=rounding))[:2]), expected)
        self.assertEqual(tcnum.decode(tcnum.cast(x, "e4m3", saturate=True))[2], 448)
        self.assertTrue(np.isnan(tcnum.decode(tcnum.cast(x, "e4m3"))[2]))


def run(program):
    return subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, timeout=300, cwd=ROOT / "python"
    )


class Interrupts(unittest.TestCase):
    def test_ctrl_c_ends_a_product(self):
        program = """
import os, signal, threading, numpy as np, tcnum
a = np.ones((4096, 4096), np.float16)  # hours, by the datapath below
threading.Timer(0.5, lambda: os.kill(os.getpid(), signal.SIGINT)).start()
try:
    tcnum.matmul(a, a, datapath="../docs/datapaths/cdna3-fp16.json")
except KeyboardInterrupt:
    print("interrupted")
"""
        done = run(program)
        self.assertEqual((done.stdout, done.stderr, done.returncode), ("interrupted\n", "", 0))

    def test_ctrl_c_ends_a_search(self):
        program = """
import signal, numpy as np, tcnum
np.seterr(all="ignore")
asked = 0
def oracle(a, b, c):
    global asked
    asked += 1
    if asked == 2:
        signal.raise_signal(signal.SIGINT)
    return (c + a.astype(np.float32) @ b.astype(np.float32)).astype(np.float32)
try:
    tcnum.probe(oracle, instr="mma.m16n8k8.f32.f16.f16.f32")
except KeyboardInterrupt:
    print("interrupted", asked, signal.getsignal(signal.SIGINT) is signal.default_int_handler)
"""
        done = run(program)
        self.assertEqual((done.stdout, done.stderr, done.returncode), ("interrupted 2 True\n", "", 0))
