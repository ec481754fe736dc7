# SPDX-License-Identifier: GPL-2.0-or-later
"""Find Slurm on this machine: headers, programs, sources and plugin folders."""

import os
import re
import shutil
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    import subprocess

PROGRAM_PATH = os.pathsep.join(("/usr/sbin", "/usr/bin", "/usr/local/sbin", "/usr/local/bin", "/opt/slurm/sbin"))
"""Folders to search in addition to PATH, which often lacks the folders of the daemons."""
PUBLIC_HEADERS = ("slurm.h", "spank.h", "slurm_version.h")
DEFAULT_PLUGIN_DIRS = (
    "/usr/lib/*-linux-gnu/slurm-wlm",
    "/usr/lib/*-linux-gnu/slurm",
    "/usr/lib64/slurm",
    "/usr/lib/slurm",
    "/usr/local/lib/slurm",
    "/opt/slurm/lib/slurm",
)


class Version(NamedTuple):
    """A release of Slurm; the text has two digits in the middle: 22.05.8."""

    major: int
    minor: int
    micro: int

    def __str__(self) -> str:
        return f"{self.major}.{self.minor:02}.{self.micro}"

    @classmethod
    def find(cls, text: str) -> "Version | None":
        """Return the first version in a text such as ``slurm-wlm 22.05.8``; None if there is none."""
        match = re.search(r"\b(\d+)\.(\d+)\.(\d+)", text)
        return cls(*map(int, match.groups())) if match else None

    @classmethod
    def of_number(cls, number: int) -> "Version":
        """Return the version of a SLURM_VERSION_NUMBER."""
        return cls(number >> 16 & 0xFF, number >> 8 & 0xFF, number & 0xFF)


def find_program(name: str) -> Path | None:
    """Return the path of a program, on PATH or where Slurm's daemons usually are; None if there is none."""
    path = shutil.which(name) or shutil.which(name, path=PROGRAM_PATH)
    return Path(path) if path else None


def header_version(include: Path) -> Version | None:
    """Return the version in ``slurm/slurm_version.h`` of an include folder; None if there is none."""
    try:
        text = (include / "slurm" / "slurm_version.h").read_text()
    except OSError:
        return None
    match = re.search(r"^#define\s+SLURM_VERSION_NUMBER\s+0x([0-9a-fA-F]+)", text, re.MULTILINE)
    if not match:
        return None
    return Version.of_number(int(match.group(1), 16))


def missing_headers(include: Path) -> list[str]:
    """Return the names of Slurm's public headers that an include folder lacks."""
    return [name for name in PUBLIC_HEADERS if not (include / "slurm" / name).is_file()]


def source_version(tree: Path) -> Version | None:
    """Return the version in the META file of Slurm's sources; None if there is none."""
    try:
        text = (tree / "META").read_text()
    except OSError:
        return None
    match = re.search(r"^\s*Version:\s*(.*)$", text, re.MULTILINE)
    return Version.find(match.group(1)) if match else None


def _run(command: "Sequence[str | Path]") -> "subprocess.CompletedProcess[str]":
    """Run a program and return what it has printed; the module is slow to import, and few commands need it."""
    import subprocess

    return subprocess.run(command, capture_output=True, text=True, check=False)


def installed_versions() -> Iterator[tuple[Path, Version]]:
    """Yield the path and version of Slurm's programs on this machine."""
    # On login nodes, scontrol comes with srun, which would call handlers before it prints its version.
    for name in ("slurmctld", "slurmd", "scontrol"):
        program = find_program(name)
        if program:
            process = _run([program, "-V"])
            version = Version.find(process.stdout) if process.returncode == 0 else None
            if version:
                yield program, version


def scrun_lua(scrun: Path) -> str | None:
    """Return the version of Lua that scrun is linked to; None if it is built without Lua."""
    readelf = shutil.which("readelf")
    command = [readelf, "-dW", str(scrun)] if readelf else ["ldd", str(scrun)]
    process = _run(command)
    # Debian: liblua5.1.so.0; Fedora: liblua-5.4.so; others: liblua.so.5.4
    match = re.search(r"\bliblua(?:-|\.so\.)?(5\.\d)", process.stdout)
    return match.group(1) if match else None


def library() -> Path | None:
    """Return the path of the library of Slurm's programs, libslurmfull.so; None if no program is installed."""
    program = find_program("scontrol") or find_program("slurmd")
    if program is None:
        return None
    process = _run(["ldd", program])
    match = re.search(r"libslurmfull\S* => (/\S+)", process.stdout)
    return Path(match.group(1)) if match else None


def usual_plugin_dirs(root: Path = Path("/")) -> list[Path]:
    """Return those of the usual folders of Slurm's plugins that contain plugins."""
    folders = []
    for pattern in DEFAULT_PLUGIN_DIRS:
        for folder in sorted(root.glob(pattern.lstrip("/"))):
            if next(folder.glob("auth_*.so"), None):
                folders.append(Path("/", folder.relative_to(root)))
    return folders
