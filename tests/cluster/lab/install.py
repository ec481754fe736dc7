# SPDX-License-Identifier: GPL-2.0-or-later
"""Build the working tree inside a cluster and enable it there."""

import glob
import hashlib
import os
import re
import shutil
import stat
import subprocess

from . import cluster, namespace, places, rootfs
from .errors import LabError
from .releases import Release
from .steps import Reporter

TREE = "/usr/src/slurmhooks"
BIN = "/opt/slurmhooks/bin"
BUILD = "/opt/slurmhooks/build"
PLUGINS = "/usr/local/lib/slurm"
SCRUN_LUA = "/etc/slurm/scrun.lua"
PRODUCTS = (PLUGINS, f"{BIN}/slurmhooks", SCRUN_LUA)
"""The results of installing, besides the Python package."""
FORMAT = 3
"""Increased when the format of packed builds changes."""
KEPT_BUILDS = 8
SLURM_SOURCE = "/usr/src/slurm"
OUTSIDE = (
    "Makefile",
    *(
        f"{name}/"
        for name in (".ci", "changelog.d", "docs", "tests/cluster", "tests/native", "tests/project", "tests/unit")
    ),
)
"""Files that are not needed inside; their changes cause no new build."""
INSIDE = re.compile(r"docs/\w+\.py")
"""What OUTSIDE covers and is needed: the build of a wheel writes the manual pages."""

TOML = '[hooks]\npaths = ["/etc/slurm/hooks.d/*.py"]\n'


def install(release: Release, force: bool) -> None:
    """Install the working tree as it is now, and restart the daemons with it.

    Raises:
        LabError: the build failed, or the daemons did not start with it.
    """
    directory = places.cluster(release.name)
    with places.locked(directory, f"install {release.name}"):
        files = _files()
        if not force and _read(_stamp(directory)) == _digest(files):
            return
        with cluster.entered(release) as (keeper, is_up):
            _install(release, keeper, files, force)
            if is_up:
                places.say(f"install {release.name}: restarting the daemons")
                cluster.restart_daemons(release, keeper)


def into(release: Release, keeper: namespace.Keeper) -> None:
    """Install the working tree before the daemons start; the caller holds the cluster's lock."""
    _install(release, keeper, _files(), force=False)


def _install(release: Release, keeper: namespace.Keeper, files: list[str], force: bool) -> None:
    directory = places.cluster(release.name)
    digest = _digest(files)
    stamp = _stamp(directory)
    if os.path.exists(stamp):
        os.unlink(stamp)
    report = Reporter(f"install {release.name}", os.path.join(directory, "install.log"))
    with open(report.log, "w", encoding="ascii"):
        pass
    _have_built(release, keeper, report, files, digest, force)
    namespace.call(keeper, _enable)
    with open(stamp, "w", encoding="ascii") as file:
        file.write(digest)


def _stamp(directory: str) -> str:
    return os.path.join(directory, "installed")


def _have_built(
    release: Release, keeper: namespace.Keeper, report: Reporter, files: list[str], digest: str, force: bool
) -> None:
    """Build the tree, or unpack an earlier build of the same tree on the same root file system."""
    builds = os.path.join(places.cache(), "builds", release.name)
    archive = os.path.join(builds, f"{digest[:32]}-{rootfs.ident(release)}-{FORMAT}.tar")
    with places.locked(builds, f"build for {release.name}"):
        if os.path.exists(archive) and not force:
            os.utime(archive)
        else:
            report.say(f"building {len(files)} files of {places.PROJECT}")
            namespace.call(keeper, _remove)
            _copy(keeper, files)
            _build(report, keeper)
            _pack(keeper, archive)
            namespace.call(keeper, _tidy)
            _prune(builds)
            report.say("built")
            return
    namespace.call(keeper, _remove)
    with open(archive, "rb") as packed:
        namespace.call(keeper, lambda: _tar("-xf", "/dev/stdin", stdin=packed.fileno()))


def _remove() -> str:
    """Remove the previous installation, so that files which the new tree lacks do not remain."""
    for path in (TREE, BUILD, PLUGINS, *_packages()):
        shutil.rmtree(path, ignore_errors=True)
    os.makedirs(PLUGINS)
    return ""


def _tidy() -> str:
    """Remove what only building needs, which clusters that unpack the build do not have either."""
    for path in (TREE, BUILD):
        shutil.rmtree(path)
    return ""


def _packages() -> list[str]:
    return glob.glob(f"{os.path.dirname(BIN)}/lib/python*/site-packages/slurmhooks*")


def _pack(keeper: namespace.Keeper, archive: str) -> None:
    part = f"{archive}.part"
    with open(part, "wb") as file:
        namespace.call(
            keeper,
            lambda: _tar(
                "-cf", "/dev/stdout", *filter(os.path.exists, [*PRODUCTS, *_packages()]), stdout=file.fileno()
            ),
        )
    os.rename(part, archive)


def _tar(*arguments: str, stdin: int | None = None, stdout: int | None = None) -> str:
    subprocess.run(
        ["tar", "-C", "/", "-P", *arguments], stdin=stdin, stdout=stdout, env={"PATH": namespace.PATH}, check=True
    )
    return ""


def _prune(builds: str) -> None:
    """Remove all builds except the few that were used last."""
    archives = [os.path.join(builds, name) for name in os.listdir(builds) if name.endswith(".tar")]
    for old in sorted(archives, key=os.path.getmtime)[:-KEPT_BUILDS]:
        os.unlink(old)


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
        and os.path.lexists(os.path.join(places.PROJECT, name))
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


def _copy(keeper: namespace.Keeper, files: list[str]) -> None:
    # Packed outside the namespace, where the working tree is visible.
    pack = ["tar", "-C", places.PROJECT, "--null", "--no-recursion", "--owner=0", "--group=0", "-T", "-", "-cf", "-"]
    names = "".join(name + "\0" for name in files).encode(errors="surrogateescape")
    packed = subprocess.run(pack, input=names, capture_output=True)
    if packed.returncode != 0:
        raise LabError(f"tar cannot pack the working tree: {packed.stderr.decode(errors='replace').strip()}")

    def body() -> str:
        os.makedirs(TREE)
        env = {"PATH": namespace.PATH}
        subprocess.run(["tar", "-C", TREE, "-xf", "-"], input=packed.stdout, env=env, check=True)
        return ""

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
    link = "/usr/local/bin/slurmhooks"
    if os.path.lexists(link):
        os.unlink(link)
    os.symlink(f"{BIN}/slurmhooks", link)
    os.makedirs("/etc/slurm/hooks.d", mode=0o755, exist_ok=True)
    if not os.path.exists("/etc/slurm/slurmhooks.toml"):
        cluster.write("/etc/slurm/slurmhooks.toml", TOML.encode(), 0o644, (0, 0))
    _have_line("/etc/slurm/local.conf", "JobSubmitPlugins=python", "jobsubmitplugins")
    _have_line("/etc/slurm/plugstack.conf", "required spank_python.so", "required spank_python.so")
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
