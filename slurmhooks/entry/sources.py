# SPDX-License-Identifier: GPL-2.0-or-later
"""The scripts and rules that slurmhooks.toml itself names; commands import this without the workers' service."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Container
    from pathlib import Path

    from slurmhooks.config.model import Config
    from slurmhooks.handlers.loader import Source


def named_in(read: Config, path: Path, former: Container[str] = ()) -> list[Source]:
    """Return the Lua script and the ready-made rules that a configuration names for job_submit.

    Args:
        read: the configuration.
        path: its path.
        former: names of the sources in service, which stay in service if the script cannot be loaded.
    """
    sources = []
    if read.job_submit.lua is not None:
        from slurmhooks.lua import job_submit

        sources += job_submit.sources(read, path, former)
    if read.policies:
        from slurmhooks.policies import source as policies

        sources += policies.sources(read, path)
    return sources


def scripts_of(read: Config, path: Path) -> list[Source]:
    """Return what :func:`named_in` returns, and the script of cli_filter: for commands that stand for all processes."""
    sources = named_in(read, path)
    if read.cli_filter.lua is not None:
        from slurmhooks.lua import cli_filter

        sources.append(cli_filter.source(str(path.parent / read.cli_filter.lua), read.lua.version))
    return sources
