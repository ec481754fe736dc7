# SPDX-License-Identifier: GPL-2.0-or-later
"""The C side: where its sources are, the tools that build it, what a build made."""

import importlib.util
import os
import shutil
import subprocess
import sys
from pathlib import Path

from pydantic import BaseModel, ConfigDict, ValidationError

from slurmhooks._version import __version__
from slurmhooks.cli._findings import Finding

MESON_NEEDED = (1, 1)
CORE = "slurmhooks/libslurmhooks_core.so"
"""Holds the interpreter and the modules of slurmhooks that launches import, below the PluginDir."""


class PythonFacts(BaseModel):
    """The Python a build is for."""

    model_config = ConfigDict(frozen=True)

    version: str
    executable: str
    libpython: str
    paths: list[str]


class Tiers(BaseModel):
    """What a build can do beyond the public headers."""

    model_config = ConfigDict(frozen=True)

    private: bool


class BuildRecord(BaseModel):
    """The file build.json beside the core library; without a date, so that equal builds are equal."""

    model_config = ConfigDict(frozen=True)

    slurmhooks: str
    slurm: str
    python: PythonFacts
    lua: str | None
    tiers: Tiers
    files: list[str]

    @classmethod
    def path_in(cls, folder: Path) -> Path:
        """Return where the record is, in a build's output or in the plugin folder."""
        return folder / "slurmhooks" / "build.json"

    @classmethod
    def load(cls, folder: Path) -> "BuildRecord | None":
        """Read the record of a folder, None if there is none.

        Raises:
            Finding: there is one that cannot be understood.
        """
        path = cls.path_in(folder)
        try:
            return cls.model_validate_json(path.read_bytes())
        except FileNotFoundError:
            return None
        except (OSError, ValidationError) as error:
            raise Finding(f"{path} is no record of a build: {str(error).splitlines()[0]}; build again") from error

    def save(self, folder: Path) -> None:
        """Write the record, unless it is there already as it should be."""
        path, text = self.path_in(folder), self.model_dump_json(indent=2) + "\n"
        if not path.exists() or path.read_text() != text:
            path.write_text(text)


def other_version(record: BuildRecord) -> str | None:
    """Return a finding if a build holds another version of slurmhooks than this command."""
    if record.slurmhooks == __version__:
        return None
    return (
        f"the plugins hold slurmhooks {record.slurmhooks}, this command is {__version__}: "
        "run 'slurmhooks build' and 'slurmhooks install' again"
    )


def files_of(folder: Path) -> set[str]:
    """Return the files that a folder has from us, none if its record cannot be read: it is about to be replaced."""
    try:
        record = BuildRecord.load(folder)
    except Finding:
        return set()
    return set(record.files) if record else set()


def native_sources() -> Path:
    """Return the folder with meson.build, in an installed package or in a checkout.

    Raises:
        Finding: there is none.
    """
    package = Path(__file__).resolve().parent.parent
    for folder in (package / "_native", package.parent / "native"):
        if (folder / "meson.build").is_file():
            return folder
    raise Finding(f"{package} has no C sources: reinstall slurmhooks")


def meson_command() -> list[str] | None:
    """Return how to call meson, this environment's own before the system's."""
    if importlib.util.find_spec("mesonbuild"):
        return [sys.executable, "-m", "mesonbuild.mesonmain"]
    found = shutil.which("meson")
    return [found] if found else None


def tool_path() -> str:
    """Return a PATH on which this environment's ninja comes first, whether or not it is activated."""
    return os.pathsep.join((str(Path(sys.executable).parent), os.environ.get("PATH", os.defpath)))


def missing_tools() -> list[str]:
    """Return what is missing of compiler and build tools, one line each with the remedy."""
    found = []
    compiler = os.environ.get("CC", "").split() or ["cc"]
    if not shutil.which(compiler[0]):
        found.append(f"no C compiler ({compiler[0]}): install gcc and libc6-dev (Debian), gcc and glibc-devel (Fedora)")
    elif not _compiles(compiler):
        found.append("the C compiler finds no <stdio.h>: install libc6-dev (Debian), glibc-devel (Fedora)")
    remedy = "install {0} (Debian), {1} (Fedora), or pip install 'slurmhooks[build]'"
    command = meson_command()
    if not command:
        found.append(f"no meson: {remedy.format('meson', 'meson')}")
    else:
        done = subprocess.run([*command, "--version"], capture_output=True, text=True, check=False)
        version = done.stdout.strip()
        if tuple(int(part) for part in version.split(".")[:2] if part.isdigit()) < MESON_NEEDED:
            needed = ".".join(map(str, MESON_NEEDED))
            found.append(
                f"meson is {version or 'broken'}, {needed} or later is needed: pip install 'slurmhooks[build]'"
            )
    if not any(shutil.which(name, path=tool_path()) for name in ("ninja", "ninja-build", "samu")):
        found.append(f"no ninja: {remedy.format('ninja-build', 'ninja-build')}")
    return found


def _compiles(compiler: list[str]) -> bool:
    source = "#include <stdio.h>\n"
    done = subprocess.run([*compiler, "-E", "-x", "c", "-"], input=source, capture_output=True, text=True, check=False)
    return done.returncode == 0


def has_lua_headers(version: str) -> bool:
    """Tell whether the headers of that Lua are where meson will find them."""
    short = version.replace(".", "")
    pkg_config = shutil.which("pkg-config")
    names = (f"lua{version}", f"lua-{version}", f"lua{short}")
    if not pkg_config:
        return False
    if any(subprocess.run([pkg_config, "--exists", name], check=False).returncode == 0 for name in names):
        return True
    return subprocess.run([pkg_config, f"--atleast-version={version}", "lua"], check=False).returncode == 0


def lua_remedy(version: str) -> str:
    """Return the line that says what to do about missing Lua headers."""
    debian = "liblua5.1-0-dev" if version == "5.1" else f"liblua{version}-dev"
    if not shutil.which("pkg-config"):
        debian += " and pkgconf"
    return (
        f"the headers of Lua {version}, which scrun is linked to, are missing: install {debian} (Debian), "
        f"compat-lua-devel or lua-devel of {version} (Fedora), or go without scrun: --lua none"
    )
