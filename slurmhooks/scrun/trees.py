# SPDX-License-Identifier: GPL-2.0-or-later
"""Copy trees of files without a shell or another program, so that file names may contain anything."""

from __future__ import annotations

import os

from slurmhooks.scrun import cancel, folders
from slurmhooks.scrun.entries import copy_file
from slurmhooks.scrun.errors import StagingError
from slurmhooks.scrun.folders import explained
from slurmhooks.scrun.lookup import find, opened
from slurmhooks.scrun.removal import remove_tree
from slurmhooks.scrun.tree_copy import CopyResult, TreeCopy
from slurmhooks.values import several

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Mapping
    from typing import Literal

    from slurmhooks.scrun.folders import Path

__all__ = ["CopyResult", "copy_file", "copy_tree", "remove_tree"]

MAX_WORKERS = 8
"""Default maximum number of threads of a copy."""


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
    """Copy the content of a folder into another folder, which is created if it does not exist.

    Like ``cp -a``, this function copies modes, times, symbolic links (without following them), hard links among the
    files, holes, extended attributes that the target supports, and owners if this user may set them; a file that does
    not keep its owner and group loses its setuid, setgid and sticky bits. Sockets and devices that this user may not
    make are skipped and logged. An existing file is replaced when its copy is complete. A folder is not replaced by
    another entry, nor another entry by a folder, unless ``delete`` is set. If root copies, an existing folder keeps its
    owner and mode if other users can have put it there, unless it was empty.

    Other processes may change both trees at the same time: nothing outside the trees is read or written, and the copy
    either fails or contains what it found.

    A long copy logs its progress every ten seconds. It uses reflinks if the file system supports them.

    Args:
        source: path of the folder; a symbolic link to one is followed, by root only if root has made it. The same
            holds for all links on both paths.
        target: path of the folder to fill; a symbolic link to one is followed.
        exclude: patterns of paths relative to the source, such as ``["proc/*"]``, as in fnmatch, where ``*`` matches
            ``/``, too. An excluded folder is skipped with everything in it. ``delete`` removes neither
            excluded paths nor the folders above them.
        hard_links: make hard links to regular files instead of copies. Only for trees that nobody writes to, because
            both names are the same file.
        update: skip files whose copies have the same size and modification time.
        delete: after the copy, remove entries of the target that the source does not have. Entries that this user
            cannot read remain, because they cannot come from an earlier staging.
        unreadable: what to do with a file or folder of the source that this user may not read.
        workers: number of threads; by default one for each processor, at most 8.
        cancelled: function that is called from time to time and ends the copy if it returns true; by default it checks
            whether the container was cancelled.

    Raises:
        StagingError: an entry could not be copied, the target is the source or below it, or ``delete`` would replace a
            folder with an excluded path in it by a file. The copied files remain.
        CancelledError: ``cancelled`` returned true.
        TypeError: ``exclude`` is a str.
    """
    excluded = [os.fsdecode(pattern) for pattern in several("exclude", exclude)]
    copy = TreeCopy(os.fsdecode(source), os.fsdecode(target), excluded, cancelled or cancel.requested)
    copy.delete = copy.copier.displace = delete
    copy.copier.hard_links = hard_links
    copy.copier.update = update
    copy.copier.skip_unreadable = unreadable == "skip"
    with opened(open_top(copy.shown)) as top:
        _refuse_nesting(copy.shown, copy.target, delete)
        with opened(open_target(copy.target)) as other:
            copy.copy(top, other, workers or _workers())
    return copy.result


def copy_opened_tree(
    source: int,
    target: int,
    shown: str,
    shown_target: str,
    *,
    update: bool = False,
    copied_at: int = 0,
    originals: Mapping[str, int] | None = None,
    without: Collection[str] = (),
) -> dict[str, int]:
    """Copy the content of an open folder into another one; see :func:`copy_tree`.

    ``copied_at``: if the source is a copy, the time when it was complete, by the clock of its file system: files that
    have not changed since are skipped. ``originals`` is the result of the call that made the source. In other folders,
    which were renamed or added since, no file is skipped: renaming a folder does not change the times of its files. If
    the source itself is another folder, the target keeps its owner and mode, as the folder below a mount does.
    ``without`` are paths in the source that are left out, with everything in them.

    Returns:
        the inode numbers of the folders of the target, by their paths in it.
    """
    copy = TreeCopy(shown, shown_target, [], cancel.requested)
    copy.copier.update = update
    copy.copied_at = copied_at
    copy.without = without
    copy.originals = originals or {}
    copy.returns = originals is not None
    copy.keeps_top = originals is not None and originals.get("") != os.fstat(source).st_ino
    copy.copy(source, target, _workers())
    return copy.inodes


def _workers() -> int:
    return min(MAX_WORKERS, len(os.sched_getaffinity(0)))


def open_top(path: str) -> int:
    """Open a folder by its path, see :func:`find`.

    Raises:
        StagingError: the path cannot be opened, or is not a folder.
    """
    try:
        with opened(find(path)) as handle:
            return folders.open_folder(".", handle)
    except OSError as error:
        raise explained(error, path) from error


def open_target(path: str) -> int:
    """Open a folder for writing by its path, see :func:`find`; create missing folders.

    Raises:
        StagingError: the folder cannot be created or opened, or the path is not a folder.
    """
    try:
        with opened(find(path, make=0o700)) as handle:
            return folders.open_folder(".", handle, writable=True)
    except (FileExistsError, NotADirectoryError) as error:
        raise StagingError(f"{path!r}: not a folder, so nothing can be copied into it") from error
    except OSError as error:
        raise explained(error, path) from error


def _refuse_nesting(source: str, target: str, delete: bool) -> None:
    """Check before the target is created; the walk checks again, by descriptor."""
    if _is_below(target, source):
        raise StagingError(f"{target!r} is {source!r} or below it: a folder is not copied into itself")
    if delete and _is_below(source, target):
        raise StagingError(f"{source!r} is below {target!r}: delete=True would remove it")


def _is_below(path: str, folder: str) -> bool:
    try:
        top = folders.identity(os.stat(folder))
        path = os.path.realpath(path)
    except OSError:  # also of a link that another process has exchanged meanwhile
        return False
    while True:
        try:
            if folders.identity(os.stat(path)) == top:
                return True
        except OSError:
            pass  # the path does not exist yet
        if path == os.path.dirname(path):
            return False
        path = os.path.dirname(path)
