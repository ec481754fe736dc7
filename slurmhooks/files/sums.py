# SPDX-License-Identifier: GPL-2.0-or-later
"""The sums of the files of a set, by which a process that loads it finds out whether one was lost or changed since."""

from __future__ import annotations

import json
import os
from hashlib import file_digest
from typing import TYPE_CHECKING

from slurmhooks.errors import LoadError
from slurmhooks.files import durable, home, regular

if TYPE_CHECKING:
    from collections.abc import Iterator

FILE_NAME = ".sums"
"""A hidden file of the set, which is no part of its content. Sets of earlier releases have none."""
UNREADABLE = ""
"""In place of the sum of a file that this process may not read, and so does not load."""
SHOWN = 3
"""Number of files that an error names."""


def walk(folder: str) -> Iterator[tuple[str, list[str]]]:
    """Yield the folders of a set and the names of their files, without byte code, and without hidden files."""

    def fail(error: OSError) -> None:
        raise error

    for place, folders, files in os.walk(folder, onerror=fail):
        folders[:] = sorted(name for name in folders if name != "__pycache__" and not name.startswith("."))
        yield place, sorted(name for name in files if not name.endswith(".pyc") and not name.startswith("."))


def write(folder: str) -> None:
    """Write the sums of a set, whose files are those that were deployed."""
    durable.write(os.path.join(folder, FILE_NAME), json.dumps(_sums(folder)).encode(), 0o444)


def damage(path: str) -> tuple[list[str], str]:
    """Return the files of a set that were lost, changed or added since it was deployed, and what to say about them.

    Of files that this process may not read, only their names count.

    Args:
        path: of a file in the set, with its links resolved; a file elsewhere is in no set, which nothing damages.

    Raises:
        LoadError: that is not known.
    """
    folder = home.set_of(path)
    if not folder:
        return [], ""
    try:
        known = json.loads(regular.read(f"{folder}/{FILE_NAME}"))
        found = _sums(folder)
        wrong = {name for name, seen in found.items() if seen not in (known.get(name), name in known and UNREADABLE)}
    except FileNotFoundError:
        return [], ""
    except (OSError, ValueError, AttributeError) as error:
        raise LoadError([f"{folder}: cannot be compared with what was deployed: {error}; {_REMEDY}"]) from error
    names = sorted(wrong | known.keys() - found.keys())
    shown = ", ".join(names[:SHOWN]) + (f" and {len(names) - SHOWN} more" if len(names) > SHOWN else "")
    return names, f"{folder}: no longer what was deployed, so nothing of it is loaded: {shown}; {_REMEDY}"


_REMEDY = "'slurmhooks rollback', or 'slurmhooks deploy' of other files, puts a whole set in force"


def _sums(folder: str) -> dict[str, str]:
    """Return the sum of each file of a set, by its name; data of hooks may be larger than the memory of a worker."""
    sums = {}
    for place, names in walk(folder):
        for name in names:
            path = os.path.join(place, name)
            try:
                with open(regular.opened(path), "rb") as file:
                    sums[os.path.relpath(path, folder)] = file_digest(file, "sha256").hexdigest()
            except PermissionError:
                sums[os.path.relpath(path, folder)] = UNREADABLE
            except OSError as error:
                sums[os.path.relpath(path, folder)] = str(error.strerror)
    return sums
