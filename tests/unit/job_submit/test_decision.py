# SPDX-License-Identifier: GPL-2.0-or-later
"""The report of a worker about a call."""

import json
import struct
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from slurmhooks.errors import StaleHandleError
from slurmhooks.fields import JobFields
from slurmhooks.fields.rows import Text, rows
from slurmhooks.handlers import loader
from slurmhooks.job_submit.service import Service
from slurmhooks.processes.settings import Settings
from slurmhooks.slurmctld.call import Call
from slurmhooks.slurmctld.changes import SECRET
from slurmhooks.testing import FakeJob
from slurmhooks.wire.message import Message
from slurmhooks.wire.protocol import DEFERRED, Type
from slurmhooks.workshop.testing.job_submit import request_of
from slurmhooks.workshop.testing.tables import tables_of
from tests.unit.slurmctld.decided import decision

RELEASE = "24.11"
HEAD = "from slurmhooks import Reject, hook, UNLIMITED\n"

Decide = Callable[..., dict[str, Any]]


@pytest.fixture
def decide(tmp_path: Path) -> Decide:
    """Return the decision on a request, from the text of a hook file.

    ``include`` names secrets that are reported, ``left_out`` a member that was too long to be sent with the request.
    """

    def answered(question: bytes) -> bytes:
        raise StaleHandleError("slurmctld answers only during the call")

    def run(text: str, *, include: tuple[str, ...] = (), left_out: str = "", **fields: Any) -> dict[str, Any]:
        file = tmp_path / "limits.py"
        file.write_text(HEAD + text)
        tables = tables_of(RELEASE)
        service = Service(tables, loader.load([loader.Source(path=str(file))]), Settings())
        calls: list[Call] = []
        service.followers.append(calls.append)
        data = bytearray(request_of(FakeJob(release=RELEASE, **fields), "job_submit").data)
        if left_out:
            struct.pack_into("Q", data, 8 * tables["job"].places[left_out], DEFERRED)
        service.handle(Message(Type.REQUEST, 0, 1000, 1000, ((0, bytes(data)),)).encode(tables), answered)
        service.after()
        (call,) = calls
        content: dict[str, Any] = json.loads(json.dumps(decision(call, tables, include)))
        return content

    return run


@pytest.mark.parametrize("member", ["name", "wckey", "job_id_str", "submit_line", "script"])
def test_a_field_that_was_too_long(decide: Decide, member: str) -> None:
    """A user who sends a field that slurmctld gives only on demand ends no worker: the decision lacks the field."""
    found = decide(
        "@hook.job_submit\ndef passes(job):\n    pass\n", left_out=member, partition="debug", **{member: "x"}
    )
    assert (found["verdict"], found["partition"], found.get(member)) == ("accepted", "debug", None)


@pytest.mark.parametrize(
    ("fields", "is_test"),
    [
        ({"submit_line": "sbatch --test-only job.sh"}, True),
        ({"submit_line": "sbatch job.sh", "script": "#!/bin/sh\n#SBATCH --test\n"}, True),
        ({"submit_line": "sbatch job.sh", "script": "#!/bin/sh\necho --test-only\n"}, False),
        ({"submit_line": "sbatch job.sh", "environment": {"A": "--test-only"}}, False),
        ({}, False),
    ],
)
def test_tests_are_marked(decide: Decide, fields: dict[str, Any], is_test: bool) -> None:
    """A submission that is only a test is one in the decision log, by its command line or its script."""
    found = decide("@hook.job_submit\ndef passes(job):\n    pass\n", **fields)
    assert found.get("test_only", False) is is_test


def test_changes_are_what_handlers_see(decide: Decide) -> None:
    """Each handler's own changes are reported with old and new values in the form that handlers see."""
    found = decide(
        """
@hook.job_submit(order=1)
def first(job):
    job.time_limit = 60
    job.min_mem_per_cpu = 100
    job.account = job.account
    job.partition = "gpu"
@hook.job_submit(order=2)
def second(job):
    job.time_limit = UNLIMITED
    job.task_dist_flags = 1 << 16
@hook.job_submit(order=3)
def third(job):
    job.time_limit = UNLIMITED
""",
        account="physics",
        name="test",
        partition="debug",
    )
    expected = {"hook": "job_submit", "verdict": "accepted", "account": "physics", "name": "test", "partition": "gpu"}
    assert {key: found[key] for key in expected} == expected
    changes = [each.get("changes") for each in found["handlers"]]
    assert changes[0] == {"time_limit": [None, 60], "min_mem_per_cpu": [None, 100], "partition": ["debug", "gpu"]}
    assert changes[1]["time_limit"] == [60, "UNLIMITED"]
    assert changes[2] is None
    assert {each["outcome"] for each in found["handlers"]} == {"passed"}


def test_refusals_and_bugs(decide: Decide) -> None:
    """A refusal has its text and code; a bug has its id, type and place, even if the request is accepted anyway."""
    refused = decide(
        """
@hook.job_submit(order=1, on_error="accept")
def buggy(job):
    job.comment = "lost"
    {}["x"]
@hook.job_submit(order=2)
def refuses(job):
    raise Reject("not today", code="ESLURM_INVALID_ACCOUNT")
"""
    )
    assert (refused["verdict"], refused["code"]) == ("refused", "ESLURM_INVALID_ACCOUNT")
    assert refused["text"] == "not today"
    bug, refusal = refused["handlers"]
    assert (bug["outcome"], bug["exception"]) == ("accepted on error", "KeyError")
    assert bug["where"].endswith("limits.py:6")
    assert bug["error"] in bug["text"]
    assert "changes" not in bug
    assert (refusal["handler"], refusal["outcome"], refusal["text"]) == ("limits:refuses", "refused", "not today")
    failed = decide("@hook.job_submit\ndef buggy(job):\n    raise ValueError('secret')\n")
    assert failed["verdict"] == "failed"
    assert failed["error"] == failed["handlers"][0]["error"]
    assert "secret" not in json.dumps(failed)
    lenient = decide("@hook.job_submit(on_error='accept')\ndef buggy(job):\n    raise ValueError\n")
    assert lenient["verdict"] == "accepted on error"


WRITES_SECRETS = """
@hook.job_submit
def secrets(job):
    job.script = job.script + "# hunter2"
    job.environment["TOKEN"] = "hunter2"
    del job.environment["OLD"]
    job.argv = ["run", "hunter2"]
"""
GIVEN: dict[str, Any] = {"script": "#!/bin/sh\n# hunter1\n", "environment": {"OLD": "hunter1"}, "argv": ["run"]}


def test_secrets_are_named_only(decide: Decide) -> None:
    """Of script, arguments and environment only the names of what changed are reported, unless they are included."""
    found = decide(WRITES_SECRETS, **GIVEN)
    assert "hunter" not in json.dumps(found)
    (handler,) = found["handlers"]
    assert "changes" not in handler
    assert handler["hidden"] == ["script", "argv", "environment.TOKEN", "environment.OLD"]
    found = decide(WRITES_SECRETS, include=("environment",), **GIVEN)
    (handler,) = found["handlers"]
    assert handler["changes"] == {"environment.TOKEN": [None, "hunter2"], "environment.OLD": ["hunter1", None]}
    assert handler["hidden"] == ["script", "argv"]
    found = decide(WRITES_SECRETS, include=("environment", "script"), **GIVEN)
    (handler,) = found["handlers"]
    assert handler["changes"]["argv"] == [["run"], ["run", "hunter2"]]
    assert "hidden" not in handler


MARK = "hunter2"
LATER = ("container_type", "runtime")
"""Fields that the release of these tests lacks."""
WRITABLE = [
    name for name, row in rows(JobFields).items() if row.writable and isinstance(row, Text) and name not in LATER
]
"""Texts that handlers can set."""
SETS = """
import json, os
@hook.job_submit
def sets(job):
    for name, value in {assignments!r}.items():
        setattr(job, name, value)
    for name, value in {variables!r}.items():
        job.environment[name] = value
        job.spank_job_env[name] = value
    job.argv = [*job.argv, *{words!r}]
    if {bug!r}:
        raise ValueError(job.script, dict(job.environment))
"""
names = st.text(st.characters(codec="ascii", categories=["Lu"]), min_size=1, max_size=8)
secret = st.text(max_size=6).map(lambda text: text.replace("\0", "") + MARK)


@pytest.mark.slow
@settings(deadline=None, max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    fields=st.sets(st.sampled_from(WRITABLE)),
    variables=st.dictionaries(names, secret),
    words=st.lists(secret, max_size=3),
    bug=st.booleans(),
)
def test_no_secret_is_reported(
    decide: Decide, fields: set[str], variables: dict[str, str], words: list[str], bug: bool
) -> None:
    """Values that handlers write to script, arguments and environments, and texts of their bugs, are not reported."""
    assignments = {name: MARK if name in SECRET else "plain" for name in sorted(fields)}
    text = SETS.format(assignments=assignments, variables=variables, words=words, bug=bug)
    found = decide(text, script=f"#!/bin/sh\n# {MARK}\n", environment={"OLD": MARK}, argv=["run", MARK])
    assert MARK not in json.dumps(found)
    (handler,) = found["handlers"]
    if not bug:
        hidden = {f"{field}.{name}" for name in variables for field in ("environment", "spank_job_env")}
        hidden |= {name for name in fields if name in SECRET} | ({"argv"} if words else set())
        assert hidden - {"argv"} <= set(handler.get("hidden", [])) <= hidden | {"argv"}
        changed = {name for name in fields if name not in SECRET and name != "gres"}
        assert changed <= {*handler.get("changes", {}), "tres_per_node"}
