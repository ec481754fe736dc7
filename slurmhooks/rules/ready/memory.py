# SPDX-License-Identifier: GPL-2.0-or-later
"""Rules on memory."""

from __future__ import annotations

from operator import attrgetter
from typing import TYPE_CHECKING, ClassVar, Literal

from slurmhooks.job_submit.bounds.counts import GPU
from slurmhooks.rules import resources
from slurmhooks.rules.base import Rule
from slurmhooks.rules.kinds import shown_memory
from slurmhooks.rules.options import option_of
from slurmhooks.rules.table import key

if TYPE_CHECKING:
    from slurmhooks.job_submit.bounds import Bounds
    from slurmhooks.rules.request import Request
    from slurmhooks.rules.value_types import Mebibytes
    from slurmhooks.values import Unlimited

MEMORY = "ESLURM_INVALID_TASK_MEMORY"


class DefaultMemory(Rule):
    """Jobs that ask for no memory get an amount per CPU, node or GPU.

    With per_gpu, the rule applies only to jobs that ask for GPUs.
    """

    fills: ClassVar[bool] = True
    rule: Literal["default_memory"] = key("default_memory")
    left_to_slurm: ClassVar[str] = "fills it in if the request names none"
    per_cpu: Mebibytes | None = key(None, "memory per CPU: MiB, or in the notation of --mem")
    per_node: Mebibytes | None = key(None, "memory per node")
    per_gpu: Mebibytes | None = key(None, "memory per GPU")

    hooks: ClassVar[tuple[str, ...]] = ("job_submit",)
    text: ClassVar[str] = "no memory requested: the job gets {memory}"
    placeholders: ClassVar[dict[str, str]] = {"memory": "the memory, such as 4G per CPU"}
    example: ClassVar[str] = 'per_cpu = "4G"'

    def settle(self) -> None:
        """Check that it has one amount."""
        super().settle()
        if [self.per_cpu, self.per_node, self.per_gpu].count(None) != 2:
            raise ValueError("needs one of per_cpu, per_node and per_gpu")

    def check(self, request: Request) -> None:
        """Set missing memory."""
        job = request.job
        bounds = resources.bounds(request)
        if bounds.names_memory:
            return
        if self.per_gpu is not None:
            if not any(gpus.least for gpus in bounds.gpu_types.values()):
                return
            job.mem_per_tres = f"{GPU}:{self.per_gpu}"
        elif self.per_cpu is not None:
            job.min_mem_per_cpu = self.per_cpu
        else:
            job.min_mem_per_node = self.per_node
        self.tell(request, memory=self._words())

    def _words(self) -> str:
        pairs = (("CPU", self.per_cpu), ("node", self.per_node), ("GPU", self.per_gpu))
        return next(f"{shown_memory(value)} per {what}" for what, value in pairs if value is not None)

    def effect(self) -> str:
        """Describe the rule."""
        return f"A job that asks for no memory gets {self._words()}."


class MemoryCeiling(Rule):
    """Jobs may not get more memory than a ceiling, per node or per CPU.

    --mem=0 asks for all memory of a node, so it is above every ceiling unless whole_nodes accepts it.
    A job that names no memory gets the default of the cluster, and is accepted: see default_memory and require_memory.
    """

    rule: Literal["memory_ceiling"] = key("memory_ceiling")
    left_to_slurm: ClassVar[str] = (
        "accepts a job that names none, which gets the default of the partition; otherwise the most that Slurm can give"
    )
    per_node: Mebibytes | None = key(None, "the maximum memory per node: MiB, or in the notation of --mem")
    per_cpu: Mebibytes | None = key(None, "the maximum memory per CPU")
    whole_nodes: Literal["refuse", "accept"] = key("refuse", "what happens to --mem=0")

    own_fields: ClassVar[tuple[str, ...]] = resources.FIELDS
    needs: ClassVar[tuple[str, ...]] = ("per_node", "per_cpu")
    text: ClassVar[str] = "at most {limit} in {where}; the job would have {asked}"
    placeholders: ClassVar[dict[str, str]] = {
        "limit": "the ceiling, such as 4G of memory per CPU",
        "asked": "the most that Slurm could give to the job",
    }
    code: ClassVar[str | None] = MEMORY
    example: ClassVar[str] = 'partitions = ["standard"]\nper_node = "180G"'

    def check(self, request: Request) -> None:
        """Refuse a job that can get more than a ceiling."""
        # The record of a job that names none may have 0, too.
        asks_for_all = resources.bounds(request).names_memory and 0 in (
            request.get("min_mem_per_node"),
            request.get("min_mem_per_cpu"),
        )
        if asks_for_all and self.whole_nodes == "accept":
            return
        for limit, what, most in ((self.per_node, "node", _most_per_node), (self.per_cpu, "CPU", _most_per_cpu)):
            if limit is not None and (asks_for_all or resources.exceeds(request, most, limit)):
                of = attrgetter(f"memory_per_{what.lower()}")
                option = option_of(request, "mem" if what == "node" else "mem_per_cpu")
                asked = f"all ({option}=0)" if asks_for_all else resources.asked(request, of, option, shown_memory)
                self.refuse(request, limit=f"{shown_memory(limit)} of memory per {what}", asked=asked)

    def effect(self) -> str:
        """Describe the rule."""
        pairs = (("node", self.per_node), ("CPU", self.per_cpu))
        limits = [f"{shown_memory(limit)} of memory per {what}" for what, limit in pairs if limit is not None]
        whole = "" if self.whole_nodes == "accept" else " `--mem=0` is refused."
        return f"At most {' and '.join(limits)}.{whole}"


def _most_per_node(bounds: Bounds) -> int | Unlimited:
    """Return the most memory on a node only of jobs that name an amount."""
    return bounds.memory_per_node.most if bounds.names_memory else 0


def _most_per_cpu(bounds: Bounds) -> int | Unlimited:
    """Return the most memory for each CPU only of jobs that name an amount."""
    return bounds.memory_per_cpu.most if bounds.names_memory else 0
