# SPDX-License-Identifier: GPL-2.0-or-later
"""Rules on numbers: nodes, tasks, CPUs, any field with a number, and arrays."""

from __future__ import annotations

from operator import attrgetter
from typing import TYPE_CHECKING, Any, ClassVar, Literal, NamedTuple

from slurmhooks.fields.constants import JobState
from slurmhooks.job_submit.strings import ArraySpec
from slurmhooks.rules import resources
from slurmhooks.rules.base import Rule
from slurmhooks.rules.kinds import counted
from slurmhooks.rules.options import option_name, option_of, option_shown
from slurmhooks.rules.table import key
from slurmhooks.rules.typed import AMOUNTS_LIMITED, is_named, shown, typed

if TYPE_CHECKING:
    from collections.abc import Callable

    from slurmhooks.job_submit.bounds import Bounds, Range
    from slurmhooks.rules.request import Request
    from slurmhooks.rules.value_types import Count, Limited, Value
    from slurmhooks.values import Unlimited

GOING = (JobState.JOB_PENDING, JobState.JOB_RUNNING, JobState.JOB_SUSPENDED)
"""States of tasks that have not ended."""


class Amount(NamedTuple):
    """An amount that a job gets: what is counted, singular; the code of refusals; what reads it; what decides it."""

    what: str
    code: str
    of: Callable[[Bounds], Range]
    most: Callable[[Bounds], int | Unlimited]
    option: str = "min_nodes"


_KINDS = (
    Amount("node", "ESLURM_INVALID_NODE_COUNT", attrgetter("nodes"), attrgetter("nodes.most")),
    Amount("task", "ESLURM_BAD_TASK_COUNT", attrgetter("tasks"), attrgetter("tasks.most")),
    Amount("CPU", "ESLURM_INVALID_CPU_COUNT", attrgetter("cpus"), attrgetter("cpus.most")),
    Amount("GPU", "ESLURM_INVALID_GRES", attrgetter("gpus"), attrgetter("gpus.most"), "gpus"),
)
AMOUNTS_OF_JOBS = dict(zip(AMOUNTS_LIMITED, _KINDS, strict=True))
BETTER = {
    **dict.fromkeys(("min_nodes", "max_nodes"), 'field = "nodes"'),
    **dict.fromkeys(("num_tasks", "ntasks_per_node", "ntasks_per_gpu", "ntasks_per_tres"), 'field = "tasks"'),
    **dict.fromkeys(("min_cpus", "max_cpus", "cpus_per_task", "pn_min_cpus"), 'field = "cpus"'),
    **dict.fromkeys(("min_mem_per_node", "min_mem_per_cpu", "pn_min_memory"), 'rule = "memory_ceiling"'),
    **dict.fromkeys(("time_limit", "time_min"), 'rule = "time_ceiling"'),
}
"""Numbers that alone do not decide what a job gets, each with what limits that."""
BETTER_LEAST = {
    **dict.fromkeys(("min_mem_per_node", "min_mem_per_cpu", "pn_min_memory"), 'rule = "forbid" with max_memory'),
    **dict.fromkeys(("time_limit", "time_min"), 'rule = "forbid" with max_time'),
}
"""What refuses too little of those that only have ceilings."""


class Limit(Rule):
    """A number of a job must be within a range.

    The field is one of ``job`` with a number, or ``nodes``, ``tasks``, ``cpus`` or ``gpus``: the whole number that the
    job can get, by any options. A job that names a range must be allowed all of it. A field that is unset is accepted.
    """

    rule: Literal["limit"] = key("limit")
    left_to_slurm: ClassVar[str] = (
        "the least and the most nodes, CPUs and GPUs that Slurm can give, also by whole nodes; one task for each node,"
        " of which it counts the least and the most; another field that is unset is accepted"
    )
    field: Limited = key(..., "a field of job with a number, or nodes, tasks, cpus or gpus")
    least: Value | None = key(None, "the smallest number; in the notation of the option")
    most: Value | None = key(None, "the largest number")

    needs: ClassVar[tuple[str, ...]] = ("least", "most")
    text: ClassVar[str] = "{allowed} in {where}; the job would have {asked}"
    number: ClassVar[str] = "{option}: {allowed}; the job would have {asked}"
    code: ClassVar[str | None] = "ESLURM_ACCESS_DENIED"
    placeholders: ClassVar[dict[str, str]] = {
        "allowed": "the range, such as at most 4 nodes",
        "asked": "the least or the most that Slurm could give to the job",
    }
    example: ClassVar[str] = 'field = "nodes"\npartitions = ["debug"]\nmost = 2'

    def settle(self) -> None:
        """Check that its numbers are a range of its field."""
        super().settle()
        if self.field in BETTER:
            better = BETTER if self.least is None else BETTER | BETTER_LEAST
            raise ValueError(f"{self.field} alone does not decide what a job gets: write {better[self.field]}")
        least, most = (None if each is None else self._typed(each) for each in (self.least, self.most))
        if least is not None and most is not None and least > most:
            raise ValueError("least is more than most")
        self._range: tuple[int | None, int | None] = least, most

    def _typed(self, value: Any) -> Any:
        if self.field not in AMOUNTS_OF_JOBS:
            value = typed(self.field, value)
        if type(value) is not int or (value < 0 and self.field in AMOUNTS_OF_JOBS):
            raise ValueError("least and most must be numbers")
        return value

    @property
    def named_fields(self) -> tuple[str, ...]:
        """The fields of ``job`` that its keys name."""
        own = () if self.field in AMOUNTS_OF_JOBS else (self.field,)
        return (*own, *super().named_fields)

    def own_code(self) -> str | None:
        """Return the code of its refusals."""
        return AMOUNTS_OF_JOBS[self.field].code if self.field in AMOUNTS_OF_JOBS else self.code

    def own_text(self) -> str:
        """Return the message if the site has none."""
        return self.text if self.field in AMOUNTS_OF_JOBS else self.number

    def own_option(self) -> str:
        """Return the name in OPTIONS of what the rule is about."""
        return "" if self.field in AMOUNTS_OF_JOBS else option_name(self.field)

    def deciding(self) -> tuple[str, ...]:
        """Return the field, or those that decide the amount."""
        return resources.FIELDS if self.field in AMOUNTS_OF_JOBS else (self.field,)

    def check(self, request: Request) -> None:
        """Refuse a job that can get less or more than the range, unless fewer nodes keep it within."""
        least, most = self._range
        amount = AMOUNTS_OF_JOBS.get(self.field)
        if amount is None:
            value = request.value(self.field)
            if is_named(self.field, value) and (
                (least is not None and value < least) or (most is not None and value > most)
            ):
                self.refuse(request, allowed=self._words(), asked=shown(self.field, value))
            return
        if least is not None and resources.lacks(request, amount.of, least):
            smallest = amount.of(resources.bounds(request, nodes=True)).least
            self.refuse(request, allowed=self._words(), asked=smallest)
        if most is not None and resources.exceeds(request, amount.most, most):
            asked = resources.asked(request, amount.of, option_of(request, amount.option))
            self.refuse(request, allowed=self._words(), asked=asked)

    def _words(self) -> str:
        least, most = self._range
        what = AMOUNTS_OF_JOBS[self.field].what if self.field in AMOUNTS_OF_JOBS else None

        def show(number: int) -> str:
            return shown(self.field, number) if what is None else counted(number, what)

        if least is not None and most is not None:
            return f"{shown(self.field, least) if what is None else least} to {show(most)}"
        return f"at least {show(least)}" if least is not None else f"at most {show(most or 0)}"

    def effect(self) -> str:
        """Describe the rule."""
        if self.field in AMOUNTS_OF_JOBS:
            return f"A job may ask for {self._words()}."
        return f"{option_shown(self.field)} may be {self._words()}."


class ArraySize(Rule):
    """Job arrays may have only a limited number of tasks, of which a limited number run at the same time.

    An update that takes an array, or one of its tasks, to a place that the rule is for is refused if the array has too
    many tasks that have not ended. Users can raise the second number by ``scontrol update ArrayTaskThrottle=``:
    slurmctld applies that before plugins run, so no plugin can refuse it.
    """

    rule: Literal["array_size"] = key("array_size")
    left_to_slurm: ClassVar[str] = "a job without --array is no array"
    most: Count | None = key(None, "the maximum number of tasks of an array")
    at_once: Count | None = key(
        None, "the maximum number of tasks that run at the same time, for arrays that name no lower number"
    )

    needs: ClassVar[tuple[str, ...]] = ("most", "at_once")
    text: ClassVar[str] = "tasks in a job array: at most {limit}; the job would have {asked}"
    placeholders: ClassVar[dict[str, str]] = {
        "limit": "the maximum number of tasks",
        "asked": "the tasks of the array",
    }
    code: ClassVar[str | None] = "ESLURM_INVALID_ARRAY"
    example: ClassVar[str] = "most = 1000\nat_once = 50"

    def active_hooks(self) -> tuple[str, ...]:
        """Return only job_submit if updates cannot break the rule: they do not change the number of tasks."""
        return tuple(hook for hook in super().active_hooks() if self.most is not None or hook == "job_submit")

    def tables(self, hook: str) -> tuple[str, ...]:
        """Return the table of jobs for updates: it has the tasks of the array."""
        return ("jobs",) if hook == "job_modify" else ()

    def check(self, request: Request) -> None:
        """Refuse an array that is too large; limit how many tasks of any other run at the same time."""
        if request.modify:
            self._check_update(request)
            return
        if request.job.array_inx is None:
            return
        spec = ArraySpec.parse(request.job.array_inx)
        tasks = len(spec)
        if self.most is not None and tasks > self.most:
            self.refuse(request, limit=self.most, asked=tasks)
        if self.at_once is not None and min(spec.limit or tasks, tasks) > self.at_once:
            request.job.array_inx = str(ArraySpec(spec.ranges, self.at_once))

    def _check_update(self, request: Request) -> None:
        record = request.record
        if record is None or not record.array_job_id or self.most is None:
            return
        states = request.tables["jobs"].counts("job_state", array_job_id=record.array_job_id)
        tasks = sum(count for (state,), count in states.items() if state in GOING)
        if tasks > self.most:
            self.refuse(request, limit=self.most, asked=tasks)

    def effect(self) -> str:
        """Describe the rule."""
        parts = [f"has at most {counted(self.most, 'task')}"] if self.most is not None else []
        parts += [f"runs at most {self.at_once} at once"] if self.at_once is not None else []
        return f"A job array {' and '.join(parts)}."
