# SPDX-License-Identifier: GPL-2.0-or-later
"""The answers of workers when a job starts and when it ends."""

from pathlib import Path

import pytest

from slurmhooks.handlers import loader
from slurmhooks.prep.service import Service
from slurmhooks.processes.settings import Settings
from slurmhooks.slurmctld.call import Call
from slurmhooks.testing import FakeRecord, run
from slurmhooks.wire.message import Message, decode, texts_value
from slurmhooks.wire.protocol import VARIABLES, Type
from slurmhooks.wire.tables import Tables
from slurmhooks.workshop.testing.answers import read_answer
from slurmhooks.workshop.testing.tables import tables_of

HOOKS = """
from slurmhooks import Reject, hook, log

@hook.controller_prolog
def starts(record, environment, jobs):
    log.user("%s %s", record.name, environment["SLURM_JOB_USER"])
    try:
        environment["SLURM_JOB_USER"] = "root"
    except TypeError:
        pass
    if record.job_id in jobs and jobs[record.job_id].user_id == 0:
        raise Reject("not for root", code=7)

@hook.controller_epilog
def ends(environment):
    if environment["SLURM_JOB_EXIT_CODE2"] != "0:0":
        raise ValueError(environment["SLURM_JOB_EXIT_CODE2"])
"""


@pytest.fixture
def hooks(tmp_path: Path) -> Path:
    """Return a hook file."""
    file = tmp_path / "checks.py"
    file.write_text(HOOKS)
    return file


def test_a_prolog_sees_the_job(hooks: Path) -> None:
    """The record, the variables of PrologSlurmctld and the tables; a refusal has its code and text."""
    job = FakeRecord(job_id=4, name="run", user_id=0)
    environment = {"SLURM_JOB_USER": "alice"}
    result = run(hooks, "controller_prolog", record=job, environment=environment)
    assert (result.accepted, environment) == (True, {"SLURM_JOB_USER": "alice"})
    result = run(hooks, "controller_prolog", record=job, environment=environment, jobs=[job])
    assert (result.accepted, result.code, result.text) == (False, 7, "not for root")
    assert result.user_messages == ["run alice"]


@pytest.mark.parametrize("which", ["prolog", "epilog"])
def test_a_function_can_serve_both_hooks(tmp_path: Path, which: str) -> None:
    """The variable that a script for both looks at says which of them runs."""
    file = tmp_path / "both.py"
    lines = "\n".join(f"@hook.controller_{name}" for name in ("prolog", "epilog"))
    body = 'def both(environment):\n    log.user("%s", environment["SLURM_SCRIPT_CONTEXT"])\n'
    file.write_text(f"from slurmhooks import hook, log\n\n{lines}\n{body}")
    assert run(file, f"controller_{which}", environment={}).user_messages == [f"{which}_slurmctld"]


def test_the_variables_of_a_record(tmp_path: Path) -> None:
    """Without Slurm, the variables follow from the record; those that the test gives win."""
    file = tmp_path / "variables.py"
    file.write_text(
        "from slurmhooks import hook, log\n\n@hook.controller_epilog\ndef f(environment):\n"
        "    for name, text in sorted(environment.items()):\n"
        "        log.user('%s=%s', name.removeprefix('SLURM_'), text)\n"
    )
    record = FakeRecord(job_id=7, nodes="n[1-2]", partition="a,b", alloc_partition="b", exit_code=768, array_task_id=3,
                        array_job_id=5, comment="x")  # fmt: skip
    said = run(file, "controller_epilog", record=record, environment={"SLURM_JOB_NAME": "own"}).user_messages
    expected = "ARRAY_JOB_ID=5 ARRAY_TASK_ID=3 JOBID=7 JOB_ACCOUNT=(null) JOB_COMMENT=x JOB_EXIT_CODE2=3:0 JOB_ID=7"
    assert {*expected.split(), "JOB_NAME=own", "JOB_NODELIST=n[1-2]", "JOB_PARTITION=b", "JOB_UID=1000"} <= {*said}


def test_a_bug_fails_the_epilog(hooks: Path) -> None:
    """An exception is logged with an id, which the text for the user names."""
    assert run(hooks, "controller_epilog", environment={"SLURM_JOB_EXIT_CODE2": "0:0"}).accepted
    result = run(hooks, "controller_epilog", environment={"SLURM_JOB_EXIT_CODE2": "0:9"})
    assert not result.accepted
    assert result.error_id is not None
    assert result.error_id in str(result.text)


def test_public_headers_are_enough_for_the_environment(hooks: Path) -> None:
    """A build without Slurm's sources sends no record; handlers that take none still run."""
    everything = tables_of("26.05")
    tables = Tables("26.05.5", "public", everything.tables[:1], everything.constants)
    service = Service(tables, loader.load([loader.Source(path=str(hooks))]), Settings())
    items = ((VARIABLES, texts_value([b"SLURM_JOB_EXIT_CODE2=0:0"])),)
    request = Message(Type.REQUEST, 1, items=items).encode(tables)
    assert read_answer(tables["job"], decode(service.handle(request, bytes), tables)).code == 0


def test_a_job_without_account(hooks: Path) -> None:
    """The decision log has no account for a job that has none, although Slurm's variable has a text."""
    tables = tables_of("26.05")
    service = Service(tables, loader.load([loader.Source(path=str(hooks))]), Settings())
    calls: list[Call] = []
    service.followers.append(calls.append)
    variables = [b"SLURM_JOB_EXIT_CODE2=0:0", b"SLURM_JOB_ACCOUNT=(null)", b"SLURM_JOB_USER=alice", b"SLURM_JOB_ID=7"]
    request = Message(Type.REQUEST, 1, items=((VARIABLES, texts_value(variables)),)).encode(tables)
    service.handle(request, bytes)
    service.after()
    assert calls[0].about is not None
    assert calls[0].about() == {"user": "alice", "job_id": 7}
