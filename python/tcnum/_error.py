"""The error of a matrix product against the exact one."""

from __future__ import annotations

import ctypes
import json
from typing import Any

from . import _arrays, _interrupts, _library
from ._library import InputError
from ._products import gemm_options


class ErrorReport:
    """The result of `error()`: the JSON of ``tcnum gemm error`` (tcnum.gemm_error/1), and its main figures.

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
        """The mean of the errors' magnitudes, relative to Σ|a||b|."""
        return float(self.json["relative"]["mean"])

    def percentile(self, percent: int, measure: str = "relative") -> float:
        """The error that 50 (the median), 90 or 99 percent of the elements do not exceed, in "ulps" or "relative"."""
        keys = {50: "median", 90: "p90", 99: "p99"}
        if percent not in keys or measure not in ("ulps", "relative"):
            raise InputError(f"percentile: {percent!r} of {measure!r}; expected 50, 90 or 99, of 'ulps' or 'relative'")
        return float(self.json[measure][keys[percent]])

    @property
    def quantisation(self) -> dict[str, Any] | None:
        """With exact operands, how far the exact product of `a` and `b` is from theirs: "ulps" and "relative"."""
        return self.json.get("quantisation")

    @property
    def arithmetic(self) -> dict[str, Any] | None:
        """With exact operands, how far D is from the exact product of `a` and `b`, in the same units."""
        return self.json.get("arithmetic")

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
        ]
        steps = {"": found} | {f"{step}, ": found[step] for step in ("quantisation", "arithmetic") if step in found}
        for step, measures in steps.items():
            for unit, name in (("ulps", "ulps"), ("relative", "of Σ|a||b|")):
                of = {key: float("inf") if value is None else value for key, value in measures[unit].items()}
                lines.append(
                    f"{step}{name}: mean {of['mean']:.4g}, median {of['median']:.4g}, 90 % {of['p90']:.4g}, "
                    f"99 % {of['p99']:.4g}, max {of['max']:.6g}"
                )
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
    a_scales: Any = None,
    b_scales: Any = None,
    exact_a: Any = None,
    exact_b: Any = None,
    format: Any = None,
    threads: int = 0,
) -> ErrorReport:
    """How far D is from alpha·A·B + beta·C + bias, which is computed exactly.

    ``d`` [M, N], ``a`` [M, K], ``b`` [K, N], ``c`` [M, N] and ``bias`` [N], of any formats; ``format`` says what unsigned
    integers in ``d``, ``a`` and ``b`` are codes of, or is three of them. ``beta`` is 1 where there is a ``c``.

    Scales are one number, or as `matmul()` takes them: ``a_scales`` [1 or M, parts of k] and ``b_scales`` [parts of k, 1,
    N or ⌈N/128⌉], of fp32, ue8m0 or ue4m3. A part is a power of two of products, so that ⌈K / it⌉ are the parts.

    ``exact_a`` [M, K] and ``exact_b`` [K, N] are the numbers before they were quantised, of any formats: then D is compared
    with their product, and `quantisation` and `arithmetic` of the report are the two steps to it. Formats can thus be
    compared on the same numbers.

    >>> a = np.random.default_rng(1).standard_normal((8, 32)).astype(np.float16)
    >>> exact = error((a.astype(np.float64) @ a.T.astype(np.float64)), a, a.T)
    >>> exact.max_ulps <= 0.5 * 32
    True
    """
    formats = format if isinstance(format, (tuple, list)) else (format, format, format)
    if len(formats) != 3:
        raise InputError(f"format: is {format!r}; expected one, or three: of d, a and b")
    views = _arrays.Views()
    product = [views.of_argument(x, name, None, of) for (x, name), of in zip(((d, "d"), (a, "a"), (b, "b")), formats)]
    rows, columns = product[0].contents.rows, product[0].contents.columns
    shapes = {"c": (rows, columns), "bias": (1, columns)}
    others = {"c": c, "bias": bias, "a_scales": a_scales, "b_scales": b_scales, "exact_a": exact_a, "exact_b": exact_b}
    matrices = {name: views.of_argument(x, name, shapes.get(name)) for name, x in others.items()}
    with _interrupts.guarded() as guard:
        options = gemm_options(alpha, beta, threads=threads, progress=guard.progress, **matrices)
        text = _library.text_of("tcnum_gemm_error", *product, ctypes.byref(options))
    return ErrorReport(json.loads(text))
