# SPDX-License-Identifier: GPL-2.0-or-later
"""Asks the slurmctld of this machine about the job of a call."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

from slurmhooks.errors import SlurmhooksError
from slurmhooks.files import slurm_conf
from slurmhooks.log import log
from slurmhooks.slurmctld.asking import Asking
from slurmhooks.slurmctld.observation import late
from slurmhooks.slurmctld.views import Views
from slurmhooks.wire.tables import installed
from slurmhooks.worker import commands
from slurmhooks.worker.channel import Channel
from slurmhooks.worker.companion import asks

if TYPE_CHECKING:
    from slurmhooks.slurmctld.model import Record
    from slurmhooks.wire.tables import Tables
    from slurmhooks.worker.interface import Query

PATIENCE = 2.0
"""Seconds to wait for a channel; a call is delivered without the record rather than late."""


def record_of(job_id: int) -> Record | None:
    """Return the job as slurmctld knows it; None if it has forgotten it, or does not answer."""
    try:
        connected = _connect()
        if connected is None:
            return None
        tables, ask = connected
        record: Record | None = Views(tables).table("jobs", Asking(tables, ask)).get(job_id)
    except (OSError, SlurmhooksError) as error:
        log.info("slurmctld does not say what it knows about job %d: %s", job_id, error)
        _connect.cache_clear()
        return None
    return record


@cache
def _connect() -> tuple[Tables, Query] | None:
    """Return the tables and what asks slurmctld; None: no job_submit/python answers questions here."""
    tables = installed()
    if tables is None or "record" not in tables:
        return None
    ends = commands.channels(slurm_conf.directory(), slurm_conf.slurm_user(), PATIENCE)
    for end in ends[1:]:
        end.close()
    return (tables, late(asks(Channel(ends[0])), 0, 0, modify=False)) if ends else None
