# SPDX-License-Identifier: GPL-2.0-or-later
"""run() and the commands with --hooks take a site's Lua scripts, too."""

from pathlib import Path

import pytest
from click.testing import CliRunner

from slurmhooks.cli import main
from slurmhooks.errors import LoadError
from slurmhooks.testing import FakeJob, FakeOptions, FakeRecord, run

JOB_SUBMIT = """
function slurm_job_submit(job_desc, part_list, submit_uid)
   if job_desc.comment == "fail" then return nil .. "x" end
   for name, part in pairs(part_list) do job_desc.admin_comment = string.format("%s of %d", name, submit_uid) end
   slurm.log_user("hello %s", job_desc.account)
   return job_desc.account == "physics" and slurm.ESLURM_INVALID_ACCOUNT or slurm.SUCCESS
end
function slurm_job_modify(job_desc, job_rec, part_list, modify_uid)
   job_desc.comment = "was " .. tostring(job_rec.comment)
   return slurm.SUCCESS
end
"""
CLI_FILTER = """
function slurm_cli_setup_defaults(options) return slurm.SUCCESS end
function slurm_cli_pre_submit(options) options["comment"] = options["account"] .. "!" return slurm.SUCCESS end
function slurm_cli_post_submit() return slurm.SUCCESS end
"""


@pytest.fixture
def script(tmp_path: Path) -> Path:
    """A job_submit.lua."""
    path = tmp_path / "job_submit.lua"
    path.write_text(JOB_SUBMIT)
    return path


def test_job_submit(script: Path) -> None:
    """Changes, messages and refusals are those of the script; tables and records are stand-ins."""
    given = {"partitions": {"debug": {}}, "submit_uid": 7}
    result = run(script, "job_submit", job=FakeJob(account="maths", release="24.11"), **given)  # type: ignore[arg-type]
    assert result.accepted
    assert result.changes == {"admin_comment": "debug of 7"}
    assert result.user_messages == ["hello maths"]
    refused = run(script, "job_submit", job=FakeJob(account="physics"), **given)  # type: ignore[arg-type]
    assert (refused.accepted, refused.code, refused.changes) == (False, "ESLURM_INVALID_ACCOUNT", {})
    updated = run(script, "job_modify", job=FakeJob(), record=FakeRecord(comment="old"), modify_uid=7)
    assert updated.changes == {"comment": "was old"}


def test_the_release_decides_what_an_error_does(script: Path) -> None:
    """A script runs as under the release of the stand-in: up to 25.11 an error accepts the job."""
    assert run(script, "job_submit", job=FakeJob(comment="fail", release="24.11")).accepted
    assert not run(script, "job_submit", job=FakeJob(comment="fail", release="26.05")).accepted


def test_cli_filter(tmp_path: Path) -> None:
    """Its functions are handlers of cli_filter."""
    path = tmp_path / "cli_filter.lua"
    path.write_text(CLI_FILTER)
    result = run(path, "cli_filter.pre_submit", options=FakeOptions("sbatch", options={"account": "physics"}))
    assert result.changes == {"comment": "physics!"}


def test_other_scripts(tmp_path: Path) -> None:
    """A script of spank-lua is refused, because it runs in Slurm only."""
    path = tmp_path / "spank.lua"
    path.write_text("function slurm_spank_init(spank) return SPANK.SUCCESS end\n")
    with pytest.raises(LoadError, match=r"scripts of SPANK and scrun run in Slurm"):
        run(path, "spank.init")


def test_commands(script: Path, tmp_path: Path) -> None:
    """`try` and `check` take it with --hooks."""
    batch = tmp_path / "run.sh"
    batch.write_text("#!/bin/sh\n#SBATCH -A physics\n")
    tried = CliRunner().invoke(main, ["try", "job_submit", "--really", "--hooks", str(script), str(batch)])
    assert "hello physics" in tried.output
    assert tried.exit_code == 1
    checked = CliRunner().invoke(main, ["check", "--hooks", str(script)])
    assert checked.exit_code == 0, checked.output
    assert "job_submit.lua:slurm_job_modify" in checked.output
