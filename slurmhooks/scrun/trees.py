# SPDX-License-Identifier: GPL-2.0-or-later
"""Copies trees of files, with no shell and no other program: any name survives."""

from __future__ import annotations

import os

from slurmhooks.scrun import cancel, folders
from slurmhooks.scrun.entries import copy_file
from slurmhooks.scrun.errors import StagingError
from slurmhooks.scrun.folders import explained
from slurmhooks.scrun.removal import remove_tree
from slurmhooks.scrun.tree_copy import CopyResult, TreeCopy
from slurmhooks.values import several

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from typing import Literal

    from slurmhooks.scrun.folders import Path

__all__ = ["CopyResult", "copy_file", "copy_tree", "remove_tree"]

MAX_WORKERS = 8


def copy_tree(
    source: Path,
    target: Path,
    *,
    exclude: Iterable[str] = (),
    hard_links: bool = False,
    update: bool = False,
    delete: bool = False,
    unreadable: Literal["fail", "skip"] = "fail",
    workers: int | None = None,
    cancelled: Callable[[], bool] | None = None,
) -> CopyResult:
    """Copy what is in a folder into another, which is made if need be.

    As ``cp -a`` does, it keeps modes, times, symbolic links (as they are: none is followed), hard links among the
    files, holes, extended attributes as far as the target takes them, and owners as far as this user may give files
    away; without its owner and group a file loses its setuid, setgid and sticky bits. Sockets and devices that this
    user may not make are left out and logged. A file that is replaced stays as it was until the new one is complete; a
    folder is not replaced by something else, nor something else by a folder, unless ``delete`` is set.

    Others may rename, exchange and link what is in both trees meanwhile: nothing outside of them is read or written.
    The copy then fails, or has what it found.

    A copy that takes long says every ten seconds in the log how far it is. Reflinks are used where the file system has
    them.

    Args:
        source: a folder; a symbolic link to one is followed.
        target: the folder to fill; a symbolic link to one is followed.
        exclude: patterns (as in fnmatch, ``*`` matches ``/`` too) of paths relative to the source, such as
            ``["proc/*"]``; an excluded folder is left out with all that is in it. They hold for ``delete`` as well.
        hard_links: link regular files instead of copying them. For trees that nobody writes to: both names are one
            file.
        update: leave files alone that have the same size and time of modification already.
        delete: remove from the target what the source does not have, when all is copied. What this user cannot read is
            left: it cannot have been staged before.
        unreadable: what to do about a file or folder of the source that this user has no right to read.
        workers: threads that copy; by default one a processor, at most 8.
        cancelled: asked from time to time; true ends the copy. By default, whether scrun gave the container up.

    Raises:
        StagingError: something could not be copied, or the target is the source or lies in it; the text names it. What
            was copied stays.
        CancelledError: see ``cancelled``.
        TypeError: ``exclude`` is one text.
    """
    excluded = [os.fsdecode(pattern) for pattern in several("exclude", exclude)]
    copy = TreeCopy(os.fsdecode(source), os.fsdecode(target), excluded, cancelled or cancel.requested)
    copy.delete = copy.copier.displace = delete
    copy.copier.hard_links = hard_links
    copy.copier.update = update
    copy.copier.skip_unreadable = unreadable == "skip"
    with folders.opened(open_top(copy.shown)) as top:
        _refuse_nesting(copy.shown, copy.target, delete)
        with folders.opened(open_target(copy.target)) as other:
            copy.copy(top, other, workers or _workers())
    return copy.result


def copy_opened_tree(source: int, target: int, shown: str, shown_target: str, *, update: bool = False) -> None:
    """Copy what is in an open folder into another one; see :func:`copy_tree`.

    Args:
        source: descriptor of the folder.
        target: descriptor of the folder to fill.
        shown: path of the source, for messages.
        shown_target: path of the target, for messages.
        update: see :func:`copy_tree`.
    """
    copy = TreeCopy(shown, shown_target, [], cancel.requested)
    copy.copier.update = update
    copy.copy(source, target, _workers())


def _workers() -> int:
    return min(MAX_WORKERS, len(os.sched_getaffinity(0)))


def open_top(path: str, *, writable: bool = False) -> int:
    """Open a folder through all links.

    Raises:
        StagingError: it cannot be opened, or is not a folder.
    """
    try:
        with folders.opened(os.open(path, os.O_PATH | os.O_DIRECTORY)) as handle:
            return folders.open_folder(".", handle, writable=writable)
    except OSError as error:
        raise explained(error, path) from error


def open_target(path: str) -> int:
    """Open a folder to fill, through all links; make it and what leads to it if need be.

    Raises:
        StagingError: it cannot be made or opened, or is not a folder.
    """
    try:
        os.makedirs(path, 0o700, exist_ok=True)
    except FileExistsError as error:
        raise StagingError(f"{path!r}: not a folder, so nothing is copied into it") from error
    except OSError as error:
        raise explained(error, path) from error
    return open_top(path, writable=True)


def _refuse_nesting(source: str, target: str, delete: bool) -> None:
    """Look before anything is made; the walk looks again, by descriptor."""
    if _lies_in(target, source):
        raise StagingError(f"{target!r} is {source!r} or lies in it: a folder is not copied into itself")
    if delete and _lies_in(source, target):
        raise StagingError(f"{source!r} lies in {target!r}: delete=True would remove it there")


def _lies_in(path: str, folder: str) -> bool:
    try:
        known = folders.identity(os.stat(folder))
    except OSError:
        return False
    path = os.path.realpath(path)
    while True:
        try:
            if folders.identity(os.stat(path)) == known:
                return True
        except OSError:
            pass  # does not exist yet
        if path == os.path.dirname(path):
            return False
        path = os.path.dirname(path)
