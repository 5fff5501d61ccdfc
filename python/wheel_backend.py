"""Makes tcnum's wheel (PEP 517, PEP 660): the package, and libtcnum.so, which is built first if it must be."""

from __future__ import annotations

import base64
import hashlib
import os
import pathlib
import re
import shutil
import subprocess
import sysconfig
import zipfile

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent
BUILD = ROOT / "build"
LIBRARY = "libtcnum.so.0"


def _version() -> str:
    found = re.search(r"project\(tcnum VERSION ([\d.]+)", (ROOT / "CMakeLists.txt").read_text())
    if found is None:
        raise RuntimeError(f"{ROOT / 'CMakeLists.txt'}: names no version")
    return found[1]


def _built_library() -> pathlib.Path:
    """Of the build folder that ./run uses too."""
    if shutil.which("cmake") is None:
        raise RuntimeError("cmake is missing; expected what `./run` at the root of tcnum installs")
    configure = ["cmake", "-S", str(ROOT), "-B", str(BUILD), "-DTCNUM_SHARED=ON"]
    if not (BUILD / "CMakeCache.txt").exists():
        configure += ["-DCMAKE_BUILD_TYPE=Release", "-DTCNUM_TESTS=OFF", "-DTCNUM_CPU_TARGETS=native"]
        configure += ["-G", "Ninja"] if shutil.which("ninja") else []
    subprocess.run(configure, check=True)
    subprocess.run(
        ["cmake", "--build", str(BUILD), "--target", "tcnum_c", "-j", str(os.cpu_count() or 1)], check=True
    )
    return BUILD / LIBRARY


class _Wheel:
    """A zip file with a list of what is in it."""

    def __init__(self, folder: str, tag: str):
        self.info = f"tcnum-{_version()}.dist-info"
        self.name = f"tcnum-{_version()}-{tag}.whl"
        self._tag = tag
        self._records: list[str] = []
        self._zip = zipfile.ZipFile(pathlib.Path(folder) / self.name, "w", zipfile.ZIP_DEFLATED)

    def add(self, name: str, data: bytes) -> None:
        digest = base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()
        self._records.append(f"{name},sha256={digest},{len(data)}")
        self._zip.writestr(zipfile.ZipInfo(name, (1980, 1, 1, 0, 0, 0)), data, zipfile.ZIP_DEFLATED)

    def done(self) -> str:
        self.add(f"{self.info}/METADATA", _metadata())
        self.add(
            f"{self.info}/WHEEL",
            f"Wheel-Version: 1.0\nGenerator: tcnum\nRoot-Is-Purelib: false\nTag: {self._tag}\n".encode(),
        )
        self._zip.writestr(f"{self.info}/RECORD", "\n".join([*self._records, f"{self.info}/RECORD,,", ""]))
        self._zip.close()
        return self.name


def _metadata() -> bytes:
    head = {
        "Metadata-Version": "2.1",
        "Name": "tcnum",
        "Version": _version(),
        "Summary": "The bits that tensor cores compute, without one",
        "Requires-Python": ">=3.9",
        "Requires-Dist": "numpy",
        "Description-Content-Type": "text/markdown",
    }
    return ("".join(f"{key}: {value}\n" for key, value in head.items()) + "\n" + (HERE / "README.md").read_text()).encode()


def _tag() -> str:
    return "py3-none-" + re.sub(r"[-.]", "_", sysconfig.get_platform())


def prepare_metadata_for_build_wheel(metadata_directory: str, config_settings: object = None) -> str:
    """Which pip asks for first, and would otherwise build a wheel for."""
    folder = pathlib.Path(metadata_directory) / f"tcnum-{_version()}.dist-info"
    folder.mkdir()
    (folder / "METADATA").write_bytes(_metadata())
    return folder.name


def build_wheel(wheel_directory: str, config_settings: object = None, metadata_directory: object = None) -> str:
    library = _built_library()
    wheel = _Wheel(wheel_directory, _tag())
    for path in sorted((HERE / "tcnum").iterdir()):
        if path.suffix in (".py", ".typed"):
            wheel.add(f"tcnum/{path.name}", path.read_bytes())
    wheel.add(f"tcnum/{LIBRARY}", library.read_bytes())
    wheel.add("tcnum/tcnum.h", (ROOT / "include/tcnum/tcnum.h").read_bytes())
    return wheel.done()


def build_editable(wheel_directory: str, config_settings: object = None, metadata_directory: object = None) -> str:
    """One that points here; the library is that of the build folder."""
    _built_library()
    wheel = _Wheel(wheel_directory, "py3-none-any")
    wheel.add("tcnum.pth", f"{HERE}\n".encode())
    return wheel.done()


def build_sdist(sdist_directory: str, config_settings: object = None) -> str:
    raise NotImplementedError("tcnum's library is built from its whole source tree; expected build_wheel")
