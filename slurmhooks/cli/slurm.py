# SPDX-License-Identifier: GPL-2.0-or-later
"""What this machine's Slurm is: headers, programs, sources and configuration."""

import os
import re
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

# A user's PATH often lacks the folders in which the daemons are.
PROGRAM_PATH = os.pathsep.join(("/usr/sbin", "/usr/bin", "/usr/local/sbin", "/usr/local/bin", "/opt/slurm/sbin"))
PUBLIC_HEADERS = ("slurm.h", "spank.h", "slurm_version.h")
DEFAULT_PLUGIN_DIRS = (
    "/usr/lib/*-linux-gnu/slurm-wlm",
    "/usr/lib64/slurm",
    "/usr/lib/slurm",
    "/usr/local/lib/slurm",
    "/opt/slurm/lib/slurm",
)


class Version(NamedTuple):
    """A release of Slurm; 22.05.8 is written with two digits in the middle."""

    major: int
    minor: int
    micro: int

    def __str__(self) -> str:
        return f"{self.major}.{self.minor:02}.{self.micro}"

    @classmethod
    def find(cls, text: str) -> "Version | None":
        """Return the first version in a text such as ``slurm-wlm 22.05.8``."""
        match = re.search(r"\b(\d+)\.(\d+)\.(\d+)", text)
        return cls(*map(int, match.groups())) if match else None


def find_program(name: str) -> Path | None:
    """Return where a program is, on PATH or where Slurm's daemons usually are."""
    found = shutil.which(name) or shutil.which(name, path=PROGRAM_PATH)
    return Path(found) if found else None


def header_version(include: Path) -> Version | None:
    """Return the version in ``slurm/slurm_version.h`` below an include folder, None if it is not there."""
    try:
        text = (include / "slurm" / "slurm_version.h").read_text()
    except OSError:
        return None
    match = re.search(r"^#define\s+SLURM_VERSION_NUMBER\s+0x([0-9a-fA-F]+)", text, re.MULTILINE)
    if not match:
        return None
    number = int(match.group(1), 16)
    return Version(number >> 16 & 0xFF, number >> 8 & 0xFF, number & 0xFF)


def missing_headers(include: Path) -> list[str]:
    """Return those of Slurm's public headers that an include folder lacks."""
    return [name for name in PUBLIC_HEADERS if not (include / "slurm" / name).is_file()]


def source_version(tree: Path) -> Version | None:
    """Return the version in the META file of Slurm's sources, None if there is none."""
    try:
        text = (tree / "META").read_text()
    except OSError:
        return None
    match = re.search(r"^\s*Version:\s*(.*)$", text, re.MULTILINE)
    return Version.find(match.group(1)) if match else None


def installed_versions() -> Iterator[tuple[Path, Version]]:
    """Yield each Slurm program on this machine that tells its version without a slurm.conf."""
    for name in ("slurmctld", "slurmd", "srun"):
        program = find_program(name)
        if program:
            # srun reads slurm.conf first, and may have none: then it says nothing of use.
            option = "--version" if name == "srun" else "-V"
            done = subprocess.run([program, option], capture_output=True, text=True, check=False)
            version = Version.find(done.stdout) if done.returncode == 0 else None
            if version:
                yield program, version


def scrun_lua(scrun: Path) -> str | None:
    """Return the version of Lua that scrun is linked to, None if it is built without."""
    readelf = shutil.which("readelf")
    command = [readelf, "-dW", str(scrun)] if readelf else ["ldd", str(scrun)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    # Debian: liblua5.1.so.0; Fedora: liblua-5.4.so; others: liblua.so.5.4
    match = re.search(r"\bliblua(?:-|\.so\.)?(5\.\d)", done.stdout)
    return match.group(1) if match else None


def usual_plugin_dirs(root: Path = Path("/")) -> list[Path]:
    """Return the folders in which distributions keep Slurm's plugins, as far as there are any in them."""
    found = []
    for pattern in DEFAULT_PLUGIN_DIRS:
        for folder in sorted(root.glob(pattern.lstrip("/"))):
            if next(folder.glob("auth_*.so"), None):
                found.append(Path("/", folder.relative_to(root)))
    return found
