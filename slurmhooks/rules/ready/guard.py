# SPDX-License-Identifier: GPL-2.0-or-later
"""A rule on changes of jobs by scontrol update."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar, Literal

from slurmhooks.fields import JobFields
from slurmhooks.fields.number_rows import MEM_PER_CPU, Number, Offset, Tagged, Time
from slurmhooks.fields.rows import Text, rows
from slurmhooks.handlers.similar import nearest
from slurmhooks.job_submit.bounds.asked import in_record
from slurmhooks.rules.base import Rule, with_end_time
from slurmhooks.rules.kinds import listed
from slurmhooks.rules.options import option_of
from slurmhooks.rules.table import key
from slurmhooks.rules.typed import same_member
from slurmhooks.values import UNLIMITED

if TYPE_CHECKING:
    from slurmhooks.rules.exemptions import Exemption
    from slurmhooks.rules.request import Request
    from slurmhooks.rules.value_types import Words


WITH_UNSET = (Text, Number, Offset, Tagged, Time)
"""Rows of fields that say whether an update sets them: they are None otherwise, or 0 if they are times."""
ALL_BY_ZERO = frozenset({"min_mem_per_node", "min_mem_per_cpu", "pn_min_memory", "max_nodes", "max_cpus"})
"""Fields in which 0 is more than every other number: all memory of a node, or no limit."""


def exist(_: type[Rule], names: tuple[str, ...]) -> None:
    """Raise ValueError for what no update changes."""
    known = [name for name, row in rows(JobFields).items() if row.writable and isinstance(row, WITH_UNSET)]
    for name in names:
        if name == "array_inx":  # as _update_job() of job_mgr.c does
            raise ValueError("array_inx cannot be guarded: slurmctld changes ArrayTaskThrottle before plugins run")
        if name not in known:
            raise ValueError(f"job has no field {name!r} to change{nearest(name, known)}")


class GuardUpdates(Rule):
    """Users may not change some properties of their jobs by scontrol update.

    The properties have the names of the fields of ``job``: time_limit, partition, nice, dependency and so on. The time
    limit includes the end of a running job (EndTime), the partition a list of reservations by which the job changes its
    partitions, the features those that Slurm tries first (Prefer), and an amount of memory per node the one per CPU
    that replaces it. The priority includes holding and releasing a job, both of which count as lowering: a user can
    release only what a user has held, and it gets the priority that Slurm computes.

    Slurm computes some fields from others, such as the number of nodes from that of tasks: name all of them.

    Partitions, QOS and accounts that select jobs count before and after the update. If the rule selects jobs by one of
    them, name that in ``changes`` as well: otherwise users can move a job out, change it, and move it back.
    """

    rule: Literal["guard_updates"] = key("guard_updates")
    left_to_slurm: ClassVar[str] = "a value that the job does not have is lower than any other"
    changes: Words = key(..., "the fields of job that only administrators may change", check=exist, min_length=1)
    lowering: Literal["refuse", "accept"] = key(
        "refuse", "what happens to updates that only lower numbers, such as the time limit, or only raise nice"
    )

    hooks: ClassVar[tuple[str, ...]] = ("job_modify",)
    text: ClassVar[str] = "only administrators may change {changed} of a job"
    placeholders: ClassVar[dict[str, str]] = {"changed": "what the update sets, by the keys of scontrol"}
    code: ClassVar[str | None] = "ESLURM_ACCESS_DENIED"
    example: ClassVar[str] = 'changes = ["time_limit", "partition", "qos"]\nlowering = "accept"'

    @property
    def fields(self) -> tuple[str, ...]:
        """The fields that the rule guards, and those by which an update changes them, too."""
        names = dict.fromkeys(same for name in self._guarded for same in (name, *same_member(name)))
        if "partition" in names:
            names["reservation"] = None
        return tuple(names)

    @property
    def _guarded(self) -> tuple[str, ...]:
        """The fields that the rule guards."""
        prefers = ("prefer",) if "features" in self.changes and "prefer" not in self.changes else ()
        return (*with_end_time(self.changes), *prefers)

    def is_for(self, request: Request) -> bool:
        """Tell whether the rule is for the job as it is, or as it would be."""
        return super().is_for(request) or super().is_for(request.before())

    def exception(self, request: Request) -> str | None:
        """Return an exception if the job is one as it is and as it would be, as far as the rule is for it."""
        reasons = [super(GuardUpdates, self).exception(each) for each in (request, request.before()) if self._has(each)]
        return reasons[0] if all(reasons) else None

    def _has(self, request: Request) -> bool:
        return super().is_for(request)

    def is_exempt(self, exemption: Exemption, request: Request) -> bool:
        """Tell whether the job is exempt as it is, and as it would be: users could move it for the update."""
        return super().is_exempt(exemption, request) and super().is_exempt(exemption, request.before())

    def check(self, request: Request) -> None:
        """Refuse an update that sets one of the fields."""
        if changed := [name for name in self._guarded if self._is_guarded(request, name)]:
            self.refuse(request, changed=listed([option_of(request, name) for name in changed], "and"))

    def _is_guarded(self, request: Request, name: str) -> bool:
        if not request.sets((name, *same_member(name))):
            return name == "partition" and set(request.partitions) != set(request.before().partitions)
        new, old = getattr(request.job, name), in_record(request.record, name)
        return self.lowering == "refuse" or not _lowers(name, new, old)

    def effect(self) -> str:
        """Describe the rule."""
        lower = " You may lower numbers." if self.lowering == "accept" else ""
        names = listed([f"`{name}`" for name in self.changes], "and")
        return f"You cannot change {names} of a job by `scontrol update`.{lower}"


def _lowers(name: str, new: Any, old: Any) -> bool:
    """Return whether an update only lowers a number; scontrol release, which sends no number, undoes scontrol hold."""
    if name == "priority" and old == 0:
        return new is UNLIMITED or new == 0
    if not isinstance(new, int) or old is None:
        return False
    if name == "pn_min_memory":
        if (new ^ old) & MEM_PER_CPU:
            return False
        new, old = new & ~MEM_PER_CPU, old & ~MEM_PER_CPU
    if not new and name in ALL_BY_ZERO:
        return not old
    return bool(new >= old if name == "nice" else new <= old)
