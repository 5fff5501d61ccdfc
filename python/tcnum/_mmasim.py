"""Classes with the names of MMA-Sim, so that its users change one import.

MMA-Sim (Xie et al., arXiv 2511.10909) has classes for kinds of instructions, made from an architecture's name and what
comes after the kind in the instruction's name, and called with A, B and C.

>>> import numpy as np
>>> mma = MMA("Hopper", "m64n8k16.f32.f16.f16")
>>> float(mma(np.ones((64, 16), np.float16), np.ones((16, 8), np.float16), np.zeros((64, 8), np.float32))[0, 0])
16.0
"""

from __future__ import annotations

from typing import Any

from ._library import InputError
from ._catalogue import Instruction, instruction
from ._products import matmul

_ARCHS = {
    "Volta": "sm_70", "Turing": "sm_75", "Ampere": "sm_80", "Ada Lovelace": "sm_89", "Hopper": "sm_90",
    "Blackwell": "sm_100", "RTX Blackwell": "sm_120", "CDNA1": "gfx908", "CDNA2": "gfx90a", "CDNA3": "gfx942",
}  # fmt: skip


class _Instruction:
    _prefixes: tuple[str, ...] = ()

    def __init__(self, arch: str, shape_and_type: str):
        if arch not in _ARCHS:
            raise InputError(f"arch: is {arch!r}; expected one of {', '.join(_ARCHS)}")
        self.arch = arch
        self._instruction = self._found(_ARCHS[arch], shape_and_type)

    def _found(self, arch: str, rest: str) -> Instruction:
        first: InputError | None = None
        for prefix in self._prefixes:
            try:
                return instruction(arch, prefix + rest)
            except InputError as error:
                first = first or error
        assert first is not None
        raise first

    m = property(lambda self: self._instruction.m)
    n = property(lambda self: self._instruction.n)
    k = property(lambda self: self._instruction.k)

    def __call__(self, A: Any, B: Any, C: Any = None, alpha: Any = None, beta: Any = None) -> Any:
        """D = A·B + C, of any number of rows and columns. ``alpha`` and ``beta``: block scales of A and of B."""
        return matmul(
            A, B, C, arch=self._instruction.arch, instr=self._instruction.name, a_scales=alpha, b_scales=beta
        )

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self._instruction.name} of {self.arch}>"


class MMA(_Instruction):
    """``mma.sync``; and ``wgmma``, where the name says three formats."""

    _prefixes = ("mma.", "wgmma.", "tcgen05.mma.")


class MMABlockScale(_Instruction):
    """``mma.sync`` with block scales."""

    _prefixes = ("mma.",)


class WGMMA(_Instruction):
    """``wgmma.mma_async``."""

    _prefixes = ("wgmma.",)


class TCGen05MMA(_Instruction):
    """``tcgen05.mma``."""

    _prefixes = ("tcgen05.mma.",)


class TCGen05MMABlockScale(_Instruction):
    """``tcgen05.mma`` with block scales."""

    _prefixes = ("tcgen05.mma.",)


class MFMA(_Instruction):
    """``v_mfma_…``, by the rest of the name: MFMA("CDNA3", "f32_16x16x16_f16")."""

    _prefixes = ("v_mfma_",)
