# SPDX-License-Identifier: GPL-2.0-or-later
"""Handlers that warn or observe instead of deciding, in a request."""

import struct
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from slurmhooks.handlers import loader
from slurmhooks.handlers.registry import Registry
from slurmhooks.handlers.rollouts import assign
from slurmhooks.hooks.rollout import Rollout
from slurmhooks.job_submit.service import Service
from slurmhooks.job_submit.subject import Subject
from slurmhooks.log import log
from slurmhooks.processes.settings import Settings
from slurmhooks.slurmctld.call import Call
from slurmhooks.testing import FakeJob, FakeRecord, run
from slurmhooks.wire.message import Message, decode, text_value
from slurmhooks.wire.protocol import DEFERRED, EXCLUDED_HANDLER, Flag, Status, Type
from slurmhooks.workshop.testing.answers import read_answer
from slurmhooks.workshop.testing.job_submit import request_of
from slurmhooks.workshop.testing.slurmctld import Unwatched
from slurmhooks.workshop.testing.tables import tables_of

WARN = "Warning: a rule that is not in force yet would "


def loaded(folder: Path, text: str) -> Registry:
    """Load a hook file."""
    (folder / "limits.py").write_text("from slurmhooks import Reject, hook, log\n" + text)
    return loader.load([loader.Source(path=str(folder / "limits.py"))])


WARNS = """
@hook.job_submit(mode="warn", note="from 1 March on")
def refuses(job):
    job.comment = "lost"
    job.environment["SITE"] = "1"
    log.user("read the manual")
    raise Reject("no\\naccount", code="ESLURM_INVALID_ACCOUNT")

@hook.job_submit(mode="warn")
def changes(job):
    assert job.comment is None and "SITE" not in job.environment
    job.comment = "lost"
    job.environment["SITE"] = "2"

@hook.job_submit(mode="warn")
def has_a_bug(job):
    job.comment = "lost"
    raise ValueError

@hook.job_submit(mode="warn")
def passes(job):
    job.comment = job.comment
    job.environment["HOME"] = "/"
    log.user("this was not done")

@hook.job_submit
def decides(job):
    assert job.comment is None and "SITE" not in job.environment
    job.name = "changed"
"""


def test_warnings_have_no_effect(tmp_path: Path) -> None:
    """Refusals and writes of a handler that warns are not applied; the user reads one line; its bugs are logged."""
    job = FakeJob(script="#!/bin/sh\n", environment={"HOME": "/"})
    result = run(loaded(tmp_path, WARNS), "job_submit", job=job)
    assert result.accepted
    assert result.changes == {"name": "changed"}
    assert result.user_messages == [
        f"{WARN}refuse this request: read the manual; no; account (from 1 March on)",
        f"{WARN}change this request",
    ]
    assert [(each.handler, each.mode, each.accepted, each.text) for each in result.observed] == [
        ("limits:refuses", "warn", False, "no\naccount"),
        ("limits:changes", "warn", True, None),
        ("limits:has_a_bug", "warn", True, None),
        ("limits:passes", "warn", True, None),
    ]
    refused, changed, bug, passed = result.observed
    assert refused.code == "ESLURM_INVALID_ACCOUNT"
    assert changed.changes == {"comment": "lost", "environment": {"HOME": "/", "SITE": "2"}}
    assert bug.error_id is not None
    assert any(f"error {bug.error_id}: ValueError" in line for line in result.log)
    assert passed.changes == {}


SHARED = """
@hook.job_submit(order=1)
def fills_in(job):
    job.account = job.account or "chemistry"

@hook.job_submit(order=2, accounts="physics", partitions=["gpu"], otherwise="warn")
def refuses(job):
    raise Reject("no")
"""


@pytest.mark.parametrize(
    ("fields", "accepted"),
    [
        ({"account": "physics", "partition": "long,gpu"}, False),
        ({"account": "physics", "partition": "long"}, True),
        ({"default_account": "physics", "partition": "gpu"}, True),
        ({"account": "physics"}, False),
    ],
)
def test_share_of_a_request(fields: dict[str, str], accepted: bool, tmp_path: Path) -> None:
    """Account and partition are those that earlier handlers set; the default partition counts if none is named."""
    registry = loaded(tmp_path, SHARED)
    result = run(registry, "job_submit", job=FakeJob(**fields), partitions={"gpu": {"flag_default": True}, "long": {}})
    assert result.accepted is accepted
    assert (result.user_messages == [f"{WARN}refuse this request: no"]) is accepted


def test_share_of_an_update(tmp_path: Path) -> None:
    """User, accounts and partitions of an update are those that the changed job has, and those that it will have."""
    registry = loaded(
        tmp_path,
        "@hook.job_modify(users=[1001], accounts='physics', partitions='gpu')\n"
        "def refuses(job):\n    raise Reject('no')\n",
    )
    record = FakeRecord(user_id=1001, account="physics", partition="gpu,long")
    assert not run(registry, "job_modify", job=FakeJob(), record=record, modify_uid=0).accepted
    for changes in ({"partition": "long"}, {"account": "Physics"}, {"account": "maths"}):
        assert not run(registry, "job_modify", job=FakeJob(**changes), record=record, modify_uid=0).accepted
    other = FakeRecord(user_id=1001, account="maths", partition="long")
    for changes, accepted in (
        ({"partition": "gpu"}, True),
        ({"account": "physics"}, True),
        ({"partition": "gpu", "account": "PHYSICS"}, False),
    ):
        result = run(registry, "job_modify", job=FakeJob(**changes), record=other, modify_uid=0)
        assert result.accepted is accepted, changes
    assert run(registry, "job_modify", job=FakeJob(), record=FakeRecord(), modify_uid=1001).accepted


def test_an_update_of_a_job_that_slurmctld_does_not_send() -> None:
    """Without Slurm's sources, only what an update names is known, and only of the job as it will be."""
    for names, ahead, expected in (
        (None, False, None),
        (None, True, None),
        ("gpu", False, None),
        ("gpu", True, ["gpu"]),
    ):
        job: Any = SimpleNamespace(_release="26.05", _record=None, _modify=True, _cluster=None)
        job.account = job.partition = names
        subject = Subject(job, ahead=ahead)
        assert (subject.accounts, subject.partitions) == (expected, expected)


def test_a_refusal_whose_text_is_none(tmp_path: Path) -> None:
    """A warning also shows what a subclass of Reject has as its text instead of one."""
    text = "class Late(Reject):\n    def __init__(self):\n        self.text = 7\n"
    registry = loaded(tmp_path, f"{text}@hook.job_submit(mode='warn')\ndef refuses(job):\n    raise Late\n")
    result = run(registry, "job_submit")
    assert (result.accepted, result.user_messages) == (True, [f"{WARN}refuse this request: 7"])


def test_off(tmp_path: Path) -> None:
    """A handler can be switched off by the configuration."""
    registry = loaded(tmp_path, "@hook.job_submit\ndef refuses(job):\n    raise Reject('no')\n")
    assert assign({"limits:refuses": Rollout(mode="off")}, registry.all_handlers()) == []
    result = run(registry, "job_submit")
    assert (result.accepted, result.observed) == (True, [])


def test_lua_scripts_have_modes(tmp_path: Path) -> None:
    """Each function of a job_submit.lua is a handler, whose mode the configuration can set to warn."""
    from slurmhooks.lua import job_submit

    script = tmp_path / "job_submit.lua"
    script.write_text(
        "function slurm_job_submit(job, parts, uid) job.comment = 'x' slurm.log_user('no GPU') return slurm.ERROR end\n"
        "function slurm_job_modify(job, rec, parts, uid) return slurm.SUCCESS end\n"
    )
    registry = loader.load([loader.Source(path=str(script), read=job_submit.load)])
    assert assign({"job_submit.lua:slurm_job_submit": Rollout(mode="warn")}, registry.all_handlers()) == []
    result = run(registry, "job_submit")
    assert result.accepted
    assert result.changes == {}
    assert result.user_messages == [f"{WARN}refuse this request: no GPU"]
    assert assign({"job_submit.lua:slurm_job_submit": Rollout(mode="observe")}, registry.all_handlers()) == []
    result = run(registry, "job_submit")
    assert (result.accepted, result.changes, result.user_messages) == (True, {}, [])
    assert [(each.mode, each.accepted) for each in result.observed] == [("observe", False)]


OBSERVES = """
@hook.job_submit(order=1, mode="observe")
def first(job):
    job.account = "observed"
    job.comment = "observed"
    job.argv = ["script", "observed"]
    job.environment["SITE"] = "observed"
    log.user("nobody reads this")

@hook.job_submit(order=2)
def decides(job):
    assert job.account is None and list(job.argv) == ["script"] and "SITE" not in job.environment
    job.account = "decided"
    job.name = "decided"

@hook.job_submit(order=3, mode="observe")
def second(job):
    assert (job.account, job.comment, job.name) == ("decided", "observed", "decided")
    assert list(job.argv) == ["script", "observed"] and job.environment["SITE"] == "observed"
    job.comment = "lost"
    raise Reject("no")

@hook.job_submit(order=4, mode="observe")
def third(job, partitions):
    assert job.comment == "observed"
    job.comment = ",".join(partitions)

@hook.job_submit(order=5)
def refuses(job):
    job.comment = "lost"
    raise Reject("refused")

@hook.job_submit(order=6, mode="observe")
def too_late(job):
    raise AssertionError
"""


def test_observers_see_what_others_observed(tmp_path: Path) -> None:
    """Each sees the request as it was at its place, with earlier observers' changes unless these were overwritten."""
    job = FakeJob(script="#!/bin/sh\n", environment={"HOME": "/"}, argv=["script"])
    result = run(loaded(tmp_path, OBSERVES), "job_submit", job=job, partitions={"gpu": {}, "long": {}})
    assert (result.accepted, result.text, result.user_messages) == (False, "refused", [])
    assert [(each.handler, each.mode, each.accepted) for each in result.observed] == [
        ("limits:first", "observe", True),
        ("limits:second", "observe", False),
        ("limits:third", "observe", True),
    ], result.log
    first, second, third = result.observed
    assert first.changes == {
        "account": "observed",
        "comment": "observed",
        "argv": ["script", "observed"],
        "environment": {"HOME": "/", "SITE": "observed"},
    }
    assert (second.text, second.changes) == ("no", {})
    assert third.changes == {"comment": "gpu,long"}


def test_observers_read_long_fields(tmp_path: Path) -> None:
    """If a handler observes, fields that slurmctld sends only on demand are fetched before the answer."""
    text = "@hook.job_submit(mode='observe')\ndef reads(job):\n    raise Reject(f'{len(job.script)} {job.comment}')\n"
    registry = loaded(tmp_path, text)
    tables = tables_of("24.11")
    service = Service(tables, registry, Settings())
    sent: list[bytes] = []
    service.observed_by(sent.append)
    calls: list[Call] = []
    service.followers.append(calls.append)
    data = bytearray(request_of(FakeJob(release="24.11", script="x", comment="y"), "job_submit").data)
    places = tables["job"].places
    for name in ("script", "comment"):
        struct.pack_into("Q", data, 8 * places[name], DEFERRED)
    request = Message(Type.REQUEST, 0, 1000, 1000, ((0, bytes(data)),)).encode(tables)
    asked = []

    def query(question: bytes) -> bytes:
        member = decode(question, tables).third
        asked.append(member)
        return Message(Type.RESULT, items=((member, text_value(b"z" * 20000)),)).encode(tables)

    service.handle(request, query)
    assert sorted(asked) == sorted([places["script"], places["comment"]])
    service.after()
    service.observe(sent[0], bytes, Unwatched())
    answered, observed = calls
    assert (observed.id, observed.observed, observed.sender) == (answered.id, True, 1000)
    assert str(observed.steps[0].error) == f"20000 {'z' * 20000}"


def test_a_field_that_no_message_can_hold(tmp_path: Path) -> None:
    """A request is not refused because handlers that observe could not read its script."""
    registry = loaded(tmp_path, "@hook.job_submit(mode='observe')\ndef reads(job):\n    pass\n")
    tables = tables_of("24.11")
    service = Service(tables, registry, Settings())
    sent: list[bytes] = []
    service.observed_by(sent.append)
    data = bytearray(request_of(FakeJob(release="24.11", script="x"), "job_submit").data)
    struct.pack_into("Q", data, 8 * tables["job"].places["script"], DEFERRED)
    request = Message(Type.REQUEST, 0, 1000, 1000, ((0, bytes(data)),)).encode(tables)
    answer = service.handle(request, lambda _: Message(Type.RESULT, Status.TOO_LONG).encode(tables))
    assert read_answer(tables["job"], decode(answer, tables)).code == 0
    service.after()
    assert len(sent) == 1


def test_an_observer_tells_why_it_did_nothing(tmp_path: Path) -> None:
    """A rule that observes and whose exemption applies says so in the decision, like one that is in force."""
    text = "@hook.job_submit(mode='observe')\ndef exempts(job):\n    return Exempted('users alice')\n"
    registry = loaded(tmp_path, f"from slurmhooks.handlers.dispatch import Exempted\n{text}")
    tables = tables_of("24.11")
    service = Service(tables, registry, Settings())
    sent: list[bytes] = []
    service.observed_by(sent.append)
    data = request_of(FakeJob(release="24.11"), "job_submit").data
    service.handle(Message(Type.REQUEST, 0, 1000, 1000, ((0, data),)).encode(tables), bytes)
    service.after()
    calls: list[Call] = []
    service.followers.append(calls.append)
    service.observe(sent[0], bytes, Unwatched())
    assert [step.exempt for step in calls[0].steps] == ["users alice"]


def test_a_handler_that_ended_the_observer_is_left_out(tmp_path: Path) -> None:
    """The next process continues with the other handlers, and the lost handler's step says what happened."""
    text = "".join(
        f"@hook.job_submit(mode='observe', timeout={number})\ndef n{number}(job):\n    job.comment = '{number}'\n"
        for number in (1, 2)
    )
    tables = tables_of("24.11")
    service = Service(tables, loaded(tmp_path, text), Settings())
    sent: list[bytes] = []
    service.observed_by(sent.append)
    calls: list[Call] = []
    service.followers.append(calls.append)
    data = request_of(FakeJob(release="24.11"), "job_submit").data
    service.handle(Message(Type.REQUEST, 0, 1000, 1000, ((0, data),)).encode(tables), bytes)
    service.after()
    running = Unwatched()
    begun = []
    running.ended = {0: "was killed by SIGSEGV"}
    running.begin = lambda place, label, timeout: begun.append((place, label, timeout))  # type: ignore[method-assign]
    service.observe(sent[0], bytes, running)
    assert begun == [(1, "limits:n2", 2)]
    killed, ran = calls[1].steps
    assert str(killed.error) == "was killed by SIGSEGV"
    assert killed.error_id is not None
    assert (killed.mode, ran.mode, ran.error) == ("observe", "observe", None)


def test_a_handler_that_warns_does_not_refuse_by_ending_its_worker(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The status page marks a handler that warns as lenient, so the next worker leaves it out; others still decide."""
    registry = loaded(
        tmp_path,
        "@hook.job_submit(mode='warn')\ndef ends(job): raise AssertionError\n"
        "@hook.job_submit(mode='warn')\ndef warns(job): raise Reject('soon')\n"
        "@hook.job_submit\ndef decides(job): log.user('decided')\n",
    )
    flags: list[tuple[str, int]] = []
    monkeypatch.setattr("slurmhooks.worker.worker.doing", lambda what, flag=0, *_: flags.append((what, flag)))
    tables = tables_of("24.11")
    data = request_of(FakeJob(release="24.11"), "job_submit").data
    items = ((0, data), (EXCLUDED_HANDLER, text_value(b"limits:ends")))
    service = Service(tables, registry, Settings())
    before = log.attach(None, None)
    try:
        service.start()
        answer = service.handle(Message(Type.REQUEST, 0, 1000, 1000, items).encode(tables), bytes)
    finally:
        log.attach(*before)
    assert flags == [("", 0), ("limits:warns", Flag.LENIENT), ("limits:decides", 0), ("", 0)]
    assert (
        read_answer(tables["job"], decode(answer, tables)).text == f"{WARN}refuse this request: soon\ndecided".encode()
    )
