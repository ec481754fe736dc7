# SPDX-License-Identifier: GPL-2.0-or-later
"""Tell whether those who must read a file can; root, who runs `check`, can read all."""

import os
import pwd
import stat
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

from slurmhooks import slurm_conf
from slurmhooks.cli import loading
from slurmhooks.manifest import FILE_NAME, Line

READ, ENTER, LIST = "r", "x", "rx"
_BITS = {READ: stat.S_IROTH, ENTER: stat.S_IXOTH, LIST: stat.S_IROTH | stat.S_IXOTH}
_VERBS = {READ: "read", ENTER: "enter", LIST: "list"}
_USERS_CONTEXTS = {"local", "allocator"}


class Reader(NamedTuple):
    """Who must read a file.

    Attributes:
        name: for messages.
        uid: None: any user who owns nothing of it.
        gids: all groups of the user.
    """

    name: str
    uid: int | None = None
    gids: frozenset[int] = frozenset()


USERS = Reader("ordinary users")


def slurm_user() -> Reader:
    """Return SlurmUser of slurm.conf, as whom slurmctld runs."""
    uid = slurm_conf.slurm_user()
    try:
        known = pwd.getpwuid(uid)
    except KeyError:
        return Reader(f"SlurmUser (user id {uid})", uid)
    return Reader(f"SlurmUser {known.pw_name}", uid, frozenset(os.getgrouplist(known.pw_name, known.pw_gid)))


def problems(loaded: loading.Loaded, sysconfdir: Path) -> tuple[list[str], list[str]]:
    """Return what somebody cannot read and must, and what somebody cannot read and may have to.

    Args:
        loaded: the handlers of the site.
        sysconfdir: where slurm.conf is.
    """
    findings: list[str] = []
    notes: list[str] = []
    handlers = loaded.registry.all_handlers()
    if any(handler.spec.name.startswith("job_") for handler in handlers):
        findings += _obstacles(loaded.config_files, slurm_user(), "slurmctld does not load the hooks")
    if any(handler.spec.name.startswith("scrun.") for handler in handlers):
        findings += _obstacles(loaded.config_files, USERS, "scrun fails for them")
    if any(handler.spec.name.startswith("cli_filter.") for handler in handlers):
        findings += _obstacles(loaded.config_files, USERS, "srun, sbatch and salloc fail for them")
    for line, files in zip(loaded.lines, loaded.line_files, strict=True):
        found = _obstacles(files, USERS, "srun, sbatch and salloc fail for them")
        (findings if _concerns_users(line) else notes).extend(found)
    if loaded.lines or any(handler.spec.name.startswith("cli_filter.") for handler in handlers):
        manifest = [(str(sysconfdir / FILE_NAME), READ)]
        findings += _obstacles(manifest, USERS, "Python starts in all of their processes")
    return list(dict.fromkeys(findings)), [text for text in dict.fromkeys(notes) if text not in findings]


def _concerns_users(line: Line) -> bool:
    """Tell whether Python starts in srun, sbatch or salloc for a line, even with a manifest."""
    registry = line.registry
    return bool(registry.options) or any(_USERS_CONTEXTS & set(handler.contexts) for handler in registry.all_handlers())


def _obstacles(files: Iterable[tuple[str, str]], reader: Reader, consequence: str) -> Iterator[str]:
    for path, access in files:
        found = obstacle(path, reader, access)
        if found is not None:
            where, reason, remedy = found
            place = "it" if where == path else where
            yield f"{path}: {reader.name} cannot {reason} {place}, so {consequence}: {remedy}"


def obstacle(path: str, reader: Reader, access: str = READ) -> tuple[str, str, str] | None:
    """Return what keeps somebody from a file, by the bits of all modes on its path; None if nothing does.

    Args:
        path: an absolute name; what does not exist is nobody's problem here.
        reader: who.
        access: to the file or folder itself.

    Returns:
        which component, what cannot be done to it, and the command that allows it.
    """
    if not os.path.exists(path):
        return None
    real = os.path.realpath(path)
    folders = [*reversed(Path(path).parents), *reversed(Path(real).parents)]
    for name, wanted in [*((str(folder), ENTER) for folder in dict.fromkeys(folders)), (real, access)]:
        try:
            status = os.stat(name)
            has_acl = "system.posix_acl_access" in os.listxattr(name)
        except OSError:
            return None
        who, mode = _class_of(status, reader)
        # An access control list may allow what the bits do not.
        if not has_acl and reader.uid != 0 and ~mode & _BITS[wanted]:
            where = path if name == real else name
            return where, _VERBS[wanted], f"chmod {who}+{wanted} {name}"
    return None


def _class_of(status: os.stat_result, reader: Reader) -> tuple[str, int]:
    """Return which bits of a mode count for somebody, and those bits as if they were for others."""
    if status.st_uid == reader.uid:
        return "u", status.st_mode >> 6
    if status.st_gid in reader.gids:
        return "g", status.st_mode >> 3
    return "o", status.st_mode
