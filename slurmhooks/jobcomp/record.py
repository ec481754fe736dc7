# SPDX-License-Identifier: GPL-2.0-or-later
"""Makes ``record`` from the data in the spool: plain values, which remain after slurmctld has forgotten the job."""

from __future__ import annotations

import pwd
from pathlib import Path
from typing import TYPE_CHECKING, Any

from slurmhooks.files import slurm_conf
from slurmhooks.slurmctld.asking import Struct
from slurmhooks.slurmctld.views import Views
from slurmhooks.values import text_from_c
from slurmhooks.wire.message import MessageError, decode
from slurmhooks.wire.protocol import Type

if TYPE_CHECKING:
    from slurmhooks.slurmctld.model import Record
    from slurmhooks.wire.tables import Tables

_bound: dict[int, Views] = {}
"""The classes of views, by identity of the tables."""
HASHES = 10
"""Number of folders in which slurmctld keeps scripts, by the last digit of the job id."""


def view(message: bytes, tables: Tables) -> Record | None:
    """Return the record of a message; None: the build that wrote it could not read records.

    Raises:
        MessageError: the message is damaged.
    """
    content = decode(message, tables)
    if content.type != Type.REQUEST:
        raise MessageError("not a record")
    if not content.items:
        return None
    tag, value = content.items[0]
    if tag >= len(tables.tables) or tables.tables[tag].name != "record":
        raise MessageError("not a record")
    return _views(tables).record(Struct(tables.tables[tag], value, None))


def _views(tables: Tables) -> Views:
    views = _bound.get(tables.identity)
    if views is None:
        views = _bound[tables.identity] = Views(tables, of_record={"script": _script, "user_name": _user_name})
    return views


def _user_name(record: Any) -> str | None:
    raw: bytes | None = record._struct.raw("user_name")
    if raw is not None:
        return text_from_c(raw)
    try:
        return pwd.getpwuid(record.user_id).pw_name
    except KeyError:
        return None


def _script(record: Any) -> str | None:
    """Return the batch script, as long as slurmctld knows the job: MinJobAge after its end."""
    folder = slurm_conf.own_value("StateSaveLocation")
    for job_id in (record.job_id, record.array_job_id):
        path = Path(folder or "/nonexistent", f"hash.{job_id % HASHES}", f"job.{job_id}", "script")
        try:
            return text_from_c(path.read_bytes().rstrip(b"\0"))
        except OSError:
            continue
    return None
