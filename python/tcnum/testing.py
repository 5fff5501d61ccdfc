"""For tests of kernels."""

from __future__ import annotations

from typing import Any

import numpy as np

from . import _arrays
from ._library import Error, InputError
from ._formats import Format
from ._plans import plan_of
from ._products import Recipe, recipe_of
from ._tiles import explain, explained_by_plans


def _ordinals(codes: np.ndarray, f: Format) -> np.ndarray:
    """Codes as whole numbers, of which neighbours are numbers next to each other; both zeros are 0."""
    codes = codes.astype(np.int64 if f.bits < 64 else np.uint64)
    if f.bits == 64:  # of which differences may not fit; ulps are then those of the code
        codes = codes.view(np.int64)
        return np.where(codes < 0, np.int64(-(2**63)) - codes, codes)
    if not f.is_signed:
        return codes
    sign = np.int64(1) << (f.bits - 1)
    if not f.is_floating:
        return np.where(codes & sign, codes - 2 * sign, codes)
    return np.where(codes & sign, -(codes & (sign - 1)), codes) >> f.padding_bits


def ulps(actual: Any, expected: Any, *, format: Any = None) -> np.ndarray:
    """How many numbers of the format lie from each ``expected`` to ``actual``: 0 if both are the same, or both zero.

    >>> ulps(np.float32([1.0, -1.0]), np.float32([1.0 + 2**-23, -1.0]))
    array([-1,  0])
    """
    x, y = _arrays.read(actual, "actual", format), _arrays.read(expected, "expected", format)
    if x.format != y.format:
        raise InputError(f"actual: is {x.format}; right would be {y.format}, as expected is")
    try:
        return _ordinals(x.codes, x.format) - _ordinals(y.codes, y.format)
    except ValueError as error:
        raise InputError(f"actual: has the shape {x.shape}; right would be {y.shape}, as expected has") from error


def _is_nan(codes: np.ndarray, f: Format) -> np.ndarray:
    return np.isnan(_arrays.decode(_arrays.Codes(codes, f)))


def assert_bits_equal(actual: Any, expected: Any, *, format: Any = None, msg: str = "") -> None:
    """Raises AssertionError unless all bits are the same: how many differ, the first of them, by how many ulps.

    If one of both came from `tcnum.matmul()`, that element is explained too, bit by bit. NaNs are the same only if their
    bits are; −0 is not +0. ``format`` says what unsigned integers are codes of.
    """
    __tracebackhide__ = True  # pytest shows the caller
    x, y = _arrays.read(actual, "actual", format), _arrays.read(expected, "expected", format)
    if x.format != y.format:
        raise AssertionError(f"{msg}\nactual is {x.format}, expected is {y.format}".lstrip())
    if x.shape != y.shape:
        raise AssertionError(f"{msg}\nactual has the shape {x.shape}, expected {y.shape}".lstrip())
    different = x.codes != y.codes
    if not different.any():
        return
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
        lines.append("  one of them is no number")
    elif f.is_floating:
        lines.append(f"  by {_counted(distance[0])}" + (": the other zero" if distance[0] == 0 else ""))
    if np.count_nonzero(~nans) > 1:
        lines.append(f"  the most, of all that differ: {_counted(np.abs(distance[~nans]).max())}")
    if np.count_nonzero(nans):
        lines.append(f"  {np.count_nonzero(nans)} of them with a NaN on one side or both")
    for name, result in (("expected", expected), ("actual", actual)):
        if (recipe := recipe_of(result)) is not None:
            lines += ["", f"How tcnum computed {name}{list(where)}:", _why(recipe, where, recipe_of(actual))]
            break
    raise AssertionError("\n".join(([msg] if msg else []) + lines))


def _counted(count: Any) -> str:
    return f"{int(count)} ulp" + ("" if abs(int(count)) == 1 else "s")


def _why(recipe: Recipe, where: tuple[int, ...], other: Recipe | None) -> str:
    """``other``: of what the result is compared with; where that is by another plan of the same operands, both are shown."""
    how = dict(recipe.how)
    if len(where) != 2:
        return f"by {how}"
    try:
        form = how.pop("format", None)
        forms = form if isinstance(form, (tuple, list)) else (form, form)
        a = _arrays.read(recipe.a, "a", forms[0])
        b = _arrays.read(recipe.b, "b", forms[1])
        row = _arrays.Codes(a.codes[where[0]], a.format)
        column = _arrays.Codes(b.codes[:, where[1]], b.format)
        if "plan" in how:
            return _why_by_plans(recipe, other, a, b, where)
        how.pop("account", None)
        c = None
        if recipe.c is not None:
            of_c = _arrays.read(recipe.c, "c")
            c = _arrays.Codes(np.broadcast_to(of_c.codes, (a.codes.shape[0], b.codes.shape[1]))[where], of_c.format)
        return explain(row, column, c, **how)
    except Error as error:  # a failing test must say what failed
        return f"by {recipe.how} ({error})"


def _why_by_plans(recipe: Recipe, other: Recipe | None, a: Any, b: Any, where: tuple[int, ...]) -> str:
    how, plans = recipe.how, [plan_of(recipe.how["plan"])]
    alike = other is not None and other is not recipe and other.a is recipe.a and other.b is recipe.b
    if other is not None and alike and "plan" in other.how:
        plans.append(plan_of(other.how["plan"]))
    if "out_dtype" in how:
        plans = [each.with_(output=how["out_dtype"]) for each in plans]
    given = {"c": recipe.c, "bias": how.get("bias")}
    terms = {name: _arrays.read(value, name) for name, value in given.items() if value is not None}
    return explained_by_plans(plans, a, b, terms, how.get("alpha"), how.get("beta"), (where[0], where[1]))
