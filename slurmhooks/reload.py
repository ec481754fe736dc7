# SPDX-License-Identifier: GPL-2.0-or-later
"""Hook files that are taken up again when they change, for processes that live long."""

from __future__ import annotations

import gc
import os
import sys
from typing import TYPE_CHECKING

from slurmhooks import dispatch, loader, site
from slurmhooks.errors import ConfigError, LoadError
from slurmhooks.log import log
from slurmhooks.registry import Registry

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from pathlib import Path

    from slurmhooks.config import Config
    from slurmhooks.loader import Identity, Source


LOCAL = frozenset({"btrfs", "ext2", "ext3", "ext4", "f2fs", "overlay", "ramfs", "tmpfs", "xfs", "zfs"})
"""File systems whose changes the kernel tells of; on others (NFS, Lustre ...) another machine may make them."""


class Watch:
    """Tells whether any of some files has changed, or globs come to other files.

    Asking costs one stat for each file and folder; where all of them are on local file systems and no symbolic link is
    on the way, the kernel is asked whether anything happened at all (inotify), and only then the files.
    """

    __slots__ = ("_asked", "_fd", "_folders", "_found", "_happened", "_listing", "_seen")

    def __init__(
        self,
        paths: Iterable[str],
        before: Watch | None = None,
        folders: Iterable[str] = (),
        listing: Callable[[], list[str]] = list,
        found: list[str] | None = None,
    ) -> None:
        """Remember how files are now, or how an earlier watch saw them: what changed since then counts as a change.

        Args:
            paths: the files.
            before: the earlier watch.
            folders: where files may come and go; one that changes is listed.
            listing: returns the files that there are to be loaded.
            found: what it returned when they were loaded.
        """
        names = list(dict.fromkeys(paths))
        places = list(dict.fromkeys(folders))
        self._fd, self._happened = _notify([*names, *places])
        self._asked = False
        self._listing = listing
        self._found = found
        known = before._seen if before is not None else {}
        # After the kernel listens: a change in between is seen by both, not by none.
        self._seen: dict[str, Identity | None] = {
            path: known[path] if path in known else loader.identity(path) for path in names
        }
        # Unknown, so that the first question lists them: files may have come since the others were loaded.
        self._folders: dict[str, Identity | None] = dict.fromkeys(places, (0, 0, 0, 0))

    @property
    def paths(self) -> list[str]:
        """The files that are watched."""
        return list(self._seen)

    @property
    def fd(self) -> int:
        """The kernel's descriptor, to be read from when something may have changed; -1: ask :meth:`changed`."""
        return self._fd if self._asked else -1

    def changed(self) -> bool:
        """Return whether one is not as it was."""
        if self._happened is not None:
            if self._happened(0):
                os.read(self._fd, 1 << 16)
            elif self._asked:
                return False
            # The kernel does not tell of what an earlier watch has missed.
            self._asked = True
        if any(loader.identity(path) != seen for path, seen in self._seen.items()):
            return True
        now = {path: loader.identity(path) for path in self._folders}
        if now == self._folders:
            return False
        # Byte code, an editor's temporary file: a folder changes for many reasons.
        self._folders = now
        return self._listing() != self._found

    def close(self) -> None:
        """Stop listening: from now on the files are asked."""
        if self._fd >= 0:
            os.close(self._fd)
            self._fd, self._happened = -1, None


def _notify(paths: list[str]) -> tuple[int, Callable[[int], object] | None]:
    """Have the kernel listen to the folders of some files; the descriptor and the poll function, or (-1, None)."""
    import ctypes
    import select

    folders = {path if os.path.isdir(path) else os.path.dirname(path) for path in paths}
    if not folders or any(os.path.realpath(path) != path for path in paths) or not all(map(_is_local, folders)):
        return -1, None
    libc = ctypes.CDLL(None, use_errno=True)
    fd = libc.inotify_init1(os.O_CLOEXEC | os.O_NONBLOCK)
    if fd < 0:
        return -1, None
    modify, attributes, moved, created, deleted, gone = 0x2, 0x4, 0xC0, 0x100, 0x200, 0xC00
    for folder in folders:
        wanted = modify | attributes | moved | created | deleted | gone
        if libc.inotify_add_watch(fd, os.fsencode(folder), wanted) < 0:
            os.close(fd)
            return -1, None
    poll = select.poll()
    poll.register(fd, select.POLLIN)
    return fd, poll.poll


def _is_local(folder: str) -> bool:
    """Tell whether a folder is on a file system of this machine alone."""
    kind = ""
    longest = -1
    try:
        with open("/proc/self/mountinfo", encoding="utf-8", errors="surrogateescape") as file:
            for line in file:
                before, _, after = line.partition(" - ")
                point = before.split()[4].encode().decode("unicode_escape", "replace")
                # The last of several mounts on one point is the one that is seen.
                if (folder == point or folder.startswith(point.rstrip("/") + "/")) and len(point) >= longest:
                    kind, longest = after.split()[0], len(point)
    except (OSError, IndexError, ValueError):
        return False
    return kind in LOCAL


def settle() -> None:
    """Leave what lives as long as the handlers out of garbage collection, which slurmctld would have to wait for.

    Called once handlers were loaded, when nothing refers to the ones before them any more.
    """
    gc.unfreeze()
    gc.collect()
    gc.freeze()


class LiveSite:
    """The handlers that the configuration names, as they were when they last loaded without a fault.

    Attributes:
        registry: the handlers in force.
    """

    def __init__(
        self,
        check: Callable[[Registry], list[str]],
        path: Path | None = None,
        scripts: Callable[[Config, Path], list[Source]] | None = None,
    ) -> None:
        """Load nothing yet.

        Args:
            check: returns what else is wrong with a set of handlers in this process.
            path: the configuration file; by default slurmhooks.toml beside slurm.conf.
            scripts: returns what the configuration names in other languages; it comes before the hook files.
        """
        self._check = check
        self._scripts = scripts
        self._path = path or site.config_path()
        self._packages: tuple[str, ...] = ()
        self._reload = True
        self._watch = Watch(())
        self.registry = Registry((), ())

    def start(self) -> None:
        """Load for the first time.

        Raises:
            ConfigError: the configuration is wrong.
            LoadError: a hook file is.
        """
        self._watch = Watch(site.watched(self._path))
        self._load()
        # The queue of the kernel is the parent's, and one of its threads may be asking at the moment of the fork.
        os.register_at_fork(after_in_child=lambda: self._watch.close())

    @property
    def watching(self) -> int:
        """When to call :meth:`refresh`: when this descriptor can be read from; -1: before each event; -2: never."""
        return self._watch.fd if self._reload else -2

    def refresh(self) -> None:
        """Load again if anything changed; a fault leaves the last good handlers in force and is logged once."""
        if not self._reload or not self._watch.changed():
            return
        try:
            self._load()
        except (ConfigError, LoadError) as error:
            dispatch.report_findings(error.findings, "the hooks that were loaded before stay in force")
        else:
            log.info("took up changed hooks: %d handlers", len(self.registry.all_handlers()))

    def _load(self) -> None:
        # Listening begins before anything is read: what changes meanwhile is seen as a change afterwards.
        self._listen(Watch([*site.watched(self._path), *self._watch.paths]))
        read, sources = site.of_config(self._path)
        folders = site.folders(self._path, read)

        def listing() -> list[str]:
            return loader.names(loader.expand(read.hooks.paths, str(self._path.parent)))

        found = loader.names(sources)
        if self._scripts is not None:
            sources = [*self._scripts(read, self._path), *sources]
        self._listen(Watch(site.watched(self._path, read, sources), self._watch, folders, listing, found))
        self._forget((*self._packages, *read.hooks.modules))
        registry = loader.load(sources)
        findings = self._check(registry)
        if findings:
            raise LoadError(findings)
        self.registry = registry
        log.limit(read.log.level, read.log.limit)
        self._packages = read.hooks.modules
        self._reload = read.job_submit.reload
        if self._packages:
            # Only now is it known of which files a package consists.
            self._listen(Watch(site.watched(self._path, read, sources), self._watch, folders, listing, found))

    def _listen(self, watch: Watch) -> None:
        self._watch.close()
        self._watch = watch

    @staticmethod
    def _forget(packages: Iterable[str]) -> None:
        """Have a site's packages imported anew."""
        for name in site.modules_below(packages):
            del sys.modules[name]
