# SPDX-License-Identifier: GPL-2.0-or-later
"""Which sources of slurmhooks are installed: a hash tells builds of one version number apart.

The workshop, which a machine may have or not, is no part of it.

The build compiles it into the plugins, which hand it to the processes that they start: what a plugin and its Python
modules say to each other changes without a new version number.
"""

from __future__ import annotations

import os
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

SUFFIXES = (".build", ".c", ".h", ".in", ".lua", ".map", ".options", ".py")
"""How the names of sources end."""
DIGITS = 16
"""Length of the hash, in hexadecimal digits."""
OPTION = "slurmhooks_build"
"""The option ``-X`` of an interpreter that a plugin starts: the sources that the plugin was built from."""


def here() -> str:
    """Return the hash of the sources that this process would import now, Python and C.

    It takes about 20 ms.

    Raises:
        OSError: they cannot be read, or are being replaced.
    """
    return of(os.path.dirname(os.path.abspath(__file__)))


def of(package: str) -> str:
    """Return the hash of the sources of a package: 16 hexadecimal digits.

    Args:
        package: folder of slurmhooks; its C sources are in it, or beside it in a checkout.

    Raises:
        OSError: they cannot be read.
    """
    import hashlib  # commands that show their help need none

    digest = hashlib.sha256()
    native = os.path.join(package, "_native")
    if not os.path.isdir(native):
        native = os.path.join(os.path.dirname(package), "native")
    for kind, folder in (("python", package), ("native", native)):
        for name in sorted(_sources(folder)):
            with open(f"{folder}/{name}", "rb", buffering=0) as file:
                content = file.read()
            digest.update(f"{kind}/{name}\0{len(content)}\0".encode("utf-8", "surrogateescape"))
            digest.update(content)
    return digest.hexdigest()[:DIGITS]


def _sources(folder: str) -> Iterator[str]:
    """Yield the sources below a folder, relative to it."""

    def fail(error: OSError) -> None:
        raise error

    for parent, folders, files in os.walk(folder, onerror=fail):
        folders[:] = [name for name in folders if name not in ("_native", "__pycache__", "workshop")]
        inner = f"{parent}/"[len(folder) + 1 :]
        yield from (inner + name for name in files if name.endswith(SUFFIXES))


def misfit() -> str | None:
    """Return why this process, which has just begun, must not serve the plugin that has started it; None if it may."""
    built = sys._xoptions.get(OPTION)
    try:
        found = here()
    except OSError as error:
        return f"slurmhooks is being replaced, or cannot be read ({error}): restart slurmctld once that is done"
    if built == found:
        return None
    folder = os.path.dirname(os.path.abspath(__file__))
    return (
        f"slurmctld has loaded a plugin of another build of slurmhooks ({built or 'an older one'}) than the one in"
        f" {folder} ({found}): build and install the plugins if that is not done yet, and restart slurmctld"
    )
