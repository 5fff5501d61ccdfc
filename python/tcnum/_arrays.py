"""Converts arrays of other packages to codes and back, bit for bit."""

from __future__ import annotations

import ctypes
import dataclasses
import sys
from typing import Any

import numpy as np

from . import _library
from ._library import InputError
from ._formats import PACKED, Format, format_of, name_of_dtype, numpy_dtype, torch_dtype


class Codes:
    """Numbers as the bits of their format, for formats that numpy has no type for.

    ``Codes(bits, format)``: ``bits`` is an array of unsigned integers of the format's size, of any shape. It can be
    given wherever an array can, and comes back where the format has no type here (ml_dtypes, where it is installed,
    has types for most). ``==`` compares bits, element by element.

    >>> x = Codes(np.array([0x3f80, 0xc000], np.uint16), "bf16")
    >>> x.shape, x.to_numpy()
    ((2,), array([ 1., -2.]))
    """

    __slots__ = ("__weakref__", "bits", "format")

    def __init__(self, bits: Any, format: Any):
        self.format = format_of(format)
        self.bits = np.asarray(bits)
        if self.bits.dtype.kind not in "iu" or self.bits.itemsize != self.format.bytes:
            raise InputError(
                f"bits: are {self.bits.dtype}; expected {self.format.codes}, the codes of {self.format}"
            )
        self.bits = self.bits.view(self.format.codes)

    shape = property(lambda self: self.bits.shape)
    ndim = property(lambda self: self.bits.ndim)
    T = property(lambda self: Codes(self.bits.T, self.format))

    def __len__(self) -> int:
        return len(self.bits)

    def __getitem__(self, index: Any) -> "Codes":
        return Codes(self.bits[index], self.format)

    # Without this, numpy would take Codes for a sequence of objects, none of which is equal.
    __array_ufunc__ = None
    __hash__ = None  # type: ignore[assignment]

    def __array__(self, *_: Any, **__: Any) -> np.ndarray:
        raise InputError("Codes: are not an array of numpy; expected .bits (codes) or .to_numpy() (numbers)")

    def __eq__(self, other: object) -> Any:
        if not isinstance(other, Codes):
            return NotImplemented
        if other.format != self.format:
            raise InputError(f"Codes: are of {self.format} and of {other.format}; expected one format")
        return self.bits == other.bits

    def __ne__(self, other: object) -> Any:
        equal = self.__eq__(other)
        return equal if equal is NotImplemented else np.logical_not(equal)

    def reshape(self, *shape: Any) -> "Codes":
        return Codes(self.bits.reshape(*shape), self.format)

    def to_numpy(self, dtype: Any = np.float64) -> np.ndarray:
        """The numbers, as float64 (which holds those of every format) or float32 (to which they are rounded)."""
        return decode(self, dtype)

    def __repr__(self) -> str:
        return f"Codes({np.array2string(self.bits, formatter={'int': hex}, threshold=20)}, '{self.format}')"


@dataclasses.dataclass(frozen=True)
class Operand:
    """An operand as codes, with its format and the kind of array that it came in."""

    codes: np.ndarray  # of unsigned integers
    format: Format
    kind: str  # "numpy", "torch" or "codes"
    device: Any = None  # of a tensor of torch

    @property
    def shape(self) -> tuple[int, ...]:
        return self.codes.shape


def _is_torch(x: Any) -> bool:
    return "torch" in sys.modules and isinstance(x, sys.modules["torch"].Tensor)


def _unpacked(codes: np.ndarray) -> np.ndarray:
    """Splits each byte into two fp4, the low one first, along the axis that is contiguous in memory."""
    axis = int(np.argmin([abs(s) if n > 1 else sys.maxsize for s, n in zip(codes.strides, codes.shape)]))
    along = np.moveaxis(codes, axis, -1)
    both = np.stack([along & 0xF, along >> 4], axis=-1).reshape(*along.shape[:-1], -1)
    return np.moveaxis(both, -1, axis)


def _packed(codes: np.ndarray) -> np.ndarray:
    return codes[..., 0::2] | codes[..., 1::2] << 4


def _of_torch(x: Any, name: str) -> tuple[np.ndarray, str]:
    torch = sys.modules["torch"]
    dtype = name_of_dtype(x.dtype)
    integers = {1: torch.uint8, 2: torch.int16, 4: torch.int32, 8: torch.int64}
    x = x.detach()
    if x.layout != torch.strided or x.is_complex():
        raise InputError(f"{name}: is a {x.layout} tensor of {dtype}; expected a dense tensor of a format of tcnum")
    codes = x.view(integers[x.element_size()]).cpu().numpy()
    return (_unpacked(codes.view(np.uint8)) if dtype == PACKED else codes), dtype


def read(x: Any, name: str, format: Any = None) -> Operand:
    """Codes of an array. ``format`` says what unsigned integers are codes of."""
    device = None
    if isinstance(x, Codes):
        if format is not None and format_of(format) != x.format:
            raise InputError(f"{name}: is of {x.format}; expected {format_of(format)}, as `format` says")
        return Operand(x.bits, x.format, "codes")
    if _is_torch(x):
        kind, device = "torch", x.device
        array, dtype = _of_torch(x, name)
    else:
        kind = "numpy"
        if not isinstance(x, np.ndarray) and not hasattr(x, "__array__") and hasattr(x, "__dlpack__"):
            x = np.from_dlpack(x)
        if np.ma.is_masked(x):
            raise InputError(f"{name}: has masked elements; expected numbers in their place, as filled() gives")
        array = np.asarray(x)
        if array.dtype.byteorder == (">" if sys.byteorder == "little" else "<"):
            array = array.astype(array.dtype.newbyteorder("="))
        dtype = array.dtype.name
    own = _formatted(dtype)
    if format is not None:
        f = format_of(format)
        is_itself = own == f or (f.name == "tf32" and dtype == "float32")
        if not is_itself and (array.dtype.kind not in "iu" or array.itemsize != f.bytes):
            raise InputError(
                f"{name}: is {dtype}; expected codes of {f} as {f.codes}, or numbers by "
                f"tcnum.cast({name}, '{f}')"
            )
    elif own is not None:
        f = own
    else:
        raise InputError(
            f"{name}: is {dtype}, which is not a format of tcnum; expected a type such as float16, ml_dtypes' or torch's "
            "types, or unsigned integers with `format`"
        )
    if array.dtype == bool:
        array = array.astype(np.uint8)
    codes = array.view(f.codes)
    if f.bits < 8 and dtype in ("int4", "uint4"):  # their high bits repeat the sign
        codes = codes & ((1 << f.bits) - 1)
    return Operand(codes, f, kind, device)


def _formatted(dtype: str) -> Format | None:
    try:
        return format_of(np.dtype(dtype)) if dtype in ("float64", "float32", "float16") else format_of(dtype)
    except InputError:
        return None


def view_of(codes: np.ndarray, f: Format) -> tuple[Any, np.ndarray]:
    """A view for C, and the codes that it points to, which must live as long."""
    is_columns = codes.flags.f_contiguous and not codes.flags.c_contiguous
    if not is_columns:
        codes = np.ascontiguousarray(codes)
    rows, columns = codes.shape
    view = _library.c.tcnum_view(
        codes=codes.ctypes.data,
        bytes=codes.nbytes,
        rows=rows,
        columns=columns,
        format=f.text.encode(),
        layout=_library.COLUMN_MAJOR if is_columns else _library.ROW_MAJOR,
    )
    return view, codes


class Views:
    """Views for C that stay valid while this object lives."""

    def __init__(self) -> None:
        self._alive: list[Any] = []

    def of(self, codes: np.ndarray, f: Format) -> Any:
        view, memory = view_of(codes, f)
        self._alive += [view, memory]
        return ctypes.pointer(view)

    def of_argument(self, x: Any, name: str, shape: tuple[int, int] | None = None, format: Any = None) -> Any:
        """A matrix that the caller gives, broadcast to ``shape``; a single number is [1, 1]. None stays None."""
        if x is None:
            return None
        operand = x if isinstance(x, Operand) else read(x, name, format)
        codes = operand.codes.reshape(1, 1) if shape is None and operand.codes.size == 1 else operand.codes
        try:
            codes = codes if shape is None else np.broadcast_to(codes, shape)
        except ValueError as error:
            raise InputError(f"{name}: has the shape {operand.shape}; expected {shape}") from error
        if codes.ndim != 2 or 0 in codes.shape:
            raise InputError(f"{name}: has the shape {operand.shape}; expected a matrix")
        return self.of(codes, operand.format)


class Memory:
    """Codes in memory of the library as numpy takes them; it keeps their owner alive."""

    def __init__(self, owner: Any, address: int, shape: tuple[int, ...], f: Format):
        self._owner = owner
        self.__array_interface__ = {"version": 3, "shape": shape, "typestr": f.codes.str, "data": (address, False)}


def taken(handle: _library.Handle) -> tuple[np.ndarray, Format]:
    """The codes of a tcnum_matrix, without a copy. The array owns the matrix from now on."""
    view = _library.c.tcnum_view()
    _library.call("tcnum_matrix_view", handle.value, ctypes.byref(view))
    f = format_of(view.format.decode())
    return np.asarray(Memory(handle, view.codes, (view.rows, view.columns), f)), f


def given_back(codes: np.ndarray, f: Format, like: Operand) -> Any:
    """Codes as the kind of array that the operand ``like`` was."""
    if like.kind == "torch" and (dtype := torch_dtype(f)) is not None:
        torch = sys.modules["torch"]
        if name_of_dtype(dtype) == PACKED:
            if codes.shape[-1] % 2 != 0:
                return Codes(codes, f)
            codes = _packed(codes)
        integers = {1: np.uint8, 2: np.int16, 4: np.int32, 8: np.int64}[codes.itemsize]
        tensor = torch.from_numpy(np.ascontiguousarray(codes).view(integers)).view(dtype)
        return tensor if like.device.type == "cpu" else tensor.to(like.device)
    dtype = numpy_dtype(f)
    return Codes(codes, f) if dtype is None else codes.view(dtype)


def cast(x: Any, format: Any, *, rounding: str = "nearest_even", saturate: bool = False) -> Any:
    """Numbers in another format.

    ``x``: an array of numpy, ml_dtypes or torch, `Codes`, or a number. ``rounding``: "nearest_even", "nearest_away",
    "toward_zero", "up" or "down". With ``saturate``, numbers beyond the format's largest become the largest; otherwise
    infinity, or NaN in a format without (the largest in one without NaN either), as IEEE 754 rounds. The result is of
    the kind that ``x`` is where that has a type for the format, else `Codes`.

    >>> decode(cast(np.array([1.0, 1.07, 1000.0]), "fp8e4m3", saturate=True))
    array([  1.   ,   1.125, 448.   ])

    Raises InputError for a NaN that the format does not have.
    """
    f = format_of(format)
    are_integers = not isinstance(x, Codes) and not _is_torch(x) and np.asarray(x).dtype.kind in "iu"
    if are_integers:  # some 64-bit integers are not doubles
        whole = np.asarray(x)
        numbers = np.asarray(whole, np.uint64 if whole.dtype.kind == "u" else np.int64, order="C")
        how, given = "tcnum_encode_integers", (numbers.ctypes.data, int(whole.dtype.kind == "u"))
        like = Operand(numbers, f, "numpy")
    else:
        like = read(x, "x")
        numbers = np.asarray(_decoded(like, np.float64), order="C")
        how, given = "tcnum_encode", (numbers.ctypes.data_as(ctypes.POINTER(ctypes.c_double)),)
    codes = np.empty(numbers.shape, f.codes)
    _library.call(
        how, *given, numbers.size, f.text.encode(), _library.encoded(rounding, "rounding"),
        b"max_finite" if saturate else b"ieee", codes.ctypes.data, codes.nbytes,
    )  # fmt: skip
    return given_back(codes, f, like)


def _decoded(x: Operand, dtype: Any) -> np.ndarray:
    try:
        wanted = np.dtype(dtype)
    except TypeError as error:
        raise InputError(f"dtype: is {dtype!r}; expected float64 or float32") from error
    if wanted not in (np.float64, np.float32):
        raise InputError(f"dtype: is {wanted}; expected float64 or float32")
    if x.format.codes.itemsize == wanted.itemsize and x.format.name in ("fp64", "fp32"):
        return x.codes.view(wanted)
    codes = np.asarray(x.codes, order="C")
    numbers = np.empty(codes.shape, wanted)
    function, number = ("tcnum_decode", ctypes.c_double) if wanted == np.float64 else (
        "tcnum_decode_floats", ctypes.c_float)  # fmt: skip
    _library.call(
        function, codes.ctypes.data, codes.nbytes, x.format.text.encode(),
        numbers.ctypes.data_as(ctypes.POINTER(number)), numbers.size,
    )  # fmt: skip
    return numbers


def decode(x: Any, dtype: Any = np.float64, *, format: Any = None) -> np.ndarray:
    """The numbers of an array of any format, as float64 (which holds those of every format) or float32.

    ``format`` says what unsigned integers are codes of.

    >>> decode(np.array([0x3c00], np.uint16), format="fp16")
    array([1.])
    """
    return _decoded(read(x, "x", format), dtype)
