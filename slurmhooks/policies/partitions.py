# SPDX-License-Identifier: GPL-2.0-or-later
"""Rules that choose or close partitions and QOS."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar, Literal

from pydantic import BaseModel, Field, model_validator

from slurmhooks.job_submit.users import split_names
from slurmhooks.policies.base import Rule
from slurmhooks.policies.cases import Case, Cases, choose, effects
from slurmhooks.policies.kinds import Word, Words, listed, matches_any_case
from slurmhooks.policies.placeholders import named

if TYPE_CHECKING:
    from slurmhooks.policies.request import Request

QOS = "ESLURM_INVALID_QOS"


class ChoosePartition(Rule):
    """Jobs without a partition get one that depends on what they ask for: GPUs, memory, time, account and so on.

    The first case that fits decides; if none fits, the job is not changed. What a job leaves to Slurm, such as its time
    limit, is what it would get in the partition of the case. Jobs in a reservation are left alone: Slurm chooses the
    partition of the reservation.
    """

    rule: Literal["choose_partition"] = "choose_partition"
    left_to_slurm: ClassVar[str] = (
        "what the job would get in the partition of the case: its DefaultTime (or else MaxTime), whole nodes;"
        " a job that names no memory meets no condition on it"
    )
    cases: Cases = Field(description="the cases, in order; to is a partition, or several separated by commas")
    override: bool = Field(default=False, description="apply also to jobs that name a partition")

    hooks: ClassVar[tuple[str, ...]] = ("job_submit",)
    text: ClassVar[str] = "the job goes to partition {chosen}"
    placeholders: ClassVar[dict[str, str]] = {"chosen": "the partition"}
    example: ClassVar[str] = (
        'cases = [\n    { to = "gpu", min_gpus = 1 },\n    { to = "bigmem", min_memory = "200G" },\n'
        '    { to = "short", max_time = "4:00:00" },\n]'
    )
    inner: ClassVar[dict[str, type[BaseModel]]] = {"cases": Case}

    def check(self, request: Request) -> None:
        """Set the partition."""
        if request.job.reservation is not None or (request.job.partition is not None and not self.override):
            return
        chosen = choose(self.cases, request, partition=True)
        if chosen is not None and chosen != request.job.partition:
            request.job.partition = chosen
            self.tell(request, chosen=chosen)

    def effect(self) -> str:
        """Describe the rule."""
        which = "A job without `--reservation`" if self.override else "A job without `--partition` and `--reservation`"
        return f"{which} gets the first partition that fits: {effects(self.cases)}."


class DefaultPartition(Rule):
    """Jobs without a partition get this one, instead of Slurm's default.

    Jobs in a reservation are left alone: Slurm chooses the partition of the reservation.
    """

    rule: Literal["default_partition"] = "default_partition"
    left_to_slurm: ClassVar[str] = "fills it in if the request names none"
    value: Word = Field(description="the partition, or several separated by commas")

    hooks: ClassVar[tuple[str, ...]] = ("job_submit",)
    text: ClassVar[str] = "no --partition given: the job goes to {chosen}"
    placeholders: ClassVar[dict[str, str]] = {"chosen": "the partition"}
    example: ClassVar[str] = 'groups = ["students"]\nvalue = "teaching"'

    def check(self, request: Request) -> None:
        """Set a missing partition."""
        if request.job.partition is None and request.job.reservation is None:
            request.job.partition = self.value
            self.tell(request, chosen=self.value)

    def effect(self) -> str:
        """Describe the rule."""
        return f"A job without `--partition` and `--reservation` goes to `{self.value}`."


class Forbid(Rule):
    """Jobs that the rule applies to are refused: it closes partitions, QOS or accounts, with exceptions."""

    rule: Literal["forbid"] = "forbid"
    left_to_slurm: ClassVar[str] = "what Slurm chooses for partition, account and QOS"

    text: ClassVar[str] = "you may not use {what}"
    placeholders: ClassVar[dict[str, str]] = {"what": "what the rule closes, such as partition gpu with QOS urgent"}
    code: ClassVar[str | None] = "ESLURM_ACCESS_DENIED"
    example: ClassVar[str] = 'partitions = ["gpu"]\nexcept_groups = ["gpu-users"]'

    @model_validator(mode="after")
    def _chooses(self) -> Forbid:
        if not (self.partitions or self.qos or self.accounts or self.users or self.groups):
            raise ValueError("needs partitions, qos, accounts, users or groups: it would refuse all jobs")
        return self

    def check(self, request: Request) -> None:
        """Refuse the job."""
        closed = [named("partition", self.limiting(request))] if self.needs_partitions else []
        closed += [f"QOS {request.qos}"] if self.qos or self.except_qos else []
        closed += [f"account {request.account}"] if self.accounts or self.except_accounts else []
        self.refuse(request, what=" with ".join(filter(None, closed)) or "this cluster")

    def effect(self) -> str:
        """Describe the rule."""
        return "Jobs are refused."


class RequireQos(Rule):
    """Jobs must name a QOS (--qos), or one of certain QOS; if a job names several, all must be allowed."""

    rule: Literal["require_qos"] = "require_qos"
    left_to_slurm: ClassVar[str] = (
        "refuses a job that names none; with default_counts the QOS that Slurm chooses counts"
    )
    allowed: Words = Field(default=(), description="the QOS that jobs may have; shell patterns; empty: any")
    default_counts: bool = Field(
        default=False, description="also accept the user's default QOS; needs a build with Slurm's sources"
    )

    own_fields: ClassVar[tuple[str, ...]] = ("qos",)
    option: ClassVar[str] = "qos"
    text: ClassVar[str] = "name a QOS with {option}: {allowed}"
    placeholders: ClassVar[dict[str, str]] = {"allowed": "the QOS that are allowed"}
    code: ClassVar[str | None] = QOS
    example: ClassVar[str] = 'partitions = ["long"]\nallowed = ["long", "long-*"]'

    def check(self, request: Request) -> None:
        """Refuse a job without a QOS, or with one that is not allowed."""
        names = split_names(request.qos if self.default_counts else request.get("qos"))
        if not names or (self.allowed and not all(matches_any_case(name, self.allowed) for name in names)):
            self.refuse(request, allowed=listed(self.allowed) if self.allowed else "any that you may use")

    def effect(self) -> str:
        """Describe the rule."""
        return f"Name a QOS with `--qos`{f': {listed(self.allowed)}' if self.allowed else ''}."


class DefaultQos(Rule):
    """Jobs without a QOS get this one, instead of the user's default."""

    rule: Literal["default_qos"] = "default_qos"
    left_to_slurm: ClassVar[str] = "fills it in if the request names none"
    value: Word = Field(description="the QOS")

    hooks: ClassVar[tuple[str, ...]] = ("job_submit",)
    text: ClassVar[str] = ""
    placeholders: ClassVar[dict[str, str]] = {"chosen": "the QOS"}
    example: ClassVar[str] = 'partitions = ["gpu"]\nvalue = "gpu"'

    def check(self, request: Request) -> None:
        """Set a missing QOS."""
        if request.job.qos is None:
            request.job.qos = self.value
            self.tell(request, chosen=self.value)

    def effect(self) -> str:
        """Describe the rule."""
        return f"A job without `--qos` gets `{self.value}`."


class ChooseQos(Rule):
    """Jobs without a QOS get one that depends on what they ask for: GPUs, memory, time, partition and so on.

    The first case that fits decides; if none fits, the job is not changed.
    """

    rule: Literal["choose_qos"] = "choose_qos"
    left_to_slurm: ClassVar[str] = (
        "DefaultTime (or else MaxTime) of the job's partitions, whole nodes; a job that names no memory meets"
        " no condition on it"
    )
    cases: Cases = Field(description="the cases, in order; to is a QOS")
    override: bool = Field(default=False, description="apply also to jobs that name a QOS")

    hooks: ClassVar[tuple[str, ...]] = ("job_submit",)
    text: ClassVar[str] = ""
    placeholders: ClassVar[dict[str, str]] = {"chosen": "the QOS"}
    example: ClassVar[str] = 'cases = [{ to = "short", max_time = "2:00:00" }, { to = "normal" }]'
    inner: ClassVar[dict[str, type[BaseModel]]] = {"cases": Case}

    @property
    def needs_partitions(self) -> bool:
        """Whether a case has a condition on the partition."""
        return super().needs_partitions or any(case.partitions for case in self.cases)

    def check(self, request: Request) -> None:
        """Set the QOS."""
        if request.job.qos is not None and not self.override:
            return
        chosen = choose(self.cases, request)
        if chosen is not None and chosen != request.job.qos:
            request.job.qos = chosen
            self.tell(request, chosen=chosen)

    def effect(self) -> str:
        """Describe the rule."""
        which = "A job" if self.override else "A job without `--qos`"
        return f"{which} gets the first QOS that fits: {effects(self.cases)}."
