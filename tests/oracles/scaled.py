"""An oracle with block scales that knows nothing of tcnum: fp4 products times their blocks' scales, and c, added exactly
(in long doubles, which hold sums of near exponents) and rounded once to fp32."""
import pathlib
import sys

import numpy as np

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "examples" / "oracles"))
from oracle import read_message, write_message  # noqa: E402

FP4 = np.longdouble([0, 0.5, 1, 1.5, 2, 3, 4, 6])
FP4 = np.concatenate([FP4, -FP4])


def scales_of(codes, name):
    codes = codes.astype(np.int32)
    if name == "ue8m0":
        return np.ldexp(np.longdouble(1), codes - 127)
    exponents, fractions = codes >> 3, codes & 7
    return np.where(exponents == 0, np.ldexp(np.longdouble(fractions), -9),
                    np.ldexp(np.longdouble(8 + fractions), exponents - 10))  # fmt: skip


def main():
    while (question := read_message(sys.stdin.buffer)) is not None:
        tensors, about = question
        block, name = int(about["scale_block"]), about["format_scale"]
        a = FP4[tensors["A"]] * np.repeat(scales_of(tensors["SA"], name), block, axis=2)
        b = FP4[tensors["B"]] * np.repeat(scales_of(tensors["SB"], name), block, axis=1)
        d = tensors["C"].astype(np.longdouble)
        for k in range(a.shape[2]):
            d = d + a[:, :, k, None] * b[:, k, None, :]
        write_message(sys.stdout.buffer, d.astype(np.float32))


if __name__ == "__main__":
    main()
