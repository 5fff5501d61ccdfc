"""Arrays of others: DLPack, array interfaces, packed fp4; and the wheel that pip installs."""

import base64
import csv
import hashlib
import io
import pathlib
import subprocess
import sys
import tempfile
import unittest
import unittest.mock
import zipfile

import numpy as np
import tcnum
from tcnum import _arrays, _library

HERE = pathlib.Path(__file__).resolve().parents[1]


class DlPack:
    """An array that only DLPack can read."""

    def __init__(self, array):
        self._array = array

    def __dlpack__(self, **how):
        return self._array.__dlpack__(**how)

    def __dlpack_device__(self):
        return self._array.__dlpack_device__()


class Interface:
    """Or only __array_interface__."""

    def __init__(self, array):
        self._array = array
        self.__array_interface__ = array.__array_interface__


class OthersArrays(unittest.TestCase):
    def test_are_read_where_they_are(self):
        a = np.random.default_rng(1).standard_normal((8, 16)).astype(np.float16)
        d = tcnum.matmul(a, a.T)
        for other in (DlPack, Interface):
            np.testing.assert_array_equal(tcnum.matmul(other(a), other(np.ascontiguousarray(a.T))), d)

    def test_nothing_is_imported_for_them(self):
        program = "import sys, tcnum; print([m for m in ('torch', 'ml_dtypes', 'jax') if m in sys.modules])"
        done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, cwd=HERE, timeout=300)
        self.assertEqual((done.stdout, done.stderr), ("[]\n", ""))

    def test_fp4_in_twos_lies_along_what_is_together_in_memory(self):
        codes = np.random.default_rng(2).integers(0, 16, (6, 10), np.uint8)
        packed = _arrays._packed(codes)
        self.assertEqual(packed.shape, (6, 5))
        self.assertEqual(packed[2, 1], codes[2, 2] | codes[2, 3] << 4)
        np.testing.assert_array_equal(_arrays._unpacked(packed), codes)
        np.testing.assert_array_equal(_arrays._unpacked(packed.T), codes.T)

    def test_booleans_are_single_bits(self):
        bits = np.array([True, False])
        self.assertEqual(_arrays.read(bits, "bits").format.name, "b1")

    def test_whole_numbers_are_cast(self):
        self.assertEqual(list(tcnum.cast([1, -2, 3], "fp16")), [1, -2, 3])
        # Rounded once: by way of float64 it would be a tie, and 2^60.
        self.assertEqual(tcnum.cast(2**60 + 2**36 + 1, "fp32"), np.float32(2.0**60 + 2.0**37))
        self.assertEqual(tcnum.cast(np.uint64(2**64 - 1), "fp64", rounding="toward_zero"), 2.0**64 - 2.0**11)


class Wheel(unittest.TestCase):
    def test_has_all_that_it_lists_and_works_elsewhere(self):
        sys.path.insert(0, str(HERE))
        try:
            import wheel_backend
        finally:
            sys.path.remove(str(HERE))
        library = pathlib.Path(_library._find())
        with tempfile.TemporaryDirectory() as folder:
            with unittest.mock.patch.object(wheel_backend, "_built_library", lambda: library):
                name = wheel_backend.build_wheel(folder)
            self.assertRegex(name, r"^tcnum-[\d.]+-py3-none-linux_\w+\.whl$")
            with zipfile.ZipFile(pathlib.Path(folder) / name) as wheel:
                wheel.extractall(pathlib.Path(folder) / "site")
                records = list(csv.reader(io.StringIO(wheel.read(f"tcnum-{tcnum.__version__}.dist-info/RECORD").decode())))
                self.assertEqual({record[0] for record in records}, set(wheel.namelist()))
                for path, digest, size in records:
                    if digest:
                        data = wheel.read(path)
                        right = base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()
                        self.assertEqual((digest, size), (f"sha256={right}", str(len(data))))
            program = "import tcnum, tcnum._library as l; print(tcnum.__version__, l._find())"
            done = subprocess.run(
                [sys.executable, "-c", program], capture_output=True, text=True, cwd=folder, timeout=300,
                env={"PYTHONPATH": f"{folder}/site"},
            )  # fmt: skip
            self.assertEqual(done.stderr, "")
            self.assertEqual(done.stdout, f"{tcnum.__version__} {folder}/site/tcnum/libtcnum.so.0\n")
