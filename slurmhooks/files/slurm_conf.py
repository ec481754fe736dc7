# SPDX-License-Identifier: GPL-2.0-or-later
"""Finds and reads slurm.conf.

Launches import this module. It imports re, pwd and os only where they are needed.
"""

from __future__ import annotations

import posix
import sys

from slurmhooks.errors import ConfigError

TYPE_CHECKING = False
if TYPE_CHECKING:
    import re
    from collections.abc import Iterator

INCLUDE = r"\s*include\s+(\S+)\s*"
RECEIVED = "/run/slurm/conf"
"""Where Slurm looks on a node that has no slurm.conf: what its slurmd has received from slurmctld."""
MOST_NESTED = 20
"""Number of Include lines that may lead to a file: one that includes itself, by whatever path, would have no end."""


def directory() -> str:
    """Return the folder of slurm.conf: that of SLURM_CONF, otherwise the one that the plugins were built for.

    If there is no slurm.conf, a node uses the one that its slurmd has received, as in Slurm.
    """
    conf = environment("SLURM_CONF")
    if conf:
        # Relative to the current folder, as in Slurm; daemons change it later.
        return (conf if conf.startswith("/") else f"{posix.getcwd()}/{conf}").rpartition("/")[0] or "/"
    folder = _built_for()
    is_received = not _has_one(folder) and _has_one(RECEIVED)
    return RECEIVED if is_received else folder


def name_here(node: str) -> str:
    """Return a name for files about a node that no node of another cluster has on this machine.

    The folder of slurm.conf tells clusters apart; nothing is added for the one that the plugins were built for.
    """
    folder = directory()
    if folder == _built_for():
        return node
    from zlib import crc32

    return f"{node}@{crc32(folder.encode(errors='surrogateescape')):08x}"


def _built_for() -> str:
    folder = sys._xoptions.get("slurmhooks_sysconfdir")
    return folder if isinstance(folder, str) else "/etc/slurm"


def _has_one(folder: str) -> bool:
    return posix.access(f"{folder}/slurm.conf", posix.F_OK)


def file_in(folder: str) -> str:
    """Return the slurm.conf of a folder: the one that SLURM_CONF names, under any name, if it is there."""
    conf = environment("SLURM_CONF")
    return conf if conf and directory() == folder else f"{folder.rstrip('/')}/slurm.conf"


def slurm_user() -> int:
    """Return the user id of SlurmUser; 0, Slurm's default, if it is not set or has no such user."""
    return user_in(environment("SLURM_CONF") or f"{directory()}/slurm.conf")


def user_in(path: str) -> int:
    """Return what :func:`slurm_user` returns, for a slurm.conf."""
    import pwd

    name = value(path, "SlurmUser") or "root"
    try:
        return int(name) if name.isdecimal() else pwd.getpwnam(name).pw_uid
    except KeyError:
        return 0


def own_value(key: str) -> str | None:
    """Return a value of the slurm.conf that this process uses; None if it is not set."""
    return value(environment("SLURM_CONF") or f"{directory()}/slurm.conf", key)


def controllers(path: str) -> list[str]:
    """Return the names of the hosts of slurmctld, the primary one first; none if slurm.conf cannot be read."""
    import re

    host = re.compile(r"\s*(?:SlurmctldHost|ControlMachine|BackupController)\s*=\s*([^\s(]+)", re.IGNORECASE)
    return [match.group(1) for line in lines(path) if (match := host.match(line)) is not None]


def cluster_name() -> str | None:
    """Return ClusterName in lower case, as Slurm uses it; None if it is not set."""
    name = own_value("ClusterName")
    return None if name is None else name.lower()


def environment(name: str) -> str | None:
    """Return an environment variable, without importing os, which takes a tenth of a launch's time in Python."""
    os = sys.modules.get("os")
    if os is not None:
        value: str | None = os.environ.get(name)
        return value
    raw = posix.environ.get(name.encode())
    return None if raw is None else raw.decode("utf-8", "surrogateescape")


def value(path: str, key: str) -> str | None:
    """Return a top-level value of slurm.conf and the files that it includes; the last assignment counts.

    A relative Include is relative to the folder of ``path``; the case of ``key`` does not matter.

    Returns:
        the text without quotation marks; None if the parameter is not set, or the file cannot be read.

    Raises:
        ConfigError: a file includes itself.
    """
    assignment = _assignment(key)
    result = None
    for line in lines(path):
        match = assignment.search(line)
        if match is not None:
            result = match.group(1) or match.group(2)
    return result


def value_in(line: str, key: str) -> str | None:
    """Return a value of one line of slurm.conf, as :func:`value`."""
    match = _assignment(key).search(line)
    return None if match is None else match.group(1) or match.group(2)


def _assignment(key: str) -> re.Pattern[str]:
    import re

    return re.compile(rf'(?:^|\s){re.escape(key)}\s*=\s*(?:"([^"]*)"|(\S+))', re.IGNORECASE)


def lines(path: str, depth: int = 0) -> Iterator[str]:
    """Yield the lines of slurm.conf and the files that it includes, without comments; none if it cannot be read.

    A relative Include is relative to the folder of ``path``; ``depth`` is the number of files that have led to this
    one.

    Raises:
        ConfigError: a file includes itself.
    """
    import re

    if depth > MOST_NESTED:
        raise ConfigError([f"{path}: includes itself, or is included through more than {MOST_NESTED} files"])
    try:
        with open(path, encoding="utf-8", errors="surrogateescape") as file:
            text = file.read()
    except OSError:
        return
    for line in text.replace("\\\n", "").split("\n"):
        line = line.partition("#")[0]
        include = re.fullmatch(INCLUDE, line, re.IGNORECASE)
        if include is not None:
            name = include.group(1)
            yield from lines(name if name.startswith("/") else f"{path.rpartition('/')[0] or '.'}/{name}", depth + 1)
        else:
            yield line
