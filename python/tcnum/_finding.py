"""Finds the datapath behind an oracle, and the plan behind a matrix product."""

from __future__ import annotations

import ctypes
import json
from collections.abc import Callable
from typing import Any

import numpy as np

from . import _arrays, _interrupts, _library
from ._arrays import Codes
from ._library import InputError
from ._catalogue import Datapath, datapath
from ._formats import format_of
from ._plans import Plan
from ._products import DEFAULT_ARCH
from ._tiles import Tiles


class Report:
    """The result of `probe()`: the JSON of ``tcnum probe`` (tcnum.probe/1), and its main parts."""

    def __init__(self, document: dict[str, Any]):
        self.json = document
        self._found = document["instructions"][0]

    @property
    def verdict(self) -> str:
        """"identified", "ambiguous" or "unexplained"."""
        return self._found["verdict"]

    @property
    def datapath(self) -> Datapath:
        """One that explains every answer; if unexplained, the nearest that was found."""
        return datapath(self._found["datapath"])

    @property
    def summary(self) -> dict[str, Any]:
        """Its properties by name: "block_k", "fraction_bits", "output_rounding" and others."""
        return self._found["summary"]

    @property
    def rejected(self) -> list[dict[str, Any]]:
        """Values of properties, each with an answer that refutes it."""
        return self._found["rejected"]

    @property
    def counterexample(self) -> dict[str, Any] | None:
        """If unexplained: a small problem ("a", "b", "c") that the nearest datapath gets wrong, in codes."""
        return self._found.get("counterexample")

    def __str__(self) -> str:
        lines = [f"{self._found['name']}: {self.verdict}"]
        lines += [f"  {key}: {value}" for key, value in self.summary.items()]
        surviving, considered = (self._found["hypotheses"][key] for key in ("surviving", "considered"))
        lines.append(f"  {surviving} of {considered} hypotheses explain {self._found['probes']} answers")
        if (wrong := self.counterexample) is not None:
            pairs = zip(wrong["a"], wrong["b"])
            lines.append("  but not: " + " + ".join([wrong["c"]] + [f"{x}·{y}" for x, y in pairs if int(x, 16) or int(y, 16)]))
            lines.append(f"    which should be {wrong['expected']}, and was {wrong['observed']}")
        return "\n".join(lines)

    def __repr__(self) -> str:
        return f"<tcnum.Report: {self.verdict}>"


def _written(answer: Any, to: Codes, name: str) -> None:
    """Writes what a function of the caller returned to the memory of the library."""
    given = _arrays.read(answer, name, to.format if getattr(answer, "dtype", None) == to.bits.dtype else None)
    if given.format != to.format:
        raise InputError(f"{name}: is {given.format}; expected {to.format}")
    if given.shape != to.shape:
        raise InputError(f"{name}: has the shape {given.shape}; expected {to.shape}")
    to.bits[...] = given.codes


_ASKED_TWICE = 16  # one batch in so many is asked twice, beginning with the first


def _check_same(first: Codes, second: Codes, batch: int, any_nan: bool) -> None:
    different = first != second
    if any_nan and first.format.is_floating:
        different &= ~(np.isnan(_arrays.decode(first)) & np.isnan(_arrays.decode(second)))
    if not different.any():
        return
    t, i, j = (int(at) for at in np.argwhere(different)[0])
    digits = 2 + 2 * first.format.bytes
    raise InputError(
        f"oracle: answers differently the second time: batch {batch}, tile {t}, element ({i}, {j}) is "
        f"{int(first.bits[t, i, j]):#0{digits}x} at first and {int(second.bits[t, i, j]):#0{digits}x} then; expected "
        "answers that depend on the operands alone"
    )


class _Borrowed:
    """A handle that the library owns."""

    def __init__(self, value: int):
        self.value = ctypes.c_void_p(value)


def _scales_of(tiles: Tiles) -> tuple[Codes, ...]:
    """The block scales of A and of B, if there are any."""
    try:
        return tiles["SA"], tiles["SB"]
    except InputError:
        return ()


def probe(
    oracle: Callable[..., Any] | Tiles,
    *,
    a: Any = None,
    b: Any = None,
    c: Any = None,
    d: Any = None,
    k: int | None = None,
    scale_block: int | None = None,
    scale_format: Any = None,
    arch: str | None = None,
    instr: str | None = None,
    any_nan: bool = False,
    seed: int = 1,
    threads: int = 0,
    device: str | None = None,
) -> Report:
    """The datapath behind whatever answers dot products.

    ``oracle``: a function of A [T, M, K], B [T, K, N] and C [T, M, N] that returns D [T, M, N]: T products of tiles whose
    elements are independent dot products, as arrays of numpy or ml_dtypes (or `Codes`, where there is no type for a
    format). With block scales it is a function of these and of SA [T, M, blocks] and SB [T, blocks, N]. It is called some
    hundred times. Or `Tiles` with answers, such as a vector file's.

    ``a``, ``b`` (``a``'s, unless said), ``c`` (``d``'s) and ``d`` are formats, ``k`` is the number of products, 1 to 256:
    what the function computes. With ``scale_block`` that many of them share a scale of A's row and one of B's column, of
    ``scale_format`` ("ue8m0", unless said, or "ue4m3"). Or it stands in for an instruction: ``instr`` of ``arch`` ("sm_90").

    >>> def chain(a, b, c):
    ...     with np.errstate(all="ignore"):
    ...         for k in range(a.shape[2]):
    ...             c = c + a[:, :, k, None] * b[:, k, None, :]
    ...     return c
    >>> report = probe(chain, a="fp32", d="fp32", k=4, any_nan=True)
    >>> report.verdict, report.summary["structure"]
    ('identified', 'fp_add_tree')

    The first batch is asked twice, and so is every 16th after it: InputError where the answers differ.

    ``any_nan``: of a NaN, its bits are not looked at, which software mostly leaves to chance. ``seed`` is of random
    operands; ``device`` names what answers, in the report. An exception of the oracle ends it and is raised.
    """
    of_answers = {"device": _library.encoded(device, "device"), "any_nan": _library.flag("any_nan", any_nan)}
    options: Any = _library.sized("tcnum_probe_options", seed=seed, threads=threads, **of_answers)
    of_dot = {"a": a, "b": b, "c": c, "d": d, "k": k, "scale_block": scale_block, "scale_format": scale_format}
    dot = {name: value for name, value in of_dot.items() if value is not None}
    if isinstance(oracle, Tiles):
        if dot or instr is not None or arch is not None:
            raise InputError("oracle: is Tiles, which know their instruction; expected neither formats nor `instr`")
        with _interrupts.guarded() as guard:
            options.progress = guard.fit_progress
            text = _library.text_of("tcnum_probe_tiles", oracle._value, ctypes.byref(options))
        return Report(json.loads(text))
    if not callable(oracle):
        raise InputError(f"oracle: is {oracle!r}; expected a function of A, B and C, or Tiles")
    if (instr is None) == (not dot):
        raise InputError("probe: expected the formats a and d and the number k, or `instr`, and not both")
    for name in ("a", "d", "k"):
        if dot and name not in dot:
            raise InputError(f"{name}: is None; expected {'a number of products' if name == 'k' else 'a format'}")
    if dot and arch is not None:
        raise InputError("arch: is given without `instr`; expected None")
    asked: Callable[..., Any] = oracle

    text = ""
    batches: list[tuple[int, ...]] = []
    with _interrupts.guarded() as guard:
        options.progress = guard.fit_progress

        def answer(_: Any, value: int) -> int:
            def work() -> None:
                tiles = Tiles._of(_Borrowed(value))  # type: ignore[arg-type]
                x, y, z, to = (tiles[name] for name in "ABCD")
                scales = _scales_of(tiles)
                like = _arrays.Operand(x.bits, x.format, "numpy")

                def ask(to: Codes) -> None:
                    # Copies, as the function may keep or change them.
                    operands = (_arrays.given_back(of.bits.copy(), of.format, like) for of in (x, y, z, *scales))
                    _written(asked(*operands), to, "the oracle's D")

                ask(to)
                batches.append(to.shape)
                if len(batches) % _ASKED_TWICE == 1:
                    again = Codes(np.empty_like(to.bits), to.format)
                    ask(again)
                    _check_same(to, again, len(batches), any_nan)

            return guard.run(work)

        if dot:
            named = [*"abcd", "scale_format"]
            formats = {name: format_of(dot[name]).text.encode() for name in named if name in dot}
            sizes = {name: dot[name] for name in ("k", "scale_block") if name in dot}
            what = (ctypes.byref(_library.sized("tcnum_dot", **sizes, **formats)),)
            text = _library.text_of("tcnum_probe_dot", *what, _library.c.tcnum_oracle(answer), None, ctypes.byref(options))
        else:
            by = (_library.encoded(arch or DEFAULT_ARCH, "arch"), _library.encoded(instr, "instr"))
            text = _library.text_of("tcnum_probe", *by, _library.c.tcnum_oracle(answer), None, ctypes.byref(options))
    return Report(json.loads(text))


class GemmReport:
    """The result of `fit_gemm()`: the JSON of ``tcnum gemm fit`` (tcnum.gemm_fit/1)."""

    def __init__(self, document: dict[str, Any]):
        self.json = document

    @property
    def verdict(self) -> str:
        """"identified", "ambiguous" or "unexplained"."""
        return self.json["verdict"]

    @property
    def plan(self) -> Plan:
        """One that explains every element; if unexplained, the nearest that was found."""
        return Plan(self.json["plan"])

    @property
    def open(self) -> dict[str, list[str]]:
        """Fields of the plan for which more than one value explains every element, with these values."""
        return {each["field"]: each["values"] for each in self.json["open"]}

    @property
    def epilogue(self) -> dict[str, Any] | None:
        """How alpha, C and a bias are applied, if an epilogue was given: "verdict", "plan" (with the epilogue), "open"."""
        return self.json.get("epilogue")

    def __repr__(self) -> str:
        return f"<tcnum.GemmReport: {self.verdict}, {self.json['products']} products>"


def fit_gemm(
    product: Callable[[Any, Any], Any] | tuple[Any, Any, Any],
    *,
    arch: str = DEFAULT_ARCH,
    a: Any = None,
    b: Any = None,
    d: Any = None,
    shape: tuple[int, int, int] | None = None,
    epilogue: Callable[..., Any] | None = None,
    seed: int = 1,
    threads: int = 0,
) -> GemmReport:
    """The plan behind a matrix product.

    ``product``: a function of A [M, K] and B [K, N] that returns D [M, N], asked some dozen times with operands of the
    formats ``a`` and ``b`` for a D of the format ``d``, of the ``shape`` (M, N, K); or the arrays (A, B, D) of one
    product that somebody computed.

    ``epilogue``: a function of A, B, alpha, beta, C and bias, such as one that calls torch.addmm(), that returns alpha·A·B + beta·C + bias: it is
    asked what becomes of these, where a plan is found. C [M, N] and bias [N] are of D's format, or None; beta is 0 without a C.

    >>> report = fit_gemm(lambda a, b: matmul(a, b, plan="nvjet"), a="fp16", b="fp16", d="fp16", shape=(64, 64, 512))
    ... # doctest: +SKIP
    >>> report.verdict, report.plan.json()["split_k"]  # doctest: +SKIP
    ('identified', None)
    """
    options: Any = _library.sized("tcnum_gemm_fit_options", seed=seed, threads=threads)
    text = ""
    name = _library.encoded(arch, "arch")
    if epilogue is not None and not (callable(epilogue) and callable(product)):
        raise InputError(f"epilogue: is {epilogue!r}; expected a function, with a product that is one")
    if isinstance(product, tuple):
        if len(product) != 3:
            raise InputError(f"product: has {len(product)} arrays; expected A, B and D")
        views, seen = [], _arrays.Views()
        for which, array in zip("ABD", product):
            operand = _arrays.read(array, which)
            if operand.codes.ndim != 2:
                raise InputError(f"{which}: has the shape {operand.shape}; expected a matrix")
            views.append(seen.of(operand.codes, operand.format))
        with _interrupts.guarded() as guard:
            options.progress = guard.fit_progress
            text = _library.text_of("tcnum_fit_gemm_matrices", name, *views, ctypes.byref(options))
        return GemmReport(json.loads(text))
    if not callable(product):
        raise InputError(f"product: is {product!r}; expected a function of A and B, or the arrays (A, B, D)")
    for which, value in {"a": a, "b": b, "d": d, "shape": shape}.items():
        if value is None:
            raise InputError(f"{which}: is None; expected {'(M, N, K)' if which == 'shape' else 'a format'}")
    assert shape is not None
    multiplied: Callable[[Any, Any], Any] = product
    if not isinstance(shape, (tuple, list)) or len(shape) != 3:
        raise InputError(f"shape: is {shape!r}; expected (M, N, K)")
    m, n, k = shape
    formats = {which: format_of(value).text.encode() for which, value in {"a": a, "b": b, "d": d}.items()}
    subject = _library.sized("tcnum_gemm_subject", arch=name, m=m, n=n, k=k, **formats)
    with _interrupts.guarded() as guard:
        options.progress = guard.fit_progress

        def write(result: Any, to: int, size: int, whose: str) -> None:
            _written(result, Codes(_memory(to, size).view(format_of(d).codes).reshape(m, n), d), f"the {whose}'s D")

        def multiply(_: Any, a_view: Any, b_view: Any, to: int, size: int) -> int:
            def work() -> None:
                write(multiplied(*(_array_of(view.contents) for view in (a_view, b_view))), to, size, "product")

            return guard.run(work)

        def add(_: Any, a_view: Any, b_view: Any, terms: Any, to: int, size: int) -> int:
            def work() -> None:
                assert epilogue is not None
                of = terms.contents
                c = _array_of(of.c.contents) if of.c else None
                bias = _array_of(of.bias.contents)[0] if of.bias else None
                operands = (_array_of(view.contents) for view in (a_view, b_view))
                write(epilogue(*operands, of.alpha, of.beta, c, bias), to, size, "epilogue")

            return guard.run(work)

        if epilogue is not None:
            options.multiply_and_add = _library.c.tcnum_multiply_and_add(add)

        text = _library.text_of(
            "tcnum_fit_gemm", ctypes.byref(subject), _library.c.tcnum_multiply(multiply), None, ctypes.byref(options)
        )
    return GemmReport(json.loads(text))


def _memory(address: int, size: int) -> np.ndarray:
    return np.ctypeslib.as_array((ctypes.c_uint8 * size).from_address(address))


def _array_of(view: Any) -> Any:
    """A copy of a matrix of the library, which the caller may keep."""
    f = format_of(view.format.decode())
    codes = _memory(view.codes, view.bytes).view(f.codes).reshape(view.rows, view.columns).copy()
    return _arrays.given_back(codes, f, _arrays.Operand(codes, f, "numpy"))
