"""What _library.py declares is what include/tcnum/tcnum.h does."""

import ctypes
import pathlib
import re
import shutil
import subprocess
import tempfile
import unittest

from tcnum import _library

ROOT = pathlib.Path(__file__).resolve().parents[2]
HEADER = ROOT / "include/tcnum/tcnum.h"


class Header(unittest.TestCase):
    def test_every_function_is_declared(self):
        declared = set(re.findall(r"TCNUM_API[^;(]*?\b(tcnum_\w+)\(", HEADER.read_text()))
        self.assertEqual(declared, set(_library.FUNCTIONS) | set(_library.OTHERS))

    def test_functions_have_as_many_arguments(self):
        text = re.sub(r"/\*.*?\*/", "", HEADER.read_text(), flags=re.S)
        for name, arguments in re.findall(r"TCNUM_API[^;(]*?\b(tcnum_\w+)\(([^;]*)\);", text):
            here = _library.FUNCTIONS.get(name) if name in _library.FUNCTIONS else _library.OTHERS[name][1]
            count = 0 if arguments.strip() == "void" else arguments.count(",") + 1
            self.assertEqual(count, len(here), name)

    @unittest.skipUnless(shutil.which("cc"), "there is no C compiler")
    def test_structures_lie_in_memory_as_in_c(self):
        lines, expected = [], []
        for name, structure in _library.STRUCTURES.items():
            lines.append(f'printf("{name} %zu\\n", sizeof({name}));')
            expected.append(f"{name} {ctypes.sizeof(structure)}")
            for field in structure._fields_:
                here = getattr(structure, field[0])
                what = f"{name}, {field[0]}"
                lines.append(f'printf("{what} %zu %zu\\n", offsetof({what}), sizeof((({name}*)0)->{field[0]}));')
                expected.append(f"{what} {here.offset} {here.size}")
        program = (
            "#include <stdio.h>\n#include <tcnum/tcnum.h>\nint main(void) {\n" + "\n".join(lines) + "\nreturn 0;\n}\n"
        )
        with tempfile.TemporaryDirectory() as folder:
            source = pathlib.Path(folder) / "layout.c"
            source.write_text(program)
            subprocess.run(["cc", f"-I{ROOT / 'include'}", "-o", f"{folder}/layout", source], check=True)
            printed = subprocess.run([f"{folder}/layout"], check=True, capture_output=True, text=True).stdout
        self.assertEqual(printed.splitlines(), expected)
