# SPDX-License-Identifier: GPL-2.0-or-later
"""Rules on GPUs, and on CPUs and memory for them."""

from __future__ import annotations

from operator import attrgetter
from typing import TYPE_CHECKING, ClassVar, Literal

from slurmhooks.rules import resources
from slurmhooks.rules.base import Rule
from slurmhooks.rules.kinds import counted, listed, matches, shown_memory
from slurmhooks.rules.options import option_of
from slurmhooks.rules.table import key

if TYPE_CHECKING:
    from slurmhooks.job_submit.bounds import Bounds
    from slurmhooks.rules.request import Request
    from slurmhooks.rules.value_types import Count, Mebibytes, Words
    from slurmhooks.values import Unlimited

GRES = "ESLURM_INVALID_GRES"
GPUS, GPUS_PER_NODE = attrgetter("gpus.most"), attrgetter("gpus_per_node.most")


class GpuCeiling(Rule):
    """Jobs may not get more GPUs than a ceiling, in total or per node; 0 means none.

    --exclusive and partitions with OverSubscribe=EXCLUSIVE give a job all GPUs of its nodes.
    """

    rule: Literal["gpu_ceiling"] = key("gpu_ceiling")
    left_to_slurm: ClassVar[str] = "the most GPUs that Slurm can give, also by whole nodes"
    per_job: Count | None = key(None, "the maximum number of GPUs of a job")
    per_node: Count | None = key(None, "the maximum number of GPUs on a node")

    own_fields: ClassVar[tuple[str, ...]] = resources.FIELDS
    needs: ClassVar[tuple[str, ...]] = ("per_job", "per_node")
    text: ClassVar[str] = "at most {limit} in {where}; the job would have {asked}"
    placeholders: ClassVar[dict[str, str]] = {
        "limit": "the ceiling, such as 4 GPUs per node",
        "asked": "the most that Slurm could give to the job",
    }
    code: ClassVar[str | None] = GRES
    example: ClassVar[str] = 'partitions = ["gpu"]\nper_job = 8'

    def check(self, request: Request) -> None:
        """Refuse a job that can get too many GPUs."""
        for limit, what, decides, most in (
            (self.per_job, "", "gpus", GPUS),
            (self.per_node, " per node", "gpus_per_node", GPUS_PER_NODE),
        ):
            if limit is not None and resources.exceeds(request, most, limit):
                asked = resources.asked(request, attrgetter(decides), option_of(request, decides))
                self.refuse(request, limit=f"{counted(limit, 'GPU')}{what}", asked=asked)

    def effect(self) -> str:
        """Describe the rule."""
        pairs = (("job", self.per_job), ("node", self.per_node))
        limits = [f"{counted(number, 'GPU')} per {what}" for what, number in pairs if number is not None]
        return f"At most {' and '.join(limits)}."


class RequireGpuType(Rule):
    """Jobs that ask for GPUs must name the type, as in --gpus=a100:2."""

    rule: Literal["require_gpu_type"] = key("require_gpu_type")
    left_to_slurm: ClassVar[str] = "refuses a job that leaves the type to Slurm"
    types: Words = key((), "the types that are accepted; shell patterns; empty: all")

    own_fields: ClassVar[tuple[str, ...]] = resources.FIELDS
    option: ClassVar[str] = "gpu_type"
    text: ClassVar[str] = "name the type of GPU, as in {option} (types: {types})"
    placeholders: ClassVar[dict[str, str]] = {"types": "the types that count"}
    code: ClassVar[str | None] = GRES
    example: ClassVar[str] = 'partitions = ["gpu"]\ntypes = ["a100", "h100"]'

    def check(self, request: Request) -> None:
        """Refuse a job that asks for GPUs without a type, or of another type."""
        types = _possible(resources.bounds(request))
        wrong = self.types and not all(matches(name, self.types) for name in types if name is not None)
        if None in types or wrong:
            self.refuse(request, types=listed(self.types) if self.types else "see sinfo -O gres")

    def effect(self) -> str:
        """Describe the rule."""
        types = f": {listed(self.types)}" if self.types else ""
        return f"Name the type of GPUs that you ask for, as in `--gpus=TYPE:1`{types}."


class CpusPerGpu(Rule):
    """Jobs with GPUs may not get more than a number of CPUs per GPU, so that all GPUs of a node can be used."""

    rule: Literal["cpus_per_gpu"] = key("cpus_per_gpu")
    left_to_slurm: ClassVar[str] = "the most CPUs for the least GPUs that Slurm can give"
    most: Count = key(..., "the maximum number of CPUs per GPU")

    own_fields: ClassVar[tuple[str, ...]] = resources.FIELDS
    text: ClassVar[str] = "CPUs per GPU: at most {limit}; the job would have {asked} (GPUs: {gpus})"
    placeholders: ClassVar[dict[str, str]] = {
        "limit": "the maximum number of CPUs per GPU",
        "asked": "the most CPUs that Slurm could give to the job",
        "gpus": "the number of its GPUs",
    }
    code: ClassVar[str | None] = "ESLURM_INVALID_CPU_COUNT"
    example: ClassVar[str] = 'partitions = ["gpu"]\nmost = 16'

    def check(self, request: Request) -> None:
        """Refuse a job with too many CPUs for its GPUs."""

        def ratio(bounds: Bounds) -> int | Unlimited:
            if not _possible(bounds):
                return 0
            cpus, gpus = bounds.cpus.most, max(bounds.gpus.least, 1)
            return -(-cpus // gpus) if isinstance(cpus, int) else cpus

        if resources.exceeds(request, ratio, self.most):
            gpus = max(resources.bounds(request, nodes=True).gpus.least, 1)
            asked = resources.asked(request, lambda bounds: bounds.cpus, option_of(request, "cpus_per_gpu"))
            self.refuse(request, limit=self.most, asked=asked, gpus=gpus)

    def effect(self) -> str:
        """Describe the rule."""
        return f"A job with GPUs may have at most {counted(self.most, 'CPU')} per GPU."


class MemoryPerGpu(Rule):
    """Jobs with GPUs may not get more than an amount of memory per GPU of a node."""

    rule: Literal["memory_per_gpu"] = key("memory_per_gpu")
    left_to_slurm: ClassVar[str] = "the most memory for the least GPUs of a node that Slurm can give"
    most: Mebibytes = key(..., "the maximum memory per GPU: MiB, or in the notation of --mem")

    own_fields: ClassVar[tuple[str, ...]] = resources.FIELDS
    text: ClassVar[str] = "at most {limit} of memory per GPU; the job would have {asked} (GPUs per node: {gpus})"
    placeholders: ClassVar[dict[str, str]] = {
        "limit": "the maximum memory per GPU",
        "asked": "the memory of the job per node",
        "gpus": "the number of its GPUs per node",
    }
    code: ClassVar[str | None] = "ESLURM_INVALID_TASK_MEMORY"
    example: ClassVar[str] = 'partitions = ["gpu"]\nmost = "120G"'

    def check(self, request: Request) -> None:
        """Refuse a job with too much memory for its GPUs."""

        def ratio(bounds: Bounds) -> int | Unlimited:
            if not _possible(bounds) or not bounds.names_memory:
                return 0
            memory, gpus = bounds.memory_per_node.most, max(bounds.gpus_per_node.least, 1)
            return -(-memory // gpus) if isinstance(memory, int) else memory

        if resources.exceeds(request, ratio, self.most):
            gpus = max(resources.bounds(request, nodes=True).gpus_per_node.least, 1)
            option = option_of(request, "mem_per_gpu")
            asked = resources.asked(request, lambda bounds: bounds.memory_per_node, option, shown_memory)
            self.refuse(request, limit=shown_memory(self.most), asked=asked, gpus=gpus)

    def effect(self) -> str:
        """Describe the rule."""
        return f"A job with GPUs may have at most {shown_memory(self.most)} of memory per GPU."


def _named(bounds: Bounds) -> list[str | None]:
    """Return the types of GPUs that the request itself asks for; None for those that Slurm chooses."""
    return [kind for kind, gpus in bounds.gpu_types.items() if gpus.least]


def _possible(bounds: Bounds) -> list[str | None]:
    """Return the same types, and those that Slurm may give although an update clears them; not those of whole nodes."""
    return [kind for kind, gpus in bounds.gpu_types.items() if gpus.least or (gpus.most and not bounds.whole_nodes)]
