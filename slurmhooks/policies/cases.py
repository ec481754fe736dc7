# SPDX-License-Identifier: GPL-2.0-or-later
"""Cases: conditions on a job, for rules that choose something for it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

from pydantic import BaseModel, ConfigDict, Field

from slurmhooks.policies import resources
from slurmhooks.policies.base import matches, matches_any_case
from slurmhooks.policies.kinds import Count, Mebibytes, Minutes, Word, Words, listed, shown_memory, shown_time

if TYPE_CHECKING:
    from collections.abc import Callable

    from slurmhooks.policies.request import Request
    from slurmhooks.values import Unlimited


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
            gpus = resources.gpus(request)
            if not _within(gpus.total, self.min_gpus, self.max_gpus):
                return False
            if self.gpu_types and not any(matches(name, self.gpu_types) for name in gpus.types):
                return False
        return (
            self._fits_numbers(request)
            and (not self.partitions or any(matches(name, self.partitions) for name in request.partitions))
            and (not self.accounts or matches_any_case(request.account, self.accounts))
            and (not self.groups or not request.groups.isdisjoint(self.groups))
        )

    def _fits_numbers(self, request: Request) -> bool:
        return (
            _meets(self.min_nodes, self.max_nodes, lambda: resources.nodes(request))
            and _meets(self.min_cpus, self.max_cpus, lambda: resources.cpus(request))
            and _meets(self.min_memory, self.max_memory, lambda: resources.memory_per_node(request))
            and _meets(self.min_time, self.max_time, lambda: request.get("time_limit"))
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


def _meets(least: int | None, most: int | None, ask: Callable[[], int | Unlimited | None]) -> bool:
    return (least is None and most is None) or _within(ask(), least, most)


def _within(value: int | Unlimited | None, least: int | None, most: int | None) -> bool:
    if value is None:
        return False
    return (least is None or value >= least) and (most is None or value <= most)


def _bounds(what: str, least: int | None, most: int | None, show: Callable[[int], str] = str) -> list[str]:
    if least is not None and most is not None:
        return [f"{show(least)} to {show(most)} {what}"]
    return [
        f"{words} {show(value)} {what}"
        for words, value in (("at least", least), ("at most", most))
        if value is not None
    ]
