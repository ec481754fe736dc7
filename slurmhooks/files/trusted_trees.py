# SPDX-License-Identifier: GPL-2.0-or-later
"""Refuses folders of packages in which another user could have written any file."""

from __future__ import annotations

import posix
from _stat import S_ISDIR, S_ISLNK, S_IWGRP, S_IWOTH

from slurmhooks.errors import LoadError
from slurmhooks.files import trusted

MOST_FINDINGS = 20
"""Findings on one tree: users who can write to a folder choose how many files are in it."""
TO_LIST = posix.O_RDONLY | posix.O_DIRECTORY | posix.O_NOFOLLOW | posix.O_CLOEXEC


def check(folder: str) -> list[str]:
    """Return findings on a folder, and on everything in it, that another user could have written.

    Folders below are opened by their paths: nobody else can rename anything in a folder that has passed. For the same
    reason the tree is still the same when Python imports from it. A folder that has not passed is not entered.

    Raises:
        LoadError: another user could have written the path to the folder; see :func:`slurmhooks.files.trusted.read`.
        OSError: the folder does not exist.
    """
    findings: list[str] = []
    seen: set[tuple[int, int]] = set()
    left = [trusted.real(folder)]
    while left and len(findings) < MOST_FINDINGS:
        path = left.pop()
        try:
            left += _check_folder(path, seen, findings)
        except LoadError as error:
            findings += error.findings
        except (FileNotFoundError, NotADirectoryError):  # deleted meanwhile, or a file that a link leads to
            continue
        except OSError as error:
            # A process cannot import anything from a folder that it may not enter, and a user only harms themselves.
            if trusted.guarded() and posix.access(path, posix.X_OK, effective_ids=True):
                from slurmhooks.log import visible

                findings.append(f"{visible(path)}: {error.strerror}, so it is unknown who could have written to it")
    if len(findings) >= MOST_FINDINGS:
        findings.append(f"{folder}: there may be more such files; the check ended here")
    return findings


def _check_folder(path: str, seen: set[tuple[int, int]], findings: list[str]) -> list[str]:
    """Check a folder and its files; return the paths of what is to be checked next; raise as :func:`check` does.

    ``seen`` has device and inode of each folder that has been checked: links may lead to the same one.
    """
    folder = posix.open(path, TO_LIST)
    try:
        status = posix.fstat(folder)
        identity = status.st_dev, status.st_ino
        if identity in seen:
            return []
        seen.add(identity)
        trusted.refuse_exposed(path, path, folder, status, sticky_is_safe=False, recursive=True)
        further = []
        for name in posix.listdir(folder):
            try:
                below = _check_entry(folder, name, f"{path}/{name}")
            except LoadError as error:
                findings += error.findings
                if len(findings) >= MOST_FINDINGS:
                    break
            except OSError:  # deleted meanwhile, or a link that leads nowhere
                continue
            else:
                if below is not None:
                    further.append(below)
        return further
    finally:
        posix.close(folder)


def _check_entry(folder: int, name: str, path: str) -> str | None:
    """Check a file or a link in a folder; return the path of a folder, or of what a link leads to."""
    status = posix.stat(name, dir_fd=folder, follow_symlinks=False)
    if S_ISDIR(status.st_mode):
        return path
    if status.st_uid == 0 and not status.st_mode & (S_IWGRP | S_IWOTH):  # usual, and safe in every process
        return None
    here = posix.open(name, trusted.BY_PATH, dir_fd=folder)
    try:
        status = posix.fstat(here)
        trusted.refuse_exposed(path, path, here, status)
    finally:
        posix.close(here)
    return trusted.real(path) if S_ISLNK(status.st_mode) else None
