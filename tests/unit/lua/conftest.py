# SPDX-License-Identifier: GPL-2.0-or-later
"""A job_submit.lua that a test has written."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from slurmhooks.lua import job_submit
from slurmhooks.lua.job_submit import Options
from slurmhooks.workshop.testing.job_submit import FakeJob, FakeRecord
from slurmhooks.workshop.testing.job_tables import fake_jobs, fake_partitions, fake_reservations

END = "function slurm_job_modify() return slurm.SUCCESS end\nreturn slurm.SUCCESS\n"


Load = Callable[..., "Loaded"]


class Loaded:
    """A loaded script."""

    def __init__(self, path: Path, release: tuple[int, int], options: Options) -> None:
        self.handlers = job_submit.load(str(path), options, release)
        self.release = f"{release[0]}.{release[1]:02}"

    def submit(self, **fields: Any) -> FakeJob:
        """Run slurm_job_submit() for a job; return the job."""
        job = FakeJob(release=self.release, **fields)
        tables = fake_partitions({"debug": {"max_time": 60}, "long": {}}, release=self.release)
        record = FakeRecord(job_id=7, nodes="n1", release=self.release)
        jobs, reservations = fake_jobs([record], release=self.release), fake_reservations({}, release=self.release)
        self.handlers[0].function(job, 1000, tables, jobs, reservations)
        return job


@pytest.fixture
def load(tmp_path: Path) -> Load:
    """Return a function that loads a script with a body for slurm_job_submit."""

    def load(body: str, release: tuple[int, int] = (24, 11), end: str = END, **options: Any) -> Loaded:
        path = tmp_path / "job_submit.lua"
        path.write_text(f"function slurm_job_submit(job_desc, part_list, submit_uid)\n{body}\nend\n{end}")
        return Loaded(path, release, Options(**options))

    return load
