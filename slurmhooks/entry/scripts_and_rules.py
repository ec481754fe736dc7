# SPDX-License-Identifier: GPL-2.0-or-later
"""The scripts and rules that slurmhooks.toml or a user names; commands import this without the workers' service."""

from __future__ import annotations

from typing import TYPE_CHECKING

from slurmhooks.errors import LoadError
from slurmhooks.files import home
from slurmhooks.files.paths import real
from slurmhooks.site import loading

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from slurmhooks.config.model import Config
    from slurmhooks.fields.rows import Release
    from slurmhooks.handlers.loader import Source


def named_in(read: Config, path: Path) -> list[Source]:
    """Return the Lua script and the ready-made rules that a configuration names for job_submit."""
    sources = []
    if read.job_submit.lua is not None:
        from slurmhooks.lua import job_submit

        sources += job_submit.sources(read, path)
    if read.rule or read.rules.exemptions:
        from slurmhooks.rules import source as rules

        sources += rules.sources(read, path)
    return sources


def scripts_of(read: Config, path: Path) -> list[Source]:
    """Return what :func:`named_in` returns, and the script of cli_filter: for commands that stand for all processes."""
    sources = named_in(read, path)
    if read.cli_filter.lua is not None:
        from slurmhooks.lua import cli_filter

        sources.append(cli_filter.source(home.placed(read.cli_filter.lua, str(path.parent)), read.lua.version))
    return sources


def of_files(names: Iterable[str], release: Release | None = None) -> loading.Named:
    """Return files that a user names: hook files, and Lua scripts for job_submit or cli_filter.

    Paths of Lua scripts end in ``.lua``. The job_submit/lua of ``release`` is imitated; by default that of the process.

    Raises:
        LoadError: a Lua script is for something else, or cannot be read.
    """
    paths = [real(name) for name in names]
    named = loading.of_files(path for path in paths if not path.endswith(".lua"))
    named.scripts += [_script(path, release) for path in paths if path.endswith(".lua")]
    return named


def _script(path: str, release: Release | None) -> Source:
    from slurmhooks.handlers.loader import Source
    from slurmhooks.lua import cli_filter, job_submit
    from slurmhooks.lua.source import entries

    try:
        with open(path, encoding="utf-8", errors="surrogateescape") as file:
            names = entries(file.read())
    except OSError as error:
        raise LoadError([f"{path}: {error.strerror}"]) from error
    if any(entry.startswith("slurm_cli_") for entry in names):
        return cli_filter.source(path, None)
    if any(entry.startswith("slurm_job_") for entry in names):
        return Source(path=path, read=lambda name: job_submit.load(name, release=release))
    raise LoadError([f"{path}: neither a job_submit.lua nor a cli_filter.lua; scripts of SPANK and scrun run in Slurm"])
