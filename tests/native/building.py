# SPDX-License-Identifier: GPL-2.0-or-later
"""Compiles native/ and its stand-in host for the tests, once a session and flavour."""

import fcntl
import json
import os
import re
import shutil
import subprocess
import sys
import sysconfig
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
LUA = "5.1"
LUA_PACKAGES = ("liblua5.1-0-dev", "liblua5.1-0")
APT_SECONDS = 120.0


class Unavailable(Exception):  # noqa: N818 - not an error: the tests are skipped with this reason
    """Something that this machine lacks, and that cannot be had."""


class BuildError(Exception):
    """The sources do not compile."""


@dataclass(frozen=True)
class Flavour:
    """One way to compile."""

    name: str
    options: tuple[str, ...] = ()


PLAIN = Flavour("plain")
# Not optimized: it takes a third of the time, and nothing that was written is left out.
SANITIZED = Flavour("sanitized", ("-Db_sanitize=address,undefined", "-Dallocator=malloc", "-Doptimization=0"))


@dataclass(frozen=True)
class Build:
    """What one flavour has made.

    Attributes:
        flavour: which.
        sysconfdir: where slurm.conf lies if SLURM_CONF does not say it.
        plugins: the folder with the plugins.
        host: the program that opens them.
        other_core: a core library of another build.
        malloc_core: one with which Python takes each object from malloc().
        include: the folder with Slurm's headers.
        has_lua: whether there is a plugin for scrun.
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
        found = re.search(r"#define SLURM_VERSION_NUMBER (\w+)", text)
        assert found
        return int(found.group(1), 16)


def build(flavour: Flavour) -> Build:
    """Compile a flavour, or only what has changed since the last time.

    Raises:
        Unavailable: this machine lacks something.
        BuildError: the sources do not compile.
    """
    tree = ROOT / "build" / f"native-{flavour.name}"
    tree.mkdir(parents=True, exist_ok=True)
    with locked(tree.with_suffix(".lock")):
        include = slurm_include()
        lua, environment = lua_environment()
        python = embeddable_python()
        command = [sys.executable, "-m", "mesonbuild.mesonmain", "setup", str(tree), str(ROOT / "native")]
        command += [f"--prefix={tree / 'plugins'}", f"-Dpython={python}", f"-Dpython_paths={python_paths(python)}"]
        command += [f"-Dslurm_include={include}", f"-Dlua={lua}", "-Dtests=true"]
        command += [f"-Dsysconfdir_slurm={tree / 'etc'}"]
        command += flavour.options
        # Meson caches what it found: changed options mean a fresh start.
        stamp = tree / "configured.json"
        wanted = json.dumps(command, indent=1)
        if not stamp.exists() or stamp.read_text() != wanted:
            shutil.rmtree(tree)
            run(command, environment)
            stamp.write_text(wanted)
        run([ninja(), "-C", str(tree), "install"], environment)
    cores = (tree / "libother_core.so", tree / "libmalloc_core.so")
    return Build(flavour, tree / "etc", tree / "plugins", tree / "fakehost", *cores, include, lua != "none")


@contextmanager
def locked(path: Path) -> Iterator[None]:
    """Hold a lock: two test sessions of one checkout must not build at the same time."""
    with path.open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


def run(command: list[str], environment: dict[str, str]) -> None:
    """Run a build step; the end of its output is the message if it fails."""
    env = os.environ | {"PATH": tool_path()} | environment
    done = subprocess.run(command, env=env, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
    if done.returncode:
        raise BuildError("\n".join([" ".join(command), *done.stdout.splitlines()[-40:]]))


def tool_path() -> str:
    """Return a PATH on which this environment's tools come first: two versions of ninja must not meet in one tree."""
    return os.pathsep.join((str(Path(sys.executable).parent), os.environ.get("PATH", os.defpath)))


def ninja() -> str:
    """Return ninja, this environment's own first."""
    found = shutil.which("ninja", path=tool_path())
    if found is None:
        raise Unavailable("no ninja")
    return found


def slurm_include() -> Path:
    """Return the folder that holds slurm/slurm.h: the system's, or one from Debian's package."""
    if Path("/usr/include/slurm/slurm.h").exists():
        return Path("/usr/include")
    return debian_packages("libslurm-dev") / "usr" / "include"


def lua_environment() -> tuple[str, dict[str, str]]:
    """Return the version of Lua to build for, or "none", and the environment in which it is found."""
    if not shutil.which("pkg-config"):
        return "none", {}
    if subprocess.run(["pkg-config", "--exists", f"lua{LUA}"], check=False).returncode == 0:
        return LUA, {}
    try:
        folder = debian_packages(*LUA_PACKAGES)
    except Unavailable:
        return "none", {}
    # The package believes that it lies in /usr.
    original = next(folder.glob(f"usr/lib/**/pkgconfig/lua{LUA}.pc"))
    moved = folder / "pkgconfig"
    moved.mkdir(exist_ok=True)
    (moved / original.name).write_text(original.read_text().replace("prefix=/usr", f"prefix={folder}/usr"))
    return LUA, {"PKG_CONFIG_PATH": str(moved)}


def debian_packages(*names: str) -> Path:
    """Return a folder with the content of Debian packages, which are not installed.

    Raises:
        Unavailable: this is no Debian, or the packages cannot be fetched.
    """
    os_release = dict(line.split("=", 1) for line in Path("/etc/os-release").read_text().splitlines() if "=" in line)
    suite = os_release.get("VERSION_CODENAME", "").strip('"')
    if not suite or not shutil.which("apt-get") or not shutil.which("dpkg-deb"):
        raise Unavailable(f"{', '.join(names)}: not installed, and this is no Debian to fetch them from")
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "slurmhooks" / "headers" / suite
    cache.mkdir(parents=True, exist_ok=True)
    with locked(cache / ".lock"):
        for name in names:
            done = cache / f".{name}"
            if not done.exists():
                fetch(name, cache)
                done.touch()
    return cache


def fetch(package: str, folder: Path) -> None:
    """Unpack a Debian package into a folder.

    Raises:
        Unavailable: it cannot be fetched.
    """
    # _apt, the user as whom apt fetches, may not write there; root itself then does, and apt warns.
    download = ["apt-get", "download", "-q", "-o", "APT::Sandbox::User=root", package]
    failure = apt(download, folder)
    if failure and os.geteuid() == 0:  # a fresh machine has no package lists, an old one those of releases ago
        failure = apt(["apt-get", "update", "-q"], folder) or apt(download, folder)
    if failure:
        raise Unavailable(f"{package}: not installed, and cannot be fetched: {failure}")
    for archive in folder.glob(f"{package}_*.deb"):
        subprocess.run(["dpkg-deb", "-x", str(archive), str(folder)], check=True)
        archive.unlink()


def apt(command: list[str], folder: Path) -> str | None:
    """Run apt-get in a folder; return what it says last if it fails."""
    try:
        done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False, timeout=APT_SECONDS)
    except subprocess.TimeoutExpired:
        return f"{' '.join(command)} took too long"
    return (done.stderr.strip().splitlines() or ["no reason given"])[-1] if done.returncode else None


def embeddable_python() -> str:
    """Return the running Python, which the plugins are to embed.

    Raises:
        Unavailable: it has no shared libpython.
    """
    library = sysconfig.get_config_var("INSTSONAME") or ""
    libdir = Path(sysconfig.get_config_var("LIBDIR") or "/nowhere")
    folders = (libdir / (sysconfig.get_config_var("MULTIARCH") or ""), libdir)
    if ".so" in library and any((folder / library).exists() for folder in folders):
        return sys.executable
    raise Unavailable(f"{sys.executable} has no shared libpython: run 'make venv PYTHON=/usr/bin/python3'")


def python_paths(python: str) -> str:
    """Return the search path for the embedded interpreter, this checkout first."""
    code = "import os, sys; print(os.pathsep.join(filter(None, sys.path[1:])))"
    done = subprocess.run([python, "-I", "-c", code], stdout=subprocess.PIPE, text=True, check=True)
    return os.pathsep.join([str(ROOT), *done.stdout.strip().split(os.pathsep)])
