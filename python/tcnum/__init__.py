"""tcnum: the bits that tensor cores compute, without one.

>>> import numpy as np, tcnum
>>> a = np.random.default_rng(1).standard_normal((64, 128)).astype(np.float16)
>>> d = tcnum.matmul(a, a.T, arch="sm_90", instr="wgmma.m64n8k16.f32.f16.f16")
>>> d.dtype, d.shape
(dtype('float32'), (64, 64))

`matmul` and `scaled_mm` multiply, `Plan` says how a kernel does, `explain` shows one element bit by bit, `probe` and
`fit_gemm` find what computes given results, `diff` compares datapaths, `catalogue` has what is known, `testing` has
assertions for tests of kernels.
A wrong argument raises a `ValueError` that says what was expected.
"""

from . import testing
from ._arrays import Codes, cast, decode
from ._library import Error, InputError, InternalError, UnavailableError, library
from ._catalogue import Arch, Datapath, Entry, Instruction, archs, catalogue, datapath, instruction, instructions
from ._diff import Difference, diff
from ._error import ErrorReport, error
from ._finding import GemmReport, Report, fit_gemm, probe
from ._formats import Format, format_of, formats, own_format
from ._plans import Plan
from ._products import matmul, scaled_mm
from ._tiles import Comparison, Tiles, explain, load

__version__ = library.tcnum_version().decode()

__all__ = [
    "Arch", "Codes", "Comparison", "Datapath", "Difference", "Entry", "Error", "ErrorReport", "Format", "GemmReport",
    "InputError", "Instruction", "InternalError", "Plan", "Report", "Tiles", "UnavailableError", "archs", "cast", "catalogue", "datapath", "decode", "diff", "error", "explain",
    "fit_gemm", "format_of", "formats", "instruction", "instructions", "load", "matmul", "own_format", "probe", "scaled_mm", "testing",
]  # fmt: skip
