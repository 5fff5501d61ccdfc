"""torch as a client: its tensors are read and come back as they are; its products on a GPU have the plans' bits.

Skipped where torch is not installed, or has no GPU of an architecture whose kernels are known.
"""

import importlib.util
import unittest

import numpy as np
import tcnum

if importlib.util.find_spec("torch") is not None:
    import torch
else:
    torch = None


def drawn(m, n, dtype, device="cpu", seed=1):
    generator = torch.Generator().manual_seed(seed)
    return torch.randn((m, n), generator=generator).to(dtype).to(device)


@unittest.skipIf(torch is None, "torch is not installed")
class Tensors(unittest.TestCase):
    def test_are_read_and_given_back_as_they_are(self):
        for dtype in ("float16", "bfloat16", "float32", "float64", "float8_e4m3fn", "float8_e5m2"):
            with self.subTest(dtype):
                x = drawn(7, 48, getattr(torch, dtype))
                d = tcnum.matmul(x, x.T)
                self.assertIsInstance(d, torch.Tensor)
                self.assertEqual((d.shape, d.device), ((7, 7), x.device))
                exact = x.double() @ x.double().T
                # What the coarsest of them, FP8, loses of all that it adds.
                self.assertLess(((d.double() - exact).abs() / (x.double().abs() @ x.double().abs().T)).max(), 1e-2)
                same = tcnum.matmul(tcnum.Codes(x.view(_INTEGERS[x.element_size()]).numpy().view(_CODES[x.element_size()]), dtype),
                                    x.T)  # fmt: skip
                tcnum.testing.assert_bits_equal(d, same)

    def test_out_dtype_is_torchs(self):
        x = drawn(8, 64, torch.float16)
        d = tcnum.matmul(x, x.T, plan="nvjet", out_dtype=torch.bfloat16)
        self.assertEqual(d.dtype, torch.bfloat16)
        self.assertEqual(tcnum.cast(x, torch.float8_e4m3fn).dtype, torch.float8_e4m3fn)

    def test_casts_are_torchs(self):
        x = drawn(64, 64, torch.float32) * 8
        for dtype in (torch.float16, torch.bfloat16, torch.float8_e5m2):
            tcnum.testing.assert_bits_equal(tcnum.cast(x, dtype), x.to(dtype))

    def test_gradients_and_layouts_change_nothing(self):
        x = drawn(8, 32, torch.float16)
        d = tcnum.matmul(x, x.T)
        tcnum.testing.assert_bits_equal(tcnum.matmul(x.clone().requires_grad_(), x.T), d)
        tcnum.testing.assert_bits_equal(tcnum.matmul(x.T.contiguous().T, x.T), d)
        tcnum.testing.assert_bits_equal(tcnum.matmul(x.expand(2, 8, 32), x.T)[1], d)

    def test_fp4_comes_in_twos(self):
        if not hasattr(torch, "float4_e2m1fn_x2"):
            self.skipTest("this torch has no float4_e2m1fn_x2")
        packed = torch.arange(0, 256, dtype=torch.uint8).reshape(8, 32).view(torch.float4_e2m1fn_x2)
        numbers = tcnum.decode(packed)
        self.assertEqual(numbers.shape, (8, 64))
        self.assertEqual(list(numbers[0, :6]), [0, 0, 0.5, 0, 1, 0])

    def test_what_is_wrong_is_said(self):
        x = drawn(8, 32, torch.float32)
        with self.assertRaisesRegex(ValueError, "a: is fp32; expected fp16"):
            tcnum.matmul(x, x.T.half(), instr="wgmma.m64n8k16.f32.f16.f16")
        with self.assertRaisesRegex(ValueError, "sparse"):
            tcnum.matmul(x.half().to_sparse(), x.T.half())
        with self.assertRaisesRegex(ValueError, "complex"):
            tcnum.matmul(x.to(torch.complex64), x.T)


_INTEGERS = {} if torch is None else {1: torch.uint8, 2: torch.int16, 4: torch.int32, 8: torch.int64}
_CODES = {1: np.uint8, 2: np.uint16, 4: np.uint32, 8: np.uint64}
_HAS_HOPPER = torch is not None and torch.cuda.is_available() and torch.cuda.get_device_capability() == (9, 0)


@unittest.skipUnless(_HAS_HOPPER, "torch has no GPU of sm_90")
class ProductsOnAGpu(unittest.TestCase):
    """Shapes with enough tiles for all of the GPU, so that the library has no reason to split k."""

    def test_matmul_is_nvjets(self):
        for dtype in (torch.float16, torch.bfloat16):
            for m, n, k in ((2048, 1024, 1024), (1536, 2048, 512)):
                with self.subTest(f"{dtype} {m}×{n}×{k}"):
                    a, b = drawn(m, k, dtype, "cuda"), drawn(k, n, dtype, "cuda", 2)
                    tcnum.testing.assert_bits_equal(torch.matmul(a, b), tcnum.matmul(a, b, plan="nvjet"))

    def test_scaled_mm_is_torchs(self):
        a = drawn(2048, 1024, torch.float8_e4m3fn, "cuda")
        b = drawn(1024, 1024, torch.float8_e4m3fn, "cuda", 2).T.contiguous().T
        scales = [torch.tensor(x, device="cuda") for x in (0.5, 4.0)]
        for fast in (False, True):
            with self.subTest(fast=fast):
                of_torch = torch._scaled_mm(a, b, *scales, out_dtype=torch.bfloat16, use_fast_accum=fast)
                ours = tcnum.scaled_mm(a, b, *scales, out_dtype=torch.bfloat16, use_fast_accum=fast)
                tcnum.testing.assert_bits_equal(of_torch, ours)

    def test_a_plan_is_found_behind_torch(self):
        found = tcnum.fit_gemm(
            lambda a, b: torch.matmul(torch.from_numpy(a).cuda(), torch.from_numpy(b).cuda()).cpu().numpy(),
            a=np.float16, b=np.float16, d=np.float16, shape=(256, 256, 2048),
        )  # fmt: skip
        self.assertEqual(found.verdict, "identified", found)


if __name__ == "__main__":
    unittest.main()
