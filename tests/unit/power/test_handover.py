# SPDX-License-Identifier: GPL-2.0-or-later
"""Slurm does not repeat a call whose program was killed before it has kept the call, so it is kept soon."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from slurmhooks.handover.program import keep
from slurmhooks.jobcomp.spool import Spool
from slurmhooks.power.calls import Call

SHOW = """
import sys
before = set(sys.modules)
from slurmhooks.handover import program
def write(path, data):
    print(*sorted(set(sys.modules) - before - {"__future__"}))
    sys.exit(0)
program.durable.write = write
program.main(["power.resume", "c1"])
"""
MAY_BE_IMPORTED = {"_struct", "struct", "zlib", "fcntl", "contextlib", "collections.abc"}
"""Besides modules of slurmhooks, and what the search for StateSaveLocation in slurm.conf takes."""


def test_little_is_imported_before_a_call_is_kept(tmp_path: Path) -> None:
    """A program has imported no json, pathlib, typing or the like when it writes its call."""
    (tmp_path / "slurm.conf").write_text(f"StateSaveLocation={tmp_path}\n")
    environment = {**os.environ, "SLURM_CONF": str(tmp_path / "slurm.conf")}
    searching = "from slurmhooks.files import slurm_conf; slurm_conf.own_value('StateSaveLocation')"
    shown = subprocess.run(
        (sys.executable, "-I", "-c", SHOW), check=True, capture_output=True, text=True, env=environment
    )
    code = f"import sys; {searching}; print(*sys.modules)"
    needed = subprocess.run(
        (sys.executable, "-I", "-c", code), check=True, capture_output=True, text=True, env=environment
    )
    more = {name for name in shown.stdout.split() if not name.startswith("slurmhooks")}
    assert more - set(needed.stdout.split()) <= MAY_BE_IMPORTED


@pytest.mark.parametrize(
    ("environment", "features", "jobs"),
    [
        ({}, "", ()),
        ({"SLURM_JOB_ID": "9"}, "flat", ({"job_id": 9},)),
        ({"SLURM_JOB_ID": "x"}, "", ()),
        ({"SLURM_RESUME_FILE": '{"jobs": [{"job_id": 7, "nodes_resume": "c\\u00e91"}]}'}, "", ({"job_id": 7},)),
        ({"SLURM_RESUME_FILE": '{"jobs": [{"job_id": 7}, {}, 8]}', "SLURM_JOB_ID": "9"}, "", ({"job_id": 7},)),
        ({"SLURM_RESUME_FILE": '{"jobs": {}}'}, "", ()),
        ({"SLURM_RESUME_FILE": '{"jobs": [\0'}, "", ()),
        ({"SLURM_RESUME_FILE": "[]", "SLURM_JOB_ID": "9"}, "", ({"job_id": 9},)),
        ({"SLURM_RESUME_FILE": None}, "", ()),
    ],
)
def test_the_delivery_reads_what_a_program_has_kept(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    environment: dict[str, str | None],
    features: str,
    jobs: tuple[dict[str, int], ...],
) -> None:
    """Nodes, features and jobs are those that Slurm gave; a file of jobs that cannot be read hides no nodes."""
    for name, value in environment.items():
        if name == "SLURM_RESUME_FILE":
            if value is not None:
                (tmp_path / "resume.json").write_text(value)
            value = str(tmp_path / "resume.json")
        monkeypatch.setenv(name, str(value))
    spool = tmp_path / "slurmhooks" / "power"
    keep(str(spool), "power.resume", "c[1-3]", features)
    calls = Spool(spool)
    calls.refresh()
    (record,) = calls.records()
    assert record.frame.hook == "power.resume"
    call = Call.of(record.segment.message(record.frame))
    assert (call.nodes, call.features) == ("c[1-3]", features or None)
    assert [{"job_id": job["job_id"]} for job in call.jobs] == list(jobs)


def test_a_call_whose_delivery_cannot_be_started(tmp_path: Path) -> None:
    """It is kept, which Slurm reads from the exit code; one line says what is wrong."""
    (tmp_path / "slurm.conf").write_text(f"StateSaveLocation={tmp_path}\n")
    spool = tmp_path / "slurmhooks" / "mail"
    (spool / "log").mkdir(parents=True)
    done = subprocess.run(
        (sys.executable, "-I", "-m", "slurmhooks.handover.program", "mail", "-s", "subject", "alice"),
        env={**os.environ, "SLURM_CONF": str(tmp_path / "slurm.conf")},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert done.stderr == f"mail of alice waits in {spool}: its delivery cannot be started: Is a directory\n"
    calls = Spool(spool)
    calls.refresh()
    assert len(list(calls.records())) == 1


def test_programs_of_former_releases(tmp_path: Path) -> None:
    """They are in the PluginDir until the next `slurmhooks install`, and keep their calls as before."""
    (tmp_path / "slurm.conf").write_text(f"StateSaveLocation={tmp_path}\n")
    command = (sys.executable, "-m", "slurmhooks.power.handover")
    environment = {**os.environ, "SLURM_CONF": str(tmp_path / "slurm.conf")}
    assert subprocess.run((*command, "nothing", "c1"), env=environment, check=False).returncode == 2
    assert not (tmp_path / "slurmhooks").exists()
    (tmp_path / "slurmhooks/power/log").mkdir(parents=True)  # no delivery can be started, which would stay
    subprocess.run((*command, "suspend", "c1"), env=environment, check=True)
    calls = Spool(tmp_path / "slurmhooks/power")
    calls.refresh()
    assert [record.frame.hook for record in calls.records()] == ["power.suspend"]
