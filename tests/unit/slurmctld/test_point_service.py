# SPDX-License-Identifier: GPL-2.0-or-later
"""What the services of all plugins of slurmctld have in common."""

from pathlib import Path

import pytest

from slurmhooks.handlers import loader
from slurmhooks.job_submit.service import Service as JobSubmit
from slurmhooks.jobcomp.service import Service as Jobcomp
from slurmhooks.prep.service import Service as Prep
from slurmhooks.processes.settings import Settings
from slurmhooks.site_factor.service import Service as SiteFactor
from slurmhooks.slurmctld.point_service import PointService
from slurmhooks.workshop.testing.tables import tables_of

HOOKS = """
from slurmhooks import hook

@hook.every("1h")
def periodic(jobs): pass

@hook.job_submit(mode="observe")
def observed(job): pass
"""


@pytest.mark.parametrize("service", [JobSubmit, SiteFactor, Prep, Jobcomp])
def test_processes_of_other_plugins(service: type[PointService], tmp_path: Path) -> None:
    """Only the workers of job_submit have processes for periodic handlers and for handlers that observe."""
    (tmp_path / "rules.py").write_text(HOOKS)
    registry = loader.load([loader.Source(path=str(tmp_path / "rules.py"))])
    made = service(tables_of("26.05"), registry, Settings())
    assert (made.repeats, made.observes) == (service is JobSubmit, service is JobSubmit)
