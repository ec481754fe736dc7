# SPDX-License-Identifier: GPL-2.0-or-later
"""Look up the user of a request, in the name service and in slurmctld."""

from __future__ import annotations

import grp
import os
import pwd
import time
from collections.abc import Callable
from typing import Any, TypeVar, cast

from slurmhooks.job_submit.model import owner_of
from slurmhooks.values import text_to_c
from slurmhooks.wire.protocol import Fact

Kept = TypeVar("Kept")
KEPT_SECONDS = 60.0
"""How long the groups of other users are remembered."""
_kept: dict[int | str, tuple[float, Any]] = {}


class Users:
    """Computed fields of ``job`` that come from the name service.

    A field is looked up when a handler reads it. A look-up may ask a server, and slurmctld holds its locks meanwhile.
    """

    def user_name(self, job: Any) -> str | None:
        """Return the name of the user; None if the user does not exist."""
        user_id = owner_of(job)
        name: str | None = None if user_id is None else job._asked_once(("user", user_id), lambda: _name_of(user_id))
        return name

    def group_name(self, job: Any) -> str | None:
        """Return the name of the job's group; None if the group does not exist."""
        try:
            return None if job.group_id is None else grp.getgrgid(job.group_id).gr_name
        except KeyError:
            return None

    def groups(self, job: Any) -> dict[str, int]:
        """Return the ids of the user's groups by their names; a group without a name has its number as name.

        So has the own group of a user whom the name service does not know, although slurmctld may, by the client: there
        may be other groups.
        """
        name, user_id = self.user_name(job), owner_of(job)
        unknown: dict[str, int] = {}
        group_id: Any
        try:
            group_id = pwd.getpwuid(-1 if user_id is None else user_id).pw_gid
        except KeyError:
            group_id = (job if job._record is None else job._record).group_id
            unknown = {} if group_id is None else {str(group_id): group_id}
        if name is None or group_id is None:
            return unknown
        ids: dict[str, int] = job._asked_once(("groups", name, group_id), lambda: _groups_of(name, group_id))
        return ids | unknown


class Facts(Users):
    """Facts that slurmctld knows; only in a build with Slurm's sources.

    What a request does not name is what Slurm will choose; an update that names nothing keeps what the job has.
    """

    def _association(self, fact: Fact, job: Any) -> str | None:
        """Return a fact about the association of user, account and partition that Slurm will find for the job."""
        user_id = owner_of(job)
        if user_id is None:
            return None
        account, partition, record = named_account(job), job.partition, job._record
        if record is not None:
            partition = partition or record.alloc_partition or record.partition
        # As in Slurm, the first of several partitions counts.
        first = next(iter(split_names(partition or self.default_partition(job))), None)
        texts = [text_to_c("text", text) if text else None for text in (account, first)]
        return _text(job, fact, user_id, *texts)

    def default_partition(self, job: Any) -> str | None:
        """Return the partition of a job that names none: that of its reservation, or the default one.

        If the job names several reservations, slurmctld tries the partition of each.
        """
        name = job.reservation
        if name is None and job._record is not None:
            name = job._record.resv_name
        if not name or "," not in name:
            return self._partition_of(job, name)
        # A user may name hundreds: slurmctld is asked for all at once.
        partitions = [self._partition_of(job, None), *job._cluster.reserved(split_names(name))]
        return ",".join(dict.fromkeys(filter(None, partitions))) or None

    def _partition_of(self, job: Any, reservation: str | None) -> str | None:
        """Return the partition of a reservation, if it has one, or the default one."""
        return _text(job, Fact.DEFAULT_PARTITION, 0, text_to_c("reservation", reservation) if reservation else None)

    def user_name(self, job: Any) -> str | None:
        """Return the user's name, which newer releases of Slurm send with the request."""
        user_id = owner_of(job)
        return None if user_id is None else _text(job, Fact.USER_NAME, user_id)

    def default_account(self, job: Any) -> str | None:
        """Return the account that is charged if the request names none."""
        user_id = owner_of(job)
        return None if user_id is None else _text(job, Fact.DEFAULT_ACCOUNT, user_id)

    def charged_account(self, job: Any) -> str | None:
        """Return the account that is charged.

        Where associations are not enforced, slurmctld replaces an account that the user does not have by the default.
        """
        return self._association(Fact.CHARGED_ACCOUNT, job) or named_account(job)

    def default_qos(self, job: Any) -> str | None:
        """Return the QOS of a job that names none."""
        return self._association(Fact.CHOSEN_QOS, job)

    def assoc_comment(self, job: Any) -> str | None:
        """Return the comment of that association."""
        return self._association(Fact.ASSOC_COMMENT, job)

    def assoc_qos(self, job: Any) -> str | None:
        """Return the names of the QOS of that association, sorted, as job_submit/lua does."""
        return _sorted(self._association(Fact.ASSOC_QOS, job))


def name_and_groups(user_id: int) -> tuple[str | None, frozenset[str]]:
    """Return the name of a user and of the user's groups; None and no groups if the user does not exist."""
    try:
        entry = pwd.getpwuid(user_id)
    except KeyError:
        return None, frozenset()
    return entry.pw_name, frozenset(_groups_of(entry.pw_name, entry.pw_gid))


def kept_groups(user_id: int) -> frozenset[int]:
    """Return the ids of the groups of a user whose job is in the queue; none if the name service knows no such user.

    The queue may have jobs of hundreds of users, and slurmctld holds its locks meanwhile: two questions for each, once
    a minute.
    """

    def ask() -> frozenset[int]:
        entry = pwd.getpwuid(user_id)
        return frozenset(os.getgrouplist(entry.pw_name, entry.pw_gid))

    return _keep(user_id, ask) or frozenset()


def kept_group(name: str) -> int | None:
    """Return the id of a group, which also is the name of one without a name; None if it is not known."""
    return int(name) if name.isdecimal() else _keep(name, lambda: grp.getgrnam(name).gr_gid)


def _keep(key: int | str, ask: Callable[[], Kept]) -> Kept | None:
    """Return an answer of the name service that is younger than a minute; None, which is not kept, if it has none."""
    until, value = _kept.get(key, (0.0, None))
    if time.monotonic() < until:
        return cast("Kept", value)
    try:
        answer = ask()
    except KeyError:
        return None
    _kept[key] = time.monotonic() + KEPT_SECONDS, answer
    return answer


def is_group(name: str) -> bool:
    """Tell whether the name service knows a group."""
    try:
        grp.getgrnam(name)
    except KeyError:
        return False
    return True


def _text(job: Any, fact: Fact, number: int, *texts: Any) -> str | None:
    """Return a fact that slurmctld knows, which is asked for once for each view of a request."""
    text: str | None = job._asked_once((fact, number, texts), lambda: job._struct.asking.text(fact, number, *texts))
    return text


def _name_of(user_id: int) -> str | None:
    try:
        return pwd.getpwuid(user_id).pw_name
    except KeyError:
        return None


def _groups_of(name: str, group_id: int) -> dict[str, int]:
    """Return the ids of a user's groups by their names; a group without a name has its number as name."""
    ids = {}
    for number in os.getgrouplist(name, group_id):
        try:
            ids[grp.getgrgid(number).gr_name] = number
        except KeyError:
            ids[str(number)] = number
    return ids


def named_account(job: Any) -> str | None:
    """Return the account that a request names, or that the job of an update has."""
    account: str | None = job.account
    return job._record.account if account is None and job._record is not None else account or None


def fact_of_lua(job: Any, name: str) -> str | None:
    """Return a computed field as job_submit/lua shows it, which passes only what the request names.

    ``name`` is ``default_qos``, ``assoc_comment`` or ``assoc_qos``.
    """
    members = job.members()
    texts = [members.get(member) for member in ("account", "partition")]
    user_id = owner_of(job)
    text = None if user_id is None else _text(job, Fact[name.upper()], user_id, *texts)
    return _sorted(text) if name == "assoc_qos" else text


def split_names(text: str | None) -> tuple[str, ...]:
    """Return the names in a list of partitions, QOS or reservations; Slurm ignores empty ones."""
    return tuple(name for name in (text or "").split(",") if name)


def _sorted(names: str | None) -> str | None:
    return None if names is None else ",".join(sorted(names.split(",")))
