# SPDX-License-Identifier: GPL-2.0-or-later
"""Recordings of requests that stand-ins make."""

import os
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from slurmhooks.fields import LISTS
from slurmhooks.handlers import loader
from slurmhooks.job_submit.request import HOOKS
from slurmhooks.job_submit.service import Service
from slurmhooks.job_submit.views import Views
from slurmhooks.processes.settings import Settings
from slurmhooks.recording.file import create
from slurmhooks.recording.recorder import REQUEST, ROWS, Limits, Recorder, pack_report
from slurmhooks.recording.request import Rows
from slurmhooks.slurmctld.call import Call
from slurmhooks.slurmctld.capture import Capture
from slurmhooks.testing import FakeJob
from slurmhooks.wire.message import Message
from slurmhooks.wire.protocol import Type
from slurmhooks.workshop.testing.job_submit import request_of
from slurmhooks.workshop.testing.slurmctld import FakeSlurmctld, fake_table
from slurmhooks.workshop.testing.tables import tables_of

TIME = 1_700_000_000.0
"""When the first request came; the next ones came a second later each."""
DAY = Limits(1 << 30, 1e12)


def record(
    path: Path,
    hooks: str,
    jobs: Iterable[Mapping[str, Any]],
    *,
    release: str = "24.11",
    kept: Iterable[str] = (),
    snapshots: Iterable[str] = (),
    limits: Limits = DAY,
    **given: Any,
) -> Recorder:
    """Record submissions, as a worker and a collector do.

    ``kept`` are secrets that are recorded, ``snapshots`` names of tables that are recorded as a whole, ``given`` tables
    of slurmctld, by the names of handlers' arguments.
    """
    tables = tables_of(release)
    records = {table: fake_table(name, given.get(name), release) for name, table in LISTS.items()}
    source = path.with_suffix(".py")
    source.write_text(hooks)
    views = Views(tables, {})
    views.sparse = False  # as while a worker records
    service = Service(tables, loader.load([loader.Source(path=str(source))]), Settings(), views)
    calls: list[Call] = []
    service.followers.append(calls.append)
    capture = Capture(tables, kept, "hash")
    recorder = Recorder(create(str(path)), tables, limits, {"with": [*kept]})
    for name in snapshots:
        structs = tuple(records[LISTS[name]].all_packed())
        recorder.take(pack_report(ROWS, 0, Rows(0.0, LISTS[name], tables.identity, structs).encode()))
    for at, fields in enumerate(jobs):
        uid = fields.get("user_id", 1000)
        struct = request_of(FakeJob(release=release, **fields), "job_submit")
        request = Message(Type.REQUEST, HOOKS.index("job_submit"), uid, uid, ((0, struct.data),)).encode(tables)
        answer = service.handle(request, capture.begin(FakeSlurmctld(tables, records)))
        service.after()
        call = calls.pop()
        call.time = TIME + at
        call.id = f"{at:012x}"
        recorder.take(pack_report(REQUEST, 0, capture.recorded(call, request, answer).encode()))
    source.unlink()
    return recorder


def recording(path: Path, hooks: str, jobs: Iterable[Mapping[str, Any]], **given: Any) -> int:
    """Make a finished recording, and return its descriptor; see :func:`record`."""
    record(path, hooks, jobs, **given).end("the test is over")
    return os.open(path, os.O_RDONLY)
