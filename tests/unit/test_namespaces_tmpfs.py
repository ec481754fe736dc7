# SPDX-License-Identifier: GPL-2.0-or-later
"""File systems in memory, in children that have a mount namespace of their own."""

import os
import random

import pytest

from slurmhooks import namespaces
from tests.unit.test_namespaces import folders, in_child

__all__ = ["folders"]  # a fixture


def test_tmpfs(folders: tuple[str, str]) -> None:
    """A tmpfs has the given size, mode and owner, and no devices and set-user-id programs."""
    _, target = folders

    def body() -> tuple[int, int, int, int]:
        namespaces.tmpfs(target, size=1 << 20, mode=0o1770, uid=0, gid=0)
        status, whole = os.stat(target), os.statvfs(target)
        return status.st_mode & 0o7777, status.st_uid, whole.f_blocks * whole.f_frsize, whole.f_flag & 6

    assert in_child(body) == (0o1770, 0, 1 << 20, os.ST_NOSUID | os.ST_NODEV)


NO_SIZES = (
    "",
    "k",
    "1,mode=7777",
    "-1",
    "1 g",
    "1gg",
    "\u0661",
    -1,
    0,
    "0",
    "0g",
    "0%",
    1 << 64,
    "16777216t",
    "4194304t",
)


@pytest.mark.parametrize("size", [*NO_SIZES, f"{1 << 40}%"])
def test_sizes_of_a_tmpfs(folders: tuple[str, str], size: int | str) -> None:
    """A text that could be another option is refused, and a number that is no limit for the kernel, or wraps there.

    The call is made in a child with mounts of its own, because it would mount if it were not refused.
    """
    with pytest.raises(ValueError, match="tmpfs: size takes"):
        in_child(namespaces.tmpfs, folders[1], size=size)


def test_every_accepted_size_is_a_limit(folders: tuple[str, str]) -> None:
    """Whatever size is accepted, the kernel says that the file system has one, which is at least a page."""
    _, target = folders
    generator = random.Random(17)
    sizes: list[int | str] = [1, "1", "9", "1k", "1%", (1 << 62) - 1, "250%"]
    for _ in range(300):
        number = generator.choice([0, generator.randrange(10), generator.getrandbits(generator.randint(1, 70))])
        unit = generator.choice(["", "k", "K", "m", "M", "g", "G", "t", "T", "%"])
        sizes.append(f"{number}{unit}" if unit or generator.random() < 0.5 else number)

    def body() -> list[object]:
        wrong: list[object] = []
        accepted = 0
        for size in sizes:
            try:
                namespaces.tmpfs(target, size=size)
            except ValueError:
                continue
            accepted += 1
            whole = os.statvfs(target)
            if whole.f_blocks == 0 or whole.f_bavail == 0:
                wrong.append(size)
            namespaces.unmount(target)
        return [wrong, accepted > 100]

    assert in_child(body) == [[], True]
