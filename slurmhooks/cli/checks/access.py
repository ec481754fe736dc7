# SPDX-License-Identifier: GPL-2.0-or-later
"""Find files that the users who need them cannot read; root, who runs `check`, can read everything."""

import os
import pwd
import stat
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

from slurmhooks.cli import manifests, whole_site
from slurmhooks.files import slurm_conf
from slurmhooks.site.manifest_writer import ManifestLine

READ, ENTER = "r", "x"
_BITS = {READ: stat.S_IROTH, ENTER: stat.S_IXOTH}
_VERBS = {READ: "read", ENTER: "enter"}
_USERS_CONTEXTS = {"local", "allocator"}


class Reader(NamedTuple):
    """A user, or all ordinary users (without a ``uid``: who own none of the files), who must read a file."""

    name: str
    uid: int | None = None
    gids: frozenset[int] = frozenset()


USERS = Reader("ordinary users")


def slurm_user() -> Reader:
    """Return SlurmUser of slurm.conf, the user of slurmctld."""
    uid = slurm_conf.slurm_user()
    try:
        entry = pwd.getpwuid(uid)
    except KeyError:
        return Reader(f"SlurmUser (user id {uid})", uid)
    return _reader("SlurmUser", entry)


def _reader(what: str, entry: pwd.struct_passwd) -> Reader:
    groups = frozenset(os.getgrouplist(entry.pw_name, entry.pw_gid))
    return Reader(f"{what} {entry.pw_name}", entry.pw_uid, groups)


def problems(loaded: whole_site.Loaded, sysconfdir: Path, staged: bool = False) -> tuple[list[str], list[str]]:
    """Return findings on files that a user must be able to read but cannot, and notes on those that one may have to.

    ``staged``: the files are still to come into force: until there is a manifest for them, each srun loads all of them.
    """
    findings: list[str] = []
    notes: list[str] = []
    handlers = loaded.registry.all_handlers()
    if any(handler.spec.name.startswith("job_") for handler in handlers):
        findings += _obstacles(loaded.config_files, slurm_user(), "slurmctld does not load the hooks")
    for section, name in loaded.users.items():
        try:
            reader = _reader("user", pwd.getpwnam(name))
        except KeyError:
            notes.append(f"{section}.user: this machine has no user {name!r}; slurmctld's must have it")
            continue
        if slurm_conf.slurm_user() not in (0, reader.uid):
            remedy = "remove the key, or set SlurmUser=root"
            findings.append(f"{section}.user: SlurmUser is not root, so workers cannot run as {name!r}: {remedy}")
        findings += _obstacles(loaded.config_files, reader, "slurmctld does not load the hooks")
    if any(handler.spec.point == "scrun" for handler in handlers):
        findings += _obstacles(loaded.config_files, USERS, "scrun fails for them")
    if any(handler.spec.point == "cli_filter" for handler in handlers):
        findings += _obstacles(loaded.config_files, USERS, "srun, sbatch and salloc fail for them")
    for line, files in zip(loaded.lines, loaded.line_files, strict=True):
        lines = _obstacles(files, USERS, "srun, sbatch and salloc fail for them")
        (findings if staged or _concerns_users(line) else notes).extend(lines)
    if loaded.lines or any(handler.spec.point == "cli_filter" for handler in handlers):
        findings += _obstacles([str(manifests.path_in(sysconfdir))], USERS, "Python starts in all of their processes")
    return list(dict.fromkeys(findings)), [text for text in dict.fromkeys(notes) if text not in findings]


def _concerns_users(line: ManifestLine) -> bool:
    """Tell whether a line makes Python start in srun, sbatch or salloc, even with a manifest."""
    registry = line.registry
    return bool(registry.options) or any(_USERS_CONTEXTS & set(handler.contexts) for handler in registry.all_handlers())


def _obstacles(files: Iterable[str], reader: Reader, consequence: str) -> Iterator[str]:
    for path in files:
        problem = obstacle(path, reader)
        if problem is not None:
            where, verb, remedy = problem
            place = "it" if where == path else where
            yield f"{path}: {reader.name} cannot {verb} {place}, so {consequence}: {remedy}"


def obstacle(path: str, reader: Reader) -> tuple[str, str, str] | None:
    """Return which component of the path to a file has a mode that denies a user access; None if none has.

    Args:
        path: absolute path; a file that does not exist is no obstacle.
        reader: the user.

    Returns:
        the path of the component, what the user cannot do with it (a verb), and the command that allows it.
    """
    if not os.path.exists(path):
        return None
    real = os.path.realpath(path)
    folders = [*reversed(Path(path).parents), *reversed(Path(real).parents)]
    for name, wanted in [*((str(folder), ENTER) for folder in dict.fromkeys(folders)), (real, READ)]:
        try:
            status = os.stat(name)
            has_acl = "system.posix_acl_access" in os.listxattr(name)
        except OSError:
            return None
        who, mode = _class_of(status, reader)
        # An access control list may allow what the mode denies.
        if not has_acl and reader.uid != 0 and ~mode & _BITS[wanted]:
            where = path if name == real else name
            return where, _VERBS[wanted], f"chmod {who}+{wanted} {name}"
    return None


def _class_of(status: os.stat_result, reader: Reader) -> tuple[str, int]:
    """Return which class of a mode applies to a user, for chmod, and the mode with the bits of that class lowest."""
    if status.st_uid == reader.uid:
        return "u", status.st_mode >> 6
    if status.st_gid in reader.gids:
        return "g", status.st_mode >> 3
    return "o", status.st_mode
