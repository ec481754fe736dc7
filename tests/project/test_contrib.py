# SPDX-License-Identifier: GPL-2.0-or-later
"""Test the examples in contrib as a site tests its own hooks: on a laptop, without Slurm."""

import http.server
import json
import os
import shutil
import socket
import subprocess
import threading
import time
from pathlib import Path
from typing import Any

import pytest

from slurmhooks.handlers import loader
from slurmhooks.job_submit.constants import JobState
from slurmhooks.testing import FakeContainer, FakeEvent, FakeJob, FakeRecord, FakeSpank, run

SYSTEMD = Path(__file__).parents[2] / "contrib" / "systemd"
EXAMPLES = Path(__file__).parents[2] / "contrib" / "examples"
POLL = 0.01
"""Seconds after which a server notices that it shall end."""
FIRST_LIGHT = Path(__file__).parents[2] / "contrib" / "first_light" / "hooks.py"


def test_a_job_needs_an_account() -> None:
    """A job without an account is refused with a text that says how to name one."""
    result = run(FIRST_LIGHT, "job", job=FakeJob(time_limit=5))
    assert not result.accepted
    assert result.code == "ESLURM_INVALID_ACCOUNT"
    assert result.text == "please name a project with --account"


def test_a_job_without_a_time_limit_gets_one() -> None:
    """A missing time limit is set, and the user is told."""
    result = run(FIRST_LIGHT, "job", job=FakeJob(account="physics"))
    assert result.accepted
    assert result.changes == {"time_limit": 60, "comment": "project physics"}
    assert result.user_messages == ["no --time given: limited to 60 minutes"]


def test_what_the_user_chose_stays() -> None:
    """A time limit and a partition that the user chose are kept."""
    job = FakeJob(account="physics", time_limit=20, partition="gpu")
    result = run(FIRST_LIGHT, "job", job=job)
    assert result.changes == {"comment": "project physics"}
    assert (job.time_limit, job.partition) == (20, "gpu")


@pytest.mark.parametrize(
    ("time_limit", "sender", "accepted"), [(60, 1000, True), (61, 1000, False), (61, 0, True), (None, 1000, True)]
)
def test_only_administrators_extend_a_job(time_limit: int | None, sender: int, accepted: bool) -> None:
    """Only an administrator can extend a job beyond an hour; other updates pass, and change no comment."""
    known = FakeRecord(account="physics", time_limit=20, user_id=1000)
    asked: dict[str, Any] = {} if time_limit is None else {"time_limit": time_limit}
    job = FakeJob(**asked, user_id=1000)
    result = run(FIRST_LIGHT, "job", job=job, record=known, sender_uid=sender)
    assert result.accepted is accepted
    assert result.changes == {}


def test_nobody_submits_a_job_that_is_too_long() -> None:
    """A submission beyond an hour is refused, so that an update is not the only way to find the limit."""
    result = run(FIRST_LIGHT, "job", job=FakeJob(account="physics", time_limit=61))
    assert (result.accepted, result.code) == (False, "ESLURM_INVALID_TIME_LIMIT")


def test_a_job_whose_limit_is_not_known_is_too_long() -> None:
    """An update of a job that has no limit is refused in words, and is no bug of the handler."""
    job, known = FakeJob(account="maths", user_id=1000), FakeRecord(account="physics", user_id=1000)
    result = run(FIRST_LIGHT, "job", job=job, record=known, sender_uid=1000)
    assert (result.accepted, result.code) == (False, "ESLURM_INVALID_TIME_LIMIT")


def test_the_greeting_reaches_the_task() -> None:
    """srun --greet=World sets a variable in the environment of each task."""
    spank = FakeSpank(env={"PATH": "/bin"}, items={"job_id": 7, "task_global_id": 3})
    result = run(FIRST_LIGHT, "spank.task_init", spank=spank, options={"greet": "World"})
    assert result.accepted
    assert result.changes == {"env": {"HELLO": "hello World, task 3 of job 7"}}
    assert spank.env["PATH"] == "/bin"


def test_nobody_is_greeted_unasked() -> None:
    """Without the option nothing changes."""
    assert run(FIRST_LIGHT, "spank.task_init").changes == {}


def test_a_greeting_is_a_name() -> None:
    """An invalid name is refused before anything is submitted."""
    result = run(FIRST_LIGHT, "spank.task_init", options={"greet": "R2D2"})
    assert not result.accepted
    assert result.text == "--greet: 'R2D2' is not a name"


def test_a_container_is_staged_and_dropped(tmp_path: Path) -> None:
    """The bundle is copied for the job, and the copy is gone afterwards."""
    (tmp_path / "rootfs" / "etc").mkdir(parents=True)
    container = FakeContainer(f"test-{tmp_path.parent.name}-{tmp_path.name}", bundle=tmp_path, job_id=7)
    staged = Path(f"/tmp/staged-1000-{container.id}")
    try:
        result = run(FIRST_LIGHT, "scrun.stage_in", container=container)
        assert result.accepted
        assert result.changes == {"bundle": str(staged), "root_path": str(staged / "rootfs")}
        assert (staged / "rootfs" / "etc" / "staged").read_text() == "by slurmhooks, for job 7\n"
    finally:
        result = run(FIRST_LIGHT, "scrun.stage_out", container=container)
    assert result.log == [f"info: removed the staged copy container={container.id!r}"]
    assert not staged.exists()
    assert (tmp_path / "rootfs" / "etc").exists()


class Budget(http.server.BaseHTTPRequestHandler):
    """A service that knows two projects."""

    def do_GET(self) -> None:
        """Answer for a project."""
        hours = {"/rich": 5, "/used%20up": 0}.get(self.path)
        self.send_response(200 if hours is not None else 404)
        self.end_headers()
        self.wfile.write(json.dumps({"hours_left": hours}).encode())

    def log_message(self, *_: object) -> None:
        """Say nothing."""


@pytest.mark.parametrize(("account", "accepted"), [("rich", True), ("used up", False), ("unknown", True), (None, True)])
def test_a_budget_service_is_asked(account: str | None, accepted: bool, tmp_path: Path) -> None:
    """The service's answer decides; without an answer, jobs are accepted."""
    server = http.server.HTTPServer(("127.0.0.1", 0), Budget)
    threading.Thread(target=server.serve_forever, args=(POLL,), daemon=True).start()
    text = (EXAMPLES / "budget_service.py").read_text()
    hooks = tmp_path / "budget_service.py"
    hooks.write_text(text.replace("http://budget.example.org/projects", f"http://127.0.0.1:{server.server_port}"))
    try:
        result = run(hooks, "job_submit", job=FakeJob(account=account))
    finally:
        server.shutdown()
        server.server_close()
    assert result.accepted == accepted
    assert result.code == (None if accepted else "ESLURM_ACCOUNTING_POLICY")
    assert (result.error_id is not None) == (account == "unknown")


@pytest.mark.parametrize(
    ("fields", "factor"),
    [
        ({"account": "weather"}, {"site_factor": 5000}),
        ({"account": "weather", "deadline": int(time.time()) + 3600}, {"site_factor": 15000}),
        ({"account": "chemistry", "deadline": int(time.time()) + 3 * 86400}, {"site_factor": 1000}),
        ({"account": "chemistry"}, {}),
    ],
)
def test_urgent_jobs_wait_less(fields: dict[str, Any], factor: dict[str, int]) -> None:
    """The two handlers' numbers are added; if neither has an opinion, the job keeps its factor."""
    result = run(EXAMPLES / "waiting_projects.py", "priority", record=FakeRecord(**fields))
    assert (result.accepted, result.changes) == (True, factor)


def test_a_job_waits_for_the_licence_server(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without a licence server, jobs with licences do not start, and their users read why; other jobs start."""
    server = socket.create_server(("localhost", 0))
    hooks = loader.load([loader.Source(path=str(EXAMPLES / "license_server.py"))])
    module = next(iter(hooks.modules.values()))
    monkeypatch.setattr(module, "SERVER", server.getsockname())
    job = FakeRecord(licenses="matlab:2", job_id=7)
    assert run(hooks, "controller_prolog", record=job).accepted
    server.close()
    result = run(hooks, "controller_prolog", record=job)
    assert not result.accepted
    assert result.text is not None
    assert result.text.startswith("the licence server does not answer: ")
    assert run(hooks, "controller_prolog", record=FakeRecord()).accepted
    ended = run(hooks, "controller_epilog", record=job)
    assert ended.log == ["info: job gave its licences back job=7 licenses='matlab:2'"]


@pytest.mark.parametrize("status", [200, 422, 503])
def test_finished_jobs_are_reported(status: int, tmp_path: Path) -> None:
    """The service gets each ended job with the record's key; refused records are not sent again, failed ones are."""
    taken: list[tuple[str | None, dict[str, Any]]] = []

    class Billing(http.server.BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            taken.append((self.headers["Idempotency-Key"], json.loads(body)))
            self.send_response(status)
            self.end_headers()

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - as in the base class
            """Say nothing."""

    record = FakeRecord(job_id=7, name="sim", job_state=JobState.JOB_FAILED, exit_code=256, tres_fmt_alloc_str="cpu=4")
    with http.server.HTTPServer(("127.0.0.1", 0), Billing) as server:
        path = tmp_path / "finished_jobs.py"
        text = (EXAMPLES / "finished_jobs.py").read_text()
        path.write_text(text.replace("http://localhost:8080", f"http://127.0.0.1:{server.server_port}"))
        thread = threading.Thread(target=server.serve_forever, args=(POLL,))
        thread.start()
        result = run(path, "job_end", record=record, event=FakeEvent(id="7.1"))
        server.shutdown()
        thread.join()
    ((key, job),) = taken
    assert key == "7.1"
    assert (job["job_id"], job["state"], job["exit_code"], job["tres_fmt_alloc_str"]) == (7, "JOB_FAILED", 256, "cpu=4")
    assert result.accepted == (status == 200)
    assert (result.error_id is not None) == (status == 503)


def test_settings_for_systemd(tmp_path: Path) -> None:
    """systemd knows each setting of the drop-in for slurmctld, and accepts its value."""
    if shutil.which("systemd-analyze") is None:
        pytest.skip("systemd is not installed, so the drop-in for slurmctld.service was not checked")
    unit, folder = tmp_path / "slurmctld.service", tmp_path / "slurmctld.service.d"
    unit.write_text("[Unit]\nDescription=slurmctld\n[Service]\nUser=root\nExecStart=/bin/true\n")
    folder.mkdir()
    shutil.copy(SYSTEMD / "slurmctld-confined.conf", folder / "slurmhooks.conf")
    command = ["systemd-analyze", "verify", "--man=no", str(unit)]
    environment = os.environ | {"SYSTEMD_UNIT_PATH": f"{tmp_path}:"}
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=environment)
    assert (done.returncode, [line for line in done.stderr.splitlines() if str(tmp_path) in line]) == (0, [])
    settings = (SYSTEMD / "slurmctld-confined.conf").read_text().splitlines()
    assert "OOMPolicy=continue" in settings
