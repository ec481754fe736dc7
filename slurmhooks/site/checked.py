# SPDX-License-Identifier: GPL-2.0-or-later
"""The configuration of a set as its model has checked it, for the workers of slurmctld: they import no pydantic.

Each set with rules, health checks or modes of handlers has it, as a hidden file, which is no part of its content. Its
first line says which build has written it; workers of another one check slurmhooks.toml themselves, which takes longer.
"""

from __future__ import annotations

import sys
from _pickle import dumps, loads  # pickle itself takes longer to import
from hashlib import sha256
from typing import TYPE_CHECKING

from slurmhooks import identity
from slurmhooks.errors import LoadError
from slurmhooks.files import home, trusted

if TYPE_CHECKING:
    from slurmhooks.config.plain import Checked

FILE_NAME = ".checked"


def sealed(read: Checked, sources: str) -> bytes:
    """Return the content of the file."""
    content = dumps(read, 5)
    return _head(sources, content) + content


def _head(sources: str, content: bytes) -> bytes:
    """Return the first line, which only what the same modules and the same Python have written has in common."""
    major, minor = sys.version_info[:2]
    return f"slurmhooks-checked 1 {major}.{minor} {sources} {sha256(content).hexdigest()}\n".encode()


def read(path: str) -> Checked | str:
    """Return what has been checked, or why it cannot be used.

    The content can make instances of any class, as hook files can: it is trusted if they would be.

    Args:
        path: of slurmhooks.toml, with its links resolved.
    """
    folder = home.set_of(path)
    if not folder:
        return f"{path} is in no set"
    try:
        head, _, content = trusted.read(f"{folder}/{FILE_NAME}").partition(b"\n")
        if head + b"\n" == _head(sys._xoptions.get(identity.OPTION, ""), content):
            checked: Checked = loads(content)
            return checked
    except LoadError as error:
        return str(error)
    except (OSError, ValueError) as error:
        return f"{folder}/{FILE_NAME}: {getattr(error, 'strerror', None) or error}"
    return f"{folder}/{FILE_NAME}: is damaged, or was written by another build"
