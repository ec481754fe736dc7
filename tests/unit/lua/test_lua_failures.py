# SPDX-License-Identifier: GPL-2.0-or-later
"""Requests during which slurmctld does not answer what a job_submit.lua asks."""

import struct
from pathlib import Path

import pytest

from slurmhooks.handlers.registry import Registry
from slurmhooks.job_submit.request import HOOKS
from slurmhooks.job_submit.service import Service
from slurmhooks.lua import job_submit
from slurmhooks.lua.job_submit import Options
from slurmhooks.processes.settings import Settings
from slurmhooks.testing import FakeJob, FakeRecord
from slurmhooks.wire.message import Message, decode
from slurmhooks.wire.protocol import DEFERRED, Status, Type
from slurmhooks.workshop.testing.answers import read_answer
from slurmhooks.workshop.testing.job_submit import request_of, struct_of
from slurmhooks.workshop.testing.tables import tables_of
from tests.cluster.turns import moved_from

OF_REQUEST = (
    *("job_desc.script", "job_desc.argv", "job_desc.environment.HOME", "part_list.debug", "pairs(part_list)"),
    *("next(part_list)", "slurm.jobs['7']", "pairs(slurm.jobs)", "slurm.reservations.maintenance"),
    *("job_desc.default_account", "job_desc.default_qos", "job_desc.assoc_comment", "job_desc.assoc_qos"),
    "slurm.get_qos_priority('normal')",
)
OF_RECORD = ("job_rec.comment", "job_rec.qos")
"""What a script reads for which slurmctld is asked, as the request does not have it."""
DEFERRED_MEMBERS = {"job": ("script", "environment", "argv"), "record": ("comment", "qos_ptr.name")}
CATCHERS = (
    "{}",
    "pcall(function() return {} end)",
    "xpcall(function() return {} end, function(e) return e end)",
    "coroutine.resume(coroutine.create(function() return {} end))",
    "pcall(function() pcall(function() return {} end) error('its own') end)",
)
SCRIPT = """\
local function read(job_desc, part_list, job_rec) local x = @ASK@ return slurm.SUCCESS end
function slurm_job_submit(job_desc, part_list, uid) return read(job_desc, part_list) end
function slurm_job_modify(job_desc, job_rec, part_list, uid) return read(job_desc, part_list, job_rec) end
return slurm.SUCCESS
"""


@pytest.mark.slow
@pytest.mark.parametrize("catcher", moved_from(2, CATCHERS))
@pytest.mark.parametrize(
    ("hook", "ask"),
    [("job_submit", ask) for ask in OF_REQUEST] + [("job_modify", ask) for ask in (*OF_REQUEST, *OF_RECORD)],
)
def test_what_slurmctld_does_not_answer_is_never_passed_over(tmp_path: Path, hook: str, ask: str, catcher: str) -> None:
    """The request is refused, also if the script catches the error: it would take what is missing for unset."""
    path = tmp_path / "job_submit.lua"
    path.write_text(SCRIPT.replace("@ASK@", catcher.replace("{}", ask)))
    tables = tables_of("24.11")
    handlers = job_submit.load(str(path), Options(on_error="accept"), (24, 11))
    service = Service(tables, Registry(handlers, []), Settings())
    record = FakeRecord(release="24.11", comment="x")
    data = {"job": bytearray(request_of(FakeJob(release="24.11", script="x"), hook, record).data)}
    if hook == "job_modify":
        data["record"] = bytearray(struct_of(record).data)
    for table, raw in data.items():
        for member in DEFERRED_MEMBERS[table]:
            struct.pack_into("Q", raw, 8 * tables[table].places[member], DEFERRED)
    items = tuple((number, bytes(raw)) for number, raw in enumerate(data.values()))
    request = Message(Type.REQUEST, HOOKS.index(hook), 1000, 1000, items).encode(tables)
    answer = service.handle(request, lambda _: Message(Type.RESULT, Status.TOO_LONG).encode(tables))
    assert read_answer(tables["job"], decode(answer, tables)).code != 0
