# SPDX-License-Identifier: GPL-2.0-or-later
"""Build the working tree inside a cluster and enable it there."""

import glob
import hashlib
import os
import re
import shutil
import stat
import subprocess
from collections.abc import Sequence
from functools import cache
from typing import NamedTuple

from . import cluster, namespace, places, rootfs
from .errors import LabError
from .releases import Release
from .steps import Reporter

TREE = "/usr/src/slurmhooks"
BIN = "/opt/slurmhooks/bin"
LINK = "/usr/local/bin/slurmhooks"
"""The command, before all others of its name."""
BUILD = "/opt/slurmhooks/build"
PLUGINS = "/usr/local/lib/slurm"
SCRUN_LUA = "/etc/slurm/scrun.lua"
PRODUCTS = (PLUGINS, f"{BIN}/slurmhooks", SCRUN_LUA)
"""The results of installing, besides the Python package."""
SET = "/etc/slurm/slurmhooks.set"
BASE = (*(f"/etc/slurm/{name}" for name in ("slurmhooks.d", "slurmhooks.toml", "hooks.d", "plugstack.conf")), SET)
"""The sources of a new cluster, and what deploying them has made: the last one says that a build has all of them.

Then a new cluster need not be deployed. A build for a cluster that had files already gets them from the next new one.
"""
FORMAT = 7
"""Increased when the format of kept builds changes."""
KEPT_BUILDS = 8
SLURM_SOURCE = "/usr/src/slurm"
OUTSIDE = ("Makefile", ".ci/", "changelog.d/", "docs/", "findings/", "tests/")
"""Files that are not needed inside; their changes cause no new build."""
INSIDE = re.compile(r"docs/\w+\.py")
"""What OUTSIDE covers and is needed: the build of a wheel writes the manual pages."""

TOML = '[hooks]\npaths = ["hooks.d/*.py"]\n'


def install(release: Release, force: bool) -> None:
    """Install the working tree as it is now, and restart the daemons with it.

    Raises:
        LabError: the build failed, or the daemons did not start with it.
    """
    directory = places.cluster(release.name)
    with places.locked(directory, f"install {release.name}"):
        if not force and _is_installed(directory):
            return
        with cluster.entered(release) as (keeper, is_up):
            _install(release, keeper, force)
            if is_up:
                places.say(f"install {release.name}: restarting the daemons")
                cluster.restart_daemons(release, keeper)
            namespace.call(keeper, _deploy)


def below(release: Release) -> bool:
    """Give a new cluster an earlier build of the working tree as a layer; return False if there is none.

    Writing and later removing a thousand files takes longer than all the rest of the start, because ext4 searches for
    inodes that were not freed lately. The caller holds the cluster's lock.
    """
    directory = places.cluster(release.name)
    build = _build_of(release)
    with places.locked(os.path.dirname(build), f"build for {release.name}"):
        if not os.path.lexists(f"{build}{SET}"):
            return False
        os.utime(build)
        # From now on no other process removes the build.
        cluster.write_layer(directory, build)
    _write_stamp(directory)
    return True


def into(release: Release, keeper: namespace.Keeper, is_new: bool) -> None:
    """Install the working tree before the daemons start; the caller holds the cluster's lock.

    ``is_new``: nobody can have changed a file of the cluster.
    """
    if _is_installed(places.cluster(release.name)):
        namespace.call(keeper, _enable)
    else:
        _install(release, keeper, force=False, is_new=is_new)
    namespace.call(keeper, lambda: "" if is_new and os.path.lexists(SET) else _deploy())


def _install(release: Release, keeper: namespace.Keeper, force: bool, is_new: bool = False) -> None:
    directory = places.cluster(release.name)
    stamp = _stamp(directory)
    if os.path.exists(stamp):
        os.unlink(stamp)
    report = Reporter(f"install {release.name}", os.path.join(directory, "install.log"))
    with open(report.log, "w", encoding="ascii"):
        pass
    _have_built(release, keeper, report, force, is_new)
    namespace.call(keeper, _enable)
    _write_stamp(directory)


def _stamp(directory: str) -> str:
    return os.path.join(directory, "installed")


def _write_stamp(directory: str) -> None:
    with open(_stamp(directory), "w", encoding="ascii") as file:
        file.write(_tree().digest)


def _is_installed(directory: str) -> bool:
    return _read(_stamp(directory)) == _tree().digest


def _build_of(release: Release) -> str:
    """Return the folder of the build of the working tree, which may not exist yet."""
    name = f"{_tree().digest[:32]}-{rootfs.ident(release)}-{FORMAT}"
    return os.path.join(places.cache(), "builds", release.name, name)


def _have_built(release: Release, keeper: namespace.Keeper, report: Reporter, force: bool, is_new: bool) -> None:
    """Build the tree, or copy an earlier build of the same tree on the same root file system."""
    build = _build_of(release)
    with places.locked(os.path.dirname(build), f"build for {release.name}"):
        namespace.call(keeper, _remove)
        if os.path.isdir(build) and not force:
            os.utime(build)
            _copy(keeper, build, [name for name in os.listdir(build) if name != "etc"], "/")
            if os.path.exists(f"{build}{SCRUN_LUA}"):
                _copy(keeper, build, [SCRUN_LUA.lstrip("/")], "/")
            if is_new and not os.path.lexists(f"{build}{SET}"):
                namespace.call(keeper, _enable)
                namespace.call(keeper, _deploy)
                _take(keeper, BASE, build)
            return
        report.say(f"building {len(_tree().files)} files of {places.PROJECT}")
        _copy(keeper, places.PROJECT, _tree().files, TREE)
        _build(report, keeper)
        if is_new:
            namespace.call(keeper, _enable)
            namespace.call(keeper, _deploy)
        # What is a layer of a cluster must not change.
        if build not in _layers(release):
            shutil.rmtree(build, ignore_errors=True)
            _keep(keeper, build, BASE if is_new else ())
        namespace.call(keeper, _tidy)
        _prune(release, os.path.dirname(build))
        report.say("built")


def _remove() -> str:
    """Remove the previous installation, so that files which the new tree lacks do not remain."""
    for path in (TREE, BUILD, PLUGINS, *_packages()):
        shutil.rmtree(path, ignore_errors=True)
    os.makedirs(PLUGINS)
    return ""


def _tidy() -> str:
    """Remove what only building needs, which the kept build lacks, too."""
    for path in (TREE, BUILD):
        shutil.rmtree(path)
    return ""


def _packages() -> list[str]:
    return glob.glob(f"{os.path.dirname(BIN)}/lib/python*/site-packages/slurmhooks*")


def _keep(keeper: namespace.Keeper, build: str, more: Sequence[str]) -> None:
    """Copy the results of installing, and more files, to the folder `build` of the host."""
    part = f"{build}.part"
    shutil.rmtree(part, ignore_errors=True)
    os.makedirs(part)
    packages = namespace.call(keeper, lambda: "\n".join(_packages())).splitlines()
    _take(keeper, (*PRODUCTS, *packages, *more), part)
    os.rename(part, build)


def _take(keeper: namespace.Keeper, paths: Sequence[str], folder: str) -> None:
    """Copy those files of the cluster that exist to a folder of the host."""
    with subprocess.Popen(["tar", "-C", folder, "-xf", "-"], stdin=subprocess.PIPE) as unpack:
        assert unpack.stdin is not None
        into = unpack.stdin.fileno()
        namespace.call(keeper, lambda: _tar(["-cf", "-", *_existing(paths)], stdout=into))
    if unpack.returncode != 0:
        raise LabError(f"tar cannot unpack files of the cluster in {folder}")


def _existing(paths: Sequence[str]) -> list[str]:
    return [path.lstrip("/") for path in paths if os.path.lexists(path)]


def _tar(arguments: list[str], *, data: bytes | None = None, stdout: int | None = None) -> str:
    """Run tar inside, in the root directory."""
    subprocess.run(["tar", "-C", "/", *arguments], input=data, stdout=stdout, env={"PATH": namespace.PATH}, check=True)
    return ""


def _prune(release: Release, builds: str) -> None:
    """Remove all builds except the few that were used last and those that are layers of clusters."""
    layers = _layers(release)
    kept = [path for path in glob.glob(f"{builds}/*") if path not in layers]
    for old in sorted(kept, key=os.path.getmtime)[:-KEPT_BUILDS]:
        if os.path.isdir(old):
            shutil.rmtree(old)
        else:
            os.unlink(old)


def _layers(release: Release) -> set[str]:
    """Return the builds that clusters have as layers."""
    return {cluster.read_layer(os.path.dirname(path)) for path in glob.glob(cluster.layer_file("*", release.name))}


class Tree(NamedTuple):
    """The files of the working tree that are needed inside, and a digest of names, modes and contents."""

    files: list[str]
    digest: str


@cache
def _tree() -> Tree:
    """Return the working tree as it is when a verb first asks: each runs in its own process."""
    files = _files()
    return Tree(files, _digest(files))


def _files() -> list[str]:
    command = ["git", "-C", places.PROJECT, "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode != 0:
        raise LabError(f"git cannot list the working tree: {done.stderr.strip()}")
    names = sorted(set(done.stdout.split("\0")) - {""})
    return [
        name
        for name in names
        if (not name.startswith(OUTSIDE) or INSIDE.fullmatch(name))
        and (os.path.islink(path := os.path.join(places.PROJECT, name)) or os.path.isfile(path))
    ]


def _digest(files: list[str]) -> str:
    total = hashlib.sha256()
    for name in files:
        path = os.path.join(places.PROJECT, name)
        status = os.lstat(path)
        if stat.S_ISLNK(status.st_mode):
            content = os.fsencode(os.readlink(path))
        elif stat.S_ISREG(status.st_mode):
            with open(path, "rb") as file:
                content = file.read()
        else:
            continue
        total.update(f"{name}\0{status.st_mode:o}\0{len(content)}\0".encode(errors="surrogateescape"))
        total.update(content)
    return total.hexdigest()


def _copy(keeper: namespace.Keeper, source: str, names: list[str], target: str) -> None:
    """Copy files of a folder of the host into the cluster."""
    # Packed outside the namespace, where the host's folders are visible.
    pack = ["tar", "-C", source, "--null", "--owner=0", "--group=0", "-T", "-", "-cf", "-"]
    packed = subprocess.run(pack, input=b"".join(os.fsencode(name) + b"\0" for name in names), capture_output=True)
    if packed.returncode != 0:
        raise LabError(f"tar cannot pack {source}: {packed.stderr.decode(errors='replace').strip()}")

    def body() -> str:
        os.makedirs(target, exist_ok=True)
        return _tar(["-C", target, "--no-overwrite-dir", "-xf", "-"], data=packed.stdout)

    namespace.call(keeper, body)


def _build(report: Reporter, keeper: namespace.Keeper) -> None:
    pip = [f"{BIN}/pip", "install", "-q", "--no-index", "--no-deps", "--no-build-isolation", "--force-reinstall", TREE]
    report.inside("pip install", keeper, pip)
    has_source = namespace.call(keeper, lambda: "yes" if os.path.isdir(SLURM_SOURCE) else "")
    source = ["--slurm-source", SLURM_SOURCE] if has_source else []
    report.inside("slurmhooks build", keeper, [f"{BIN}/slurmhooks", "build", *source, "--output", BUILD])
    placed = ["install", "--from", BUILD, "--plugin-dir", PLUGINS, "--sysconfdir", "/etc/slurm"]
    report.inside("slurmhooks install", keeper, [f"{BIN}/slurmhooks", *placed])


def _enable() -> str:
    if os.path.lexists(LINK):
        os.unlink(LINK)
    os.symlink(f"{BIN}/slurmhooks", LINK)
    os.makedirs("/etc/slurm/hooks.d", mode=0o755, exist_ok=True)
    if not os.path.exists("/etc/slurm/slurmhooks.toml"):
        cluster.write("/etc/slurm/slurmhooks.toml", TOML.encode(), 0o644, (0, 0))
    _have_line("/etc/slurm/local.conf", "JobSubmitPlugins=python", "jobsubmitplugins")
    _have_line("/etc/slurm/plugstack.conf", "required spank_python.so", "required spank_python.so")
    return ""


def _deploy() -> str:
    """Put the sources of the cluster in force.

    Raises:
        LabError: they were refused.
    """
    done = subprocess.run([f"{BIN}/slurmhooks", "deploy"], capture_output=True, text=True, env={"PATH": namespace.PATH})
    if done.returncode:
        raise LabError(f"slurmhooks deploy: {done.stderr.strip()}")
    return ""


def _have_line(path: str, line: str, unless: str) -> None:
    """Add `line` to a file, unless a line that somebody wrote by hand begins with `unless`."""
    text = _read(path)
    if not any(existing.strip().lower().startswith(unless) for existing in text.splitlines()):
        end = "" if text.endswith("\n") or not text else "\n"
        cluster.write(path, f"{text}{end}{line}\n".encode(), 0o644, (0, 0))


def _read(path: str) -> str:
    try:
        with open(path, encoding="utf-8") as file:
            return file.read()
    except OSError:
        return ""
