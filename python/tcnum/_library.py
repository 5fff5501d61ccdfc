"""Declares include/tcnum/tcnum.h for ctypes, and loads libtcnum.so."""

from __future__ import annotations

import ctypes
import ctypes.util
import json
import operator
import os
import pathlib
from ctypes import POINTER, Structure, c_char_p, c_double, c_float, c_int, c_size_t, c_uint, c_uint64, c_void_p
from typing import Any

import numpy as np


class Error(Exception):
    """The base of all errors of tcnum."""


class InputError(Error, ValueError):
    """An argument or a file is wrong; the message names it and says what was expected."""


class UnavailableError(Error, RuntimeError):
    """This machine lacks what was asked for, such as a GPU."""


class InternalError(Error, RuntimeError):
    """A bug of tcnum."""


class Stopped(Error):
    """A callback ended the call; whoever made the callback knows why."""


OK, STOPPED, INVALID, UNAVAILABLE, NO_MEMORY, INTERNAL = range(6)
_ERRORS = {STOPPED: Stopped, INVALID: InputError, UNAVAILABLE: UnavailableError, NO_MEMORY: MemoryError}

ROW_MAJOR, COLUMN_MAJOR = 0, 1


class FormatInfo(Structure):
    _fields_ = [
        ("size", c_size_t), ("name", c_char_p), ("ptx", c_char_p), ("bits", c_int), ("bytes", c_int),
        ("is_floating", c_int), ("is_signed", c_int), ("exponent_bits", c_int), ("fraction_bits", c_int),
        ("padding_bits", c_int), ("bias", c_int), ("has_infinity", c_int), ("has_nan", c_int), ("text", c_char_p),
    ]  # fmt: skip


class ArchInfo(Structure):
    _fields_ = [("size", c_size_t), ("name", c_char_p), ("family", c_char_p), ("instructions", c_size_t)]


class InstructionInfo(Structure):
    _fields_ = [
        ("size", c_size_t), ("name", c_char_p), ("ptx", c_char_p), ("m", c_int), ("n", c_int), ("k", c_int),
        ("is_sparse", c_int), ("products", c_int), ("a", c_char_p), ("b", c_char_p), ("c", c_char_p), ("d", c_char_p),
        ("accounts", c_size_t),
    ]  # fmt: skip


class DatapathInfo(Structure):
    _fields_ = [
        ("size", c_size_t), ("k", c_size_t), ("a", c_char_p), ("b", c_char_p), ("c", c_char_p), ("d", c_char_p),
        ("scale_format", c_char_p), ("scale_block", c_size_t), ("account", c_char_p), ("origin", c_char_p),
        ("refuted_by", c_char_p), ("is_fitted", c_int), ("standing", c_char_p), ("answers", c_size_t),
        ("lowered_to", c_char_p),
    ]  # fmt: skip


class View(Structure):
    _fields_ = [
        ("codes", c_void_p), ("bytes", c_size_t), ("rows", c_size_t), ("columns", c_size_t), ("format", c_char_p),
        ("layout", c_int),
    ]  # fmt: skip


Progress = ctypes.CFUNCTYPE(c_int, c_void_p, c_size_t)
Oracle = ctypes.CFUNCTYPE(c_int, c_void_p, c_void_p)
FitProgress = ctypes.CFUNCTYPE(c_int, c_void_p, c_char_p, c_size_t, c_size_t)
Multiply = ctypes.CFUNCTYPE(c_int, c_void_p, POINTER(View), POINTER(View), c_void_p, c_size_t)


class GemmTerms(Structure):
    _fields_ = [("alpha", c_double), ("beta", c_double), ("c", POINTER(View)), ("bias", POINTER(View))]


MultiplyAndAdd = ctypes.CFUNCTYPE(
    c_int, c_void_p, POINTER(View), POINTER(View), POINTER(GemmTerms), c_void_p, c_size_t
)


class MatmulOptions(Structure):
    _fields_ = [
        ("size", c_size_t), ("arch", c_char_p), ("instruction", c_char_p), ("account", c_char_p),
        ("datapath", c_void_p), ("threads", c_uint), ("processor", c_char_p), ("a_scales", POINTER(View)),
        ("b_scales", POINTER(View)), ("progress", Progress), ("user", c_void_p),
    ]  # fmt: skip


class PlanInfo(Structure):
    _fields_ = [
        ("size", c_size_t), ("name", c_char_p), ("does", c_char_p), ("source", c_char_p),
        ("operands", POINTER(c_char_p)), ("operand_count", c_size_t),
    ]  # fmt: skip


class CublasLtConfiguration(Structure):
    _fields_ = [
        ("size", c_size_t), ("a", c_char_p), ("b", c_char_p), ("d", c_char_p), ("k", c_size_t),
        ("fast_accumulation", c_int), ("id", c_int), ("stages", c_int), ("split_k", c_int), ("reduction", c_int), ("custom", c_int),
        ("m", c_size_t), ("n", c_size_t), ("tile", c_int), ("cluster", c_int), ("swizzle", c_int), ("workspace", c_size_t),
        ("clusters_at_once", c_int), ("a_k_outermost", c_int), ("b_k_outermost", c_int),
        ("has_epilogue", c_int), ("adds_to_d", c_int), ("a_lead", c_size_t), ("b_lead", c_size_t),
    ]  # fmt: skip


class GemmOptions(Structure):
    _fields_ = [
        ("size", c_size_t), ("c", POINTER(View)), ("bias", POINTER(View)), ("alpha", POINTER(c_double)),
        ("beta", POINTER(c_double)), ("threads", c_uint), ("progress", Progress), ("user", c_void_p),
        ("a_scales", POINTER(View)), ("b_scales", POINTER(View)), ("processor", c_char_p), ("exact_a", POINTER(View)),
        ("exact_b", POINTER(View)),
    ]  # fmt: skip


class Tensor(Structure):
    _fields_ = [
        ("size", c_size_t), ("codes", c_void_p), ("bytes", c_size_t), ("format", c_char_p), ("shape", c_size_t * 3),
    ]  # fmt: skip


class Comparison(Structure):
    _fields_ = [
        ("size", c_size_t), ("count", c_size_t), ("mismatches", c_size_t), ("first", c_size_t), ("expected", c_uint64),
        ("observed", c_uint64),
    ]  # fmt: skip


class ProbeOptions(Structure):
    _fields_ = [
        ("size", c_size_t), ("seed", c_uint64), ("threads", c_uint), ("device", c_char_p), ("any_nan", c_int),
        ("progress", FitProgress), ("progress_user", c_void_p),
    ]  # fmt: skip


class Dot(Structure):
    _fields_ = [
        ("size", c_size_t), ("a", c_char_p), ("b", c_char_p), ("c", c_char_p), ("d", c_char_p), ("k", c_size_t),
        ("scale_block", c_size_t), ("scale_format", c_char_p),
    ]  # fmt: skip


class GemmSubject(Structure):
    _fields_ = [
        ("size", c_size_t), ("arch", c_char_p), ("a", c_char_p), ("b", c_char_p), ("d", c_char_p), ("m", c_size_t),
        ("n", c_size_t), ("k", c_size_t),
    ]  # fmt: skip


class GemmFitOptions(Structure):
    _fields_ = [
        ("size", c_size_t), ("seed", c_uint64), ("threads", c_uint), ("progress", FitProgress),
        ("progress_user", c_void_p), ("multiply_and_add", MultiplyAndAdd),
    ]  # fmt: skip


# The names of the structures in C.
STRUCTURES = {
    "tcnum_format_info": FormatInfo, "tcnum_arch_info": ArchInfo, "tcnum_instruction_info": InstructionInfo,
    "tcnum_datapath_info": DatapathInfo, "tcnum_view": View, "tcnum_matmul_options": MatmulOptions,
    "tcnum_plan_info": PlanInfo, "tcnum_cublaslt_configuration": CublasLtConfiguration, "tcnum_gemm_options": GemmOptions, "tcnum_tensor": Tensor,
    "tcnum_comparison": Comparison, "tcnum_probe_options": ProbeOptions, "tcnum_dot": Dot, "tcnum_gemm_subject": GemmSubject,
    "tcnum_gemm_fit_options": GemmFitOptions,
}  # fmt: skip

_Text = POINTER(c_char_p)  # the library writes the address of a text there, which the caller frees
_Handle = POINTER(c_void_p)

# Arguments of the functions that return a tcnum_status; OTHERS has the result types of the rest, too.
FUNCTIONS: dict[str, list[Any]] = {
    "tcnum_format_at": [c_size_t, POINTER(FormatInfo)],
    "tcnum_format_find": [c_char_p, POINTER(FormatInfo)],
    "tcnum_format_define": [c_char_p, c_int, c_int, c_int, c_char_p, c_int, POINTER(FormatInfo)],
    "tcnum_encode": [POINTER(c_double), c_size_t, c_char_p, c_char_p, c_char_p, c_void_p, c_size_t],
    "tcnum_encode_floats": [POINTER(c_float), c_size_t, c_char_p, c_char_p, c_char_p, c_void_p, c_size_t],
    "tcnum_encode_integers": [c_void_p, c_int, c_size_t, c_char_p, c_char_p, c_char_p, c_void_p, c_size_t],
    "tcnum_decode": [c_void_p, c_size_t, c_char_p, POINTER(c_double), c_size_t],
    "tcnum_decode_floats": [c_void_p, c_size_t, c_char_p, POINTER(c_float), c_size_t],
    "tcnum_arch_at": [c_size_t, POINTER(ArchInfo)],
    "tcnum_arch_find": [c_char_p, POINTER(ArchInfo)],
    "tcnum_instruction_at": [c_char_p, c_size_t, POINTER(InstructionInfo)],
    "tcnum_instruction_find": [c_char_p, c_char_p, POINTER(InstructionInfo)],
    "tcnum_instruction_for": [c_char_p, c_char_p, c_char_p, POINTER(InstructionInfo)],
    "tcnum_datapath_find": [c_char_p, c_char_p, c_char_p, _Handle],
    "tcnum_datapath_at": [c_char_p, c_char_p, c_size_t, _Handle],
    "tcnum_datapath_from_json": [c_char_p, _Handle],
    "tcnum_datapath_read": [c_char_p, _Handle],
    "tcnum_datapath_to_json": [c_void_p, _Text],
    "tcnum_datapath_describe": [c_void_p, POINTER(DatapathInfo)],
    "tcnum_matrix_view": [c_void_p, POINTER(View)],
    "tcnum_matmul": [POINTER(View), POINTER(View), POINTER(View), POINTER(MatmulOptions), _Handle],
    "tcnum_plan_at": [c_size_t, POINTER(PlanInfo)],
    "tcnum_plan_find": [c_char_p, c_char_p, c_char_p, _Handle],
    "tcnum_plan_of_cublaslt": [POINTER(CublasLtConfiguration), _Handle],
    "tcnum_plan_from_json": [c_char_p, _Handle],
    "tcnum_plan_read": [c_char_p, _Handle],
    "tcnum_plan_to_json": [c_void_p, _Text],
    "tcnum_gemm": [c_void_p, POINTER(View), POINTER(View), POINTER(GemmOptions), _Handle],
    "tcnum_gemm_error": [POINTER(View), POINTER(View), POINTER(View), POINTER(GemmOptions), _Text],
    "tcnum_tiles_new": [c_char_p, c_char_p, c_size_t, c_size_t, c_size_t, _Handle],
    "tcnum_tiles_of_datapath": [c_void_p, c_size_t, c_size_t, c_size_t, _Handle],
    "tcnum_tiles_read": [c_char_p, c_int, _Handle],
    "tcnum_tiles_write": [c_void_p, c_char_p],
    "tcnum_tiles_tensor": [c_void_p, c_char_p, POINTER(Tensor)],
    "tcnum_tiles_set_text": [c_void_p, c_char_p, c_char_p],
    "tcnum_emulate": [c_void_p, c_void_p, c_uint],
    "tcnum_emulate_exact": [c_void_p, c_void_p],
    "tcnum_verify": [c_void_p, c_void_p, c_uint, POINTER(Comparison)],
    "tcnum_diff": [c_void_p, c_char_p, c_void_p, c_char_p, c_uint64, _Text],
    "tcnum_explain": [c_void_p, c_size_t, c_void_p, _Text],
    "tcnum_explain_gemm": [c_void_p, c_void_p, POINTER(View), POINTER(View), POINTER(GemmOptions), c_size_t, c_size_t, _Text],
    "tcnum_probe": [c_char_p, c_char_p, Oracle, c_void_p, POINTER(ProbeOptions), _Text],
    "tcnum_probe_dot": [POINTER(Dot), Oracle, c_void_p, POINTER(ProbeOptions), _Text],
    "tcnum_probe_tiles": [c_void_p, POINTER(ProbeOptions), _Text],
    "tcnum_fit_gemm": [POINTER(GemmSubject), Multiply, c_void_p, POINTER(GemmFitOptions), _Text],
    "tcnum_fit_gemm_matrices": [c_char_p, POINTER(View), POINTER(View), POINTER(View), POINTER(GemmFitOptions), _Text],
}  # fmt: skip
OTHERS = {
    "tcnum_version": (c_char_p, []),
    "tcnum_status_text": (c_char_p, [c_int]),
    "tcnum_message": (c_char_p, []),
    "tcnum_free": (None, [c_void_p]),
    "tcnum_format_count": (c_size_t, []),
    "tcnum_arch_count": (c_size_t, []),
    "tcnum_plan_count": (c_size_t, []),
    "tcnum_datapath_free": (None, [c_void_p]),
    "tcnum_matrix_free": (None, [c_void_p]),
    "tcnum_plan_free": (None, [c_void_p]),
    "tcnum_tiles_free": (None, [c_void_p]),
    "tcnum_tiles_text": (c_char_p, [c_void_p, c_char_p]),
    "tcnum_tiles_key": (c_char_p, [c_void_p, c_size_t]),
}


def _find() -> str:
    """The library: TCNUM_LIBRARY; the package's own; that of the checkout that the package lies in; the system's."""
    name = "libtcnum.so.0"
    if chosen := os.environ.get("TCNUM_LIBRARY"):
        return chosen
    here = pathlib.Path(__file__).resolve().parent
    for path in (here / name, here.parents[1] / "build" / name):
        if path.exists():
            return str(path)
    return ctypes.util.find_library("tcnum") or name


def _load() -> ctypes.CDLL:
    path = _find()
    try:
        library = ctypes.CDLL(path)
    except OSError as error:
        raise ImportError(
            f"tcnum: {path} cannot be loaded ({error}); expected `pip install ./python`, a library that the "
            "system finds, or its path in TCNUM_LIBRARY"
        ) from error
    everything = {name: (c_int, arguments) for name, arguments in FUNCTIONS.items()} | OTHERS
    for name, (result, arguments) in everything.items():
        try:
            function = getattr(library, name)
        except AttributeError as error:
            raise ImportError(
                f"tcnum: {path} has no {name}; expected a library as new as this package, such as that of a new "
                "`pip install ./python`"
            ) from error
        function.restype, function.argtypes = result, arguments
    return library


library = _load()


_INTEGERS: tuple[type, ...] = (c_size_t, c_uint, c_uint64, c_int)

# The names by which callers of the package know arguments that are numbers.
_NUMBERS = {
    "tcnum_tiles_new": {2: "count", 3: "m", 4: "n"}, "tcnum_tiles_of_datapath": {1: "count", 2: "m", 3: "n"},
    "tcnum_emulate": {2: "threads"}, "tcnum_verify": {2: "threads"}, "tcnum_diff": {4: "seed"},
}  # fmt: skip


def _fitting(name: str, value: object, kind: type) -> object:
    """Refuses a number that does not fit: ctypes would cut its high bits in silence."""
    if kind not in _INTEGERS or isinstance(value, _INTEGERS):
        return value
    bits = 8 * ctypes.sizeof(kind)
    least, most = (-(1 << (bits - 1)), (1 << (bits - 1)) - 1) if kind is c_int else (0, (1 << bits) - 1)
    try:
        number = operator.index(value)  # type: ignore[arg-type]
    except TypeError:
        number = None
    if number is None or not least <= number <= most:
        raise InputError(f"{name}: is {_shown(value)}; expected a whole number from {least} to {most}")
    return number


def call(name: str, *arguments: object) -> None:
    """Calls a function that returns a status, and raises the error that the status stands for."""
    names = _NUMBERS.get(name, {})
    fitting = [
        _fitting(names.get(i, name), value, kind) for i, (value, kind) in enumerate(zip(arguments, FUNCTIONS[name]))
    ]
    status = getattr(library, name)(*fitting)
    if status != OK:
        message = library.tcnum_message().decode(errors="replace")
        raise _ERRORS.get(status, InternalError)(message)


def sized(structure: type[Structure], **fields: object) -> Structure:
    """A structure that begins with its own size."""
    kinds = dict(structure._fields_)  # type: ignore[arg-type]
    fitting = {name: _fitting(name, value, kinds[name]) for name, value in fields.items()}
    return structure(size=ctypes.sizeof(structure), **fitting)


def _shown(value: object, most: int = 60) -> str:
    """A short text on one line. Python refuses to write integers of thousands of digits."""
    try:
        text = repr(value)
    except (ValueError, RecursionError):
        text = f"a {type(value).__name__}"
    return text if len(text) <= most else text[:most] + "…"


def flag(name: str, value: object) -> int:
    """A yes or no, as C takes it."""
    try:
        number = operator.index(value)  # type: ignore[arg-type]
    except TypeError:
        number = None
    if number not in (0, 1):
        raise InputError(f"{name}: is {_shown(value)}; expected True or False")
    return number


def real(name: str, value: Any) -> Any:
    """A number that may be left out, as C takes it."""
    if value is None:
        return None
    try:
        if isinstance(value, (str, bytes)):
            raise TypeError
        return ctypes.pointer(c_double(float(value)))
    except (TypeError, ValueError, OverflowError) as error:
        raise InputError(f"{name}: is {_shown(value)}; expected a number that a double holds") from error


def json_of(name: str, value: object) -> bytes:
    """A description as the library reads it."""
    try:
        return json.dumps(value).encode()
    except (TypeError, ValueError, RecursionError) as error:
        raise InputError(f"{name}: {error}; expected a value that JSON can hold") from error


def described(structure: type[Structure], name: str, *arguments: object) -> Structure:
    """The structure that a function fills."""
    info = sized(structure)
    call(name, *arguments, ctypes.byref(info))
    return info


def text_of(name: str, *arguments: object) -> str:
    """A text that a function hands back through its last argument."""
    text = c_char_p()
    call(name, *arguments, ctypes.byref(text))
    try:
        return (text.value or b"").decode()
    finally:
        library.tcnum_free(ctypes.cast(text, c_void_p))


class Handle:
    """A handle of the library, freed with this object."""

    __slots__ = ("_free", "value")

    def __init__(self, free: str, create: str, *arguments: object):
        self.value = c_void_p()
        self._free = getattr(library, free)
        call(create, *arguments, ctypes.byref(self.value))

    def __del__(self) -> None:
        if getattr(self, "value", None):
            self._free(self.value)
            self.value = c_void_p()


def encoded(text: str | os.PathLike[str] | None, name: str) -> bytes | None:
    """A text or path as C takes it. ``name`` is that of the argument, for messages."""
    if text is None:
        return None
    if not isinstance(text, (str, os.PathLike)):
        raise InputError(f"{name}: is {_shown(text)}; expected a text")
    data = os.fsencode(text)
    if b"\0" in data:
        raise InputError(f"{name}: {text!r} has a zero character; expected a text without one")
    return data
