# SPDX-License-Identifier: GPL-2.0-or-later
"""Read mountinfo of /proc, see proc(5). Health checks import this module, which imports nothing."""

from __future__ import annotations


class Mount:
    """A mount.

    Attributes:
        id: a number, as text.
        device: of the file system, as ``MAJOR:MINOR``.
        root: the path in the file system that it shows.
        point: where it is mounted.
        options: of the mount.
        kind: type of the file system.
        super_options: of the file system.
    """

    __slots__ = ("device", "id", "kind", "options", "point", "root", "super_options")

    def __init__(self, line: str) -> None:
        """Parse a line of mountinfo.

        Raises:
            ValueError, IndexError: it is none.
        """
        words = line.split(" ")
        rest = words[words.index("-") + 1 :]
        self.id, self.device = words[0], words[2]
        self.root, self.point = _unescaped(words[3]), _unescaped(words[4])
        self.options = words[5].split(",")
        self.kind, self.super_options = rest[0], rest[2].split(",")


def parse(text: str) -> list[Mount]:
    """Return the mounts in the text of a mountinfo file; of several at one point, the last one is visible.

    Raises:
        ValueError, IndexError: a line is invalid.
    """
    return [Mount(line) for line in text.split("\n") if line]


def _unescaped(text: str) -> str:
    for sign in " \t\n\\":
        text = text.replace(f"\\{ord(sign):03o}", sign)
    return text
