# SPDX-License-Identifier: GPL-2.0-or-later
"""Look up the user of a request, in the name service and in slurmctld."""

from __future__ import annotations

import grp
import os
import pwd
from typing import Any

from slurmhooks.job_submit.model import owner_of
from slurmhooks.values import text_to_c
from slurmhooks.wire.message import Fact


class Users:
    """Computed fields of ``job`` that come from the name service.

    A field is looked up when a handler reads it. A look-up may ask a server, and slurmctld holds its locks meanwhile.
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


class Facts(Users):
    """Facts about users that slurmctld knows, as in job_submit/lua; only in a build with Slurm's sources."""

    def _association(self, fact: Fact, job: Any) -> str | None:
        user_id = owner_of(job)
        if user_id is None:
            return None
        texts = [None if text is None else text_to_c("text", text) for text in (job.account, job.partition)]
        found: str | None = job._struct.asking.text(fact, user_id, *texts)
        return found

    def user_name(self, job: Any) -> str | None:
        """Return the user's name, which newer releases of Slurm send with the request."""
        user_id = owner_of(job)
        name: str | None = None if user_id is None else job._struct.asking.text(Fact.USER_NAME, user_id)
        return name

    def default_account(self, job: Any) -> str | None:
        """Return the account that is charged if the request names none."""
        user_id = owner_of(job)
        name: str | None = None if user_id is None else job._struct.asking.text(Fact.DEFAULT_ACCOUNT, user_id)
        return name

    def default_qos(self, job: Any) -> str | None:
        """Return the default QOS of the association of user, account and partition."""
        return self._association(Fact.DEFAULT_QOS, job)

    def assoc_comment(self, job: Any) -> str | None:
        """Return the comment of that association."""
        return self._association(Fact.ASSOC_COMMENT, job)

    def assoc_qos(self, job: Any) -> str | None:
        """Return the names of the QOS of that association, sorted, as job_submit/lua does."""
        names = self._association(Fact.ASSOC_QOS, job)
        return None if names is None else ",".join(sorted(names.split(",")))
