# SPDX-License-Identifier: GPL-2.0-or-later
"""The differences between the releases of Slurm, one row each."""

from typing import NamedTuple

from .errors import UsageError


class Release(NamedTuple):
    """One release of Slurm, and the Debian suite that contains it."""

    name: str
    suite: str
    python: str
    auth: str
    """`munge` needs a daemon; `slurm` (23.11 and later) needs a key file only."""
    cgroup_plugin: str
    """22.05 does not know `disabled`; its cgroup/v1 touches nothing when no plugin asks for a controller."""
    has_scrun: bool
    ctld_port: int
    packages: tuple[str, ...] = ()
    """Packages of this release besides PACKAGES."""

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

PYTHON_PACKAGES = (
    "cffi", "pydantic", "structlog", "lupa", "pytest", "click", "rich", "prometheus_client",
    "meson", "ninja", "hatchling",
)  # fmt: skip

USERS = {"alice": 2001, "bob": 2002}


def find(name: str) -> Release:
    """Return the release called `name`.

    Raises:
        UsageError: it does not exist; the text lists the existing ones.
    """
    try:
        return RELEASES[name]
    except KeyError:
        raise UsageError(f"no release {name!r}: choose one of {', '.join(RELEASES)}") from None
