# SPDX-License-Identifier: GPL-2.0-or-later
"""Takes rights from the processes that run code of the site: generations, their workers and observers.

The supervisor and the collector, which run none, keep those of slurmctld.
"""

from __future__ import annotations

import os
import resource
from typing import TYPE_CHECKING

from slurmhooks.errors import LoadError
from slurmhooks.processes import memory, process

if TYPE_CHECKING:
    from slurmhooks.config.controller import Workers
    from slurmhooks.processes.settings import Settings


def drop_rights(section: Workers, name: str) -> None:
    """Drop privileges permanently, in a generation, before it runs code of the site; its workers inherit that.

    Raises:
        LoadError: the process cannot become the user that the section names, or the kernel refuses no_new_privs.
    """
    memory.prefer_to_kill()  # as another user, only root may write to this process's files in /proc
    user: str | None = getattr(section, "user", None)
    if user is not None:
        try:
            _become(user)
        except (KeyError, OSError) as error:
            raise LoadError([f"{name}.user: {_explain(user, error)}"]) from error
    if section.no_new_privs:
        try:
            process.no_new_privileges()
        except OSError as error:
            raise LoadError(
                [f"{name}.no_new_privs: {error.strerror}; false in slurmhooks.toml does without"]
            ) from error


def _become(name: str) -> None:
    """Become a user, with the groups of that user.

    Raises:
        KeyError: there is no such user.
        PermissionError: only root can do this.
        OSError: the user's limits do not allow it, or the process could become root again.
    """
    import pwd

    entry = pwd.getpwnam(name)
    if os.getresuid() == (entry.pw_uid,) * 3:
        return
    process.become(entry.pw_uid)
    os.environ.update(HOME=entry.pw_dir, USER=name, LOGNAME=name)


def _explain(user: str, error: KeyError | OSError) -> str:
    if isinstance(error, KeyError):
        return f"this machine has no user {user!r}"
    if isinstance(error, PermissionError):
        return (
            f"slurmctld runs as {_own_name()}, and only root can have workers run as {user!r}: remove the key, or set"
            " SlurmUser=root"
        )
    return f"workers cannot run as {user!r}: {error}"


def _own_name() -> str:
    import pwd

    try:
        return pwd.getpwuid(os.getuid()).pw_name
    except KeyError:
        return f"user id {os.getuid()}"


def limit(settings: Settings) -> None:
    """Limit the resources that this process, and each program that it starts, can use.

    Only processes of root can raise these limits again.
    """
    if settings.section.memory_limit is not None:
        _lower(resource.RLIMIT_DATA, settings.section.memory_limit)
    _lower(resource.RLIMIT_NPROC, settings.section.process_limit)
    _lower(resource.RLIMIT_NOFILE, settings.section.open_file_limit)
    _lower(resource.RLIMIT_CORE, 0)


def _lower(kind: int, wanted: int) -> None:
    """Lower the soft and the hard limit of a resource; keep a limit that is lower already."""
    soft, hard = resource.getrlimit(kind)
    resource.setrlimit(kind, (_smaller(wanted, soft), _smaller(wanted, hard)))


def _smaller(wanted: int, limit: int) -> int:
    return wanted if limit == resource.RLIM_INFINITY else min(wanted, limit)
