"""Tiles: many dot products with their results, as vector files hold them."""

from __future__ import annotations

import ctypes
import dataclasses
import operator
import os
import tempfile
from collections.abc import Iterator, MutableMapping
from typing import Any

import numpy as np

from . import _arrays, _library
from ._arrays import Codes, Operand
from ._library import InputError
from ._catalogue import Datapath, datapath_of
from ._formats import Format, format_of
from ._plans import Plan, plan_of
from ._products import by_instruction, check_operand, gemm_options

_FREE = "tcnum_tiles_free"


class _Metadata(MutableMapping[str, str]):
    """The metadata of tiles: a mapping of texts."""

    def __init__(self, tiles: "Tiles"):
        self._tiles = tiles

    def __getitem__(self, key: str) -> str:
        text = _library.library.tcnum_tiles_text(self._tiles._value, _library.encoded(key, "key"))
        if text is None:
            raise KeyError(key)
        return text.decode()

    def __setitem__(self, key: str, value: str) -> None:
        _library.call("tcnum_tiles_set_text", self._tiles._value, _library.encoded(key, "key"), _library.encoded(value, "value"))

    def __delitem__(self, key: str) -> None:
        self[key]  # raises KeyError if it is missing
        _library.call("tcnum_tiles_set_text", self._tiles._value, _library.encoded(key, "key"), None)

    def __iter__(self) -> Iterator[str]:
        index = 0
        while (key := _library.library.tcnum_tiles_key(self._tiles._value, index)) is not None:
            yield key.decode()
            index += 1

    def __len__(self) -> int:
        return sum(1 for _ in self)

    def __repr__(self) -> str:
        return repr(dict(self))


@dataclasses.dataclass(frozen=True)
class Comparison:
    """Results compared with those of a datapath."""

    count: int  #: results compared
    mismatches: int  #: results that differ from those of the datapath
    first: tuple[int, int, int] | None  #: index of the first mismatch in D; None if there is none
    expected: int  #: code of the datapath there
    observed: int  #: code in D there

    def __bool__(self) -> bool:
        return self.mismatches == 0


class Tiles:
    """T products of M × N tiles by one instruction: A [T, M, K], B [T, K, N], C and D [T, M, N], and metadata.

    ``Tiles(arch, instr, count, m, n)`` has zeros; `load()` reads a vector file. The tensors are `Codes` that share their
    memory with the library: write their ``bits``, or assign arrays (``tiles["A"] = …``). They can be copied and pickled.
    """

    _datapath: Datapath | None = None  # set where the tiles belong to a datapath alone

    def __init__(self, arch: str, instr: str, count: int = 1, m: int = 8, n: int = 8):
        self._handle = _library.Handle(
            _FREE, "tcnum_tiles_new", _library.encoded(arch, "arch"), _library.encoded(instr, "instr"), count, m, n
        )

    @classmethod
    def _of(cls, handle: _library.Handle) -> "Tiles":
        tiles = cls.__new__(cls)
        tiles._handle = handle
        return tiles

    @classmethod
    def of_datapath(cls, of: Datapath, count: int = 1, m: int = 8, n: int = 8) -> "Tiles":
        """Tiles of a datapath alone, with block scales "SA" and "SB" if it has them."""
        tiles = cls._of(_library.Handle(_FREE, "tcnum_tiles_of_datapath", of._handle.value, count, m, n))
        tiles._datapath = of
        return tiles

    @property
    def _value(self) -> Any:
        return self._handle.value

    def __getitem__(self, name: str) -> Codes:
        tensor = _library.described("tcnum_tiles_tensor", self._value, _library.encoded(name, "name"))
        f = format_of(tensor.format.decode())
        return Codes(np.asarray(_arrays.Memory(self._handle, tensor.codes, tuple(tensor.shape), f)), f)

    def __setitem__(self, name: str, value: Any) -> None:
        to = self[name]
        given = _arrays.read(value, name)
        if given.format != to.format and not (given.codes.dtype == to.bits.dtype and given.format.name in ("u8",)):
            raise InputError(
                f"{name}: is {given.format}; expected {to.format}, as tcnum.cast(…, '{to.format}') gives"
            )
        try:
            to.bits[...] = given.codes
        except ValueError as error:
            raise InputError(f"{name}: has the shape {given.shape}; expected {to.shape}") from error

    @property
    def metadata(self) -> MutableMapping[str, str]:
        """"instruction", "arch", "device" and others; docs/files.md has them."""
        return _Metadata(self)

    def emulate(self, of: Any = None, *, exact: bool = False, threads: int = 0) -> "Tiles":
        """Fills D with a datapath's bits; None: the tiles' own, or the catalogue's first for the instruction. Returns
        these tiles.

        ``exact`` uses the emulator that is slow, short, and defines the meaning.
        """
        of = self._datapath if of is None else of
        value = None if of is None else datapath_of(of)._handle.value
        if exact:
            _library.call("tcnum_emulate_exact", self._value, value)
        else:
            _library.call("tcnum_emulate", self._value, value, threads)
        return self

    def verify(self, of: Any = None, *, threads: int = 0) -> Comparison:
        """D against what a datapath gives."""
        value = None if of is None else datapath_of(of)._handle.value
        found = _library.sized("tcnum_comparison")
        _library.call("tcnum_verify", self._value, value, threads, ctypes.byref(found))
        d = self["D"].shape
        first = tuple(int(i) for i in np.unravel_index(found.first, d)) if found.mismatches else None
        return Comparison(found.count, found.mismatches, first, found.expected, found.observed)  # type: ignore[arg-type]

    def explain(self, index: tuple[int, int, int] = (0, 0, 0), of: Any = None) -> str:
        """One element of D bit by bit, as ``tcnum explain`` prints it."""
        try:
            place = int(np.ravel_multi_index(index, self["D"].shape))
        except (TypeError, ValueError) as error:
            raise InputError(f"index: is {index!r}; expected an index into {self['D'].shape}") from error
        value = None if of is None else datapath_of(of)._handle.value
        return _library.text_of("tcnum_explain", self._value, place, value)

    def save(self, path: str | os.PathLike[str]) -> None:
        """As a vector file; the path holds all of it, or what it held before."""
        _library.call("tcnum_tiles_write", self._value, _library.encoded(path, "path"))

    def __reduce__(self) -> Any:
        if self._datapath is None:
            with tempfile.TemporaryDirectory() as folder:
                path = os.path.join(folder, "tiles.safetensors")
                self.save(path)
                with open(path, "rb") as file:
                    return _from_file, (file.read(),)
        names = ["A", "B", "C", "D"] + (["SA", "SB"] if self._datapath.scale_block else [])
        return _from_tensors, (self._datapath, {name: self[name].bits.copy() for name in names}, dict(self.metadata))

    def __repr__(self) -> str:
        count, m, n = self["D"].shape
        what = self.metadata.get("instruction", "a datapath")
        return f"<tcnum.Tiles of {what}: {count} of {m} × {n}, k = {self['A'].shape[2]}>"


def _from_file(content: bytes) -> Tiles:
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "tiles.safetensors")
        with open(path, "wb") as file:
            file.write(content)
        return load(path)


def _from_tensors(of: Datapath, tensors: dict[str, np.ndarray], metadata: dict[str, str]) -> Tiles:
    tiles = Tiles.of_datapath(of, *tensors["D"].shape)
    for name, bits in tensors.items():
        tiles[name].bits[...] = bits
    tiles.metadata.update(metadata)
    return tiles


def load(path: str | os.PathLike[str], *, without_results: bool = False) -> Tiles:
    """Reads a vector file (docs/files.md). ``without_results``: D may be missing, and is zero.

    Raises InputError that names the file and the field if it is not one.
    """
    return Tiles._of(_library.Handle(_FREE, "tcnum_tiles_read", _library.encoded(path, "path"), int(without_results)))


def explain(
    a_row: Any,
    b_column: Any,
    c: Any = None,
    *,
    arch: str | None = None,
    instr: str | None = None,
    datapath: Any = None,
    format: Any = None,
    link: int = -1,
    plan: Any = None,
    other_plan: Any = None,
    out_dtype: Any = None,
    alpha: float | None = None,
    beta: float | None = None,
    bias: Any = None,
) -> str:
    """One dot product bit by bit: each term, its shift, what was cut, the sum, the rounding, the error in ulps. The
    first line says in what format the operands were taken (those of Python's floats are fp64) and who multiplies.

    ``a_row`` and ``b_column`` have K elements, ``c`` one. Where K is longer than the instruction's k, ``link`` says which
    of the chain's instructions is shown (the last), with the c that the ones before it give. The rest is as in `matmul()`.

    By a ``plan``, and with ``alpha``, ``beta`` and a ``bias`` of one element: every step from the first instruction to the
    rounding to D's format; with an ``other_plan``, the steps of both from the first one on that differs.

    >>> text = explain(np.float16([1024, 2**-14]), np.float16([1024, 2**-14]), instr="mma.m16n8k16.f32.f16.f16.f32")
    >>> for line in text.splitlines()[:3]:
    ...     print(line)
    fp16 by mma.m16n8k16.f32.f16.f16.f32 of sm_90
    <BLANKLINE>
      sum 1 (sum): aligned to 2^20, cut toward_zero below 2^-5
    """
    a_format, b_format = format if isinstance(format, (tuple, list)) else (format, format)
    x, y = _arrays.read(a_row, "a_row", a_format), _arrays.read(b_column, "b_column", b_format)
    for name, operand in {"a_row": x, "b_column": y}.items():
        if operand.codes.ndim != 1 or operand.codes.size == 0 or operand.codes.size != x.codes.size:
            raise InputError(f"{name}: has the shape {operand.shape}; expected K elements, as the other operand has")
    if plan is not None:
        plans = [plan_of(each) for each in (plan, other_plan) if each is not None]
        if out_dtype is not None:
            plans = [each.with_(output=out_dtype) for each in plans]
        terms = {
            name: _arrays.read(_exactly(value, format_of("fp32")) if isinstance(value, (int, float)) else value, name)
            for name, value in {"c": c, "bias": bias}.items()
            if value is not None
        }
        row, column = _arrays.Codes(x.codes[None, :], x.format), _arrays.Codes(y.codes[:, None], y.format)
        return explained_by_plans(plans, _arrays.read(row, "a_row"), _arrays.read(column, "b_column"), terms, alpha, beta)
    for name, value in {"other_plan": other_plan, "out_dtype": out_dtype, "alpha": alpha, "beta": beta, "bias": bias}.items():
        if value is not None:
            raise InputError(f"{name}: is given without a plan; expected a plan, such as plan='nvjet'")
    how = by_instruction(arch, instr, datapath, x.format, y.format)
    if how.datapath is not None:
        tiles, title = Tiles.of_datapath(how.datapath, 1, 1, 1), repr(how.datapath)
    else:
        tiles, title = Tiles(how.arch or "", how.instr or "", 1, 1, 1), f"{how.instr} of {how.arch}"
    check_operand("a_row", x, tiles["A"].format)
    check_operand("b_column", y, tiles["B"].format)
    k = tiles["B"].shape[1]
    if tiles["A"].shape[2] != k:
        raise InputError(f"instr: is {how.instr}, which is sparse; expected a dense instruction")
    links = (x.codes.size + k - 1) // k
    try:
        link = operator.index(link)
    except TypeError as error:
        raise InputError(f"link: is {link!r}; expected a whole number from {-links} to {links - 1}") from error
    if not -links <= link < links:
        raise InputError(f"link: is {link}; expected {-links} to {links - 1}, for K = {x.codes.size}, {k} each")
    link %= links
    if link > 0 and tiles["C"].format != tiles["D"].format:
        raise InputError(f"a_row: has {x.codes.size} elements; expected {k}, as D and C of the instruction have different formats")

    if c is not None:
        tiles["C"] = _exactly(c, tiles["C"].format) if isinstance(c, (int, float)) else c
    for number in range(link + 1):
        here = slice(number * k, (number + 1) * k)
        tiles["A"].bits[0, 0] = _filled_up(x.codes[here], k)
        tiles["B"].bits[0, :, 0] = _filled_up(y.codes[here], k)
        tiles.emulate(how.datapath, threads=1)
        if number < link:
            tiles["C"].bits[...] = tiles["D"].bits
    text = tiles.explain((0, 0, 0), how.datapath)
    heading = f"{x.format if x.format == y.format else f'{x.format} and {y.format}'} by {title}"
    if links > 1:
        last = min((link + 1) * k, x.codes.size) - 1
        heading += f", link {link + 1} of {links}: products {link * k} to {last}; c is the sum before them"
    return f"{heading}\n\n{text}"


def explained_by_plans(
    plans: list[Plan], a: Operand, b: Operand, terms: dict[str, Operand], alpha: float | None, beta: float | None,
    at: tuple[int, int] = (0, 0),
) -> str:  # fmt: skip
    """An element of a product of two matrices by one plan, or two; ``terms``: "c" and "bias", where they are."""
    views = _arrays.Views()
    shapes = {"c": (a.shape[0], b.shape[1]), "bias": (1, b.shape[1])}
    options = gemm_options(alpha, beta, **{name: views.of_argument(x, name, shapes[name]) for name, x in terms.items()})
    bound = [each._bound(a.format.text) for each in plans]
    other = bound[1].value if len(bound) > 1 else None
    matrices = (views.of(each.codes, each.format) for each in (a, b))
    return _library.text_of("tcnum_explain_gemm", bound[0].value, other, *matrices, ctypes.byref(options), *at)


def _filled_up(codes: np.ndarray, k: int) -> np.ndarray:
    return np.pad(codes, (0, k - codes.size))


def _exactly(number: float, f: Format) -> Codes:
    codes = _arrays.cast(np.float64(number), f)
    if _arrays.decode(codes) != number and number == number:
        raise InputError(f"c: {number} is not a number of {f}; expected one, such as {_arrays.decode(codes)}")
    return codes
