# SPDX-License-Identifier: GPL-2.0-or-later
"""The bounds of a request, as handlers see them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple, TypeVar

from slurmhooks.values import UNLIMITED, Unlimited

Key = TypeVar("Key")

ENDLESS = 1 << 200
"""Stands for UNLIMITED while bounds are computed: sums, products and quotients of it stay above every real amount."""
LARGEST = 1 << 160
"""More than any amount that a request can name."""
YEAR = 365 * 24 * 60
"""Minutes for which Slurm's scheduler plans a job without a time limit (YEAR_SECONDS)."""


class Range(NamedTuple):
    """The least and the most of a resource.

    Attributes:
        least: Slurm gives no less, if it starts the job.
        most: Slurm gives no more; UNLIMITED if the request, and what slurmhooks knows of the cluster, set no limit.
    """

    least: int
    most: int | Unlimited

    @classmethod
    def of(cls, least: int, most: int) -> Range:
        """Return a range of computed amounts, which may be ENDLESS."""
        return cls(least, UNLIMITED if most >= LARGEST else max(least, most))

    @property
    def limit(self) -> int:
        """The most as a number, for computing."""
        return self.most if isinstance(self.most, int) else ENDLESS

    def __or__(self, other: Range) -> Range:
        """Return the range that contains both."""
        return Range.of(min(self.least, other.least), max(self.limit, other.limit))

    def __str__(self) -> str:
        """Return the range in words: ``4``, ``1 to 4``, ``at least 1``."""
        if self.most is UNLIMITED:
            return f"at least {self.least}"
        return str(self.least) if self.least == self.most else f"{self.least} to {self.most}"


class Bounds(NamedTuple):
    """The least and the most that Slurm can give to a job.

    CPUs are those that the request needs; where CPUs are threads, Slurm rounds them up to whole cores. All threads of a
    core count if the request asks for fewer of them, as --hint=nomultithread does.
    Each component of a heterogeneous job, and each task of an array, has its own bounds.

    Attributes:
        nodes: the number of nodes.
        tasks: the number of tasks; where the request names none, one for each node.
        cpus: CPUs in total.
        cpus_per_node: CPUs on one node.
        gpus: GPUs in total, of all types.
        gpus_per_node: GPUs on one node.
        gpu_types: GPUs in total by type; the key None is those whose type Slurm chooses.
        memory: memory in total, in MiB.
        memory_per_node: memory on one node, in MiB.
        memory_per_cpu: memory for each CPU, in MiB, rounded up, on the node that gives the fewest CPUs.
        licenses: licenses by name; those of another cluster have their "@server".
        time: the time limit in minutes, that of --time-min being the least; of a job that has no limit, the least is a
            year, for which Slurm's scheduler plans it.
        whole_nodes: the job gets all CPUs and GRES of its nodes.
        names_memory: the request itself names an amount of memory; otherwise the default of the cluster counts.
    """

    nodes: Range
    tasks: Range
    cpus: Range
    cpus_per_node: Range
    gpus: Range
    gpus_per_node: Range
    gpu_types: Mapping[str | None, Range]
    memory: Range
    memory_per_node: Range
    memory_per_cpu: Range
    licenses: Mapping[str, Range]
    time: Range
    whole_nodes: bool
    names_memory: bool

    def __or__(self, other: Bounds) -> Bounds:
        """Return the bounds of a job that may become either, such as one that names two partitions."""
        ranges = {
            name: value | getattr(other, name) for name, value in self._asdict().items() if isinstance(value, Range)
        }
        return Bounds(
            **ranges,
            gpu_types=_either(self.gpu_types, other.gpu_types),
            licenses=_either(self.licenses, other.licenses),
            whole_nodes=self.whole_nodes or other.whole_nodes,
            names_memory=self.names_memory,
        )


def _either(one: Mapping[Key, Range], other: Mapping[Key, Range]) -> dict[Key, Range]:
    none = Range(0, 0)
    return {key: one.get(key, none) | other.get(key, none) for key in {**one, **other}}
