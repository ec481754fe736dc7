# SPDX-License-Identifier: GPL-2.0-or-later
"""Compiles native/ and tests/fakehost, once per session and flavour."""

from __future__ import annotations

import fcntl
import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

from slurmhooks.cli.python_facts import libpython
from slurmhooks.cli.toolchain import tool_path

ROOT = Path(__file__).resolve().parents[2]
LUA = "5.1"
LUA_PACKAGES = ("liblua5.1-0-dev", "liblua5.1-0")
APT_SECONDS = 120.0


class Unavailable(Exception):  # noqa: N818 - not an error: tests are skipped with this reason
    """This machine lacks something that is needed to compile."""


class BuildError(Exception):
    """The sources do not compile."""


@dataclass(frozen=True)
class Flavour:
    """One way to compile.

    The headers of ``release`` are those of the root file systems of tests/cluster; None: those of this machine.
    """

    name: str
    options: tuple[str, ...] = ()
    release: str | None = None

    def of(self, release: str) -> Flavour:
        """Return the same flavour with the headers of a release."""
        return replace(self, name=f"{self.name}-{release}", release=release)


PLAIN = Flavour("plain")
# Compiled without optimization, which would remove memory accesses and triple the compile time.
SANITIZED = Flavour("sanitized", ("-Db_sanitize=address,undefined", "-Dallocator=malloc", "-Doptimization=0"))
THREADS = Flavour("threads", ("-Db_sanitize=thread", "-Doptimization=0"))


@dataclass(frozen=True)
class Build:
    """The files of one flavour.

    ``sysconfdir`` is the folder of slurm.conf without SLURM_CONF. In ``malloc_core``, Python takes each object from
    malloc(); with sanitizers there is none.
    """

    flavour: Flavour
    sysconfdir: Path
    plugins: Path
    host: Path
    other_core: Path
    malloc_core: Path
    include: Path
    has_lua: bool

    @property
    def slurm(self) -> int:
        """SLURM_VERSION_NUMBER of the headers."""
        text = (self.include / "slurm" / "slurm_version.h").read_text()
        match = re.search(r"#define SLURM_VERSION_NUMBER (\w+)", text)
        assert match
        return int(match.group(1), 16)


def build(flavour: Flavour) -> Build:
    """Compile a flavour, or the parts of it that have changed since the last time.

    Raises:
        Unavailable: this machine lacks something that is needed.
        BuildError: the sources do not compile.
    """
    tree = ROOT / "build" / f"native-{flavour.name}"
    tree.mkdir(parents=True, exist_ok=True)
    with locked(tree.with_suffix(".lock")):
        include = slurm_include() if flavour.release is None else release_include(flavour.release)
        lua, environment = lua_environment()
        python = embeddable_python()
        command = [sys.executable, "-m", "mesonbuild.mesonmain", "setup", str(tree), str(ROOT / "native")]
        command += [f"--prefix={tree / 'plugins'}", f"-Dpython={python}", f"-Dpython_paths={python_paths(python)}"]
        command += [f"-Dslurm_include={include}", f"-Dlua={lua}", "-Dtests=true"]
        command += [f"-Dsysconfdir_slurm={tree / 'etc'}"]
        command += flavour.options
        # If the options have changed, Meson must not use its cache.
        stamp = tree / "configured.json"
        wanted = json.dumps(command, indent=1)
        if not stamp.exists() or stamp.read_text() != wanted:
            shutil.rmtree(tree)
            run(command, environment)
            stamp.write_text(wanted)
        # One process of a test session builds for all.
        session, built = os.environ.get("PYTEST_XDIST_TESTRUNUID", ""), tree / "session"
        if not session or not built.exists() or built.read_text() != session:
            built.unlink(missing_ok=True)
            run([ninja(), "-C", str(tree), "install"], environment)
            built.write_text(session)
    cores = (tree / "libother_core.so", tree / "libmalloc_core.so")
    return Build(flavour, tree / "etc", tree / "plugins", tree / "fakehost", *cores, include, lua != "none")


@contextmanager
def locked(path: Path) -> Iterator[None]:
    """Hold the lock of a file: two test sessions of one checkout must not build at the same time."""
    with path.open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


def run(command: list[str], environment: dict[str, str]) -> None:
    """Run a build step.

    Raises:
        BuildError: it fails; the message is the end of its output.
    """
    env = os.environ | {"PATH": tool_path()} | environment
    process = subprocess.run(command, env=env, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
    if process.returncode:
        raise BuildError("\n".join([" ".join(command), *process.stdout.splitlines()[-40:]]))


def ninja() -> str:
    """Return the path of ninja, preferably that of this environment: only one version must use a build folder."""
    path = shutil.which("ninja", path=tool_path())
    if path is None:
        raise Unavailable("no ninja")
    return path


def slurm_include() -> Path:
    """Return the folder of slurm/slurm.h: that of the system, or one from Debian's package."""
    if Path("/usr/include/slurm/slurm.h").exists():
        return Path("/usr/include")
    return debian_packages("libslurm-dev") / "usr" / "include"


def release_include(release: str) -> Path:
    """Return a folder that contains only slurm/slurm.h of a release.

    Raises:
        Unavailable: there is no root file system of this release.
    """
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "slurmhooks" / "rootfs" / release
    headers = next(cache.glob("usr/include/slurm*/slurm.h"), None)
    if headers is None:
        raise Unavailable(f"{cache} has no slurm.h: run 'tests/cluster/run rootfs {release}' as root")
    folder = ROOT / "build" / "headers" / release
    shutil.rmtree(folder, ignore_errors=True)
    shutil.copytree(headers.parent, folder / "slurm")
    return folder


def lua_environment() -> tuple[str, dict[str, str]]:
    """Return the version of Lua to build for, or "none", and the environment variables by which Meson finds it."""
    if not shutil.which("pkg-config"):
        return "none", {}
    if subprocess.run(["pkg-config", "--exists", f"lua{LUA}"], check=False).returncode == 0:
        return LUA, {}
    try:
        folder = debian_packages(*LUA_PACKAGES)
    except Unavailable:
        return "none", {}
    # The package expects to be in /usr.
    original = next(folder.glob(f"usr/lib/**/pkgconfig/lua{LUA}.pc"))
    moved = folder / "pkgconfig"
    moved.mkdir(exist_ok=True)
    (moved / original.name).write_text(original.read_text().replace("prefix=/usr", f"prefix={folder}/usr"))
    return LUA, {"PKG_CONFIG_PATH": str(moved)}


def debian_packages(*names: str) -> Path:
    """Return a folder with the files of Debian packages, without installing them.

    Raises:
        Unavailable: this system is not Debian, or the packages cannot be downloaded.
    """
    os_release = dict(line.split("=", 1) for line in Path("/etc/os-release").read_text().splitlines() if "=" in line)
    suite = os_release.get("VERSION_CODENAME", "").strip('"')
    if not suite or not shutil.which("apt-get") or not shutil.which("dpkg-deb"):
        raise Unavailable(f"{', '.join(names)}: not installed, and only Debian can download them")
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "slurmhooks" / "headers" / suite
    cache.mkdir(parents=True, exist_ok=True)
    with locked(cache / ".lock"):
        for name in names:
            stamp = cache / f".{name}"
            if not stamp.exists():
                fetch(name, cache)
                stamp.touch()
    return cache


def fetch(package: str, folder: Path) -> None:
    """Download a Debian package and unpack it into a folder.

    Raises:
        Unavailable: it cannot be downloaded.
    """
    # Run as root, because the user _apt cannot write to the folder, about which apt would warn.
    download = ["apt-get", "download", "-q", "-o", "APT::Sandbox::User=root", package]
    failure = apt(download, folder)
    if failure and os.geteuid() == 0:  # the package lists may be missing or old
        failure = apt(["apt-get", "update", "-q"], folder) or apt(download, folder)
    if failure:
        raise Unavailable(f"{package}: not installed, and cannot be downloaded: {failure}")
    for archive in folder.glob(f"{package}_*.deb"):
        subprocess.run(["dpkg-deb", "-x", str(archive), str(folder)], check=True)
        archive.unlink()


def apt(command: list[str], folder: Path) -> str | None:
    """Run apt-get in a folder; if it fails, return the last line of its errors."""
    try:
        process = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False, timeout=APT_SECONDS)
    except subprocess.TimeoutExpired:
        return f"{' '.join(command)} took too long"
    return (process.stderr.strip().splitlines() or ["no reason given"])[-1] if process.returncode else None


def embeddable_python() -> str:
    """Return the running Python, which the plugins will embed.

    Raises:
        Unavailable: it has no shared libpython.
    """
    if libpython() is not None:
        return sys.executable
    raise Unavailable(f"{sys.executable} has no shared libpython: run 'make venv PYTHON=/usr/bin/python3'")


def python_paths(python: str) -> str:
    """Return the search path of the embedded interpreter, which begins with this checkout."""
    code = "import os, sys; print(os.pathsep.join(filter(None, sys.path[1:])))"
    process = subprocess.run([python, "-I", "-c", code], stdout=subprocess.PIPE, text=True, check=True)
    return os.pathsep.join([str(ROOT), *process.stdout.strip().split(os.pathsep)])


def preloaded(name: str, folder: Path) -> Path:
    """Compile a source of tests/fakehost into a library for LD_PRELOAD, and return it."""
    library = folder / f"{name}.so"
    source = ROOT / "tests" / "fakehost" / f"{name}.c"
    subprocess.run(
        ["gcc", "-shared", "-fPIC", "-Wall", "-Wextra", "-Werror", source, "-o", library, "-ldl"], check=True
    )
    return library
