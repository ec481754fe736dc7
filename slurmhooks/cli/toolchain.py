# SPDX-License-Identifier: GPL-2.0-or-later
"""The C sources of the plugins, and the tools that compile them."""

import importlib.util
import os
import shutil
import subprocess
import sys
from pathlib import Path

from slurmhooks.cli.findings import Finding

MESON_NEEDED = (1, 1)


def native_sources() -> Path:
    """Return the folder of the C sources, in an installed package or in a checkout.

    Raises:
        Finding: there are no C sources.
    """
    package = Path(__file__).resolve().parent.parent
    for folder in (package / "_native", package.parent / "native"):
        if (folder / "meson.build").is_file():
            return folder
    raise Finding(f"{package} has no C sources: reinstall slurmhooks")


def meson_command() -> list[str] | None:
    """Return the command of meson, preferably of this virtual environment; None if there is no meson."""
    if importlib.util.find_spec("mesonbuild"):
        return [sys.executable, "-m", "mesonbuild.mesonmain"]
    path = shutil.which("meson")
    return [path] if path else None


def tool_path() -> str:
    """Return a PATH that begins with this virtual environment, which need not be activated."""
    return os.pathsep.join((str(Path(sys.executable).parent), os.environ.get("PATH", os.defpath)))


def missing_tools() -> list[str]:
    """Return a finding for the compiler and each build tool that is missing, with the remedy."""
    findings = []
    compiler = os.environ.get("CC", "").split() or ["cc"]
    if not shutil.which(compiler[0]):
        findings.append(
            f"no C compiler ({compiler[0]}): install gcc and libc6-dev (Debian), gcc and glibc-devel (Fedora)"
        )
    elif not _compiles(compiler):
        findings.append("the C compiler finds no <stdio.h>: install libc6-dev (Debian), glibc-devel (Fedora)")
    pip = f"{sys.executable} -m pip install meson ninja"
    remedy = f"install {{0}} (Debian), {{1}} (Fedora), or {pip}"
    command = meson_command()
    if not command:
        findings.append(f"no meson: {remedy.format('meson', 'meson')}")
    else:
        process = subprocess.run([*command, "--version"], capture_output=True, text=True, check=False)
        version = process.stdout.strip()
        if tuple(int(part) for part in version.split(".")[:2] if part.isdigit()) < MESON_NEEDED:
            needed = ".".join(map(str, MESON_NEEDED))
            findings.append(f"meson is {version or 'broken'}, {needed} or later is needed: {pip}")
    if not any(shutil.which(name, path=tool_path()) for name in ("ninja", "ninja-build", "samu")):
        findings.append(f"no ninja: {remedy.format('ninja-build', 'ninja-build')}")
    return findings


def _compiles(compiler: list[str]) -> bool:
    source = "#include <stdio.h>\n"
    process = subprocess.run(
        [*compiler, "-E", "-x", "c", "-"], input=source, capture_output=True, text=True, check=False
    )
    return process.returncode == 0


def has_lua_headers(version: str) -> bool:
    """Tell whether meson will find the headers of a version of Lua."""
    short = version.replace(".", "")
    pkg_config = shutil.which("pkg-config")
    names = (f"lua{version}", f"lua-{version}", f"lua{short}")
    if not pkg_config:
        return False
    if any(subprocess.run([pkg_config, "--exists", name], check=False).returncode == 0 for name in names):
        return True
    return subprocess.run([pkg_config, f"--atleast-version={version}", "lua"], check=False).returncode == 0


def lua_remedy(version: str) -> str:
    """Return a finding for missing headers of Lua, with the remedy."""
    debian = "liblua5.1-0-dev" if version == "5.1" else f"liblua{version}-dev"
    if not shutil.which("pkg-config"):
        debian += " and pkgconf"
    return (
        f"the headers of Lua {version}, which scrun is linked to, are missing: install {debian} (Debian), "
        f"compat-lua-devel or lua-devel of {version} (Fedora), or build without the plugin for scrun: --lua none"
    )
