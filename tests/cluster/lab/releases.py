# SPDX-License-Identifier: GPL-2.0-or-later
"""The differences between the releases of Slurm: those of Debian, one row each, and those made from a source tree."""

import os
import re
from functools import cache
from typing import NamedTuple

from . import places
from .errors import UsageError


class Release(NamedTuple):
    """One release of Slurm, and the Debian suite that contains it or on which it was built."""

    name: str
    suite: str
    python: str
    auth: str
    """`munge` needs a daemon; `slurm` (23.11 and later) needs a key file only."""
    cgroup_plugin: str
    """Before 24.05 there is no `disabled`; cgroup/v1 touches nothing there when no plugin asks for a controller."""
    has_scrun: bool
    ctld_port: int
    packages: tuple[str, ...] = ()
    """Packages of this release besides PACKAGES."""
    on: str = ""
    """The release of Debian's on which this one was built from a source tree; empty: it is Debian's own."""
    plugins: str = "slurm-wlm"
    """The directory of Slurm's plugins, in that of the libraries."""

    def slurmd_port(self, node: int) -> int:
        """Return the port of node number `node`, from 1."""
        return self.ctld_port + node


RELEASES = {
    release.name: release
    for release in (
        Release("22.05", "bookworm", "3.11", "munge", "cgroup/v1", False, 22050),
        Release("24.11", "trixie", "3.13", "slurm", "disabled", True, 24110, ("crun",)),
        Release("26.05", "forky", "3.14", "slurm", "disabled", True, 26050, ("crun",)),
    )
}

PACKAGES = (
    "slurmctld", "slurmd", "slurm-client", "slurm-wlm-basic-plugins", "libslurm-dev", "munge",
    "python3-dev", "python3-venv", "gcc", "libc6-dev", "make", "pkgconf", "dpkg-dev",
    "liblua5.1-0-dev", "lua-json", "busybox-static",
    "jq", "rsync", "iproute2", "procps", "binutils", "ca-certificates",
)  # fmt: skip

SOURCE_PACKAGES = (
    "crun",
    "libhttp-parser-dev",
    "libjson-c-dev",
    "libjwt-dev",
    "liblua5.1-0-dev",
    "libmariadb-dev",
    "libyaml-dev",
)
"""Packages that a release from a source tree needs besides those of the release on which it is built."""

PYTHON_PACKAGES = (
    "cffi", "pydantic", "structlog", "lupa", "pytest", "click", "rich", "prometheus_client",
    "meson", "ninja", "hatchling",
)  # fmt: skip

STAMPS = ".slurmhooks"
"""The directory in a root file system that says what it is."""

USERS = {"alice": 2001, "bob": 2002}


FIRST_FROM_SOURCE = (23, 11)
"""The first release with auth/slurm, the only authentication that a release from a source tree uses."""


def from_source(name: str, on: str) -> Release:
    """Return the release called `name`, a full version such as "25.05.8", built on the Debian of release `on`.

    Raises:
        UsageError: `name` is not a version, or is too old; `on` is not a release of Debian.
    """
    match = re.match(r"(\d\d)\.(\d\d)\.", name)
    if not match or (int(match[1]), int(match[2])) < FIRST_FROM_SOURCE:
        raise UsageError(f"Slurm {name} cannot be built: only 23.11 and later, which have auth/slurm")
    if on not in RELEASES:
        raise UsageError(f"--on {on}: choose one of {', '.join(RELEASES)}")
    base, port = RELEASES[on], int(match[1] + match[2]) * 10
    cgroup = "disabled" if version(name) >= (24, 5) else "cgroup/v1"
    return Release(name, base.suite, base.python, "slurm", cgroup, True, port, SOURCE_PACKAGES, on=on, plugins="slurm")


def on_file(name: str) -> str:
    """Return the file that says on which release the root file system `name` was built from a source tree."""
    return os.path.join(places.rootfs(name), STAMPS, "on")


def known() -> dict[str, Release]:
    """Return all releases by name: those of Debian, and those that were made from a source tree."""
    directory = os.path.dirname(places.rootfs("any"))
    names = sorted(os.listdir(directory)) if os.path.isdir(directory) else []
    return RELEASES | {name: find(name) for name in names if os.path.exists(on_file(name))}


@cache
def find(name: str) -> Release:
    """Return the release called `name`; a process that has entered a cluster no longer sees the files of the others.

    Raises:
        UsageError: it does not exist; the text lists the existing ones.
    """
    if name in RELEASES:
        return RELEASES[name]
    try:
        with open(on_file(name), encoding="ascii") as file:
            return from_source(name, file.read().strip())
    except OSError:
        raise UsageError(f"no release {name!r}: choose one of {', '.join(known())}") from None


def version(name: str) -> tuple[int, int]:
    """Return major and minor number of a release, for what depends on the version: (25, 5)."""
    major, minor = name.split(".")[:2]
    return int(major), int(minor)
