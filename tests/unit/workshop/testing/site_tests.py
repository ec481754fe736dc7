# SPDX-License-Identifier: GPL-2.0-or-later
"""Tests of a site, which docs/testing.md shows and test_pytest_plugin.py runs; its hooks are those of contrib."""

from slurmhooks.pytest_plugin import Srun, Submit


def test_time_limit(submit: Submit) -> None:
    """Options of sbatch, a script, or fields make a request."""
    result = submit("--partition=debug", "--time=60", account="physics")
    assert not result.accepted
    assert result.code == "ESLURM_INVALID_TIME_LIMIT"
    assert submit(script="#!/bin/sh\n#SBATCH -p day\n").changes == {"time_limit": 24 * 60}


def test_option(srun: Srun) -> None:
    """An option of srun changes the tasks."""
    launch = srun("hostname", options={"gpu-mode": "excl"}, tasks=2)
    assert [task.env["SITE_GPU_MODE"] for task in launch.tasks] == ["exclusive", "exclusive"]
    assert launch.errors == []


def test_wrong_option(srun: Srun) -> None:
    """A wrong argument prevents the launch."""
    launch = srun(options={"gpu-mode": "fast"})
    assert launch.failed == "local init_post_opt"
    assert launch.tasks == []
