# SPDX-License-Identifier: GPL-2.0-or-later
"""A job as it would be: what a submission or an update asks for, and what Slurm fills in."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from slurmhooks.fields.constants import JobFlag
from slurmhooks.job_submit.bounds import defaults
from slurmhooks.job_submit.bounds.asked import Reader
from slurmhooks.job_submit.users import split_names
from slurmhooks.values import UNLIMITED

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from slurmhooks.job_submit.bounds import Range
    from slurmhooks.job_submit.model import Job, Record
    from slurmhooks.values import Unlimited

FILLED: dict[str, tuple[int | Unlimited, ...]] = {
    **dict.fromkeys(("cpus_per_task", "kill_on_node_fail", "min_nodes", "pn_min_cpus"), (1,)),
    **dict.fromkeys(("ntasks_per_core", "ntasks_per_socket"), (UNLIMITED,)),
    **dict.fromkeys((
        "delay_boot", "het_job_offset", "max_nodes", "nice", "ntasks_per_gpu", "ntasks_per_node", "ntasks_per_tres",
        "num_tasks", "overcommit", "pack_job_offset", "pn_min_tmp_disk", "reboot", "req_switch", "site_factor",
    ), (0,)),
    "wait4switch": (0, 300),  # the default of max_switch_wait
}  # fmt: skip
"""What a record has in a field if the request named nothing; tests/cluster/test_rules_filled.py compares it."""
MEMORY = ("min_mem_per_cpu", "min_mem_per_node", "pn_min_memory")
"""Views of a member in which slurmctld fills in the default of the cluster, and marks jobs that name it by a flag."""


def is_filled(name: str, value: Any, record: Any) -> bool:
    """Tell whether a job that exists has in a field what slurmctld gives to jobs that name nothing.

    Whether its user has named the same is not known, and makes no difference.
    """
    if name in FILLED:
        return bool(value in FILLED[name])
    if name in MEMORY:
        return JobFlag.JOB_MEM_SET not in record.bitflags
    if name == "time_limit":
        return bool(value in defaults.times())
    if name == "time_min":
        return bool(value == 0 or (value == 1 and record.deadline))  # as of a deadline without a limit
    if name == "priority":
        return bool(value != 0)  # which the user has held
    if name == "requeue":
        return bool(value == defaults.requeues())
    if name == "wckey":  # TrackWCKey: the user's default
        return bool(value and value.startswith("*"))
    return name == "mail_user" and bool(value == defaults.mail_user(record.user_name))


class Filled:
    """A job as it would be.

    What is worked out is kept in the view of the request until a handler writes, so several of these cost one.

    ``record`` is the job of an update (``modify``) as it is now, if slurmctld can send it.
    """

    def __init__(
        self,
        job: Job,
        record: Record | None,
        *,
        modify: bool = False,
        present: bool = False,
        default_partition: str | None = None,
    ) -> None:
        """Store the request.

        ``present``: the job as it is now, as if the request changed nothing. ``default_partition`` is that of jobs that
        name none; None: ask slurmctld.
        """
        self.job = job
        self.record = record
        self.modify = modify
        self._present = present
        self._default = default_partition
        self._reader = Reader(job, record, modify=modify, present=present)

    def _once(self, name: object, ask: Callable[[], Any]) -> Any:
        """Return what was worked out of the job as it would be now."""
        return self.job._once((name, self._present, self.record is None), ask)

    def get(self, name: str) -> Any:
        """Return a field; None if it is unset, or the update clears it."""
        return self._reader.get(name)

    def sets(self, names: Iterable[str]) -> bool:
        """Tell whether the request itself sets at least one of the given fields."""
        return self._reader.sets(names)

    @property
    def partitions(self) -> tuple[str, ...]:
        """The partitions that the job may run in; empty if it names none and the default is not known."""
        names: tuple[str, ...] = self._once(("partitions", self._default), self._partitions)
        return names

    def _partitions(self) -> tuple[str, ...]:
        chosen = self._default_partition() if self._reader.leaves_partition else None
        names = dict.fromkeys((*split_names(self.get("partition")), *split_names(chosen)))
        cluster = self.job._cluster if self._reader.assigns_partition else None
        return tuple(names if cluster is None else cluster.accepting(names))

    def _default_partition(self) -> str | None:
        """Return the partition that Slurm chooses: that of the reservation, or the default one.

        A build that cannot ask slurmctld does not know which one is that of a reservation: it may be any.
        """
        reserved = self.get("reservation") is not None
        if self._default is not None and not reserved:
            return self._default
        try:
            chosen: str | None = self.job.default_partition
        except AttributeError:  # a build without Slurm's sources
            chosen = ",".join(defaults.partitions()) if reserved else None
        return chosen or self._default

    @property
    def account(self) -> str | None:
        """The account that is charged, by default that of the user; None if slurmctld did not send that."""
        name: str | None = self._once("account", self._account)
        return name

    def _account(self) -> str | None:
        named: str | None = self.get("account")
        if self._present:
            return named
        return self._of_association("charged_account") or named or self._of_association("default_account")

    @property
    def qos(self) -> str | None:
        """The QOS in lower case, as Slurm compares them; several separated by commas, by default that of the user.

        None if slurmctld did not send that.
        """
        name: str | None = self._once("qos", self._qos)
        return name

    def _qos(self) -> str | None:
        named: str | None = self.get("qos") or self._of_association("default_qos")
        return None if named is None else named.lower()

    def _of_association(self, name: str) -> str | None:
        try:
            value: str | None = getattr(self.job, name)
        except AttributeError:  # a build without Slurm's sources
            return None
        return value or None

    @property
    def time_limit(self) -> Range:
        """The time limit in minutes that the job gets: of its request, or of its partitions; see Bounds.time."""
        from slurmhooks.job_submit.bounds import computing

        return computing.times(self.job, self.record)
