# SPDX-License-Identifier: GPL-2.0-or-later
"""Cases: conditions on a job, for rules that choose something for it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

from pydantic import BaseModel, ConfigDict, Field

from slurmhooks.job_submit.bounds import Range
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
    from collections.abc import Callable

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

    def fits(self, request: Request) -> bool:
        """Tell whether a job meets all conditions. Without a time limit, or memory, it meets no condition on that."""
        if self.interactive is not None and request.interactive != self.interactive:
            return False
        if self.min_gpus is not None or self.max_gpus is not None or self.gpu_types:
            bounds = resources.bounds(request)
            if not _within(bounds.gpus, self.min_gpus, self.max_gpus):
                return False
            named = [kind for kind, gpus in bounds.gpu_types.items() if gpus.least]
            if self.gpu_types and not any(matches(name, self.gpu_types) for name in named):
                return False
        return (
            self._fits_numbers(request)
            and (not self.partitions or any(matches(name, self.partitions) for name in request.partitions))
            and (not self.accounts or matches_any_case(request.account, self.accounts))
            and (not self.groups or not request.groups.isdisjoint(self.groups))
        )

    def _fits_numbers(self, request: Request) -> bool:
        limit = request.get("time_limit")
        return (
            _meets(self.min_nodes, self.max_nodes, lambda: _least(resources.bounds(request).nodes))
            and _meets(self.min_cpus, self.max_cpus, lambda: resources.bounds(request).cpus)
            and _meets(self.min_memory, self.max_memory, lambda: _memory(request))
            and _meets(self.min_time, self.max_time, lambda: None if limit is None else Range(limit, limit))
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


def choose(cases: tuple[Case, ...], request: Request) -> str | None:
    """Return the value of the first case whose conditions a job meets; None if there is none."""
    return next((case.to for case in cases if case.fits(request)), None)


def effects(cases: tuple[Case, ...]) -> str:
    """Describe cases in words."""
    return "; ".join(f"`{case.to}` for {case.words() or 'all others'}" for case in cases)


def _meets(least: int | None, most: int | None, ask: Callable[[], Range | None]) -> bool:
    return (least is None and most is None) or _within(ask(), least, most)


def _within(value: Range | None, least: int | None, most: int | None) -> bool:
    """Tell whether a job gets at least and at most an amount, whatever Slurm chooses."""
    if value is None:
        return False
    return (least is None or value.least >= least) and (most is None or value.most <= most)


def _least(nodes: Range) -> Range:
    """Return the smallest number of nodes: a job that leaves them to Slurm counts as a small one."""
    return Range(nodes.least, nodes.least)


def _memory(request: Request) -> Range | None:
    """Return the memory per node that a job names; --mem=0 is more than any amount."""
    bounds = resources.bounds(request)
    if 0 in (request.get("min_mem_per_node"), request.get("min_mem_per_cpu")):
        return Range(1 << 60, UNLIMITED)
    return bounds.memory_per_node if bounds.names_memory else None


def _bounds(what: str, least: int | None, most: int | None, show: Callable[[int], str] = str) -> list[str]:
    if least is not None and most is not None:
        return [f"{show(least)} to {show(most)} {what}"]
    return [
        f"{words} {show(value)} {what}"
        for words, value in (("at least", least), ("at most", most))
        if value is not None
    ]
