"""Compares two datapaths."""

from __future__ import annotations

import dataclasses
import json
from typing import Any

from . import _library
from ._catalogue import Datapath, datapath, datapath_of, instruction_for
from ._formats import format_of
from ._library import InputError


@dataclasses.dataclass(frozen=True)
class Difference:
    """The result of `diff()`; ``str()`` gives a summary."""

    document: dict[str, Any]  #: the JSON of `tcnum diff`, tcnum.diff/1

    @property
    def equal(self) -> bool:
        """Whether the descriptions are the same, so that results never differ."""
        return bool(self.document["equal"])

    @property
    def tried(self) -> int:
        """Dot products that both computed."""
        return int(self.document["tried"])

    @property
    def different(self) -> int:
        """Dot products whose results differ."""
        return int(self.document["different"])

    @property
    def smallest(self) -> dict[str, Any] | None:
        """Operands ("a", "b", "c") and results ("expected": the one's, "observed": the other's) as codes; None if no
        difference was found."""
        return self.document["smallest"]  # type: ignore[no-any-return]

    @property
    def decisive(self) -> dict[str, tuple[str, str]]:
        """The fields that alone cause the difference there, with their values in the one and in the other."""
        return {f["field"]: (f["one"], f["other"]) for f in self.document["fields"] if f["decides"]}

    def __str__(self) -> str:
        if self.equal:
            return "they never differ: the descriptions are the same"
        if self.smallest is None:
            return f"no difference in {self.tried} dot products"
        fields = "; ".join(f"{name}: {one}, {other}" for name, (one, other) in self.decisive.items())
        return f"{self.different} of {self.tried} dot products differ{f' ({fields})' if fields else ''}"


def _side(given: Any, a: Any, b: Any, instr: str | None, account: str | None) -> tuple[Datapath, str]:
    if not isinstance(given, str):
        return datapath_of(given), ""
    if given.endswith(".json"):
        return datapath(given), given
    if instr is None:
        if a is None:
            raise InputError("format: is None; expected the format of the operands, such as 'fp16', or an instr")
        first = format_of(a)
        second = first if b is None else format_of(b)
        instr = instruction_for(given, first, second)
    return datapath(arch=given, instr=instr, account=account), f"{given} {instr}"


def diff(one: Any, other: Any, format: Any = None, *, instr: str | tuple[str, str] | None = None,
         account: str | tuple[str | None, str | None] | None = None, seed: int = 1) -> Difference:  # fmt: skip
    """Whether, how often and why two datapaths give different results.

    ``one``, ``other``: architectures, `Datapath`s, descriptions as dicts, or files (".json"). Of an architecture,
    ``format`` chooses the instruction that products of it are made of, and ``instr`` one by name (or one for each);
    ``account`` chooses whose datapath.

    >>> found = diff("sm_80", "sm_90", "fp16")
    >>> sorted(found.decisive)
    ['units.sum.fraction_bits']
    >>> diff("sm_80", "sm_86", "fp16").equal
    True

    Raises InputError if their formats or block scales differ.
    """
    pair = format if isinstance(format, tuple) else (format, None)
    instrs = instr if isinstance(instr, tuple) else (instr, instr)
    accounts = account if isinstance(account, tuple) else (account, account)
    (x, x_name), (y, y_name) = (
        _side(given, pair[0], pair[1], instrs[i], accounts[i]) for i, given in enumerate((one, other))
    )
    text = _library.text_of("tcnum_diff", x._handle.value, x_name.encode(), y._handle.value, y_name.encode(), seed)
    return Difference(json.loads(text))
