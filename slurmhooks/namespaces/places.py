# SPDX-License-Identifier: GPL-2.0-or-later
"""Paths that root opens without following a link that a user has set."""

from __future__ import annotations

import _stat
import errno
import posix

TYPE_CHECKING = False
if TYPE_CHECKING:
    from os import PathLike


class Place:
    """A path that is open.

    Attributes:
        fd: its descriptor, an O_PATH one.
        path: names it for mount(2), whatever has its name by then.
    """

    __slots__ = ("_links", "_name", "fd", "path")

    def __init__(self, path: str | PathLike[str], links: bool) -> None:
        self._name = posix.fspath(path)
        self._links = links

    def __enter__(self) -> Place:
        """Open it."""
        flags = posix.O_PATH | posix.O_CLOEXEC
        if self._links:
            self.fd = posix.open(self._name, flags)
            self.path = encoded(self._name)
            return self
        self.fd = _open(self._name, flags)
        self.path = b"/proc/self/fd/%d" % self.fd
        try:
            posix.stat(self.path)
        except OSError:
            posix.close(self.fd)
            text = "/proc is not mounted here, so the path cannot be protected from links: use follow_links=True"
            raise OSError(errno.ENOENT, text, self._name) from None
        return self

    def __exit__(self, *exc: object) -> None:
        """Close it."""
        posix.close(self.fd)


def _open(name: str, flags: int) -> int:
    """Open a path without following a link.

    Raises:
        OSError: it does not exist, or is or contains a link.
        ValueError: it contains "..".
    """
    words = name.split("/")
    if ".." in words:
        raise ValueError(f"{name!r} has '..' in it: give the real path, or use follow_links=True")
    if not name or "\0" in name:
        raise ValueError(f"{name!r} is not a path")
    fd = posix.open("/" if name.startswith("/") else ".", flags)
    try:
        for word in words:
            if word in ("", "."):
                continue
            below = posix.open(word, flags | posix.O_NOFOLLOW, dir_fd=fd)
            posix.close(fd)
            fd = below
            if _stat.S_ISLNK(posix.fstat(fd).st_mode):
                text = f"{word} is a symbolic link: give the real path, or use follow_links=True"
                raise OSError(errno.ELOOP, text)
    except OSError as error:
        posix.close(fd)
        raise OSError(error.errno, error.strerror, name) from None
    return fd


def encoded(text: str) -> bytes:
    """Return a text as C takes it."""
    return text.encode(errors="surrogateescape")
