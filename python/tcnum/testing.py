"""Assertions for tests of kernels."""

from __future__ import annotations

from typing import Any

import numpy as np

from . import _arrays
from ._library import Error, InputError
from ._formats import Format
from ._products import matmul
from ._tiles import explain


def _ordinals(codes: np.ndarray, f: Format) -> np.ndarray:
    """Codes as integers: neighbouring numbers have consecutive ones, and both zeros are 0."""
    codes = codes.astype(np.int64 if f.bits < 64 else np.uint64)
    if f.bits == 64:  # the difference of two may overflow
        codes = codes.view(np.int64)
        return np.where(codes < 0, np.int64(-(2**63)) - codes, codes)
    if not f.is_signed:
        return codes
    sign = np.int64(1) << (f.bits - 1)
    if not f.is_floating:
        return np.where(codes & sign, codes - 2 * sign, codes)
    return np.where(codes & sign, -(codes & (sign - 1)), codes) >> f.padding_bits


def ulps(actual: Any, expected: Any, *, format: Any = None) -> np.ndarray:
    """Steps from each ``expected`` to ``actual`` along the numbers of the format: 0 if both are equal, or both zero.

    >>> ulps(np.float32([1.0, -1.0]), np.float32([1.0 + 2**-23, -1.0]))
    array([-1,  0])
    """
    x, y = _arrays.read(actual, "actual", format), _arrays.read(expected, "expected", format)
    if x.format != y.format:
        raise InputError(f"actual: is {x.format}; expected {y.format}, the format of `expected`")
    try:
        return _ordinals(x.codes, x.format) - _ordinals(y.codes, y.format)
    except ValueError as error:
        raise InputError(f"actual: has the shape {x.shape}; expected {y.shape}, the shape of `expected`") from error


def _is_nan(codes: np.ndarray, f: Format) -> np.ndarray:
    return np.isnan(_arrays.decode(_arrays.Codes(codes, f)))


def assert_bits_equal(actual: Any, expected: Any, *, format: Any = None, msg: str = "") -> None:
    """Raises AssertionError unless all bits are the same: how many differ, the first of them, by how many ulps.

    NaNs are equal only if their bits are; −0 is not +0. ``format`` names the format of unsigned integers, which are codes.
    """
    __tracebackhide__ = True  # pytest shows the caller
    if (found := _difference(actual, expected, format)) is not None:
        raise AssertionError(f"{msg}\n{found[0]}".lstrip())


def assert_matmul(actual: Any, a: Any, b: Any, c: Any = None, *, msg: str = "", **how: Any) -> None:
    """Raises AssertionError unless ``actual`` has the bits of ``matmul(a, b, c, **how)``.

    The message is that of `assert_bits_equal()`, and explains the first element that differs, bit by bit.
    """
    __tracebackhide__ = True
    found = _difference(actual, matmul(a, b, c, **how))
    if found is None:
        return
    text, where = found
    if where is not None and len(where) == 2 and not {"a_scales", "b_scales"} & how.keys():
        text += f"\n\nHow tcnum computed expected{list(where)}:\n{_why(a, b, c, how, where)}"
    raise AssertionError(f"{msg}\n{text}".lstrip())


def _difference(actual: Any, expected: Any, format: Any = None) -> tuple[str, tuple[int, ...] | None] | None:
    """How the two differ, and the index of the first element that does; None if they are equal."""
    x, y = _arrays.read(actual, "actual", format), _arrays.read(expected, "expected", format)
    if x.format != y.format:
        return f"actual is {x.format}, expected is {y.format}", None
    if x.shape != y.shape:
        return f"actual has the shape {x.shape}, expected {y.shape}", None
    different = x.codes != y.codes
    if not different.any():
        return None
    f = x.format
    where = tuple(int(i) for i in np.argwhere(different)[0])
    distance = _ordinals(x.codes[different], f) - _ordinals(y.codes[different], f)
    nans = _is_nan(x.codes[different], f) | _is_nan(y.codes[different], f)
    lines = [f"{np.count_nonzero(different)} of {different.size} elements differ in their bits ({f})"]
    digits = 2 + 2 * f.bytes
    for name, codes in (("actual", x.codes), ("expected", y.codes)):
        code = codes[where]
        lines.append(f"  first, {list(where)}: {name:8} {int(code):#0{digits}x} = {_arrays.decode(_arrays.Codes(code, f))}")
    if nans[0]:
        lines.append("  one of them is NaN")
    elif f.is_floating:
        lines.append(f"  by {_counted(distance[0])}" + (": the other zero" if distance[0] == 0 else ""))
    if np.count_nonzero(~nans) > 1:
        lines.append(f"  the most, of all that differ: {_counted(np.abs(distance[~nans]).max())}")
    if np.count_nonzero(nans):
        lines.append(f"  {np.count_nonzero(nans)} of them with a NaN on one side or both")
    return "\n".join(lines), where


def _counted(count: Any) -> str:
    return f"{int(count)} ulp" + ("" if abs(int(count)) == 1 else "s")


def _why(a: Any, b: Any, c: Any, how: dict[str, Any], where: tuple[int, ...]) -> str:
    """An explanation of one element of ``matmul(a, b, c, **how)``."""
    form = how.get("format")
    forms = form if isinstance(form, (tuple, list)) else (form, form)
    x, y = _arrays.read(a, "a", forms[0]), _arrays.read(b, "b", forms[1])
    row, column = _arrays.Codes(x.codes[where[0]], x.format), _arrays.Codes(y.codes[:, where[1]], y.format)
    try:
        if c is not None:
            of_c = _arrays.read(c, "c")
            c = _arrays.Codes(np.broadcast_to(of_c.codes, (x.shape[0], y.shape[1]))[where], of_c.format)
        by = {name: how[name] for name in ("arch", "instr", "datapath", "plan", "alpha", "beta", "out_dtype") if name in how}
        if (bias := how.get("bias")) is not None:
            of_bias = _arrays.read(bias, "bias")
            by["bias"] = _arrays.Codes(np.broadcast_to(of_bias.codes, (x.shape[0], y.shape[1]))[where], of_bias.format)
        return explain(row, column, c, **by)
    except Error as error:  # the test must still say what differs
        return f"cannot be explained: {error}"
