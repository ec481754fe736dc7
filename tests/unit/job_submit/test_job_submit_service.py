# SPDX-License-Identifier: GPL-2.0-or-later
import gc
import re
from pathlib import Path
from types import SimpleNamespace

import pytest

from slurmhooks.errors import Reject
from slurmhooks.handlers import loader
from slurmhooks.job_submit.service import Service
from slurmhooks.log import log
from slurmhooks.processes import stderr_log
from slurmhooks.processes.settings import Settings
from slurmhooks.slurmctld.asking import Asking
from slurmhooks.slurmctld.call import Call
from slurmhooks.testing import FakeJob
from slurmhooks.wire import message
from slurmhooks.wire.message import Message, decode, text_value
from slurmhooks.wire.protocol import EXCLUDED_HANDLER, Status, Type, What
from slurmhooks.workshop.testing.answers import read_answer
from slurmhooks.workshop.testing.job_submit import request_of
from slurmhooks.workshop.testing.tables import tables_of
from tests.costs import cost

HOOKS = """
from slurmhooks import hook

@hook.job_submit(order=1, on_error={on_error!r})
def first(job):
    job.comment = "first"

@hook.job_submit(order=2)
def second(job):
    job.account = "second"
"""


@pytest.mark.parametrize(("on_error", "runs"), [("accept", False), ("reject", True)])
def test_only_a_lenient_handler_is_left_out(on_error: str, runs: bool, tmp_path: Path) -> None:
    """A handler that ended a worker does not run again, unless the files now in force make it reject on errors."""
    file = tmp_path / "limits.py"
    file.write_text(HOOKS.format(on_error=on_error))
    tables = tables_of("24.11")
    service = Service(tables, loader.load([loader.Source(path=str(file))]), Settings())
    data = request_of(FakeJob(release="24.11"), "job_submit").data
    items = ((0, data), (EXCLUDED_HANDLER, text_value(b"limits:first")))
    request = Message(Type.REQUEST, 0, 1000, 1000, items).encode(tables)

    def unasked(question: bytes) -> bytes:
        raise AssertionError(question)

    answer = read_answer(tables["job"], decode(service.handle(request, unasked), tables))
    assert answer.code == 0
    assert answer.writes == {"account": b"second"} | ({"comment": b"first"} if runs else {})


@pytest.mark.parametrize(
    ("release", "hook", "shown"),
    [
        ("24.11", "job_submit", "\x1b[1;31mno\x1b[0m \\x1b[2J \x1b[4mnice\x1b[0m"),
        ("24.11", "job_modify", "\x1b[1;31mno\x1b[0m \\x1b[2J \x1b[4mnice\x1b[0m"),
        ("22.05", "job_modify", "\\x1b[1;31mno\\x1b[0m \\x1b[2J \\x1b[4mnice"),
    ],
)
def test_only_who_asks_sees_colours(tmp_path: Path, release: str, hook: str, shown: str) -> None:
    """Nothing else acts on the terminal; what is kept of the texts, and the log of 22.05, has them escaped."""
    file = tmp_path / "limits.py"
    refuse = r'raise Reject("\x1b[1;31mno\x1b[0m \x1b[2J \x1b[4mnice")'
    file.write_text(f"from slurmhooks import Reject, hook\n\n@hook.{hook}\ndef limit(job):\n    {refuse}\n")
    tables = tables_of(release)
    service = Service(tables, loader.load([loader.Source(path=str(file))]), Settings())
    data = request_of(FakeJob(release=release), hook).data
    request = Message(Type.REQUEST, ("job_submit", "job_modify").index(hook), 1000, 1000, ((0, data),)).encode(tables)
    answer = read_answer(tables["job"], decode(service.handle(request, lambda _: b""), tables))
    assert answer.text == shown.encode()


READS = """
from slurmhooks import hook

@hook.job_submit
def reads(job, submit_uid):
    job.environment.get("HOME")
    job.spank_job_env.get("HOME")
    job.comment = "first"
"""


def test_a_request_leaves_no_garbage(tmp_path: Path) -> None:
    """Nothing of a request waits for the garbage collector, which would take its time during a later request."""
    file = tmp_path / "limits.py"
    file.write_text(READS)
    tables = tables_of("24.11")
    service = Service(tables, loader.load([loader.Source(path=str(file))]), Settings())
    service.followers.append(lambda call: None)
    data = request_of(FakeJob(release="24.11", script="#!/bin/sh", environment={"HOME": "/h"}), "job_submit").data
    request = Message(Type.REQUEST, 0, 1000, 1000, ((0, data),)).encode(tables)
    service.handle(request, bytes)
    gc.collect()
    gc.disable()
    try:
        for _ in range(2):  # the service keeps the last request
            service.handle(request, bytes)
            service.after()
        assert gc.collect() == 0
    finally:
        gc.enable()


REFUSES = """
from slurmhooks import Reject, hook

@hook.job_submit(on_error="accept")
def refuses(job):
    raise Reject("no")
"""


@pytest.mark.parametrize("follows", [False, True])
def test_a_refused_request_leaves_no_garbage(follows: bool, tmp_path: Path) -> None:
    """Nor does one that is refused, although the exception refers to frames: with megabytes, many would fill memory."""
    file = tmp_path / "limits.py"
    file.write_text(REFUSES)
    tables = tables_of("24.11")
    service = Service(tables, loader.load([loader.Source(path=str(file))]), Settings())
    service._started = True  # as in a worker
    steps: list[int] = []
    if follows:
        service.followers.append(lambda call: steps.append(len(call.steps)))
    data = request_of(FakeJob(release="24.11", script="#!/bin/sh"), "job_submit").data
    request = Message(Type.REQUEST, 0, 1000, 1000, ((0, data),)).encode(tables)
    service.handle(request, bytes)
    service.after()
    gc.collect()
    gc.disable()
    try:
        for _ in range(2):
            service.handle(request, bytes)
            service.after()
        assert gc.collect() == 0
    finally:
        gc.enable()
    assert steps == [1, 1, 1] * follows


def test_a_refusal_is_not_the_end_of_a_lenient_handler(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """After a refusal, the status page names no handler: if the worker ends now, the refusal must not be lost."""
    said: list[str] = []
    monkeypatch.setattr("slurmhooks.worker.worker.doing", lambda what, *_: said.append(what))
    file = tmp_path / "limits.py"
    file.write_text(REFUSES)
    tables = tables_of("24.11")
    service = Service(tables, loader.load([loader.Source(path=str(file))]), Settings())
    items = ((0, request_of(FakeJob(release="24.11"), "job_submit").data),)
    request = Message(Type.REQUEST, 0, 1000, 1000, items).encode(tables)
    answer = read_answer(tables["job"], decode(service.handle(request, bytes), tables))
    assert answer.code != 0
    assert said == ["limits:refuses", ""]


STEPS = """
from slurmhooks import Reject, hook

@hook.job_submit(order=1)
def fills_in(job):
    job.account = "physics"
    job.environment["SITE"] = "1"

@hook.job_submit(order=2, on_error="accept")
def has_a_bug(job):
    job.account = "lost"
    raise ValueError

@hook.job_submit(order=3)
def refuses(job):
    job.comment = "too late"
    raise Reject("no")
"""


def test_followers_see_each_step_after_the_answer(tmp_path: Path) -> None:
    """A follower gets the outcome of each handler, and can read the request as it was after each of them."""
    file = tmp_path / "limits.py"
    file.write_text(STEPS)
    tables = tables_of("24.11")
    service = Service(tables, loader.load([loader.Source(path=str(file))]), Settings())
    calls: list[Call] = []
    service.followers.append(calls.append)
    given = FakeJob(release="24.11", script="#!/bin/sh\n", environment={"HOME": "/"})
    items = ((0, request_of(given, "job_submit").data),)
    request = Message(Type.REQUEST, 0, 1000, 1000, items).encode(tables)
    service.handle(request, bytes)
    assert calls == []
    service.after()
    service.after()
    (call,) = calls
    assert (call.hook, call.sender, call.request, call.texts) == ("job_submit", 1000, request, ["no"])
    assert call.nanoseconds >= sum(step.nanoseconds for step in call.steps) > 0
    assert call.fresh is not None
    seen = [(step.handler.label, type(step.error).__name__, call.fresh(step.savepoint)) for step in call.steps]
    assert [(label, wrong, job.account, job.environment.get("SITE"), job.comment) for label, wrong, job in seen] == [
        ("limits:fills_in", "NoneType", "physics", "1", None),
        ("limits:has_a_bug", "ValueError", "physics", "1", None),
        ("limits:refuses", "Reject", "physics", "1", "too late"),
    ]
    assert [step.outcome is call.outcome for step in call.steps] == [False, False, True]


def test_followers_cost_little_before_the_answer(tmp_path: Path) -> None:
    """What only the decision log needs of a call is collected after the answer, except what would be gone by then."""
    file = tmp_path / "limits.py"
    file.write_text(HOOKS.format(on_error="reject"))
    tables = tables_of("24.11")
    service = Service(tables, loader.load([loader.Source(path=str(file))]), Settings())
    items = ((0, request_of(FakeJob(release="24.11"), "job_submit").data),)
    request = Message(Type.REQUEST, 0, 1000, 1000, items).encode(tables)
    service.handle(request, bytes)  # fills caches
    alone, _ = cost(lambda: service.handle(request, bytes))
    service.followers.append(lambda call: None)
    followed, _ = cost(lambda: service.handle(request, bytes))
    handlers = 2
    assert followed - alone < 30 * handlers, "lines of Python"


def test_what_no_message_can_hold_is_refused() -> None:
    """A handler that reads a text of a request that is too long for a message refuses the request, with its name."""
    tables = tables_of("24.11")
    asking = Asking(tables, lambda question: Message(Type.RESULT, Status.TOO_LONG).encode(tables))
    with pytest.raises(Reject, match=r"^script is longer than 64 MiB"):
        asking.ask(What.MEMBER, 0, tables.tables[0].places["script"])


FINI = """
from slurmhooks import Reject, hook

@hook.job_submit.fini
def fini():
    raise Reject("not yet")
"""


def test_a_failure_of_fini_is_only_logged(tmp_path: Path, said: SimpleNamespace) -> None:
    """A worker that has served ends with 0: with another exit code it would be replaced while slurmctld ends."""
    file = tmp_path / "limits.py"
    file.write_text(FINI)
    Service(tables_of("24.11"), loader.load([loader.Source(path=str(file))]), Settings()).stop()
    assert [text for _, text in said.lines] == ["slurmhooks: job_submit.fini: not yet"]


TOO_LONG = {
    "a value": "job.comment = 'x' * 70000",
    "words": "job.argv[:] = ['x' * 1000] * 70",
    "messages": "for number in range(20):\n        log.user('x' * 4000)",
    "messages of a refusal": "for number in range(20):\n        log.user('x' * 4000)\n    raise Reject('no')",
}
"""Bodies of handlers whose answer is longer than a message can be."""


@pytest.mark.parametrize("body", TOO_LONG.values(), ids=TOO_LONG)
def test_an_answer_that_is_too_long(
    tmp_path: Path, said: SimpleNamespace, monkeypatch: pytest.MonkeyPatch, body: str
) -> None:
    """The request is refused with one line, the log says why under the same id, and the worker serves the next one."""
    file = tmp_path / "long.py"
    file.write_text(f"from slurmhooks import Reject, hook, log\n\n@hook.job_submit\ndef handler(job):\n    {body}\n")
    tables = tables_of("24.11")
    service = Service(tables, loader.load([loader.Source(path=str(file))]), Settings())
    monkeypatch.setattr(stderr_log, "attach", lambda user: log.divert(user))
    service.start()
    service.followers.append(lambda call: None)
    monkeypatch.setattr(message, "MAX_MESSAGE", 1 << 16)
    request = Message(Type.REQUEST, 0, 1000, 1000, ((0, request_of(FakeJob(release="24.11"), "job_submit").data),))
    for _ in range(2):
        answer = read_answer(tables["job"], decode(service.handle(request.encode(tables), lambda _: b""), tables))
        assert answer.code != 0
        assert answer.writes == {}
        assert answer.text is not None
        text = answer.text.decode()
        (error_id,) = re.findall(r"^slurmhooks: the answer of the job_submit handlers failed .error (\w+).;", text)
        assert any(f"error {error_id}: ValueError: a message of " in line for line in said.records)
        assert service.call is not None
        assert not service.call.outcome.passed
        assert service.call.texts == [text]
        service.after()
