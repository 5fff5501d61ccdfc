"""How far a product is from the exact one."""

from __future__ import annotations

import ctypes
import json
from typing import Any

import numpy as np

from . import _arrays, _interrupts, _library
from ._library import InputError


class ErrorReport:
    """What `error()` found: the JSON of ``tcnum gemm --error`` (tcnum.gemm_error/1), and what of it people ask first.

    docs/plans.md, "How far a product is off", defines every figure.
    """

    def __init__(self, document: dict[str, Any]):
        self.json = document

    @property
    def max_ulps(self) -> float:
        """The largest error, in units in the last place of the exact result."""
        return float(self.json["ulps"]["max"])

    @property
    def mean_ulps(self) -> float:
        """The mean of the errors' magnitudes."""
        return float(self.json["ulps"]["mean"])

    @property
    def max_relative(self) -> float:
        """The largest error beside the sum of the terms' magnitudes, Σ|a||b|."""
        return float(self.json["relative"]["max"])

    @property
    def mean_relative(self) -> float:
        """The mean of these."""
        return float(self.json["relative"]["mean"])

    @property
    def histogram(self) -> dict[int, int]:
        """Elements by their error: up to 2^exponent ulps, and above half of that. Exact ones are not in it."""
        return {each["exponent"]: each["elements"] for each in self.json["ulps"]["histogram"]}

    @property
    def worst(self) -> dict[str, Any] | None:
        """The element of the largest error in ulps: "row", "column", "given", "exact", its largest terms, and others."""
        return self.json.get("worst")

    def __str__(self) -> str:
        found = self.json
        lines = [
            f"{found['elements']} elements: {found['nearest']} are the exact result rounded to nearest",
            f"ulps: at most {self.max_ulps:.6g}, {self.mean_ulps:.4g} on average",
            f"of Σ|a||b|: at most {self.max_relative:.3g}, {self.mean_relative:.3g} on average",
        ]
        if (worst := self.worst) is not None:
            lines.append(
                f"worst: [{worst['row']}, {worst['column']}] is {worst['given']}, exactly {worst['exact']:.17g}, "
                f"to nearest {worst['nearest']}"
            )
        return "\n".join(lines)

    def __repr__(self) -> str:
        return f"<tcnum.ErrorReport: at most {self.max_ulps:.6g} ulps, {self.mean_ulps:.4g} on average>"


def error(
    d: Any,
    a: Any,
    b: Any,
    c: Any = None,
    *,
    alpha: float = 1.0,
    beta: float | None = None,
    bias: Any = None,
    format: Any = None,
    threads: int = 0,
) -> ErrorReport:
    """How far D is from alpha·A·B + beta·C + bias, which is computed exactly.

    ``d`` [M, N], ``a`` [M, K], ``b`` [K, N], ``c`` [M, N] and ``bias`` [N], of any formats; ``format`` says what unsigned
    integers in ``d``, ``a`` and ``b`` are codes of, or is three of them. ``beta`` is 1 where there is a ``c``.

    >>> a = np.random.default_rng(1).standard_normal((8, 32)).astype(np.float16)
    >>> exact = error((a.astype(np.float64) @ a.T.astype(np.float64)), a, a.T)
    >>> exact.max_ulps <= 0.5 * 32
    True
    """
    formats = format if isinstance(format, (tuple, list)) else (format, format, format)
    if len(formats) != 3:
        raise InputError(f"format: is {format!r}; right would be one, or three: of d, of a and of b")
    views = _arrays.Views()

    def view(x: Any, name: str, of: Any = None, shape: tuple[int, int] | None = None) -> Any:
        operand = _arrays.read(x, name, of)
        try:
            codes = operand.codes if shape is None else np.broadcast_to(operand.codes, shape)
        except ValueError as wrong:
            raise InputError(f"{name}: has the shape {operand.shape}; right would be {shape}, as d has it") from wrong
        if codes.ndim != 2 or 0 in codes.shape:
            raise InputError(f"{name}: has the shape {operand.shape}; right would be a matrix")
        return views.of(codes, operand.format)

    product = [view(x, name, of) for (x, name), of in zip(((d, "d"), (a, "a"), (b, "b")), formats)]
    rows, columns = product[0].contents.rows, product[0].contents.columns
    with _interrupts.guarded() as guard:
        options = _library.sized(
            _library.GemmOptions,
            c=None if c is None else view(c, "c", None, (rows, columns)),
            bias=None if bias is None else view(bias, "bias", None, (1, columns)),
            alpha=_library.real("alpha", alpha),
            beta=_library.real("beta", beta),
            threads=threads,
            progress=guard.progress,
        )
        text = _library.text_of("tcnum_gemm_error", *product, ctypes.byref(options))
    return ErrorReport(json.loads(text))
