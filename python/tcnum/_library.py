"""Loads libtcnum.so, and calls it as include/tcnum/tcnum.h declares it."""

from __future__ import annotations

import ctypes
import ctypes.util
import json
import operator
import os
import pathlib
from ctypes import Structure, c_char_p, c_double, c_int, c_size_t, c_uint, c_uint64, c_void_p
from typing import Any

from ._header import Header


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


_HERE = pathlib.Path(__file__).resolve().parent  # a wheel has the header and the library, a checkout has them elsewhere
HEADER = _HERE / "tcnum.h" if (_HERE / "tcnum.h").exists() else _HERE.parents[1] / "include/tcnum/tcnum.h"
header = Header(HEADER.read_text())
c = header.types  #: structures and types of callbacks, by their names in C


def _find() -> str:
    """The library: TCNUM_LIBRARY; the package's own; that of the checkout that the package lies in; the system's."""
    name = "libtcnum.so.0"
    if chosen := os.environ.get("TCNUM_LIBRARY"):
        return chosen
    for path in (_HERE / name, _HERE.parents[1] / "build" / name):
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
    for name, declared in header.functions.items():
        try:
            function = getattr(library, name)
        except AttributeError as error:
            raise ImportError(
                f"tcnum: {path} has no {name}; expected a library as new as this package, such as that of a new "
                "`pip install ./python`"
            ) from error
        function.restype, function.argtypes = declared.result, list(declared.arguments.values())
    return library


library = _load()


_INTEGERS: tuple[type, ...] = (c_size_t, c_uint, c_uint64, c_int)

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
    declared = header.functions[name].arguments
    fitting = [_fitting(argument, value, declared[argument]) for argument, value in zip(declared, arguments)]
    status = getattr(library, name)(*fitting)
    if status != OK:
        message = library.tcnum_message().decode(errors="replace")
        raise _ERRORS.get(status, InternalError)(message)


def sized(name: str, **fields: object) -> Structure:
    """A structure of that name in C, which begins with its own size."""
    structure = getattr(c, name)
    kinds = dict(structure._fields_)
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


def described(name: str, *arguments: object) -> Structure:
    """The structure that a function fills through its last argument."""
    info = sized([*header.functions[name].arguments.values()][-1]._type_.__name__)
    call(name, *arguments, ctypes.byref(info))
    return info


def text_of(name: str, *arguments: object) -> str:
    """A text that a function hands back through its last argument."""
    text = c_char_p()
    call(name, *arguments, ctypes.byref(text))
    try:
        return (text.value or b"").decode()
    finally:
        library.tcnum_free(text)


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
