"""Structures that _header.py makes of include/tcnum/tcnum.h lie in memory as a C compiler has them."""

import ctypes
import pathlib
import re
import shutil
import subprocess
import tempfile
import unittest

from tcnum import _library


class Header(unittest.TestCase):
    def test_everything_is_declared(self):
        text = re.sub(r"/\*.*?\*/", "", _library.HEADER.read_text(), flags=re.S)
        self.assertEqual(len(_library.header.functions), len(re.findall(r"^TCNUM_API", text, flags=re.M)))
        self.assertEqual(len(vars(_library.c)), len(re.findall(r"typedef[^;{]*\{|typedef int \(", text)))

    def test_null_is_refused_by_every_function(self):
        for name, declared in _library.header.functions.items():
            function = getattr(_library.library, name)
            numbers = (ctypes.c_int, ctypes.c_uint, ctypes.c_size_t, ctypes.c_uint64)
            nothing = [0 if kind in numbers else kind() for kind in declared.arguments.values()]
            status = function(*nothing)
            if declared.result is ctypes.c_int and name != "tcnum_status_text":
                self.assertEqual(status, _library.INVALID, name)
                self.assertIn("is NULL; expected", _library.library.tcnum_message().decode())

    @unittest.skipUnless(shutil.which("cc"), "there is no C compiler")
    def test_structures_lie_in_memory_as_in_c(self):
        lines, expected = [], []
        for name, structure in vars(_library.c).items():
            for field, *_ in getattr(structure, "_fields_", []):
                here = getattr(structure, field)
                lines.append(f'printf("{name} %zu %zu %zu\\n", sizeof({name}), offsetof({name}, {field}), sizeof((({name}*)0)->{field}));')
                expected.append(f"{name} {ctypes.sizeof(structure)} {here.offset} {here.size}")
        program = "#include <stdio.h>\n#include <tcnum/tcnum.h>\nint main(void) {\n" + "\n".join(lines) + "\nreturn 0;\n}\n"
        with tempfile.TemporaryDirectory() as folder:
            source = pathlib.Path(folder) / "layout.c"
            source.write_text(program)
            include = _library.HEADER.resolve().parents[1]
            subprocess.run(["cc", f"-I{include}", "-o", f"{folder}/layout", source], check=True)
            printed = subprocess.run([f"{folder}/layout"], check=True, capture_output=True, text=True).stdout
        self.assertEqual(printed.splitlines(), expected)
