# SPDX-License-Identifier: GPL-2.0-or-later
"""Look up the user of a request in the name service."""

from __future__ import annotations

import grp
import os
import pwd
from typing import Any

from slurmhooks.job_submit.model import owner_of


class Users:
    """Computed fields of ``job`` that come from the name service.

    Each is looked up when a handler reads it. A look-up may ask a server, and slurmctld holds its locks meanwhile.
    """

    def user_name(self, job: Any) -> str | None:
        """Return the name of the user; None if the user does not exist."""
        user_id = owner_of(job)
        try:
            return None if user_id is None else pwd.getpwuid(user_id).pw_name
        except KeyError:
            return None

    def group_name(self, job: Any) -> str | None:
        """Return the name of the job's group; None if the group does not exist."""
        try:
            return None if job.group_id is None else grp.getgrgid(job.group_id).gr_name
        except KeyError:
            return None

    def groups(self, job: Any) -> dict[str, int]:
        """Return the ids of the user's groups by their names; a group without a name has its number as name."""
        name = self.user_name(job)
        if name is None:
            return {}
        ids = {}
        user_id = owner_of(job)
        assert user_id is not None
        for number in os.getgrouplist(name, pwd.getpwuid(user_id).pw_gid):
            try:
                ids[grp.getgrgid(number).gr_name] = number
            except KeyError:
                ids[str(number)] = number
        return ids
