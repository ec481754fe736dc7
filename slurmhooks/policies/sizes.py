# SPDX-License-Identifier: GPL-2.0-or-later
"""Rules on the size of jobs: nodes, tasks, CPUs, arrays."""

from __future__ import annotations

from operator import attrgetter
from typing import TYPE_CHECKING, ClassVar, Literal

from pydantic import Field, model_validator

from slurmhooks.fields.constants import JobState
from slurmhooks.job_submit.strings import ArraySpec
from slurmhooks.policies import resources
from slurmhooks.policies.base import Rule
from slurmhooks.policies.kinds import Count, counted
from slurmhooks.policies.options import option_of

if TYPE_CHECKING:
    from collections.abc import Callable

    from slurmhooks.job_submit.bounds import Bounds, Range
    from slurmhooks.policies.request import Request

GOING = (JobState.JOB_PENDING, JobState.JOB_RUNNING, JobState.JOB_SUSPENDED)
"""States of tasks that have not ended."""


class _Range(Rule):
    """A rule on a number.

    Attributes:
        amount: the attribute of Bounds that is compared; a job that names a range must be allowed all of it.
        what: what is counted, singular.
    """

    least: Count | None = Field(default=None, description="the smallest number")
    most: Count | None = Field(default=None, description="the largest number")

    amount: ClassVar[str]
    what: ClassVar[str]
    own_fields: ClassVar[tuple[str, ...]] = resources.FIELDS
    needs: ClassVar[tuple[str, ...]] = ("least", "most")
    text: ClassVar[str] = "{allowed} in {where}; you asked for {asked}"
    placeholders: ClassVar[dict[str, str]] = {
        "allowed": "the range, such as at most 4 nodes",
        "asked": "the least or the most that Slurm could give to the job",
    }

    @model_validator(mode="after")
    def _is_range(self) -> _Range:
        if self.least is not None and self.most is not None and self.least > self.most:
            raise ValueError("least is more than most")
        return self

    def check(self, request: Request) -> None:
        """Refuse a job that can get less or more than the range, unless fewer nodes keep it within."""
        of: Callable[[Bounds], Range] = attrgetter(self.amount)
        if self.least is not None and resources.lacks(request, of, self.least):
            smallest = of(resources.bounds(request, nodes=True)).least
            self.refuse(request, allowed=self._words(), asked=smallest)
        if self.most is not None and resources.exceeds(request, lambda bounds: of(bounds).most, self.most):
            asked = resources.asked(request, of, option_of(request, "min_nodes"))
            self.refuse(request, allowed=self._words(), asked=asked)

    def _words(self) -> str:
        if self.least is not None and self.most is not None:
            return f"{self.least} to {counted(self.most, self.what)}"
        if self.most is not None:
            return f"at most {counted(self.most, self.what)}"
        return f"at least {counted(self.least or 0, self.what)}"

    def effect(self) -> str:
        """Describe the rule."""
        return f"A job may ask for {self._words()}."


class NodeCount(_Range):
    """Jobs may only ask for a number of nodes within a range (--nodes)."""

    rule: Literal["node_count"] = "node_count"
    left_to_slurm: ClassVar[str] = "the least and the most nodes that Slurm can give"

    amount: ClassVar[str] = "nodes"
    what: ClassVar[str] = "node"
    code: ClassVar[str | None] = "ESLURM_INVALID_NODE_COUNT"
    example: ClassVar[str] = 'partitions = ["debug"]\nmost = 2'


class TaskCount(_Range):
    """Jobs may only ask for a number of tasks within a range (--ntasks)."""

    rule: Literal["task_count"] = "task_count"
    left_to_slurm: ClassVar[str] = "one task for each node, of which it counts the least and the most"

    amount: ClassVar[str] = "tasks"
    what: ClassVar[str] = "task"
    code: ClassVar[str | None] = "ESLURM_BAD_TASK_COUNT"
    example: ClassVar[str] = 'partitions = ["serial"]\nmost = 1'


class CpuCount(_Range):
    """Jobs may only ask for a total number of CPUs within a range."""

    rule: Literal["cpu_count"] = "cpu_count"
    left_to_slurm: ClassVar[str] = "the least and the most CPUs that Slurm can give, also by whole nodes"

    amount: ClassVar[str] = "cpus"
    what: ClassVar[str] = "CPU"
    code: ClassVar[str | None] = "ESLURM_INVALID_CPU_COUNT"
    example: ClassVar[str] = 'partitions = ["parallel"]\nleast = 32'


class ArraySize(Rule):
    """Job arrays may have only a limited number of tasks, of which a limited number run at the same time.

    An update that takes an array, or one of its tasks, to a place that the rule is for is refused if the array has too
    many tasks that have not ended. Users can raise the second number by ``scontrol update ArrayTaskThrottle=``:
    slurmctld applies that before plugins run, so no plugin can refuse it.
    """

    rule: Literal["array_size"] = "array_size"
    left_to_slurm: ClassVar[str] = "a job without --array is no array"
    most: Count | None = Field(default=None, description="the maximum number of tasks of an array")
    at_once: Count | None = Field(
        default=None,
        description="the maximum number of tasks that run at the same time, for arrays that name no lower number",
    )

    needs: ClassVar[tuple[str, ...]] = ("most", "at_once")
    text: ClassVar[str] = "tasks in a job array: at most {limit}; you asked for {asked}"
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
        tasks = sum(
            job.array_task_cnt or 1
            for job in request.tables["jobs"].of_user(record.user_id)
            if job.array_job_id == record.array_job_id and job.job_state in GOING
        )
        if tasks > self.most:
            self.refuse(request, limit=self.most, asked=tasks)

    def effect(self) -> str:
        """Describe the rule."""
        parts = [f"has at most {counted(self.most, 'task')}"] if self.most is not None else []
        parts += [f"runs at most {self.at_once} at once"] if self.at_once is not None else []
        return f"A job array {' and '.join(parts)}."
