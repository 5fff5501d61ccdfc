"""Declares for ctypes what a header in C declares: structures, types of callbacks and functions."""

from __future__ import annotations

import ctypes
import re
import types
from typing import Any, NamedTuple

_TYPES = {
    "void": None, "char": ctypes.c_char, "int": ctypes.c_int, "unsigned": ctypes.c_uint, "float": ctypes.c_float,
    "double": ctypes.c_double, "size_t": ctypes.c_size_t, "uint64_t": ctypes.c_uint64,
}  # fmt: skip
_PARTS = re.compile(
    r"typedef\s+enum\s+\w+\s*\{[^}]*\}\s*(?P<enum>\w+);"
    r"|typedef\s+struct\s+\w+\s*\{(?P<members>[^}]*)\}\s*(?P<struct>\w+);"
    r"|typedef\s+int\s*\(\*(?P<callback>\w+)\)\((?P<taken>[^)]*)\);"
    r"|TCNUM_API\s+(?P<result>[\w\s*]+?)(?P<function>tcnum_\w+)\((?P<arguments>[^)]*)\);"
)


class Function(NamedTuple):
    result: Any
    arguments: dict[str, Any]  #: by name


class Header:
    """What the text of a header declares: tcnum.h, and what is written as it is."""

    def __init__(self, text: str):
        self.functions: dict[str, Function] = {}
        self.types = types.SimpleNamespace()
        for part in _PARTS.finditer(re.sub(r"/\*.*?\*/|^#.*?$", "", text, flags=re.S | re.M)):
            if part["enum"]:
                setattr(self.types, part["enum"], ctypes.c_int)
            elif part["struct"]:
                fields = {"_fields_": [each for line in part["members"].split(";") for each in self._members(line)]}
                setattr(self.types, part["struct"], type(part["struct"], (ctypes.Structure,), fields))
            elif part["callback"]:
                setattr(self.types, part["callback"], self._callback(part["taken"]))
            else:
                arguments = {} if part["arguments"] == "void" else self._arguments(part["arguments"])
                self.functions[part["function"]] = Function(self._type(part["result"]), arguments)

    def _members(self, line: str) -> list[tuple[str, Any]]:
        """The members that one declaration has: "const char *a, *b", "size_t shape[3]", "int (*f)(void* user)"."""
        if callback := re.search(r"\(\*(\w+)\)\((.*)\)", line, re.S):
            return [(callback[1], self._callback(callback[2]))]
        if not line.strip():
            return []
        base, first = re.fullmatch(r"\s*((?:const\s+)?\w+\b[\s*const]*?)((?:\*\s*)*\w+(?:\[\d+\])?(?:,.*)?)\s*", line, re.S).groups()  # type: ignore[union-attr]
        members = []
        for each in first.split(","):
            stars, name, count = re.fullmatch(r"\s*([\s*]*)(\w+)(?:\[(\d+)\])?\s*", each).groups()  # type: ignore[union-attr]
            kind = self._type(base + stars)
            members.append((name, kind * int(count) if count else kind))
        return members

    def _arguments(self, text: str) -> dict[str, Any]:
        return {name: kind for each in text.split(",") for name, kind in self._members(each)}

    def _callback(self, arguments: str) -> Any:
        return ctypes.CFUNCTYPE(ctypes.c_int, *self._arguments(arguments).values())

    def _type(self, text: str) -> Any:
        """A type as C writes it. A type without a definition is a handle: its address is all that is known."""
        name, stars = text.replace("const", " ").replace("*", " * ").split()[0], text.count("*")
        kind = _TYPES[name] if name in _TYPES else getattr(self.types, name, None)
        if stars and (kind is None or kind is ctypes.c_char):
            kind, stars = ctypes.c_void_p if kind is None else ctypes.c_char_p, stars - 1
        for _ in range(stars):
            kind = ctypes.POINTER(kind)
        return kind
