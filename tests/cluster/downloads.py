# SPDX-License-Identifier: GPL-2.0-or-later
"""Debian packages for tests of packages, with the dependencies that a root file system lacks; downloaded only once."""

import hashlib
import os
import shutil
from pathlib import Path

from tests.cluster.lab import mirror, namespace, places, rootfs
from tests.cluster.lab.errors import LabError, UnreachableError
from tests.cluster.lab.releases import find
from tests.cluster.lab.steps import Reporter

INSIDE = "/opt/downloads"
"""Where apt puts the packages, below the root of the layer."""


def download(release: str, packages: tuple[str, ...], suite: str = "", installed: tuple[Path, ...] = ()) -> Path:
    """Return a folder with packages and those of their dependencies that the root file system lacks.

    Of a ``suite`` of Debian, such as an upgrade has, or that of the release; ``installed`` are folders of packages that
    will have been installed before.

    Raises:
        UnreachableError: the mirror cannot be reached.
    """
    known = sorted(file.name for folder in installed for file in folder.glob("*.deb"))
    key = hashlib.sha256(" ".join((rootfs.ident(find(release)), suite, *packages, *known)).encode()).hexdigest()
    kept = Path(places.cache(), "debs", release, key[:12])
    with places.locked(str(kept), f"download for {release}"):
        if any(kept.iterdir()):
            return kept
        layer = Path(f"{kept}.layer")
        shutil.rmtree(layer, ignore_errors=True)
        for name in ("upper", "work", "merged"):
            (layer / name).mkdir(parents=True)
        report = Reporter(f"packages for {release}", f"{kept}.log")
        Path(report.log).write_text("")
        report.say(f"downloading {' '.join(packages)}")
        try:
            _download(release, packages, suite, installed, layer, report)
        except LabError as error:
            raise UnreachableError(str(error)) from error
        for file in (layer / "upper" / INSIDE.lstrip("/")).glob("*.deb"):
            file.rename(kept / file.name)
        shutil.rmtree(layer)
    return kept


def _download(
    release: str, packages: tuple[str, ...], suite: str, installed: tuple[Path, ...], layer: Path, report: Reporter
) -> None:
    lower = places.rootfs(release)

    def attach() -> str:
        os.chdir(layer)
        options = f"lowerdir={os.path.relpath(lower, layer)},upperdir=upper,workdir=work"
        namespace.mount("overlay", "merged", "overlay", 0, options)
        # On some machines this file names the mirror.
        namespace.mount("/etc/hosts", "merged/etc/hosts", "", namespace.MS_BIND)
        for folder in installed:
            shutil.copytree(folder, f"merged{INSIDE}/installed", dirs_exist_ok=True)
        if suite:
            sources = Path("merged/etc/apt/sources.list")
            sources.write_text(sources.read_text().replace(f" {find(release).suite} ", f" {suite} "))
        return str(layer / "merged")

    keeper = namespace.start(f"slurmhooks packages {release}", attach, isolated=False, lasting=False)
    get = ["apt-get", "-qq", "-y", "-o", f"Dir::Cache::Archives={INSIDE}"]
    env = mirror.proxies() | {"DEBIAN_FRONTEND": "noninteractive"}
    try:
        report.inside("mkdir", keeper, ["mkdir", "-p", f"{INSIDE}/partial"])
        if installed:
            report.inside("dpkg", keeper, ["sh", "-c", f"exec dpkg --unpack {INSIDE}/installed/*.deb"], env)
            report.inside("dpkg", keeper, ["dpkg", "--configure", "-a"], env)
        report.inside("apt-get update", keeper, [*get, "update"], env)
        report.inside("apt-get install", keeper, [*get, "--download-only", "install", *packages], env)
    finally:
        namespace.end(keeper)
