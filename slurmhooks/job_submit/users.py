# SPDX-License-Identifier: GPL-2.0-or-later
"""What the name service knows of the user of a request."""

from __future__ import annotations

import grp
import os
import pwd
from typing import Any

from slurmhooks.job_submit.model import owner_of


class Users:
    """What the name service knows of the user of a request.

    It is asked on use, and may have to ask a server: slurmctld holds its locks for so long.
    """

    def user_name(self, job: Any) -> str | None:
        """Return the user's name, or None if there is no such user."""
        user_id = owner_of(job)
        try:
            return None if user_id is None else pwd.getpwuid(user_id).pw_name
        except KeyError:
            return None

    def group_name(self, job: Any) -> str | None:
        """Return the name of the job's group, or None if there is no such group."""
        try:
            return None if job.group_id is None else grp.getgrgid(job.group_id).gr_name
        except KeyError:
            return None

    def groups(self, job: Any) -> dict[str, int]:
        """Return the user's groups by name; one without a name under its number."""
        name = self.user_name(job)
        if name is None:
            return {}
        found = {}
        user_id = owner_of(job)
        assert user_id is not None
        for number in os.getgrouplist(name, pwd.getpwuid(user_id).pw_gid):
            try:
                found[grp.getgrgid(number).gr_name] = number
            except KeyError:
                found[str(number)] = number
        return found
