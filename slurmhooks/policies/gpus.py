# SPDX-License-Identifier: GPL-2.0-or-later
"""Rules on GPUs, and on CPUs and memory for them."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar, Literal

from pydantic import Field, model_validator

from slurmhooks.policies import resources
from slurmhooks.policies.base import Rule, matches
from slurmhooks.policies.kinds import Count, Mebibytes, Words, listed, shown_memory

if TYPE_CHECKING:
    from slurmhooks.policies.request import Request

GRES = "ESLURM_INVALID_GRES"


class RequireGpu(Rule):
    """Jobs must ask for a GPU: for partitions whose nodes have some.

    Every option counts: --gpus, --gpus-per-node, --gpus-per-task, --gpus-per-socket and --gres.
    """

    rule: Literal["require_gpu"] = "require_gpu"

    own_fields: ClassVar[tuple[str, ...]] = resources.PER
    text: ClassVar[str] = "partition {partition} is for jobs that ask for GPUs: add --gpus=1"
    code: ClassVar[str | None] = GRES
    example: ClassVar[str] = 'partitions = ["gpu*"]'

    def check(self, request: Request) -> None:
        """Refuse a job without GPUs."""
        if not resources.gpus(request).total:
            self.refuse(request)

    def effect(self) -> str:
        """Describe the rule."""
        return "Ask for GPUs, with `--gpus` for example; jobs without are refused."


class GpuCeiling(Rule):
    """Jobs may not ask for more GPUs than a ceiling, in total or per node; 0 means none."""

    rule: Literal["gpu_ceiling"] = "gpu_ceiling"
    per_job: Count | None = Field(default=None, description="the maximum number of GPUs of a job")
    per_node: Count | None = Field(default=None, description="the maximum number of GPUs on a node")

    own_fields: ClassVar[tuple[str, ...]] = resources.GPU_FIELDS
    text: ClassVar[str] = "the most GPUs in {partition} are {limit}, not {asked}"
    placeholders: ClassVar[dict[str, str]] = {
        "limit": "the ceiling, such as 4 per job",
        "asked": "what the job asks for",
    }
    code: ClassVar[str | None] = GRES
    example: ClassVar[str] = 'partitions = ["gpu"]\nper_job = 8'

    @model_validator(mode="after")
    def _has_one(self) -> GpuCeiling:
        if self.per_job is None and self.per_node is None:
            raise ValueError("needs per_job or per_node")
        return self

    def check(self, request: Request) -> None:
        """Refuse a job with too many GPUs."""
        gpus = resources.gpus(request)
        if self.per_job is not None and gpus.total > self.per_job:
            self.refuse(request, limit=f"{self.per_job} per job", asked=gpus.total)
        if self.per_node is not None and gpus.per_node > self.per_node:
            self.refuse(request, limit=f"{self.per_node} per node", asked=gpus.per_node)

    def effect(self) -> str:
        """Describe the rule."""
        pairs = (("job", self.per_job), ("node", self.per_node))
        return f"The most GPUs: {' and '.join(f'{n} per {what}' for what, n in pairs if n is not None)}."


class RequireGpuType(Rule):
    """Jobs that ask for GPUs must name the type, as in --gpus=a100:2."""

    rule: Literal["require_gpu_type"] = "require_gpu_type"
    types: Words = Field(default=(), description="the types that are accepted; shell patterns; empty: all")

    own_fields: ClassVar[tuple[str, ...]] = resources.PER
    text: ClassVar[str] = "name the type of GPU, as in --gpus=TYPE:1; types are {types}"
    placeholders: ClassVar[dict[str, str]] = {"types": "the types that count"}
    code: ClassVar[str | None] = GRES
    example: ClassVar[str] = 'partitions = ["gpu"]\ntypes = ["a100", "h100"]'

    def check(self, request: Request) -> None:
        """Refuse a job that asks for GPUs without a type, or of another type."""
        gpus = resources.gpus(request)
        wrong = self.types and not all(matches(name, self.types) for name in gpus.types)
        if gpus.untyped or wrong:
            self.refuse(request, types=listed(self.types) if self.types else "what sinfo -O gres shows")

    def effect(self) -> str:
        """Describe the rule."""
        types = f": {listed(self.types)}" if self.types else ""
        return f"Name the type of GPUs that you ask for, as in `--gpus=TYPE:1`{types}."


class CpusPerGpu(Rule):
    """Jobs with GPUs may not ask for more than a number of CPUs per GPU, so that all GPUs of a node can be used."""

    rule: Literal["cpus_per_gpu"] = "cpus_per_gpu"
    most: Count = Field(description="the most CPUs for each GPU")

    own_fields: ClassVar[tuple[str, ...]] = resources.CPU_FIELDS
    text: ClassVar[str] = "the most CPUs for each GPU are {limit}; the job asks for {asked} with {gpus} GPUs"
    placeholders: ClassVar[dict[str, str]] = {
        "limit": "the most CPUs for each GPU",
        "asked": "the CPUs of the job",
        "gpus": "its GPUs",
    }
    code: ClassVar[str | None] = "ESLURM_INVALID_CPU_COUNT"
    example: ClassVar[str] = 'partitions = ["gpu"]\nmost = 16'

    def check(self, request: Request) -> None:
        """Refuse a job with too many CPUs for its GPUs."""
        gpus = resources.gpus(request).total
        cpus = resources.cpus(request)
        if gpus and cpus > self.most * gpus:
            self.refuse(request, limit=self.most, asked=cpus, gpus=gpus)

    def effect(self) -> str:
        """Describe the rule."""
        return f"A job with GPUs may have at most {self.most} CPUs for each of them."


class MemoryPerGpu(Rule):
    """Jobs with GPUs may not ask for more than an amount of memory per GPU of a node."""

    rule: Literal["memory_per_gpu"] = "memory_per_gpu"
    most: Mebibytes = Field(description="the maximum memory per GPU: MiB, or in the notation of --mem")

    own_fields: ClassVar[tuple[str, ...]] = resources.MEMORY_FIELDS
    text: ClassVar[str] = "the most memory for each GPU is {limit}; the job asks for {asked} with {gpus} GPUs per node"
    placeholders: ClassVar[dict[str, str]] = {
        "limit": "the most memory for each GPU",
        "asked": "the memory of the job per node",
        "gpus": "its GPUs per node",
    }
    code: ClassVar[str | None] = "ESLURM_INVALID_TASK_MEMORY"
    example: ClassVar[str] = 'partitions = ["gpu"]\nmost = "120G"'

    def check(self, request: Request) -> None:
        """Refuse a job with too much memory for its GPUs."""
        gpus = resources.gpus(request).per_node
        memory = resources.memory_per_node(request)
        if gpus and memory is not None and memory > self.most * gpus:
            asked = "all" if memory == resources.ALL_MEMORY else shown_memory(memory)
            self.refuse(request, limit=shown_memory(self.most), asked=asked, gpus=gpus)

    def effect(self) -> str:
        """Describe the rule."""
        return f"A job with GPUs may have at most {shown_memory(self.most)} of memory for each of them."
