"""Number formats, and their names in other packages."""

from __future__ import annotations

import dataclasses
import functools
import sys
from typing import Any

import numpy as np

from . import _library
from ._library import InputError


@dataclasses.dataclass(frozen=True)
class Format:
    """A number format, as ``tcnum list --formats`` shows it."""

    name: str  #: "fp8e4m3"
    ptx: str  #: "e4m3"
    bits: int  #: of a code
    bytes: int  #: that a code takes
    is_floating: bool
    is_signed: bool
    exponent_bits: int  #: 0 for integers
    fraction_bits: int  #: for integers: all but the sign
    padding_bits: int  #: low bits of a code that are not part of the number: 13 of a tf32
    bias: int  #: of the exponent
    has_infinity: bool
    has_nan: bool
    text: str  #: what else is known of a custom format, in one word that stands for it anywhere; of others the name

    @property
    def codes(self) -> np.dtype:
        """The type of its codes: an unsigned integer."""
        return np.dtype(f"u{self.bytes}")

    def __str__(self) -> str:
        return self.name


# Names of the formats in numpy, ml_dtypes and torch. torch packs two fp4 into each float4_e2m1fn_x2.
_DTYPES = {
    "float64": "fp64", "float32": "fp32", "float16": "fp16", "bfloat16": "bf16", "float8_e4m3fn": "fp8e4m3",
    "float8_e5m2": "fp8e5m2", "float8_e4m3fnuz": "fp8e4m3fnuz", "float8_e5m2fnuz": "fp8e5m2fnuz",
    "float6_e3m2fn": "fp6e3m2", "float6_e2m3fn": "fp6e2m3", "float4_e2m1fn": "fp4e2m1", "float4_e2m1fn_x2": "fp4e2m1",
    "float8_e8m0fnu": "ue8m0", "int32": "s32", "int8": "s8", "uint8": "u8", "int4": "s4", "uint4": "u4", "bool": "b1",
}  # fmt: skip
PACKED = "float4_e2m1fn_x2"
_TORCH = {f: name for name, f in _DTYPES.items() if name not in ("float4_e2m1fn", "bool", "int4", "uint4")}
_NUMPY = {f: name for name, f in _DTYPES.items() if name != PACKED}


def _of_info(info: Any) -> Format:
    values = {field.name: getattr(info, field.name) for field in dataclasses.fields(Format)}
    for name, value in values.items():
        if isinstance(value, bytes):
            values[name] = value.decode()
        elif name.startswith(("is_", "has_")):
            values[name] = bool(value)
    return Format(**values)


@functools.cache
def formats() -> tuple[Format, ...]:
    """All number formats.

    >>> [f.name for f in formats() if f.bits == 4]
    ['fp4e2m1', 's4', 'u4']
    """
    count = _library.library.tcnum_format_count()
    return tuple(_of_info(_library.described("tcnum_format_at", i)) for i in range(count))


@functools.cache
def _of_table(name: str) -> Format | None:
    return next((f for f in formats() if name in (f.name, f.ptx)), None)


def _found(name: str) -> Format:
    # Custom formats are looked up each time, as a name may have been given to another format.
    return _of_table(name) or _of_info(_library.described("tcnum_format_find", _library.encoded(name, "format")))


def own_format(
    name: str,
    exponent_bits: int,
    fraction_bits: int,
    bias: int | None = None,
    *,
    non_finite: str = "ieee",
    signed: bool = True,
) -> Format:
    """A custom floating-point format. It is a value: `Format` objects stay what they are, whatever is defined later.

    As text, its name stands for it until another format gets that name; ``text`` stands for it always.

    ``bias`` is 2^(exponent_bits - 1) - 1 unless you say otherwise. ``non_finite`` says which codes are not finite
    numbers: "ieee" (those of the largest exponent), "nan_all_ones", "nan_negative_zero" or "none". A datapath's JSON has the same as
    "formats". Its codes are unsigned integers, as those of all formats that numpy has no type for:

    >>> import tcnum
    >>> f = own_format("e5m8", 5, 8)
    >>> f.bits, f.codes.name, f.bias
    (14, 'uint16', 15)
    >>> codes = tcnum.cast(np.array([1.0, 1.00390625]), f)
    >>> [hex(c) for c in codes.bits]
    ['0xf00', '0xf01']

    Raises InputError that names what is wrong, such as numbers that no double holds.
    """
    usual = -(2**31)
    return _of_info(
        _library.described(
            "tcnum_format_define",
            _library.encoded(name, "name"),
            exponent_bits,
            fraction_bits,
            usual if bias is None else bias,
            _library.encoded(non_finite, "non_finite"),
            _library.flag("signed", signed),
        )
    )


def name_of_dtype(dtype: Any) -> str:
    """The name of a numpy, ml_dtypes or torch type: "float8_e4m3fn"."""
    return str(getattr(dtype, "name", None) or dtype).removeprefix("torch.")


def format_of(what: Any) -> Format:
    """The format of a name (tcnum's or PTX's) or of a type of numpy, ml_dtypes or torch.

    >>> format_of("e4m3").name, format_of(np.float16).name
    ('fp8e4m3', 'fp16')

    Raises InputError if there is none.
    """
    if isinstance(what, Format):
        return what
    if isinstance(what, str):
        return _found(_DTYPES.get(what, what))
    if isinstance(what, type) and issubclass(what, np.generic):
        what = np.dtype(what)
    name = name_of_dtype(what)
    if name not in _DTYPES:
        raise InputError(f"format: {name} is unknown; expected the type or name of one, such as {_known()}")
    return _found(_DTYPES[name])


def _known() -> str:
    return ", ".join(f.name for f in formats())


def numpy_dtype(f: Format) -> np.dtype | None:
    """numpy's own type for a format, or ml_dtypes' where that package is installed; None if neither has one."""
    name = _NUMPY.get(f.name)
    if name is None:
        return None
    try:
        return np.dtype(name)
    except TypeError:
        pass
    try:
        import ml_dtypes  # type: ignore[import]
    except ImportError:
        return None
    return np.dtype(getattr(ml_dtypes, name)) if hasattr(ml_dtypes, name) else None


def torch_dtype(f: Format) -> Any:
    """torch's type for a format; None if it has none. Only for those who have imported torch."""
    return getattr(sys.modules["torch"], _TORCH.get(f.name, ""), None)
