"""Matrix products with the bits of an instruction, or of a kernel's plan."""

from __future__ import annotations

import ctypes
import dataclasses
import math
from typing import Any, NamedTuple

import numpy as np

from . import _arrays, _interrupts, _library
from ._arrays import Operand
from ._library import InputError
from ._catalogue import Datapath, datapath_of, instruction, instruction_for
from ._formats import Format, format_of
from ._plans import Plan, plan_of


DEFAULT_ARCH = "sm_90"


def _format_for(format: Any, which: int) -> Any:
    """The format of operand ``which``: ``format`` is one for both, or a pair for A and B."""
    if not isinstance(format, (tuple, list)):
        return format
    if len(format) != 2:
        raise InputError(f"format: is {format!r}; expected one, or a pair: of a and of b")
    return format[which]


def check_operand(name: str, operand: Operand, expected: Format) -> None:
    """Refuses an operand of another format; the message says how to convert it."""
    if operand.format == expected or (expected.name == "tf32" and operand.format.name == "fp32"):
        return
    raise InputError(
        f"{name}: is {operand.format}; expected {expected}, as tcnum.cast({name}, '{expected}') gives"
    )


def _matrices(operand: Operand, name: str, as_row: bool) -> np.ndarray:
    """The codes of an operand with two axes or more: a vector is a row of A or a column of B."""
    codes = operand.codes
    if codes.ndim == 0 or 0 in codes.shape:
        raise InputError(f"{name}: has the shape {codes.shape}; expected a matrix with at least one element")
    if codes.ndim == 1:
        return codes[None, :] if as_row else codes[:, None]
    return codes


Matrix = tuple[np.ndarray, Format]  # codes, and their format


def gemm_options(alpha: float | None, beta: float | None, **others: Any) -> Any:
    """What comes to a product by a plan, for C."""
    numbers = {"alpha": _library.real("alpha", alpha), "beta": _library.real("beta", beta)}
    return _library.sized("tcnum_gemm_options", **numbers, **others)


@dataclasses.dataclass(frozen=True)
class How:
    """One way to multiply, for any number of matrices: by an instruction, by a datapath, or by a plan."""

    arch: str | None = None
    instr: str | None = None
    account: str | None = None
    datapath: Datapath | None = None
    plan: Plan | None = None
    alpha: float | None = None
    beta: float | None = None
    threads: int = 0
    processor: str = "cpu"

    def run(self, matrices: dict[str, Matrix]) -> Matrix:
        """Multiplies "a" and "b"; the other matrices are those that the call takes, by name."""
        views, free = _arrays.Views(), "tcnum_matrix_free"
        names = ("a", "b", "c", "bias", "a_scales", "b_scales")
        view = {name: views.of(*matrices[name]) if name in matrices else None for name in names}
        same: dict[str, Any] = {name: view[name] for name in ("a_scales", "b_scales")}
        same |= {"threads": self.threads, "processor": _library.encoded(self.processor, "processor")}
        with _interrupts.guarded() as guard:
            same["progress"] = guard.progress
            if self.plan is not None:
                options = gemm_options(self.alpha, self.beta, c=view["c"], bias=view["bias"], **same)
                plan = self.plan._bound(matrices["a"][1].text).value
                d = _library.Handle(free, "tcnum_gemm", plan, view["a"], view["b"], ctypes.byref(options))
            else:
                texts = {"arch": self.arch, "instruction": self.instr, "account": self.account}
                same |= {name: _library.encoded(text, name) for name, text in texts.items()}
                own = None if self.datapath is None else self.datapath._handle.value
                options = _library.sized("tcnum_matmul_options", datapath=own, **same)
                d = _library.Handle(free, "tcnum_matmul", view["a"], view["b"], view["c"], ctypes.byref(options))
        return _arrays.taken(d)

    def check(self, a: Operand, b: Operand) -> None:
        """Refuses operands of other formats than those of the instruction or datapath that is named."""
        if self.datapath is not None or (self.instr is not None and self.arch is not None):
            by = self.datapath or instruction(self.arch or "", self.instr or "")
            check_operand("a", a, by.a)
            check_operand("b", b, by.b)


def matmul(
    a: Any,
    b: Any,
    c: Any = None,
    *,
    arch: str | None = None,
    instr: str | None = None,
    plan: Any = None,
    datapath: Any = None,
    account: str | None = None,
    out_dtype: Any = None,
    format: Any = None,
    a_scales: Any = None,
    b_scales: Any = None,
    alpha: float | None = None,
    beta: float | None = None,
    bias: Any = None,
    threads: int = 0,
    processor: str = "cpu",
) -> Any:
    """D = A·B + C with the bits of a tensor core's instruction, or of a whole kernel.

    Shapes: ``a`` [M, K], ``b`` [K, N], ``c`` [M, N], of any M, N and K, in any layout; vectors and batches as in
    `numpy.matmul`. Arrays are numpy's, ml_dtypes', torch's, anything with ``__array__`` or DLPack, or `Codes`; unsigned
    integers are codes where ``format`` names their format ("bf16", or a pair for ``a`` and ``b``). Nothing is converted
    silently: `cast()` does when asked.

    By an instruction: ``instr`` of ``arch`` (which is "sm_90" unless said), such as "wgmma.m64n8k16.f32.f16.f16"; without
    it that of the vendor's library (`wgmma` on Hopper), or else that with the widest result of those that take the formats. Each element is a chain of the instruction along k,
    which begins with ``c``. ``account`` chooses whose datapath, ``datapath`` is one of your own (`datapath()`, a dict,
    a file). ``a_scales`` [M, K/block] and ``b_scales`` [K/block, N] are block scales where the datapath has them.

    By a plan: ``plan`` is a `Plan`, a name ("nvjet"), a dict or a file; D = alpha·A·B + beta·C + bias, where ``bias`` has
    N elements. Scales are of fp32 then: ``a_scales`` [1 or M, 1 or parts of k], ``b_scales`` [1 or parts of k, 1, N or
    ⌈N/128⌉], where the plan's ``promote_every`` says how long a part is.

    ``processor="gpu"`` computes the same bits on a GPU; of a plan, what comes after the instructions is the CPU's.

    The result has the format of the instruction's or plan's D, in the kind of array that ``a`` is; ``out_dtype`` is
    another, to which a plan rounds as it says and an instruction's result is rounded to nearest even.

    >>> a = np.full((1, 16), 2.0**-9, np.float16); a[0, 0] = 4
    >>> b = np.full((16, 1), 2.0**-9, np.float16); b[0, 0] = 4
    >>> matmul(a, b, instr="mma.m16n8k16.f32.f16.f16.f32"), matmul(a, b, arch="sm_70")
    (array([[16.000057]], dtype=float32), array([[16.000057]], dtype=float32))

    Raises `InputError`, which is a ValueError, that says what was expected; `UnavailableError` without a GPU.
    """
    x = _arrays.read(a, "a", _format_for(format, 0))
    y = _arrays.read(b, "b", _format_for(format, 1))
    rest = {
        name: _arrays.read(value, name)
        for name, value in {"c": c, "bias": bias, "a_scales": a_scales, "b_scales": b_scales}.items()
        if value is not None
    }
    how = _chosen(arch, instr, plan, datapath, account, out_dtype, alpha, beta, bias, threads, processor)
    how.check(x, y)
    codes, f = _multiplied(x, y, rest, how)
    result = _arrays.given_back(codes, f, x)
    if out_dtype is not None and format_of(out_dtype) != f:
        return _arrays.cast(result, out_dtype)
    return result


def _chosen(arch: Any, instr: Any, plan: Any, of_datapath: Any, account: Any, out_dtype: Any, alpha: Any, beta: Any,
            bias: Any, threads: int, processor: str) -> How:  # fmt: skip
    if plan is not None:
        others = {"arch": arch, "instr": instr, "datapath": of_datapath, "account": account}
        for name, value in others.items():
            if value is not None:
                raise InputError(f"{name}: is given with a plan; expected only one of the two")
        chosen = plan_of(plan)
        if out_dtype is not None:
            chosen = chosen.with_(output=format_of(out_dtype).text)
        return How(plan=chosen, alpha=alpha, beta=beta, threads=threads, processor=processor)
    for name, value in {"alpha": alpha, "beta": beta, "bias": bias}.items():
        if value is not None:
            raise InputError(f"{name}: is given without a plan; expected a plan, such as plan='nvjet'")
    for name, text in {"arch": arch, "instr": instr, "account": account}.items():
        _library.encoded(text, name)  # refuses what is not text
    if of_datapath is not None:
        return How(arch, instr, account, datapath_of(of_datapath), threads=threads, processor=processor)
    return How(arch or DEFAULT_ARCH, instr, account, threads=threads, processor=processor)


def by_instruction(arch: str | None, instr: str | None, of_datapath: Any, a: Format, b: Format) -> How:
    """The way to compute a dot product of these formats: by the instruction that `matmul()` takes, or by a datapath."""
    if of_datapath is not None:
        return How(datapath=datapath_of(of_datapath))
    arch = arch or DEFAULT_ARCH
    return How(arch, instr or instruction_for(arch, a, b))


def _multiplied(x: Operand, y: Operand, rest: dict[str, Operand], how: How) -> tuple[np.ndarray, Format]:
    a, b = _matrices(x, "a", True), _matrices(y, "b", False)
    if a.shape[-1] != b.shape[-2]:
        raise InputError(
            f"b: has the shape {y.shape}, a has {x.shape}; expected as many rows of b as columns of a, "
            f"{a.shape[-1]}"
        )
    m, n = a.shape[-2], b.shape[-1]
    try:
        batch = np.broadcast_shapes(a.shape[:-2], b.shape[:-2])
        matrices: dict[str, Matrix] = {
            "a": (np.broadcast_to(a, (*batch, *a.shape[-2:])), x.format),
            "b": (np.broadcast_to(b, (*batch, *b.shape[-2:])), y.format),
        }
        for name, operand in rest.items():
            shape = {"bias": (*batch, 1, n), "c": (*batch, m, n)}.get(name)
            codes = operand.codes if shape is None else np.broadcast_to(operand.codes, shape)
            matrices[name] = (codes, operand.format)
    except ValueError as error:
        shapes = ", ".join([f"a {x.shape}", f"b {y.shape}"] + [f"{k} {v.shape}" for k, v in rest.items()])
        raise InputError(f"shapes: {shapes} do not fit; expected shapes as in numpy.matmul") from error
    for name in ("a_scales", "b_scales"):
        if name in matrices and matrices[name][0].ndim != 2:
            raise InputError(f"{name}: has the shape {matrices[name][0].shape}; expected a matrix")
    kept = batch + ((m,) if x.codes.ndim > 1 else ()) + ((n,) if y.codes.ndim > 1 else ())
    if not batch:
        codes, f = how.run(matrices)
        return codes.reshape(kept), f
    if math.prod(batch) == 0:
        raise InputError(f"a: has the shape {x.shape}, b has {y.shape}; expected a batch of at least one product")
    result = None
    for index in np.ndindex(*batch):
        codes, f = how.run({
            name: (all_codes[index] if all_codes.ndim > 2 else all_codes, of)
            for name, (all_codes, of) in matrices.items()
        })  # fmt: skip
        if result is None:
            result = np.empty((*batch, m, n), f.codes)
        result[index] = codes
    assert result is not None
    return result.reshape(kept), f


def scaled_mm(
    input: Any,
    mat2: Any,
    scale_a: Any,
    scale_b: Any,
    bias: Any = None,
    scale_result: Any = None,
    out_dtype: Any = None,
    use_fast_accum: bool = False,
    *,
    arch: str = "sm_90",
    threads: int = 0,
) -> Any:
    """The result of ``torch._scaled_mm`` for fp8 matrices on Hopper. Arguments have its names and its meaning.

    ``input`` [M, K], ``mat2`` [K, N], both of fp8; ``bias`` [N]. ``scale_a`` and ``scale_b``, of float32, are one number
    each; or [M, 1] and [1, N], one for each row and column; or ``scale_a`` [M, ⌈K/128⌉] and ``scale_b`` [⌈K/128⌉, N] or
    [⌈K/128⌉, ⌈N/128⌉], one for each block. ``out_dtype``: None is ``input``'s, as in torch. ``use_fast_accum`` is one chain
    along k, otherwise the sum of every 128 of k is added to a total; blocks have no fast accumulation.

    Measured on an H100 with torch 2.11 (vectors/products/torch_scaled_mm.safetensors): of numbers, (scale_a · scale_b) ·
    sum; of rows and columns, scale_a · (scale_b · sum); each product is rounded to fp32, and then the bias is added. The
    sum of each 128 of k is added to the total in a fused multiply-add: (scale_a · scale_b) times it where columns
    share scales, else scale_b times the rounded scale_a · sum.
    """
    if arch != "sm_90":
        raise InputError(f"arch: is {arch!r}; expected 'sm_90', whose kernels are known")
    if scale_result is not None:
        raise InputError("scale_result: is given; expected None: how results are scaled has not been measured")
    x, y = _arrays.read(input, "input"), _arrays.read(mat2, "mat2")
    if len(x.shape) != 2 or len(y.shape) != 2:
        raise InputError(f"input: has the shape {x.shape}, mat2 has {y.shape}; expected two matrices")
    scales = {name: _scales_of(scale, name) for name, scale in {"scale_a": scale_a, "scale_b": scale_b}.items()}
    kind = _kind_of_scales(scales["scale_a"].shape, scales["scale_b"].shape, x.shape[0], x.shape[1], y.shape[1])
    if kind.in_blocks and use_fast_accum:
        raise InputError("use_fast_accum: is True with scales of blocks; expected False, as in torch")
    name = "nvjet-fp8" if use_fast_accum else "nvjet-fp8-slow"
    plan = Plan.named(name, x.format if out_dtype is None else format_of(out_dtype)).with_(scales=kind.order)
    return matmul(input, mat2, plan=plan, bias=bias, threads=threads, a_scales=scales["scale_a"], b_scales=scales["scale_b"])


def _scales_of(scale: Any, name: str) -> np.ndarray:
    if isinstance(scale, (int, float)):
        return np.array([[scale]], np.float32)
    operand = _arrays.read(scale, name)
    if operand.format.name != "fp32":
        raise InputError(f"{name}: is {operand.format}; expected fp32")
    numbers = operand.codes.view(np.float32)
    return numbers.reshape(1, 1) if numbers.size == 1 else numbers


class _ScaleKind(NamedTuple):
    order: str  # a plan's "scales"
    in_blocks: bool


def _kind_of_scales(a: tuple[int, ...], b: tuple[int, ...], m: int, k: int, n: int) -> _ScaleKind:
    parts, columns = -(-k // 128), -(-n // 128)
    if (a, b) == ((1, 1), (1, 1)):
        return _ScaleKind("product", False)
    if (a, b) == ((m, 1), (1, n)):
        return _ScaleKind("b_first", False)
    if (a, b) == ((m, parts), (parts, columns)):
        return _ScaleKind("product", True)
    if (a, b) == ((m, parts), (parts, n)):
        return _ScaleKind("a_first", True)
    raise InputError(
        f"scale_a: has the shape {a}, scale_b has {b}; expected one number each, [{m}, 1] and [1, {n}], or "
        f"[{m}, {parts}] and [{parts}, {n}] or [{parts}, {columns}]"
    )
