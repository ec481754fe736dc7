# SPDX-License-Identifier: GPL-2.0-or-later
import os
import subprocess
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest

from slurmhooks.recording.file import RecordingError, check_access
from slurmhooks.workshop.recorded import Contents
from slurmhooks.workshop.replay import fixture as testing
from slurmhooks.workshop.replay.answers import NotRecordedError
from slurmhooks.workshop.replay.report import ReplayReport
from slurmhooks.workshop.replay.run import NETWORK, Options, ReplayError, replay
from slurmhooks.workshop.testing.tables import tables_of
from tests.unit.workshop.replay.recordings import TIME, recording

pytestmark = pytest.mark.slow
STAY = {
    "test_the_same_hooks_decide_the_same",
    "test_differences_are_named",
    "test_what_was_not_recorded_is_never_a_pass",
    "test_secrets_are_not_in_the_file",
    "test_hooks_that_do_not_load_are_findings",
    "test_handlers_have_no_network",
    "test_root_loads_and_becomes_another",
}
"""What `make test` has."""

ACCOUNT = """
from slurmhooks import Reject, hook

@hook.job_submit
def require_account(job):
    if job.account is None:
        raise Reject("name an account", code="ESLURM_INVALID_ACCOUNT")
    job.comment = "seen"
"""
NEW = """
from slurmhooks import Reject, hook

@hook.job_submit
def require_account(job):
    if job.account is None:
        raise Reject("name an account", code="ESLURM_INVALID_ACCOUNT")
    job.comment = "SEEN"

@hook.job_submit
def limit_time(job):
    if job.time_limit is not None and job.time_limit > 60:
        raise Reject("too long", code="ESLURM_INVALID_TIME_LIMIT")
"""
JOBS: list[dict[str, Any]] = [
    {"account": "physics", "name": "one"},
    {"time_limit": 90},
    {"account": "art", "time_limit": 90, "name": "long"},
]


def hook_file(folder: Path, text: str, name: str = "new.py") -> str:
    """Return the path of a hook file."""
    path = folder / name
    path.write_text(text)
    return str(path)


def notes(report: ReplayReport) -> list[str]:
    """Return the notes, except the one of a machine on which this user may make no namespaces."""
    return [note for note in report.notes if note != NETWORK]


def test_the_same_hooks_decide_the_same(tmp_path: Path) -> None:
    """The hooks that were in force decide each request as before, with recorded answers or when run again."""
    fd = recording(tmp_path / "file", ACCOUNT, JOBS)
    new = hook_file(tmp_path, ACCOUNT)
    for old in (None, new):
        report = replay(fd, Options(new, old, processes=2))
        assert report.same
        assert (report.requests, report.accepted, report.refused) == (3, 2, 1)
        assert notes(report) == []


def test_differences_are_named(tmp_path: Path) -> None:
    """The report names a rule that refuses more, with users, accounts and requests, and changed fields with values."""
    fd = recording(tmp_path / "file", ACCOUNT, JOBS)
    new = hook_file(tmp_path, NEW)
    for old in (None, hook_file(tmp_path, ACCOUNT, "old.py")):
        report = replay(fd, Options(new, old, processes=2))
        assert (report.different, report.more_refused, report.fewer_refused) == (2, 1, 0)
        (rule,) = report.rules
        assert (rule.rule, rule.more, rule.fewer) == ("new:limit_time", 1, 0)
        assert [(share.name, share.requests) for share in rule.accounts] == [("art", 1)]
        assert [example.name for example in rule.examples] == ["long"]
        (field,) = report.fields
        assert (field.field, field.requests) == ("comment", 1)
        assert [(change.old, change.new, change.requests) for change in field.values] == [("seen", "SEEN", 1)]
        assert not report.same


def test_recordings_of_two_controllers(tmp_path: Path) -> None:
    """Two recordings become one by the commands of docs/replay.md: each request of both is in it."""
    for name, jobs in (("ctl1", JOBS), ("ctl2", JOBS[1:])):
        os.close(recording(tmp_path / f"{name}.recording", ACCOUNT, jobs))
    page = Path(__file__).parents[4] / "docs" / "replay.md"
    (command,) = [line for line in page.read_text().splitlines() if "tail -n +2 ctl2.recording" in line]
    subprocess.run(["sh", "-c", command], cwd=tmp_path, check=True)
    fd = os.open(tmp_path / "both.recording", os.O_RDONLY)
    check_access(fd, "both.recording")
    report = replay(fd, Options(hook_file(tmp_path, ACCOUNT), processes=2))
    assert report.same
    assert (report.requests, report.accepted, report.refused) == (5, 3, 2)
    assert notes(report) == []


NEEDS = """
from slurmhooks import hook

@hook.job_submit(on_error="accept")
def reads(job, partitions):
    try:
        exec(job.comment)
    except Exception:
        pass
"""
MISSING = [
    ("job.script.startswith('#!')", "script"),
    ("'srun' in job.script", "script"),
    ("f'{job.script}' == 1", "script"),
    ("job.script == ''", "script"),
    ("isinstance(job.script, str) and job.script[0]", "script"),
    ("job.environment['HOME']", "environment"),
    ("job.environment['NEW'] = '1'", "environment"),
    ("partitions['debug']", "partitions"),
    ("list(partitions)", "partitions"),
    ("job.groups", "the name service"),
    ("job.default_account", "default_account"),
]


def test_what_was_not_recorded_is_never_a_pass(tmp_path: Path) -> None:
    """A request is not compared if a handler reads missing data, even if it catches the error; the report says why."""
    common = {"script": "#!/bin/sh", "environment": {"HOME": "/"}, "user_id": 4_000_000}
    jobs = [{**common, "comment": reads, "name": reads} for reads, _ in MISSING]
    fd = recording(tmp_path / "file", "from slurmhooks import hook", jobs)
    report = replay(fd, Options(hook_file(tmp_path, NEEDS), examples=99))
    assert (report.unknown, report.different, report.same) == (len(MISSING), 0, False)
    assert [(example.name, need.what) for need in report.needs for example in need.examples] == MISSING
    assert {need.what: need.record_with for need in report.needs} == {
        "script": "--with script",
        "environment": "--with environment",
        "partitions": "--tables partitions",
        "the name service": "",
        "default_account": "",
    }


def test_whether_there_is_a_script_is_recorded(tmp_path: Path) -> None:
    """Rules for interactive jobs are compared without scripts; if C code gets a script, the request is not compared."""
    text = """
import re
from slurmhooks import Reject, hook

@hook.job_submit
def interactive(job):
    if job.script is None or not job.script:
        raise Reject("no interactive jobs")
    {}
"""
    jobs: list[dict[str, Any]] = [{"account": "a", "script": "#!/bin/sh"}, {"account": "a"}]
    fd = recording(tmp_path / "file", ACCOUNT, jobs)
    report = replay(fd, Options(hook_file(tmp_path, text.format("pass"))))
    assert (report.accepted, report.refused, report.unknown) == (1, 1, 0)
    report = replay(fd, Options(hook_file(tmp_path, text.format("re.search('srun', job.script)"))))
    assert (report.refused, report.unknown, report.failed) == (1, 1, 0)
    assert [need.what for need in report.needs] == ["script"]


def test_secrets_are_not_in_the_file(tmp_path: Path) -> None:
    """Requests and answers in the file have scripts and environments only if these were asked for."""
    hooks = "from slurmhooks import hook\n@hook.job_submit\ndef add(job):\n    job.environment['TOKEN2'] = 'geheim'\n"
    jobs = [{"script": "#!/bin/sh\nsecret-one", "environment": {"TOKEN": "secret-two"}, "account": "visible"}]
    for kept in ((), ("script", "environment")):
        fd = recording(tmp_path / f"file{len(kept)}", hooks, jobs, kept=kept)
        contents = Contents(fd)
        found = [request for offset in contents.offsets for request in contents.requests(offset)]
        whole = b"".join(request.encode() for request in found)
        assert b"visible" in whole
        for secret in (b"secret-one", b"secret-two", b"geheim"):
            assert (secret in whole) == bool(kept), secret
        report = replay(fd, Options(hook_file(tmp_path, hooks)))
        assert report.same if kept else report.unknown


def test_snapshots_answer_new_questions(tmp_path: Path) -> None:
    """A rule gets rows for which no handler asked from a table that was recorded as a whole."""
    reads = """
from slurmhooks import Reject, hook

@hook.job_submit
def fits(job, partitions):
    assert len(partitions) == 2 and "none" not in partitions
    assert [found.name for found in partitions.where(max_time=600)] == ["long"]
    if job.time_limit > partitions[job.partition].max_time:
        raise Reject("too long for the partition")
"""
    jobs = [{"account": "a", "partition": name, "time_limit": 90} for name in ("debug", "long")]
    partitions = {"debug": {"max_time": 60}, "long": {"max_time": 600}}
    fd = recording(tmp_path / "file", ACCOUNT, jobs, snapshots=["partitions"], partitions=partitions)
    report = replay(fd, Options(hook_file(tmp_path, reads)))
    assert (report.accepted, report.refused, report.failed, report.unknown) == (1, 1, 0, 0)


def test_bugs_are_shown(tmp_path: Path) -> None:
    """A bug is reported with its traceback, also where it lets the request pass."""
    text = "from slurmhooks import hook\n@hook.job_submit(on_error={!r})\ndef divides(job):\n    1 / 0\n"
    fd = recording(tmp_path / "file", ACCOUNT, JOBS)
    for on_error, failed in (("reject", 3), ("accept", 0)):
        report = replay(fd, Options(hook_file(tmp_path, text.format(on_error))))
        (bug,) = report.bugs
        assert (bug.rule, bug.error, bug.requests, bug.hooks) == ("new:divides", "ZeroDivisionError", 3, "new")
        assert "1 / 0" in bug.traceback
        assert report.failed == failed


def test_handlers_see_the_recorded_time(tmp_path: Path) -> None:
    """The clocks of Python show when the request came, and handlers can tell that it is a replay."""
    text = """
import datetime
import os
import time
from datetime import datetime as moment
from slurmhooks import hook, replaying

@hook.job_submit
def shows(job):
    assert replaying() and isinstance(moment.now(), datetime.datetime) and isinstance(moment.now(), moment)
    assert moment(2026, 1, 2) - moment(2026, 1, 1) == datetime.timedelta(days=1)
    times = {time.time(), moment.now().timestamp(), time.mktime(time.localtime())}
    job.comment = f"{times} {datetime.date.today()}"
"""
    fd = recording(tmp_path / "file", ACCOUNT, [{"account": "a"}])
    report = replay(fd, Options(hook_file(tmp_path, text)))
    (field,) = report.fields
    day = datetime.fromtimestamp(TIME).date()
    assert field.values[0].new == f"{ {TIME} } {day}"


def test_handlers_have_no_network(tmp_path: Path) -> None:
    """A handler cannot use the network, unless that is allowed."""
    text = """
import socket
from slurmhooks import hook

@hook.job_submit
def calls(job):
    with socket.create_server(("127.0.0.1", 0)) as server:
        socket.create_connection(server.getsockname(), timeout=5).close()
"""
    fd = recording(tmp_path / "file", ACCOUNT, [{"account": "a"}])
    new = hook_file(tmp_path, text)
    report = replay(fd, Options(new))
    assert bool(report.failed) != bool(report.notes)
    assert replay(fd, Options(new, network=True)).failed == 0


def test_hooks_that_do_not_load_are_findings(tmp_path: Path) -> None:
    """Files that do not load, or end the process, are an error with the reason, for old and new hooks."""
    fd = recording(tmp_path / "file", ACCOUNT, JOBS)
    good = hook_file(tmp_path, ACCOUNT)
    bad = hook_file(tmp_path, "import nothing_of_the_kind", "bad.py")
    for options in (Options(bad), Options(good, bad)):
        with pytest.raises(ReplayError, match="nothing_of_the_kind"):
            replay(fd, options)
    ends = "import os\nfrom slurmhooks import hook\n@hook.job_submit\ndef ends(job):\n    os._exit(3)\n"
    with pytest.raises(ReplayError, match="exit code 3"):
        replay(fd, Options(hook_file(tmp_path, ends, "ends.py")))


def test_what_hook_files_leave_running(tmp_path: Path) -> None:
    """Threads and exit functions of hook files neither keep a replay busy nor change its result."""
    fd = recording(tmp_path / "file", ACCOUNT, JOBS)
    left = "\nimport atexit, os, threading, time\natexit.register(os._exit, 7)\n"
    left += "threading.Thread(target=time.sleep, args=(1000,)).start()\n"
    assert replay(fd, Options(hook_file(tmp_path, ACCOUNT + left))).same


def test_modes_count_unless_told_otherwise(tmp_path: Path) -> None:
    """A handler that only observes refuses nothing, but with enforce_all it refuses what it would have refused."""
    text = NEW.replace("@hook.job_submit\ndef limit_time", '@hook.job_submit(mode="observe")\ndef limit_time')
    text = text.replace("SEEN", "seen")
    fd = recording(tmp_path / "file", ACCOUNT, [{**job, "script": "#!/bin/sh"} for job in JOBS])
    new = hook_file(tmp_path, text)
    assert replay(fd, Options(new)).same
    assert replay(fd, Options(new, enforce_all=True)).more_refused == 1


def test_another_release(tmp_path: Path) -> None:
    """A recording of 22.05 replayed for 26.05 has the same decisions, and a note on fields of only one release."""
    jobs = [{"account": "a", "time_limit": 5, "tres_per_node": "gres:gpu:2", "min_cpus": 3, "name": "one"}]
    fields = "job.account, job.time_limit, job.tres_per_node, job.min_cpus, job.priority, job.nice"
    text = f"""
from slurmhooks import Reject, hook

@hook.job_submit
def shows(job, partitions):
    job.comment = repr(({fields}, partitions["debug"].max_time))
    if job.account is None:
        raise Reject("no account", code="ESLURM_INVALID_ACCOUNT")
"""
    given: dict[str, Any] = {"partitions": {"debug": {"max_time": 60}}}
    fd = recording(tmp_path / "file", text, [*jobs, {}], release="22.05", **given)
    new = hook_file(tmp_path, text)
    assert replay(fd, Options(new)).same
    report = replay(fd, Options(new, tables=tables_of("26.05")))
    assert any("recorded on Slurm 22.05" in note for note in report.notes)
    assert any("only Slurm 26.05 has these fields" in note for note in report.notes)
    assert (report.accepted, report.refused) == (1, 1)
    (field,) = report.fields
    assert field.field == "comment"
    assert [change.new for change in field.values] == [change.old.replace("gres:", "gres/") for change in field.values]


def test_a_recording_that_was_cut_off(tmp_path: Path) -> None:
    """Complete frames are replayed and an incomplete one is noted; earlier damage is an error."""
    os.close(recording(tmp_path / "file", ACCOUNT, JOBS))
    whole = (tmp_path / "file").read_bytes()
    (tmp_path / "file").write_bytes(whole[:-3])
    new = hook_file(tmp_path, ACCOUNT)
    with open(tmp_path / "file", "rb") as file:
        report = replay(file.fileno(), Options(new))
        assert report.same
        assert len(notes(report)) == 2
    (tmp_path / "file").write_bytes(whole[:40] + b"\xff" + whole[41:])
    with open(tmp_path / "file", "rb") as file, pytest.raises(RecordingError, match="damaged"):
        replay(file.fileno(), Options(new))


def test_requests_are_fixtures(tmp_path: Path) -> None:
    """slurmhooks.testing gives each request with its decision, and runs hooks on it; compare() takes two lines."""
    os.close(recording(tmp_path / "file", ACCOUNT, JOBS))
    new = hook_file(tmp_path, NEW)
    found = [
        (request.job.account, request.decision.verdict, request.run(new).verdict)
        for request in testing.replay(tmp_path / "file")
    ]
    assert found == [("physics", "accepted", "accepted"), (None, "refused", "refused"), ("art", "accepted", "refused")]
    assert testing.compare(tmp_path / "file", new).more_refused == 1
    os.close(recording(tmp_path / "other", ACCOUNT, [{"script": "#!/bin/sh"}]))
    with pytest.raises(NotRecordedError, match="needs script"):
        [str(request.job.script) for request in testing.replay(tmp_path / "other")]


@pytest.mark.skipif(os.getuid() != 0, reason="needs root")
def test_root_loads_and_becomes_another(tmp_path: Path) -> None:
    """As root, handlers run as the owner of the recording, or as nobody; files that others could write are refused."""
    text = "import os\nfrom slurmhooks import hook\n@hook.job_submit\ndef who(job): job.comment = str(os.getresuid())\n"
    fd = recording(tmp_path / "file", "from slurmhooks import hook", JOBS[:1])
    new = hook_file(tmp_path, text)
    for owner, runs_as in ((0, 65534), (1234, 1234)):
        os.chown(tmp_path / "file", owner, 0)
        (field,) = replay(fd, Options(new, guard=True)).fields
        assert field.values[0].new == str((runs_as,) * 3)
    os.chmod(new, 0o666)
    with pytest.raises(ReplayError, match="writable"):
        replay(fd, Options(new, guard=True))


def test_a_configuration_with_lua_and_modes(tmp_path: Path) -> None:
    """A folder with slurmhooks.toml is loaded as slurmctld would: Lua scripts first, [rules] counts."""
    pytest.importorskip("lupa")
    (tmp_path / "site" / "hooks.d").mkdir(parents=True)
    hook_file(tmp_path / "site" / "hooks.d", NEW.replace("SEEN", "seen"), "limits.py")
    (tmp_path / "site" / "job_submit.lua").write_text("""
        function slurm_job_submit(job_desc, part_list, submit_uid)
            if job_desc.name == "one" then job_desc.comment = "lua" end
            return slurm.SUCCESS
        end
        function slurm_job_modify(job_desc, job_rec, part_list, modify_uid) return slurm.SUCCESS end
    """)
    (tmp_path / "site" / "slurmhooks.toml").write_text(
        '[hooks]\npaths = ["hooks.d/*.py"]\n[job_submit]\nlua = "job_submit.lua"\n'
        '[rules.modes."limits:require_account"]\nmode = "warn"\n'
    )
    fd = recording(tmp_path / "file", ACCOUNT, JOBS)
    report = replay(fd, Options(str(tmp_path / "site")))
    rules = {rule.rule: (rule.more, rule.fewer) for rule in report.rules}
    assert rules == {"limits:limit_time": (2, 0), "file:require_account": (0, 1)}
    (field,) = report.fields
    assert (field.field, field.values[0].new) == ("comment", "lua")
