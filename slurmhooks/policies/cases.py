# SPDX-License-Identifier: GPL-2.0-or-later
"""Cases: conditions on a job, for rules that choose something for it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

from pydantic import BaseModel, ConfigDict, Field

from slurmhooks.job_submit.bounds import Bounds, Range, computing
from slurmhooks.job_submit.bounds.model import YEAR
from slurmhooks.job_submit.users import split_names
from slurmhooks.policies import resources
from slurmhooks.policies.kinds import (
    Count,
    Mebibytes,
    Minutes,
    Word,
    Words,
    listed,
    matches,
    matches_any_case,
    shown_memory,
    shown_time,
)
from slurmhooks.values import UNLIMITED

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from slurmhooks.policies.request import Request


class Case(BaseModel):
    """A value that a job gets if it meets all conditions; without conditions, every job gets it."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)

    to: Word = Field(description="what the job gets")
    min_gpus: Count | None = Field(default=None, description="it asks for at least this many GPUs")
    max_gpus: Count | None = Field(default=None, description="it asks for at most this many GPUs")
    gpu_types: Words = Field(default=(), description="it asks for GPUs of one of these types; shell patterns")
    min_nodes: Count | None = Field(default=None, description="it asks for at least this many nodes")
    max_nodes: Count | None = Field(default=None, description="it asks for at most this many nodes")
    min_cpus: Count | None = Field(default=None, description="it asks for at least this many CPUs in total")
    max_cpus: Count | None = Field(default=None, description="it asks for at most this many CPUs in total")
    min_memory: Mebibytes | None = Field(default=None, description="it asks for at least this much memory per node")
    max_memory: Mebibytes | None = Field(default=None, description="it asks for at most this much memory per node")
    min_time: Minutes | None = Field(default=None, description="it has a time limit of at least this")
    max_time: Minutes | None = Field(default=None, description="it has a time limit of at most this")
    partitions: Words = Field(default=(), description="it may run in one of these; shell patterns")
    accounts: Words = Field(default=(), description="it is charged to one of these; shell patterns")
    groups: Words = Field(default=(), description="its user is in one of these Unix groups")
    interactive: bool | None = Field(default=None, description="it comes from srun or salloc, or it does not")

    def fits(self, request: Request, there: Sequence[str] | None = None) -> bool:
        """Tell whether a job meets all conditions. Without memory, it meets no condition on that.

        Args:
            request: the request.
            there: the partitions in which it would run; None: those of the request.
        """
        if self.interactive is not None and request.interactive != self.interactive:
            return False
        return (
            (not self.partitions or any(matches(name, self.partitions) for name in request.partitions))
            and (not self.accounts or matches_any_case(request.account, self.accounts))
            and (not self.groups or not request.groups.isdisjoint(self.groups))
            and self._has_size(request, there)
        )

    def _has_size(self, request: Request, there: Sequence[str] | None) -> bool:
        """Tell whether a job meets the conditions on sizes; slurmctld is asked for its nodes only if they matter."""
        conditions = (self.min_nodes, self.max_nodes, self.min_cpus, self.max_cpus, self.min_gpus, self.max_gpus,
                      self.min_memory, self.max_memory, self.min_time, self.max_time)  # fmt: skip
        if not self.gpu_types and all(each is None for each in conditions):
            return True
        return any(self._fits_in(request, _bounds_of(request, there, nodes=nodes)) for nodes in (False, True))

    def _fits_in(self, request: Request, bounds: Bounds) -> bool:
        named = [kind for kind, gpus in bounds.gpu_types.items() if gpus.least]
        return (
            _within(Range(bounds.nodes.least, bounds.nodes.least), self.min_nodes, self.max_nodes)
            and _within(bounds.cpus, self.min_cpus, self.max_cpus)
            and _within(bounds.gpus, self.min_gpus, self.max_gpus)
            and (not self.gpu_types or any(matches(name, self.gpu_types) for name in named))
            and _within(_memory(request, bounds), self.min_memory, self.max_memory)
            and _within(_time(request, bounds), self.min_time, self.max_time)
        )

    def words(self) -> str:
        """Return the conditions in words; empty if there are none."""
        parts = [
            *_bounds("GPUs", self.min_gpus, self.max_gpus),
            *_bounds("nodes", self.min_nodes, self.max_nodes),
            *_bounds("CPUs", self.min_cpus, self.max_cpus),
            *_bounds("memory per node", self.min_memory, self.max_memory, shown_memory),
            *_bounds("time", self.min_time, self.max_time, shown_time),
        ]
        for what, names in (("GPU type", self.gpu_types), ("partition", self.partitions), ("account", self.accounts)):
            parts += [f"{what} {listed(names)}"] if names else []
        parts += [f"a user in group {listed(self.groups)}"] if self.groups else []
        if self.interactive is not None:
            parts.append("an interactive job" if self.interactive else "a batch job")
        return ", ".join(parts)


Cases = Annotated[tuple[Case, ...], Field(strict=False, min_length=1)]


def choose(cases: tuple[Case, ...], request: Request, *, partition: bool = False) -> str | None:
    """Return the value of the first case whose conditions a job meets; None if there is none.

    Args:
        cases: the cases.
        request: the request.
        partition: the values are partitions, whose defaults the job would have.
    """
    return next((case.to for case in cases if case.fits(request, split_names(case.to) if partition else None)), None)


def effects(cases: tuple[Case, ...]) -> str:
    """Describe cases in words."""
    return "; ".join(f"`{case.to}` for {case.words() or 'all others'}" for case in cases)


def _bounds_of(request: Request, there: Sequence[str] | None, *, nodes: bool) -> Bounds:
    if there is None:
        return resources.bounds(request, nodes=nodes)
    return computing.bounds_there(request.job, there, nodes=nodes)


def _within(value: Range | None, least: int | None, most: int | None) -> bool:
    """Tell whether a job gets at least and at most an amount, whatever Slurm chooses; None: it is not known."""
    if value is None:
        return least is None and most is None
    return (least is None or value.least >= least) and (most is None or value.most <= most)


def _memory(request: Request, bounds: Bounds) -> Range | None:
    """Return the memory per node that a job names; --mem=0 is more than any amount."""
    if 0 in (request.get("min_mem_per_node"), request.get("min_mem_per_cpu")):
        return Range(1 << 60, UNLIMITED)
    return bounds.memory_per_node if bounds.names_memory else None


def _time(request: Request, bounds: Bounds) -> Range | None:
    """Return the time limit of a job, which may be that of its partition; None if that is not known."""
    limit = request.get("time_limit")
    if limit is not None:
        return Range(limit, limit)
    return None if bounds.time.most is UNLIMITED and bounds.time.least < YEAR else bounds.time


def _bounds(what: str, least: int | None, most: int | None, show: Callable[[int], str] = str) -> list[str]:
    if least is not None and most is not None:
        return [f"{show(least)} to {show(most)} {what}"]
    return [
        f"{words} {show(value)} {what}"
        for words, value in (("at least", least), ("at most", most))
        if value is not None
    ]
