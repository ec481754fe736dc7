# SPDX-License-Identifier: GPL-2.0-or-later
"""Add Debian packages to one cluster, without changing the shared root file system."""

import hashlib
import os
import shutil

from . import cluster, mirror, namespace, places, rootfs
from .errors import LabError, UnreachableError
from .releases import Release
from .steps import Reporter

DOWNLOADS = "/opt/downloads"
"""Path of the packages inside the cluster."""


def add(release: Release, packages: list[str], of: Release | None = None) -> None:
    """Install packages in the cluster, which may be up or down; they are downloaded once and kept.

    ``of`` is another release, whose packages are unpacked over the files of the cluster, without their dependencies.

    Raises:
        UnreachableError: the mirror cannot be reached.
        LabError: the packages do not install.
    """
    source = of or release
    rootfs.make(release)
    rootfs.make(source)
    directory = places.cluster(release.name)
    with places.locked(directory, f"add {release.name}"):
        report = Reporter(f"add {release.name}", os.path.join(directory, "add.log"))
        kept = _download(source, sorted(set(packages)))
        files = sorted(name for name in os.listdir(kept) if not of or name.partition("_")[0] in packages)
        folder = f"{DOWNLOADS}/{source.name}"
        with cluster.entered(release) as (keeper, _):
            for name in files:
                _copy(keeper, os.path.join(kept, name), f"{folder}/{name}")
            # dpkg asks no question and starts no daemon: see rootfs.py. A package that is installed again would undo
            # what was unpacked over it.
            command = f"exec dpkg --install --skip-same-version {folder}/*.deb"
            if of:
                command = f"for file in {folder}/*.deb; do dpkg-deb --extract $file / || exit; done"
            report.inside("dpkg", keeper, ["sh", "-c", command], {"DEBIAN_FRONTEND": "noninteractive"})
        report.say(f"{len(files)} packages: {' '.join(packages)}" + ("" if of else " and their dependencies"))


def _copy(keeper: namespace.Keeper, source: str, target: str) -> None:
    with open(source, "rb") as file:
        content = file.read()
    namespace.call(keeper, lambda: cluster.write(target, content, 0o644, (0, 0)))


def _download(release: Release, packages: list[str]) -> str:
    """Return the folder with the packages and those of their dependencies that the root file system lacks."""
    key = hashlib.sha256(" ".join((rootfs.ident(release), *packages)).encode()).hexdigest()[:12]
    kept = os.path.join(places.cache(), "debs", release.name, key)
    with places.locked(kept, f"download for {release.name}"):
        if not os.path.isdir(kept + ".layer") and os.listdir(kept):
            return kept
        # Run apt in a separate layer, because it writes lists and caches, and the root file system is shared.
        layer = kept + ".layer"
        shutil.rmtree(layer, ignore_errors=True)
        for name in ("upper", "work", "merged"):
            os.makedirs(os.path.join(layer, name))
        lower = os.path.relpath(places.rootfs(release.name), layer)

        def attach() -> str:
            os.chdir(layer)
            namespace.mount(
                "overlay", "merged", "overlay", 0, f"lowerdir={lower},upperdir=upper,workdir=work,userxattr"
            )
            return os.path.join(layer, "merged")

        report = Reporter(f"add {release.name}", kept + ".log")
        with open(report.log, "w", encoding="ascii"):
            pass
        report.say("downloading packages")
        keeper = namespace.start(f"slurmhooks packages {release.name}", attach, isolated=False, lasting=False)
        get = ["apt-get", "-qq", "-y", "-o", f"Dir::Cache::Archives={DOWNLOADS}"]
        try:
            report.inside("mkdir", keeper, ["mkdir", "-p", f"{DOWNLOADS}/partial"])
            report.inside("apt-get update", keeper, [*get, "update"], mirror.proxies())
            report.inside("apt-get install", keeper, [*get, "--download-only", "install", *packages], mirror.proxies())
        except LabError as error:
            raise UnreachableError(str(error)) from error
        finally:
            namespace.end(keeper)
        archives = layer + "/upper" + DOWNLOADS
        for name in os.listdir(archives):
            if name.endswith(".deb"):
                os.rename(os.path.join(archives, name), os.path.join(kept, name))
        shutil.rmtree(layer)
    return kept
