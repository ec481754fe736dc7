# SPDX-License-Identifier: GPL-2.0-or-later
"""Texts of a request: empty ones, and names that slurmctld converts to lower case."""

from pathlib import Path

import pytest

from slurmhooks.fields import JobFields
from slurmhooks.fields.rows import Lowered, Text, Tres, rows
from slurmhooks.handlers import loader
from slurmhooks.job_submit import strings
from slurmhooks.lua import job_submit
from slurmhooks.testing import FakeJob, FakeRecord, run
from tests.unit.job_submit.views import raw, view_of

MISSING = FakeJob(release="24.11")._missing
TEXTS = [name for name, row in rows(JobFields).items() if isinstance(row, Text) and name not in MISSING]
LOWERED = [name for name, row in rows(JobFields).items() if isinstance(row, Lowered)]


@pytest.mark.parametrize("name", TEXTS)
def test_an_empty_text_is_unset_in_a_submission(name: str) -> None:
    """``sbatch --account=`` sends an empty text: in a submission every text field reads as None, in an update as ''."""
    fake = FakeJob(release="24.11", **{name: ""})
    assert getattr(fake, name) is None
    assert getattr(view_of(fake, "job_submit"), name) is None
    assert getattr(view_of(fake, "job_modify"), name) == ""


@pytest.mark.parametrize("name", [name for name, row in rows(JobFields).items() if type(row) is Tres])
def test_a_list_without_tres_is_empty(name: str) -> None:
    """``--gres=`` sends ``gres/``, in which Slurm finds nothing: it reads as an empty text does."""
    seen = {name, "gres"} if name == "tres_per_node" else {name}
    for text in ("gres/", "gres:", "gres/,gres/", ",", "license/"):
        assert len(strings.Tres.parse(text)) == 0
        fake = FakeJob(release="24.11", **{name: text})
        for each in seen:
            assert getattr(view_of(fake, "job_submit"), each) is None
            assert getattr(view_of(fake, "job_modify"), each) == ""
    assert getattr(FakeJob(release="24.11", **{name: "gres/gpu:0,"}), name) == "gres/gpu:0,"


def test_handlers_see_no_empty_account(tmp_path: Path) -> None:
    """The rule of the tutorial holds for an empty account, in all modes and in copies of the request."""
    path = tmp_path / "h.py"
    path.write_text(
        "from slurmhooks import Reject, hook\n"
        "@hook.job_submit(mode='observe')\n"
        "def watch(job):\n    assert job.account is None and dict(job)['account'] is None\n"
        "@hook.job_submit\n"
        "def rule(job):\n    if job.account is None:\n        raise Reject('name one')\n"
    )
    result = run(path, "job_submit", job=FakeJob(account=""))
    assert (result.text, result.errors) == ("name one", [])


def test_an_update_clears_by_an_empty_text(tmp_path: Path) -> None:
    """What a handler writes in an update reads back, also '', which clears the field and is reported as a change."""
    path = tmp_path / "h.py"
    path.write_text(
        "from slurmhooks import hook\n@hook.job_modify\n"
        "def clear(job):\n    assert job.comment == ''\n    job.comment = 'x'\n    job.dependency = ''\n"
        "    assert job.dependency == ''\n"
    )
    result = run(path, "job_modify", job=FakeJob(comment=""), record=FakeRecord())
    assert (result.accepted, result.changes) == (True, {"comment": "x", "dependency": ""})


def test_lua_sees_what_slurm_shows(tmp_path: Path) -> None:
    """A job_submit.lua sees the text of the request as it is: empty, and in the user's spelling."""
    path = tmp_path / "job_submit.lua"
    path.write_text(
        "function slurm_job_submit(job, parts, uid)\n"
        "  slurm.log_user(string.format('%q %q', tostring(job.account), tostring(job.comment)))\n"
        "  return slurm.SUCCESS\nend\nfunction slurm_job_modify(job, rec, parts, uid) return slurm.SUCCESS end\n"
    )
    made = loader.load([loader.Source(path=str(path), read=lambda _: job_submit.load(str(path)))])
    assert run(made, "job_submit", job=FakeJob(comment="", account="Maths")).user_messages == ['"Maths" ""']


def test_names_in_lower_case_are_known() -> None:
    """slurmctld converts exactly these, in _job_create() and in the RPC of updates."""
    assert LOWERED == ["account", "wckey"]


@pytest.mark.parametrize("name", LOWERED)
def test_names_that_slurm_lowers(name: str) -> None:
    """A handler reads, and writes, the name that will be charged; the same name in another case is no change."""
    fake = FakeJob(release="24.11", **{name: "Physics"})
    job = view_of(fake, "job_submit")
    assert getattr(job, name) == "physics"
    before = job.savepoint()
    setattr(job, name, "PHYSICS")
    assert not job._differs(before, job.savepoint())
    setattr(job, name, "MathsÄ")
    assert getattr(job, name) == "mathsÄ"
    job.commit()
    assert job._struct.written[name] == "mathsÄ".encode()
    setattr(job, name, None)
    assert getattr(job, name) is None


def test_the_members_stay() -> None:
    """Reading changes nothing in the request."""
    fake = FakeJob(release="24.11", account="Physics", comment="")
    assert (raw(fake, "account"), raw(fake, "comment")) == (b"Physics", b"")
