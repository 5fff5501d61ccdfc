"""Plans: how a kernel goes through k, and what it does with the sums. docs/plans.md says what each field means."""

from __future__ import annotations

import copy
import ctypes
import functools
import json
import os
import pathlib
from typing import Any

from . import _library
from ._library import InputError
from ._formats import Format, format_of

_FREE = "tcnum_plan_free"


class Plan:
    """A plan of a matrix product, by name, from JSON or from a file; `matmul(plan=…)` follows it.

    >>> Plan.named("nvjet-fp8-slow")
    <tcnum.Plan 'nvjet-fp8-slow'>
    >>> Plan.named("nvjet").with_(split_k={"chunk": 512}).json("fp16")["split_k"]["chunk"]
    512

    It never changes; `with_()` makes another. Two are equal if they were made alike.
    """

    def __init__(self, source: dict[str, Any]):
        """From ``tcnum.gemm_plan/1``."""
        self._name: str | None = None
        self._output: Format | None = None
        self._fields = json.loads(_library.json_of("plan", source))
        self._bound("fp32")  # says at once what is wrong

    @classmethod
    def named(cls, name: str, output: Any = None) -> "Plan":
        """One that has a name, such as "nvjet"; `names()` has all. ``output``: another format of D than its usual.

        Which instruction it is made of depends on the operands.
        """
        if name not in cls.names():
            raise InputError(f"plan: {name!r} is unknown; expected one of {', '.join(cls.names())}")
        plan = cls.__new__(cls)
        plan._name, plan._fields = name, {}
        plan._output = None if output is None else format_of(output)
        return plan

    @classmethod
    def read(cls, path: str | os.PathLike[str]) -> "Plan":
        """From a file of JSON."""
        handle = _library.Handle(_FREE, "tcnum_plan_read", _library.encoded(path, "path"))
        return cls(json.loads(_library.text_of("tcnum_plan_to_json", handle.value)))

    @classmethod
    def from_cublaslt(
        cls,
        config: dict[str, int],
        *,
        a: Any,
        d: Any,
        k: int,
        b: Any = None,
        fast_accumulation: bool = False,
        m: int = 0,
        n: int = 0,
        layout: str = "tn",
        a_lead: int = 0,
        b_lead: int = 0,
        epilogue: bool = False,
        adds_to_d: bool = False,
    ) -> "Plan":
        """What an algorithm of cuBLASLt's does on Hopper, from what the library says of it.

        ``config``: "id", "stages", "split_k", "reduction" and "custom" (fp64 alone needs it), as
        cublasLtMatmulAlgoConfigGetAttribute() gives them (others are not needed); ``a``, ``b`` (``a``'s, unless said) and ``d``: formats; ``k``: that of the product.
        Where "split_k" is -1 the library divides k as the device has room: this takes "tile", "cluster", "swizzle" and "workspace" (bytes) too, "clusters_at_once", which is what
        cudaOccupancyMaxActiveClusters() says, and ``m`` and ``n``, the rows and columns of a D by columns. ``layout``: of A and B by columns, turned or not, "tn", "nn", "nt" or "tt" (others than
        the first need ``m`` and ``n``, too); a D by rows is that of B and A turned, such as "nn" of torch.matmul(). ``a_lead`` and ``b_lead``: leading dimensions; 0 is
        what a column has, and no more.

        ``epilogue``: whether alpha is not 1, or there is a C or a bias, as of torch.addmm(): algorithms of which nobody has measured what they do with them
        are then refused, and ``m`` and ``n`` are needed. ``adds_to_d``: whether C is what D holds before, and beta is 1.

        >>> config = {"id": 66, "stages": 36, "split_k": 3, "reduction": 2}
        >>> plan = Plan.from_cublaslt(config, a="fp8e4m3", d="bf16", k=4096, fast_accumulation=True)
        >>> plan.json()["split_k"]["chunk"]
        1408

        Raises InputError for algorithms whose order of additions is not known.
        """
        missing = {"id"} - config.keys()
        if missing or not all(isinstance(value, int) for value in config.values()):
            raise InputError(f"config: is {config}; expected numbers, such as id, stages, split_k, reduction, custom")
        if layout not in ("tn", "nn", "nt", "tt"):
            raise InputError(f"layout: is {layout!r}; expected 'tn', 'nn', 'nt' or 'tt'")
        attributes = ("id", "stages", "split_k", "reduction", "custom", "tile", "cluster", "swizzle", "workspace")
        formats = {name: format_of(f).text.encode() for name, f in {"a": a, "b": b or a, "d": d}.items()}
        flags = {"fast_accumulation": fast_accumulation, "epilogue": epilogue, "adds_to_d": adds_to_d}
        flags = {name: _library.flag(name, value) for name, value in flags.items()}
        configuration = _library.sized(
            "tcnum_cublaslt_configuration",
            **formats,
            **{name: config.get(name, int(name == "split_k")) for name in (*attributes, "clusters_at_once")},
            **{"has_epilogue" if name == "epilogue" else name: value for name, value in flags.items()},
            **{"m": m, "n": n, "k": k, "a_lead": a_lead, "b_lead": b_lead},
            a_k_outermost=int(layout[0] == "n"),
            b_k_outermost=int(layout[1] == "t"),
        )
        handle = _library.Handle(_FREE, "tcnum_plan_of_cublaslt", ctypes.byref(configuration))
        return cls(json.loads(_library.text_of("tcnum_plan_to_json", handle.value)))

    @staticmethod
    @functools.cache
    def names() -> dict[str, str]:
        """The named plans, and what they do."""
        return {info.name.decode(): info.does.decode() for info in _named()}

    @property
    def name(self) -> str:
        return self._name or str(self._fields.get("name", ""))

    def with_(self, **fields: Any) -> "Plan":
        """A copy with other values of these fields of the JSON: ``plan.with_(split_k={"chunk": 1408}, output="bf16")``."""
        plan = Plan.__new__(Plan)
        plan._name, plan._output = self._name, self._output
        if "output" in fields:
            fields["output"] = format_of(fields["output"]).text
        plan._fields = {**copy.deepcopy(self._fields), **json.loads(_library.json_of("plan", fields))}
        plan._bound(plan._usual_operands())
        return plan

    def json(self, operands: Any = None) -> dict[str, Any]:
        """``tcnum.gemm_plan/1``. ``operands``: the format of A and B, for a named plan."""
        f = self._usual_operands() if operands is None else format_of(operands).text
        return json.loads(_library.text_of("tcnum_plan_to_json", self._bound(f).value))

    def _usual_operands(self) -> str:
        for info in _named():
            if self._name is not None and info.name.decode() == self._name:
                return info.operands[0].decode()
        return "fp32"

    @functools.lru_cache(maxsize=16)  # noqa: B019: there are few plans, and they live long
    def _bound(self, operands: str) -> _library.Handle:
        """The library's plan for operands of that format."""
        if self._name is None:
            return _library.Handle(_FREE, "tcnum_plan_from_json", _library.json_of("plan", self._fields))
        output = None if self._output is None else self._output.text.encode()
        handle = _library.Handle(_FREE, "tcnum_plan_find", self._name.encode(), operands.encode(), output)
        if not self._fields:
            return handle
        fields = {**json.loads(_library.text_of("tcnum_plan_to_json", handle.value)), **self._fields}
        return _library.Handle(_FREE, "tcnum_plan_from_json", _library.json_of("plan", fields))

    def _made_of(self) -> str:
        return json.dumps([self._name, self._output and self._output.text, self._fields], sort_keys=True)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Plan) and self._made_of() == other._made_of()

    def __hash__(self) -> int:
        return hash(self._made_of())

    def __repr__(self) -> str:
        changed = "".join(f", {key}={value!r}" for key, value in self._fields.items()) if self._name else ""
        return f"<tcnum.Plan {self.name!r}{changed}>"


@functools.cache
def _named() -> list[Any]:
    count = _library.library.tcnum_plan_count()
    return [_library.described("tcnum_plan_at", i) for i in range(count)]


def plan_of(what: Any) -> Plan:
    """A plan, the name of one, its JSON, or a file of it."""
    if isinstance(what, Plan):
        return what
    if isinstance(what, dict):
        return Plan(what)
    if isinstance(what, os.PathLike) or (isinstance(what, str) and pathlib.PurePath(what).suffix == ".json"):
        return Plan.read(what)
    return Plan.named(what)
