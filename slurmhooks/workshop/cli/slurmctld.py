# SPDX-License-Identifier: GPL-2.0-or-later
"""Questions of commands to the slurmctld that runs on this machine."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from slurmhooks.cli import configuration
from slurmhooks.cli.controllers import NOBODY
from slurmhooks.cli.findings import Finding
from slurmhooks.files import slurm_conf
from slurmhooks.slurmctld import NEEDS_SOURCES
from slurmhooks.slurmctld.observation import late
from slurmhooks.wire.tables import FILE_NAME, TableError, parse
from slurmhooks.worker import commands
from slurmhooks.worker.channel import Channel
from slurmhooks.worker.companion import asks

if TYPE_CHECKING:
    from slurmhooks.wire.tables import Tables
    from slurmhooks.worker.interface import Query

PATIENCE = 10.0
"""Seconds to wait for the supervisor's answer."""


@dataclass(frozen=True)
class Slurmctld:
    """A running slurmctld, with the tables of its build; ``_ask`` sends a question, with whose it is."""

    tables: Tables
    _ask: Query

    def query(self, sender: int = 0, owner: int = 0) -> Query:
        """Return a function that asks questions about a request of this sender and owner."""
        return late(self._ask, sender, owner, modify=False)


def connect(sysconfdir: Path) -> Slurmctld:
    """Connect to the slurmctld of a configuration; :func:`slurmhooks.cli.parameters.use` must have been called.

    Raises:
        Finding: none runs here, this user may not ask it, or its plugins answer no questions.
    """
    folder = configuration.installed_in(sysconfdir)
    if folder is None:
        raise Finding("the plugins are not installed: see 'slurmhooks info'")
    try:
        tables = parse((folder / "slurmhooks" / FILE_NAME).read_text())
    except (OSError, TableError) as error:
        raise Finding(f"the tables of the plugins cannot be read: {error}") from error
    if "record" not in tables:
        raise Finding(f"this needs the tables of slurmctld: {NEEDS_SOURCES}")
    try:
        ends = commands.channels(slurm_conf.directory(), slurm_conf.slurm_user(), PATIENCE)
    except PermissionError as error:
        raise Finding(str(error)) from error
    if not ends:
        raise Finding(NOBODY)
    for end in ends[1:]:
        end.close()
    return Slurmctld(tables, asks(Channel(ends[0])))
