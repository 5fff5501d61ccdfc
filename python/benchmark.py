"""What Python costs: tcnum.matmul() beside the call of the library that it makes, in the same run.

    python3 python/benchmark.py [N]

CPU time of one core, the least of several; N × N × N, 1024 unless said. Nothing here is a test.
"""

from __future__ import annotations

import ctypes
import pathlib
import sys
import time
from collections.abc import Callable

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))

import numpy as np  # noqa: E402
import tcnum  # noqa: E402
from tcnum import _arrays, _library  # noqa: E402


def least(calls: dict[str, Callable[[], object]], times: int) -> dict[str, float]:
    """Seconds of each, in turns."""
    best = dict.fromkeys(calls, float("inf"))
    for _ in range(times):
        for name, call in calls.items():
            start = time.process_time()
            call()
            best[name] = min(best[name], time.process_time() - start)
    return best


def main() -> None:
    n = int(sys.argv[1]) if len(sys.argv) > 1 else 1024
    a = np.random.default_rng(1).standard_normal((n, n)).astype(np.float16)
    view, alive = _arrays.view_of(*(lambda x: (x.codes, x.format))(_arrays.read(a, "a")))

    def library() -> None:
        options = _library.sized("tcnum_matmul_options", arch=b"sm_90", threads=1)
        handle = ctypes.c_void_p()
        of = ctypes.byref(view)
        _library.call("tcnum_matmul", of, of, None, ctypes.byref(options), ctypes.byref(handle))
        _library.library.tcnum_matrix_free(handle)

    large = least({"library": library, "python": lambda: tcnum.matmul(a, a, threads=1)}, 10)
    small = np.zeros((16, 16), np.float16)
    each = least({"call": lambda: [tcnum.matmul(small, small, threads=1) for _ in range(100)]}, 10)["call"] / 100
    print(f"{n}³ fp16, one core: library {large['library'] * 1e3:.1f} ms, Python {large['python'] * 1e3:.1f} ms, "
          f"{large['python'] / large['library']:.3f} of it")  # fmt: skip
    print(f"16³: {each * 1e6:.0f} µs a call")
    del alive


if __name__ == "__main__":
    main()
