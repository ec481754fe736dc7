# SPDX-License-Identifier: GPL-2.0-or-later
"""Tells whether files have changed since they were read."""

from __future__ import annotations

import time
from types import MappingProxyType
from typing import TYPE_CHECKING

from slurmhooks import paths
from slurmhooks.errors import LoadError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from slurmhooks.paths import State

TICK = 20_000_000
"""Nanoseconds within which two changes of a file may bear the same time: the kernel's clock for files is coarse."""


class Watch:
    """Tells whether files have changed, or globs stand for other files, at the cost of one stat a file and folder.

    The kernel's notifications would be cheaper, but they miss mounts and what other machines write.
    """

    __slots__ = ("_folders", "_found", "_listing", "_seen")

    def __init__(self, seen: Mapping[str, State] = MappingProxyType({})) -> None:
        """Watch nothing yet but files that were seen before."""
        self._seen = dict(seen)
        self._folders: dict[str, State] = {}
        self._listing: Callable[[], object] = list
        self._found: object = []

    def add(self, paths: Iterable[str]) -> None:
        """Remember how files are, before they are read; those that are known already stay as they were."""
        for path in paths:
            if path not in self._seen:
                self._seen[path] = _steady(path)

    def add_folders(self, folders: Iterable[str], listing: Callable[[], object]) -> None:
        """Remember how folders are, and what is in them.

        Args:
            folders: where files may come and go.
            listing: returns the files that there are to be loaded; asked now, and when one of the folders changed.

        Raises:
            LoadError: a folder cannot be listed.
        """
        self._folders = {path: _steady(path) for path in folders}
        self._listing = listing
        self._found = listing()

    @property
    def files(self) -> Mapping[str, State]:
        """How the files were."""
        return self._seen

    def unedited(self, path: str) -> bool:
        """Tell whether a file has the content that it had; a change of its mode or owner is no edit."""
        seen, now = self._seen.get(path), paths.state(path)
        return isinstance(seen, tuple) and isinstance(now, tuple) and seen[:4] == now[:4]

    def changed(self) -> bool:
        """Return whether one is not as it was."""
        if any(paths.state(path) != seen for path, seen in self._seen.items()):
            return True
        now = {path: paths.state(path) for path in self._folders}
        if now == self._folders:
            return False
        # Byte code, an editor's temporary file: a folder changes for many reasons.
        self._folders = now
        try:
            return self._listing() != self._found
        except LoadError:
            return True


def _steady(path: str) -> State:
    """Return the state of a file; if it has just changed, one that the next change would differ from."""
    state = paths.state(path)
    for _ in range(3):
        if isinstance(state, int) or not 0 <= time.time_ns() - state[4] < TICK:
            break
        time.sleep(TICK / 1e9)
        state = paths.state(path)
    return state
