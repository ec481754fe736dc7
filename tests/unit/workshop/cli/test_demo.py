# SPDX-License-Identifier: GPL-2.0-or-later
"""The demonstration works, with and without a real Slurm."""

from pathlib import Path

import pytest

from slurmhooks.workshop.cli.commands import demo
from tests.unit.cli.conftest import Call


def test_without_slurm(run: Call, monkeypatch: pytest.MonkeyPatch) -> None:
    """An installed package shows a refusal, changed fields, an option's check and a staged container."""
    monkeypatch.setattr(demo, "LAB", Path("/nowhere"))
    result = run.passed("demo")
    for said in (
        "refused (ESLURM_INVALID_ACCOUNT): please name a project with --account",
        "no --time given: limited to 60 minutes",
        "a job may take at most 60 minutes",
        "--greet: '42' is not a name",
        "hello Ada, task 0 of job 7",
        "stage_out: passed",
    ):
        assert said in result.output


def test_a_real_slurm(run: Call, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """In a checkout, as root, it does the same as `make demo`, with the same exit code."""
    lab = tmp_path / "demo"
    lab.write_text('#!/bin/sh\ntest "$*" = 24.11 && exit 3\n')
    lab.chmod(0o755)
    monkeypatch.setattr(demo, "LAB", lab)
    monkeypatch.setattr("os.geteuid", lambda: 0)
    assert run("demo", "24.11").exit_code == 3
    assert run("demo", "--without-slurm", "24.11").exit_code == 1
    monkeypatch.setattr("os.geteuid", lambda: 1000)
    run.refused("demo", "24.11", says="make demo")


def test_a_scene_that_does_not_come_out(run: Call, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """If something fails, the exit code is 1 and the output names it."""
    (tmp_path / "hooks.py").write_text((demo.HOOKS[1]).read_text().replace("job.time_limit > 60", "False"))
    monkeypatch.setattr(demo, "HOOKS", (tmp_path / "hooks.py",))
    run.refused("demo", "--without-slurm", says="exit code 0")
