# SPDX-License-Identifier: GPL-2.0-or-later
"""The rule that asks a service: its answers, its deadline, its cache, and what happens when it fails."""

import http.server
import json
import os
import signal
import socket
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from slurmhooks.errors import LoadError
from slurmhooks.files import trusted
from slurmhooks.handlers.registry import Registry
from slurmhooks.rules import asking
from slurmhooks.rules.ready import budget
from slurmhooks.testing import FakeJob, FakeRecord, Result, run
from tests.unit.rules.conftest import Rules

BUDGET = '[[rule]]\nrule = "budget"\n'
NEVER = "deadline = 59\n[job_submit]\ntimeout = 60\n"


class Clock:
    """A clock that a test moves."""

    def __init__(self) -> None:
        """Start at an arbitrary time."""
        self.now = 1000.0

    def monotonic(self) -> float:
        """Return the time."""
        return self.now


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    """The clock of the cache."""
    clock = Clock()
    monkeypatch.setattr(budget, "time", clock)
    return clock


class Web(http.server.BaseHTTPRequestHandler):
    """A service whose answer depends on the path."""

    asked: list[str]
    answers: dict[str, tuple[int, Any]]

    def do_GET(self) -> None:
        """Answer."""
        self.asked.append(self.path)
        status, body = self.answers.get(self.path, (404, "no such project"))
        self.send_response(status)
        if status == 302:
            self.send_header("Location", "/rich")
        self.end_headers()
        self.wfile.write(body if isinstance(body, bytes) else json.dumps(body).encode())

    def log_message(self, *_: object) -> None:
        """Say nothing."""


@pytest.fixture
def web() -> Iterator[Any]:
    """A running service; a test sets its answers."""

    class Own(Web):
        asked: list[str] = []  # noqa: RUF012
        answers: dict[str, tuple[int, Any]] = {}  # noqa: RUF012

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Own)
    threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
    Own.url = f"http://127.0.0.1:{server.server_port}"  # type: ignore[attr-defined]
    yield Own
    server.shutdown()
    server.server_close()


def program(tmp_path: Path, text: str) -> str:
    """Write a shell script, and return the key that names it."""
    path = tmp_path / "budget"
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(0o755)
    return f'command = ["{path}", "{{account}}", "{{cpus}}"]\n'


def submit(registry: Registry, account: str | None = "physics", **fields: Any) -> Result:
    """Submit a job."""
    return run(registry, "job_submit", job=FakeJob(account=account, **fields))


@pytest.mark.parametrize(
    ("script", "account", "refused"),
    [
        ("exit 0", "physics", None),
        ('echo "project $1 is used up, $2 CPUs"; echo more; exit 1', "a b", "project a b is used up, 4 CPUs"),
        ("exit 1", "physics", "no budget is left"),
        ('test "$1" = "" && test -z "$HOME"', None, None),
        ("exit 2", "physics", budget.INVALID),
        ("kill -9 $$", "physics", budget.FAILED),
        ("cat; exit 0", "physics", None),
    ],
)
def test_a_program_decides(rules: Rules, tmp_path: Path, script: str, account: str | None, refused: str | None) -> None:
    """Exit status 0 accepts, 1 refuses with the first line of the output, others refuse; a signal is a failure."""
    result = submit(rules(BUDGET + program(tmp_path, script) + NEVER), account, min_cpus=4)
    assert result.error_id is None, result
    assert result.accepted == (refused is None), result
    assert refused is None or refused in (result.text or "")
    assert refused is None or result.code == "ESLURM_ACCOUNTING_POLICY"


def test_a_program_has_a_deadline(rules: Rules, tmp_path: Path) -> None:
    """A program that does not end is killed at the deadline, even if a program that it started holds its output."""
    noted = tmp_path / "noted"
    result = submit(rules(BUDGET + program(tmp_path, f"sleep 600 & echo $$ $! > {noted}; wait") + "deadline = 1\n"))
    own, other = noted.read_text().split()
    os.kill(int(other), signal.SIGKILL)
    assert budget.FAILED in (result.text or "")
    assert not Path("/proc", own).exists()
    assert "not done after 1 s" in "".join(result.log)


def test_a_program_that_cannot_be_started(rules: Rules, tmp_path: Path) -> None:
    """A missing program is a failure, whose cause is in the log."""
    result = submit(rules(f'{BUDGET}command = ["{tmp_path}/none"]\n'))
    assert budget.FAILED in (result.text or "")
    assert f"rule:budget: {tmp_path}/none: No such file or directory" in "".join(result.log)


def test_words_that_are_too_long() -> None:
    """Values of a user that no program can be given are no failure of the service."""
    with pytest.raises(asking.InvalidAnswerError, match="too long"):
        asking.program(["/bin/true", "x" * (1 << 20)], 5)


def test_long_output_is_a_failure() -> None:
    """A program with endless output is killed long before its deadline."""
    with pytest.raises(asking.InvalidAnswerError, match="more than 64 KiB"):
        asking.program(["/usr/bin/yes"], 600)


@pytest.mark.parametrize(
    ("answer", "keys", "refused"),
    [
        ((200, {"allowed": True}), "", None),
        ((200, {"allowed": False, "text": "used up"}), "", "account physics may not run this job: used up"),
        ((200, {"allowed": False, "text": 5}), "", "no budget is left"),
        ((200, {"hours": 0.5}), 'member = "hours"', None),
        ((200, {"hours": 0}), 'member = "hours"', "no budget is left"),
        ((200, {"hours": 10}), 'member = "hours"\nabove = 10', "no budget is left"),
        ((200, {"hours": 11}), 'member = "hours"\nabove = 10', None),
        ((403, {"text": "closed"}), "", "closed"),
        ((403, b"closed"), "", "no budget is left"),
        ((200, {}), "", budget.INVALID),
        ((200, {"allowed": "yes"}), "", budget.INVALID),
        ((200, ["x"]), "", budget.INVALID),
        ((200, b"<html>"), "", budget.INVALID),
        ((500, b""), "", budget.FAILED),
        ((302, b""), "", budget.INVALID),
        ((404, b""), 'on_failure = "accept"', budget.INVALID),
        ((500, b""), 'on_failure = "accept"', None),
    ],
)
def test_a_web_service_decides(rules: Rules, web: Any, answer: Any, keys: str, refused: str | None) -> None:
    """A member of the service's JSON object, or its status, decides; other answers refuse, and 5xx is a failure."""
    web.answers["/physics"] = answer
    result = submit(rules(f'{BUDGET}url = "{web.url}/{{account}}"\n{keys}\n{NEVER}'))
    assert result.error_id is None, result
    assert result.accepted == (refused is None), result
    assert refused is None or refused in (result.text or "")
    assert web.asked == ["/physics"]


def test_values_in_urls_are_quoted(rules: Rules, web: Any) -> None:
    """Whatever account users name, the service is asked only for a path below the configured one."""
    web.answers["/..%2Fx%3Fy%23%C3%A4"] = (200, {"allowed": True})
    assert submit(rules(f'{BUDGET}url = "{web.url}/{{account}}"\n{NEVER}'), "../x?y#ä").accepted
    assert web.asked == ["/..%2Fx%3Fy%23%C3%A4"]
    web.answers["/%FF"] = (200, {"allowed": True})
    assert submit(rules(f'{BUDGET}url = "{web.url}/{{account}}"\n{NEVER}'), "\udcff").accepted  # not UTF-8


def test_a_web_service_has_a_deadline(rules: Rules) -> None:
    """A service that accepts connections and never answers makes only the question fail."""
    with socket.create_server(("127.0.0.1", 0)) as silent:
        url = f"http://127.0.0.1:{silent.getsockname()[1]}/"
        result = submit(rules(f'{BUDGET}url = "{url}"\ndeadline = 0.1\n'))
        assert budget.FAILED in (result.text or "")
        assert "".join(result.log).count("rule:budget") == 1


def test_late_questions_do_not_pile_up(monkeypatch: pytest.MonkeyPatch) -> None:
    """Only some threads may wait for a silent service; further questions fail without a thread, until one ends."""
    held, started = threading.Event(), []

    def fetch(url: str, deadline: float, results: object) -> None:
        started.append(url)
        held.wait()
        asking._waiting.release()

    monkeypatch.setattr(asking, "_fetch", fetch)
    for number in range(asking.MOST_WAITING):
        with pytest.raises(asking.UnansweredError, match="no answer after"):
            asking.web(f"http://a.b/{number}", 0.01)
    with pytest.raises(asking.UnansweredError, match="earlier requests have no answer yet"):
        asking.web("http://a.b/last", 60.0)
    held.set()
    assert len(started) == asking.MOST_WAITING


def test_answers_are_kept(rules: Rules, web: Any, clock: Clock) -> None:
    """The same question is asked again only after some time; another one is asked at once."""
    web.answers.update({"/a": (200, {"allowed": True}), "/b": (200, {"allowed": False})})
    made = rules(f'{BUDGET}url = "{web.url}/{{account}}"\ncache = 60\n{NEVER}')
    assert [submit(made, name).accepted for name in ("a", "a", "b", "b")] == [True, True, False, False]
    assert web.asked == ["/a", "/b"]
    clock.now += 59
    web.answers["/a"] = (200, {"allowed": False})
    assert submit(made, "a").accepted
    clock.now += 1
    assert not submit(made, "a").accepted


def test_few_answers_are_kept(rules: Rules, web: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """The cache is bounded: the oldest answers go first."""
    monkeypatch.setattr(budget, "MOST_KEPT", 2)
    web.answers.update({f"/{name}": (200, {"allowed": True}) for name in "abc"})
    made = rules(f'{BUDGET}url = "{web.url}/{{account}}"\n{NEVER}')
    for name in "abcca":
        assert submit(made, name).accepted
    assert web.asked == ["/a", "/b", "/c", "/a"]


def test_a_failing_service_has_a_pause(rules: Rules, web: Any, clock: Clock) -> None:
    """After a failure the service is not asked for a while.

    One line in the log says so, and a success ends the pause.
    """
    made = rules(f'{BUDGET}url = "{web.url}/{{account}}"\nretry = 10\n{NEVER}')
    web.answers["/a"] = (500, b"")
    first, second = submit(made, "a"), submit(made, "b")
    assert (first.accepted, second.accepted, web.asked) == (False, False, ["/a"])
    assert "status 500: jobs are refused" in "".join(first.log)
    assert second.log == []
    clock.now += 10
    web.answers["/b"] = (200, {"allowed": True})
    assert submit(made, "b").accepted


@pytest.mark.parametrize("status", [300, 400, 404, 429, 200])
@pytest.mark.parametrize("mode", ["refuse", "accept"])
def test_the_values_of_one_user_are_no_failure(rules: Rules, web: Any, mode: str, status: int) -> None:
    """A question that the service cannot decide is refused, whatever happens on failures, and concerns nobody else."""
    made = rules(f'{BUDGET}url = "{web.url}/{{account}}"\non_failure = "{mode}"\n{NEVER}')
    web.answers.update({"/good": (200, {"allowed": True}), "/used": (200, {"allowed": False}), "/odd": (status, b"?")})
    for account in ("odd", "odd2", "odd"):
        assert not submit(made, account, user_id=1000).accepted
    for user_id in (1000, 1001):
        assert submit(made, "good", user_id=user_id).accepted
        assert not submit(made, "used", user_id=user_id).accepted


@pytest.mark.parametrize("mode", ["refuse", "accept"])
def test_failures_for_one_user(rules: Rules, web: Any, clock: Clock, mode: str) -> None:
    """A user who makes the service fail can neither close it for others, nor open it for anybody."""
    made = rules(f'{BUDGET}url = "{web.url}/{{account}}"\nretry = 10\ncache = 0\non_failure = "{mode}"\n{NEVER}')
    web.answers.update({"/good": (200, {"allowed": True}), "/used": (200, {"allowed": False})})
    for number in range(20):
        web.answers[f"/crash{number}"] = (500, b"")
        submit(made, f"crash{number}", user_id=1000)
        assert not submit(made, "used", user_id=1000).accepted
        web.answers[f"/again{number}"] = (500, b"")
        submit(made, f"again{number}", user_id=1000)
        for user_id in (1001, 1002):
            assert submit(made, "good", user_id=user_id).accepted
            assert not submit(made, "used", user_id=user_id).accepted
        clock.now += 4
    failed = sum(path.startswith(("/crash", "/again")) for path in web.asked)
    assert failed == (7 if mode == "refuse" else 40)


def test_one_question_finds_out(rules: Rules, web: Any, clock: Clock) -> None:
    """A service that fails for two users is asked once after each pause, and serves all after its first answer."""
    made = rules(f'{BUDGET}url = "{web.url}/{{account}}"\nretry = 10\n{NEVER}')
    web.answers["/a"] = (503, b"")
    for user_id in range(1000, 1010):
        assert budget.FAILED in (submit(made, "a", user_id=user_id).text or "")
    assert len(web.asked) == 2
    for asked in (3, 4):
        clock.now += 10
        for user_id in range(1000, 1010):
            submit(made, "a", user_id=user_id)
        assert len(web.asked) == asked
    clock.now += 10
    web.answers["/a"] = (200, {"allowed": True})
    for user_id in range(1000, 1010):
        assert submit(made, "a", user_id=user_id).accepted
    assert len(web.asked) == 5


def test_updates_are_asked_for(rules: Rules, web: Any) -> None:
    """For an update that moves a job to another account, the service is asked, but not for an update by root."""
    web.answers["/b"] = (200, {"allowed": False})
    made = rules(f'{BUDGET}url = "{web.url}/{{account}}"\n{NEVER}')
    record = FakeRecord(account="a")
    assert not run(made, "job_modify", job=FakeJob(account="b"), record=record).accepted
    assert run(made, "job_modify", job=FakeJob(account="b"), record=record, modify_uid=0).accepted
    assert run(made, "job_modify", job=FakeJob(name="b"), record=record).accepted


@pytest.mark.parametrize(
    ("keys", "finding"),
    [
        ("", "needs command or url, not both"),
        ('command = ["/a"]\nurl = "http://a.b/"', "needs command or url, not both"),
        ('command = ["budget"]', "must begin with an absolute path"),
        ('command = ["/a", "{home}"]', "takes {user}"),
        ('url = "http://{account}.b/"', "url must name its host"),
        ('url = "file:///etc/passwd"', "must be a URL"),
        ('url = "http://a.b/"\ndeadline = 2', "together they may take as long as a request"),
        ('url = "http://a.b/"\nmember = ""', "member: must be a text that is not empty"),
    ],
)
def test_errors(rules: Rules, keys: str, finding: str) -> None:
    """Invalid keys are errors of the load, including a deadline that is longer than that of the request."""
    with pytest.raises(LoadError) as caught:
        rules(BUDGET + keys)
    assert finding in "".join(caught.value.findings)


def test_a_program_of_others_is_refused(rules: Rules, tmp_path: Path) -> None:
    """A program that another user could have written is an error of the load, like such a hook file."""
    key = program(tmp_path, "exit 0")
    (tmp_path / "budget").chmod(0o777)
    trusted.guard()
    with pytest.raises(LoadError, match=r"budget: .*writable by"):
        rules(BUDGET + key)
