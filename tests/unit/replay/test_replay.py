# SPDX-License-Identifier: GPL-2.0-or-later
from pathlib import Path

from slurmhooks.replay.run import Options, replay
from tests.unit.replay.recordings import recording

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
JOBS = [{"account": "physics", "name": "one"}, {"time_limit": 90}, {"account": "art", "time_limit": 90, "name": "long"}]


def hook_file(folder: Path, text: str, name: str = "new.py") -> str:
    """Return the path of a hook file."""
    path = folder / name
    path.write_text(text)
    return str(path)


def test_the_same_hooks_decide_the_same(tmp_path: Path) -> None:
    """The hooks that were in force decide each request as they did, with the recorded answers or run again."""
    fd = recording(tmp_path / "file", ACCOUNT, JOBS)
    new = hook_file(tmp_path, ACCOUNT)
    for old in (None, new):
        report = replay(fd, Options(new, old))
        assert report.same
        assert (report.requests, report.accepted, report.refused) == (3, 2, 1)
        assert report.notes == []


def test_differences_are_named(tmp_path: Path) -> None:
    """A rule that refuses more is named with users, accounts and requests, and a field with its values."""
    fd = recording(tmp_path / "file", ACCOUNT, JOBS)
    new = hook_file(tmp_path, NEW)
    for old in (None, hook_file(tmp_path, ACCOUNT, "old.py")):
        report = replay(fd, Options(new, old))
        assert (report.different, report.more_refused, report.fewer_refused) == (2, 1, 0)
        (rule,) = report.rules
        assert (rule.rule, rule.more, rule.fewer) == ("new:limit_time", 1, 0)
        assert [(share.name, share.requests) for share in rule.accounts] == [("art", 1)]
        assert [example.name for example in rule.examples] == ["long"]
        (field,) = report.fields
        assert (field.field, field.requests) == ("comment", 1)
        assert [(change.old, change.new, change.requests) for change in field.values] == [("seen", "SEEN", 1)]
        assert not report.same
