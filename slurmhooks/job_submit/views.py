# SPDX-License-Identifier: GPL-2.0-or-later
"""The views that handlers of job_submit and job_modify get."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from slurmhooks.job_submit import model
from slurmhooks.job_submit.origin import OF_REQUESTS
from slurmhooks.job_submit.users import Facts, Users
from slurmhooks.slurmctld import views

if TYPE_CHECKING:
    from slurmhooks.fields.classes import Computations
    from slurmhooks.wire.tables import Tables


class Views(views.Views):
    """Adds the class of requests."""

    def __init__(
        self, tables: Tables, of_job: Computations | None = None, of_record: Computations | None = None
    ) -> None:
        """Bind the classes.

        ``of_job`` computes those fields of a request that are no members, by default by asking slurmctld and the
        system; ``of_record`` those of a record.
        """
        super().__init__(tables, of_record)
        if of_job is None:
            users = Facts() if self.private else Users()
            of_job = {name: getattr(users, name) for name in dir(users) if not name.startswith("_")}
        of_job = {**OF_REQUESTS, **of_job}
        self.job: Any = self.bound(model.Job, "job", of_job)
