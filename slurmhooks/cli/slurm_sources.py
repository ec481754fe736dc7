# SPDX-License-Identifier: GPL-2.0-or-later
"""Slurm's sources as sites have them: a folder, the release archive, or the source package of Debian or an RPM."""

from __future__ import annotations

import shutil
import subprocess
from typing import TYPE_CHECKING

from slurmhooks.cli.findings import Finding
from slurmhooks.cli.progress import step

if TYPE_CHECKING:
    from pathlib import Path

    from slurmhooks.cli.slurm import Version

PACKAGES = {
    "apt-get": "apt",
    "cpio": "cpio",
    "curl": "curl",
    "dpkg-source": "dpkg-dev",
    "rpm2cpio": "rpm2cpio (Debian), rpm (Fedora)",
    "tar": "tar",
}
"""Which packages have the programs."""
DEBIAN_PACKAGES = ("slurm-wlm", "slurm-llnl")
"""Source packages that Debian and Ubuntu have; packages that sites build from a release archive have other names."""


def unpacked(source: Path, folder: Path) -> Path:
    """Return the top folder of the sources.

    Args:
        source: a folder, which is returned as it is; an archive such as slurm-24.11.5.tar.bz2; a .src.rpm or a .dsc.
        folder: where to unpack files; it does not exist.

    Raises:
        Finding: it is something else or damaged, or a program is missing.
    """
    if source.is_dir():
        return source
    if not source.exists():
        raise Finding(f"{source} does not exist")
    with step(f"Unpacking {source.name}"):
        if source.suffix == ".dsc":
            _run(["dpkg-source", "--extract", str(source), str(folder)])
            return folder
        folder.mkdir()
        archive = source
        if source.suffix == ".rpm":
            contents = folder / "contents"
            contents.write_bytes(_run(["rpm2cpio", str(source)]))
            _run(["cpio", "-i", "--quiet", "-F", str(contents), "slurm-*.tar.*"], folder)
            archive = next(folder.glob("slurm-*.tar.*"), source)
        _run(["tar", "--no-same-owner", "-xf", str(archive), "-C", str(folder)])
    trees = [path.parent for path in folder.glob("*/META")]
    if len(trees) != 1:
        raise Finding(f"{source} has no folder with a META file: name the release archive of Slurm")
    return trees[0]


def fetch_command(include: Path, version: Version) -> list[str]:
    """Return the command that gets the sources of the installed Slurm into the working directory."""
    header = str((include / "slurm" / "slurm.h").resolve())
    owner = _output(["dpkg-query", "-S", header]).partition(":")[0]
    package = _output(["dpkg-query", "-W", "-f", "${source:Package}=${source:Version}", owner]) if owner else ""
    if package.partition("=")[0] in DEBIAN_PACKAGES:
        return ["apt-get", "source", "--download-only", package]
    return ["curl", "-fsSLO", f"https://download.schedmd.com/slurm/slurm-{version}.tar.bz2"]


def fetched(include: Path, version: Version, folder: Path) -> Path:
    """Download the sources of the installed Slurm to an empty folder; return the file to unpack.

    Raises:
        Finding: the command failed.
    """
    command = fetch_command(include, version)
    with step(f"Downloading the sources of Slurm {version}"):
        _run(command, folder)
    files = [*folder.glob("*.dsc"), *folder.glob("*.tar.*")]
    if not files:
        raise Finding(f"{' '.join(command)} has downloaded no sources")
    return files[0]


def _run(command: list[str], folder: Path | None = None) -> bytes:
    if not shutil.which(command[0]):
        raise Finding(f"no {command[0]}, which Slurm's sources need here: install {PACKAGES[command[0]]}")
    done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, check=False, cwd=folder)
    if done.returncode:
        # The last lines of tar only say that it ends.
        reason = "; ".join(done.stderr.decode(errors="replace").strip().splitlines()[-4:])
        raise Finding(f"{' '.join(command)} failed: {reason or f'exit code {done.returncode}'}")
    return done.stdout


def _output(command: list[str]) -> str:
    try:
        return subprocess.run(command, capture_output=True, text=True, check=False).stdout.strip()
    except OSError:
        return ""
