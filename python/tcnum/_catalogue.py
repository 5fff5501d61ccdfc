"""The catalogue: architectures, their instructions, and the datapaths of these."""

from __future__ import annotations

import ctypes
import dataclasses
import functools
import json
import os
from typing import Any

from . import _library
from ._library import InputError
from ._formats import Format, format_of


@dataclasses.dataclass(frozen=True)
class Arch:
    name: str  #: "sm_90"
    family: str  #: "NVIDIA Hopper"

    def __str__(self) -> str:
        return self.name


@dataclasses.dataclass(frozen=True)
class Instruction:
    """An instruction of an architecture. That of wgmma with N = 8 stands for all N."""

    arch: str
    name: str  #: "wgmma.m64n8k32.f32.e4m3.e4m3"
    ptx: str
    m: int
    n: int
    k: int
    is_sparse: bool
    products: int  #: of one dot product: k, or half of it if the instruction is sparse
    a: Format
    b: Format
    c: Format
    d: Format
    accounts: int  #: datapaths that the catalogue has of it

    def __str__(self) -> str:
        return self.name


def _instruction(arch: str, info: Any) -> Instruction:
    a, b, c, d = (format_of(f.decode()) for f in (info.a, info.b, info.c, info.d))
    return Instruction(
        arch, info.name.decode(), info.ptx.decode(), info.m, info.n, info.k, bool(info.is_sparse), info.products,
        a, b, c, d, info.accounts,
    )  # fmt: skip


@functools.cache
def archs() -> tuple[Arch, ...]:
    """All architectures.

    >>> archs()[0]
    Arch(name='sm_70', family='NVIDIA Volta')
    """
    count = _library.library.tcnum_arch_count()
    infos = [_library.described("tcnum_arch_at", i) for i in range(count)]
    return tuple(Arch(info.name.decode(), info.family.decode()) for info in infos)


@functools.cache
def instructions(arch: str = "sm_90") -> tuple[Instruction, ...]:
    """All instructions of an architecture."""
    name = _library.encoded(arch, "arch")
    count = _library.described("tcnum_arch_find", name).instructions
    infos = [_library.described("tcnum_instruction_at", name, i) for i in range(count)]
    return tuple(_instruction(arch, info) for info in infos)


@functools.cache
def instruction(arch: str, name: str) -> Instruction:
    """An instruction by its name, of any N, or by its PTX spelling.

    >>> instruction("sm_90", "wgmma.m64n256k16.f32.bf16.bf16").k
    16
    """
    where = _library.encoded(arch, "arch")
    return _instruction(arch, _library.described("tcnum_instruction_find", where, _library.encoded(name, "instr")))


def instruction_for(arch: str, a: Format, b: Format) -> str:
    """The instruction that products of operands of these formats are made of."""
    where = _library.encoded(arch, "arch")
    return _library.described("tcnum_instruction_for", where, a.text.encode(), b.text.encode()).name.decode()


class Datapath:
    """How one dot product gets its bits; `docs/datapath.md` explains the description.

    Made by `datapath()`. It never changes; threads may share one. Two are equal if their descriptions are.
    """

    def __init__(self, handle: _library.Handle):
        self._handle = handle
        info = _library.described("tcnum_datapath_describe", handle.value)
        self.k: int = info.k  #: products of one dot product
        self.a, self.b, self.c, self.d = (format_of(f.decode()) for f in (info.a, info.b, info.c, info.d))
        self.scale_format = None if info.scale_format is None else format_of(info.scale_format.decode())
        self.scale_block: int = info.scale_block  #: products that share a block scale; 0: it has none
        self.account: str = info.account.decode()  #: "" if it is not from the catalogue
        self.origin: str = info.origin.decode()  #: which recorded answers, or which publication
        self.refuted_by: str = info.refuted_by.decode()  #: answers of the hardware that it does not explain
        self.is_fitted = bool(info.is_fitted)  #: to recorded answers of the hardware, by tcnum
        #: how well it is known: "measured_here", "published_and_checked", "published_only"; "" if not of the catalogue
        self.standing: str = info.standing.decode()
        self.answers: int = info.answers  #: of the hardware, published by others, that it was checked against
        #: what a compiler makes of the instruction where the hardware has none of its kind, such as "HMMA of fp16"; or ""
        self.lowered_to: str = info.lowered_to.decode()

    @functools.cached_property
    def json(self) -> dict[str, Any]:
        """The description; `datapath()` makes an equal datapath from it."""
        return json.loads(_library.text_of("tcnum_datapath_to_json", self._handle.value))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Datapath) and self.json == other.json

    def __hash__(self) -> int:
        return hash(json.dumps(self.json, sort_keys=True))

    def __reduce__(self) -> Any:
        """Pickles the description and what the catalogue says about it."""
        return datapath, (self.json,), {name: value for name, value in vars(self).items() if name != "_handle"}

    def __repr__(self) -> str:
        account = f" ({self.account})" if self.account else ""
        return f"<tcnum.Datapath{account}: {self.k} products {self.a} · {self.b} + {self.c} → {self.d}>"


_FREE = "tcnum_datapath_free"


def datapath(
    source: str | os.PathLike[str] | dict[str, Any] | None = None,
    *,
    arch: str | None = None,
    instr: str | None = None,
    account: str | None = None,
) -> Datapath:
    """A datapath from a JSON file, from a dict, or from the catalogue, by its parts or as "ARCH:INSTRUCTION[:ACCOUNT]".

    >>> datapath(arch="sm_90", instr="wgmma.m64n8k32.f32.e4m3.e4m3").json["tree"]["fraction_bits"]  # doctest: +SKIP
    13
    """
    if source is None:
        if arch is None or instr is None:
            raise InputError("datapath: expected a file, a dict, or arch and instr")
        return Datapath(
            _library.Handle(
                _FREE, "tcnum_datapath_find", _library.encoded(arch, "arch"), _library.encoded(instr, "instr"),
                _library.encoded(account, "account"),
            )  # fmt: skip
        )
    if arch is not None or instr is not None or account is not None:
        raise InputError("datapath: there are a source and an instruction; expected only one of the two")
    if isinstance(source, dict):
        return Datapath(_library.Handle(_FREE, "tcnum_datapath_from_json", _library.json_of("datapath", source)))
    return Datapath(_library.Handle(_FREE, "tcnum_datapath_read", _library.encoded(source, "datapath")))


def datapath_of(what: Any) -> Datapath:
    """A datapath, or what `datapath()` makes one of."""
    return what if isinstance(what, Datapath) else datapath(what)


@dataclasses.dataclass(frozen=True)
class Entry:
    """One account of the datapath of an instruction."""

    instruction: Instruction
    datapath: Datapath


def catalogue(arch: str = "sm_90", instr: str | None = None) -> list[Entry]:
    """Every account of the datapath of every instruction of an architecture, or of one; those to believe come first."""
    chosen = instructions(arch) if instr is None else (instruction(arch, instr),)
    return [
        Entry(
            each,
            Datapath(_library.Handle(_FREE, "tcnum_datapath_at", arch.encode(), each.name.encode(), ctypes.c_size_t(i))),
        )
        for each in chosen
        for i in range(each.accounts)
    ]
