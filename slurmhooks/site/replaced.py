# SPDX-License-Identifier: GPL-2.0-or-later
"""Notices that files behind a link were replaced while they were read, and reads them again.

Kubernetes lets the link to a volume lead to the new version, and then removes the files of the old one, one by one. A
set stays when ``slurmhooks deploy`` replaces it.
"""

from __future__ import annotations

from slurmhooks.errors import ReplacedError
from slurmhooks.files import paths

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import TypeVar

    Result = TypeVar("Result")

TRIES = 3
"""How often files are read that are replaced each time."""


def again(read: Callable[[], Result]) -> Result:
    """Return what a function returns; call it again if the files that it reads are replaced meanwhile."""
    for _ in range(TRIES - 1):
        try:
            return read()
        except ReplacedError:
            pass
    return read()


class Unchanged:
    """A block that reads what a link leads to. At its end, the link must still lead there; see refuse_replaced()."""

    def __init__(self, link: str, path: str) -> None:
        self._link = link
        self._path = path

    def __enter__(self) -> None:
        pass

    def __exit__(self, kind: type[BaseException] | None, *_error: object) -> None:
        if kind is None or (self._link != self._path and paths.real(self._link) != self._path):
            refuse_replaced(self._link, self._path)


def refuse_replaced(link: str, path: str) -> None:
    """Refuse what was read or listed since a link was resolved, if the files may have been removed meanwhile.

    Args:
        link: a file or folder, which may be a link.
        path: where it led to.

    Raises:
        ReplacedError: it leads elsewhere now, or the file is gone.
    """
    if link == path:
        return
    gone = isinstance(paths.state(path), int)
    if not gone and paths.real(link) == path:
        return
    from slurmhooks.files import misplaced

    if gone or not misplaced.is_in_store(path):
        raise ReplacedError([f"{link}: was replaced while it was read, and {path} is outdated: try again"])
