# SPDX-License-Identifier: GPL-2.0-or-later
"""Which hook files a process loads: from the configuration, or from a line of plugstack.conf."""

from __future__ import annotations

import os

from slurmhooks import loader
from slurmhooks.errors import ConfigError, LoadError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from slurmhooks.config import Config
    from slurmhooks.loader import Source


def directory() -> str:
    """Return the folder of slurm.conf."""
    return os.path.dirname(os.environ.get("SLURM_CONF") or "/etc/slurm/slurm.conf")


def of_config(path: Path | None = None) -> tuple[Config, list[Source]]:
    """Return the configuration and what it names.

    Args:
        path: the file; by default slurmhooks.toml beside slurm.conf.

    Raises:
        ConfigError: it is wrong.
    """
    from slurmhooks import config

    path = path or config.default_path()
    read = config.read(path)
    sources = loader.expand(read.hooks.paths, str(path.parent))
    return read, [*sources, *(loader.Source(module=name) for name in read.hooks.modules)]


def of_plugstack(args: Sequence[str]) -> tuple[list[Source], list[str]]:
    """Return what the arguments on a line of plugstack.conf name, and those that are left for handlers.

    Args:
        args: ``[config=FILE] [failonerror] [GLOB ARGS...]``; without a GLOB the configuration says what to load.

    Raises:
        LoadError: a file does not exist, or the configuration is wrong.
    """
    config, pattern, rest = split_plugstack(args)
    if pattern is not None:
        return loader.expand([pattern], directory()), rest
    from pathlib import Path

    try:
        return of_config(None if config is None else Path(directory(), config))[1], rest
    except ConfigError as error:
        raise LoadError(error.findings) from error


def split_plugstack(args: Sequence[str]) -> tuple[str | None, str | None, list[str]]:
    """Take the arguments on a line of plugstack.conf apart.

    Returns:
        the value of ``config=`` or None, the GLOB or None, and the arguments for handlers.
    """
    rest = list(args)
    config = None
    while rest and (rest[0].startswith("config=") or rest[0] == "failonerror"):
        word = rest.pop(0)
        if word.startswith("config="):
            config = word.removeprefix("config=")
    return config, rest[0] if rest else None, rest[1:]
