# SPDX-License-Identifier: GPL-2.0-or-later
"""Records which files handlers were loaded from, and tells whether these files have changed since."""

from __future__ import annotations

import time
from hashlib import sha256
from typing import TYPE_CHECKING, Any, NamedTuple

from slurmhooks.errors import LoadError
from slurmhooks.files import paths

if TYPE_CHECKING:
    from slurmhooks.files.paths import State

TICK = 20_000_000
"""Nanoseconds within which two changes of a file may get the same timestamp: the kernel's file clock is coarse."""


class LoadedHandler(NamedTuple):
    """A handler that some process has loaded: the data that is needed to notice its loss.

    Attributes:
        hook: name of its hook.
        label: ``module:qualname``.
        path: the file that defines it.
        mode: in words; empty: the handler is enforced for all requests.
    """

    hook: str
    label: str
    path: str
    mode: str = ""


class Watch:
    """The files that a set of handlers depends on; if any changes, a new set has to be loaded.

    The kernel's notifications would be cheaper, but they miss mounts and what other machines write.

    Attributes:
        files: the state of each file, as it was before it was read.
        globs: the files that each glob matched; None: they could not be listed.
        handlers: the handlers of each source.
        before: the watch of the set that is in service, if any.
        folders: the folders of packages, whose files are known only after they are imported.
    """

    def __init__(
        self,
        files: dict[str, State] | None = None,
        globs: dict[str, list[str] | None] | None = None,
        handlers: dict[str, list[LoadedHandler]] | None = None,
        before: Watch | None = None,
        folders: list[str] | None = None,
    ) -> None:
        """Watch nothing, or what another watch has recorded."""
        self.files = {} if files is None else files
        self.globs = {} if globs is None else globs
        self.handlers = {} if handlers is None else handlers
        self.before = before
        self.folders = [] if folders is None else folders

    def file(self, path: str) -> None:
        """Watch a file; to be called before it is read. The first call for a file counts."""
        if path not in self.files:
            self.files[path] = _steady(path)

    def glob(self, pattern: str) -> None:
        """Watch which files a glob matches; to be called before it is expanded."""
        self.globs.setdefault(pattern, _matches(pattern))

    def changed(self) -> bool:
        """Tell whether a file or a glob has changed. Costs one stat for each file and one listing for each glob."""
        return any(paths.state(path) != seen for path, seen in self.files.items()) or any(
            _matches(pattern) != seen for pattern, seen in self.globs.items()
        )

    def fingerprint(self) -> str:
        """Return a short hash of the names and contents of the files, which identifies the set on all machines.

        A file that cannot be read counts by its name.
        """
        digest = sha256()
        for path in sorted(self.files):
            try:
                with open(path, "rb") as file:
                    content = file.read()
            except OSError:
                content = b""
            for part in (path.encode("utf-8", "surrogateescape"), content):
                digest.update(len(part).to_bytes(8, "big") + part)
        return digest.hexdigest()[:12]

    def unedited(self, path: str) -> bool:
        """Tell whether a file still has its content; a change of its mode or owner is no edit."""
        seen, now = self.files.get(path), paths.state(path)
        return isinstance(seen, tuple) and isinstance(now, tuple) and seen[:4] == now[:4]

    def plain(self) -> dict[str, Any]:
        """Return everything except ``before`` as values that JSON can represent."""
        return {"files": self.files, "globs": self.globs, "handlers": self.handlers, "folders": self.folders}

    @classmethod
    def of(cls, plain: dict[str, Any]) -> Watch:
        """Return the watch from what :meth:`plain` returned, after JSON has turned its tuples into lists."""
        files = {path: seen if isinstance(seen, int) else tuple(seen) for path, seen in plain["files"].items()}
        handlers = {name: [LoadedHandler(*each) for each in loaded] for name, loaded in plain["handlers"].items()}
        return cls(files, plain["globs"], handlers, folders=plain["folders"])


def _matches(pattern: str) -> list[str] | None:
    """Return the files that a glob matches; None: they cannot be listed."""
    try:
        return paths.matches(pattern)
    except LoadError:
        return None


def _steady(path: str) -> State:
    """Return the state of a file; if it has just changed, wait until a further change would be visible in the state."""
    state = paths.state(path)
    for _ in range(3):
        if isinstance(state, int) or not 0 <= time.time_ns() - state[4] < TICK:
            break
        time.sleep(TICK / 1e9)
        state = paths.state(path)
    return state
