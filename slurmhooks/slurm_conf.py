# SPDX-License-Identifier: GPL-2.0-or-later
"""Where slurm.conf is, and what it says.

Launches import this module, so it imports re, pwd and os only when it needs them.
"""

from __future__ import annotations

import posix
import sys

INCLUDE = r"\s*include\s+(\S+)\s*"


def directory() -> str:
    """Return the folder of slurm.conf: of SLURM_CONF's, else the one that the plugins were built for."""
    conf = environment("SLURM_CONF")
    if conf:
        # Slurm, too, starts from the current folder, and daemons leave that later.
        return (conf if conf.startswith("/") else f"{posix.getcwd()}/{conf}").rpartition("/")[0] or "/"
    built_for = sys._xoptions.get("slurmhooks_sysconfdir")
    return built_for if isinstance(built_for, str) else "/etc/slurm"


def slurm_user() -> int:
    """Return the user id of SlurmUser in slurm.conf; 0, which is Slurm's default, if it cannot be told."""
    import pwd

    name = own_value("SlurmUser") or "root"
    try:
        return int(name) if name.isdecimal() else pwd.getpwnam(name).pw_uid
    except KeyError:
        return 0


def own_value(key: str) -> str | None:
    """Return a value of this process's slurm.conf, None if it is not set."""
    return value(environment("SLURM_CONF") or f"{directory()}/slurm.conf", key)


def cluster_name() -> str | None:
    """Return ClusterName in slurm.conf, in lower case as Slurm takes it; None if it is not there."""
    name = own_value("ClusterName")
    return None if name is None else name.lower()


def environment(name: str) -> str | None:
    """Return a variable of the environment, without importing os, which takes a millisecond of a launch's ten."""
    os = sys.modules.get("os")
    if os is not None:
        value: str | None = os.environ.get(name)
        return value
    raw = posix.environ.get(name.encode())
    return None if raw is None else raw.decode("utf-8", "surrogateescape")


def value(path: str, key: str) -> str | None:
    """Return a top-level value of slurm.conf, following its Include lines; the last one counts.

    Args:
        path: of slurm.conf; a relative Include starts from its folder.
        key: the parameter; Slurm does not distinguish upper and lower case.

    Returns:
        the text without quotation marks; None if the parameter is not set, or the file cannot be read.
    """
    import re

    try:
        with open(path, encoding="utf-8", errors="surrogateescape") as file:
            text = file.read()
    except OSError:
        return None
    assignment = re.compile(rf'(?:^|\s){re.escape(key)}\s*=\s*(?:"([^"]*)"|(\S+))', re.IGNORECASE)
    result = None
    for line in text.replace("\\\n", "").split("\n"):
        line = line.partition("#")[0]
        include = re.fullmatch(INCLUDE, line, re.IGNORECASE)
        if include is not None:
            name = include.group(1)
            included = name if name.startswith("/") else f"{path.rpartition('/')[0] or '.'}/{name}"
            result = value(included, key) or result
        match = assignment.search(line)
        if match is not None:
            result = match.group(1) or match.group(2)
    return result
