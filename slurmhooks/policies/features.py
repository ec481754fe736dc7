# SPDX-License-Identifier: GPL-2.0-or-later
"""Rules on features of nodes, node lists, and licenses."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, ClassVar, Literal

from pydantic import Field

from slurmhooks.policies import resources
from slurmhooks.policies.base import Rule
from slurmhooks.policies.kinds import Count, Word, Words, listed, matches
from slurmhooks.policies.options import option_of

if TYPE_CHECKING:
    from collections.abc import Mapping

    from slurmhooks.job_submit.bounds import Bounds, Range
    from slurmhooks.policies.request import Request
    from slurmhooks.values import Unlimited

FEATURE = re.compile(r"[^\s&|,()\[\]*!]+")
"""A name in --constraint; a count may follow a star."""


class RequireFeatures(Rule):
    """Jobs must name a feature of nodes (--constraint).

    If a job also prefers features (--prefer), it must name one there, too: Slurm tries them first, without those of
    --constraint.
    """

    rule: Literal["require_features"] = "require_features"
    left_to_slurm: ClassVar[str] = "refuses a job that names none"
    one_of: Words = Field(min_length=1, description="the features, one of which a job must name; shell patterns")

    own_fields: ClassVar[tuple[str, ...]] = ("features", "prefer")
    text: ClassVar[str] = "name a kind of node with {option}: {features}"
    placeholders: ClassVar[dict[str, str]] = {"features": "the features"}
    code: ClassVar[str | None] = "ESLURM_INVALID_FEATURE"
    example: ClassVar[str] = 'partitions = ["mixed"]\none_of = ["skylake", "rome"]'

    def check(self, request: Request) -> None:
        """Refuse a job that names none of the features."""
        for field in self.own_fields:
            names = FEATURE.findall(request.get(field) or "")
            if (names or field == "features") and not any(matches(name, self.one_of) for name in names):
                self.refuse(request, option=option_of(request, field), features=listed(self.one_of))

    def effect(self) -> str:
        """Describe the rule."""
        return f"Name a kind of node with `--constraint`: {listed(self.one_of)}."


class DefaultFeatures(Rule):
    """Jobs that ask for no features of nodes (--constraint) get default features."""

    rule: Literal["default_features"] = "default_features"
    left_to_slurm: ClassVar[str] = "fills them in if the request names none"
    value: Word = Field(description="the features, in the notation of --constraint")

    hooks: ClassVar[tuple[str, ...]] = ("job_submit",)
    text: ClassVar[str] = ""
    placeholders: ClassVar[dict[str, str]] = {"chosen": "the features"}
    example: ClassVar[str] = 'value = "rome|milan"'

    def check(self, request: Request) -> None:
        """Set missing features."""
        if request.job.features is None:
            request.job.features = self.value
            self.tell(request, chosen=self.value)

    def effect(self) -> str:
        """Describe the rule."""
        return f"A job without `--constraint` gets `{self.value}`."


class ForbidNodelist(Rule):
    """Jobs may not name their nodes (--nodelist), or exclude some (--exclude).

    Jobs that name nodes wait longer, and their users often mean a feature.
    """

    rule: Literal["forbid_nodelist"] = "forbid_nodelist"
    left_to_slurm: ClassVar[str] = "nodes that Slurm chooses are no list"
    exclude: Literal["refuse", "accept"] = Field(default="accept", description="what happens to --exclude")

    own_fields: ClassVar[tuple[str, ...]] = ("req_nodes", "exc_nodes")
    text: ClassVar[str] = "do not name nodes with {option}"
    code: ClassVar[str | None] = "ESLURM_INVALID_NODE_NAME"

    def check(self, request: Request) -> None:
        """Refuse a job that names nodes; an update, only if it names them, or moves it to where the rule counts."""
        moves = not request.modify or request.sets(set(self.fields).difference(self.own_fields))
        for field in self.own_fields if self.exclude == "refuse" else ("req_nodes",):
            if (moves or request.sets((field,))) and request.get(field):
                self.refuse(request, option=option_of(request, field))

    def effect(self) -> str:
        """Describe the rule."""
        return f"Do not use `--nodelist`{' or `--exclude`' if self.exclude == 'refuse' else ''}."


class Licenses(Rule):
    """Jobs must ask for a license, may ask only for certain licenses, or for a limited number of each (--licenses)."""

    rule: Literal["licenses"] = "licenses"
    left_to_slurm: ClassVar[str] = "a job that names none gets none"
    required: Words = Field(default=(), description="the licenses, one of which a job must ask for; shell patterns")
    allowed: Words = Field(default=(), description="the licenses that a job may ask for; shell patterns; empty: all")
    most: dict[str, Count] = Field(
        default={},
        description="the maximum number of each license, by its name; for a remote one, with its @server, and where"
        " slurm.conf has LicenseParameters=RemoteFuzzyMatch, also without it",
    )

    own_fields: ClassVar[tuple[str, ...]] = resources.FIELDS
    option: ClassVar[str] = "licenses"
    needs: ClassVar[tuple[str, ...]] = ("required", "allowed", "most")
    text: ClassVar[str] = "ask for other licenses with {option}: {allowed}"
    placeholders: ClassVar[dict[str, str]] = {"allowed": "what is allowed"}
    code: ClassVar[str | None] = "ESLURM_INVALID_LICENSES"
    example: ClassVar[str] = 'partitions = ["cad"]\nrequired = ["ansys*"]\nmost = { ansys = 8 }'

    def check(self, request: Request) -> None:
        """Refuse a job without the license, with one that is not allowed, or with too many."""
        asked = resources.bounds(request).licenses
        if self.required and not _has_one_of(self.required, asked):
            self.refuse(request, allowed=f"one of {listed(self.required)}")
        if self.allowed and not all(matches(name, self.allowed) for name in asked):
            self.refuse(request, allowed=f"only {listed(self.allowed)}")
        for name, most in self.most.items():
            if resources.exceeds(request, lambda bounds, name=name: _of(bounds, name), most):  # type: ignore[misc]
                self.refuse(request, allowed=f"at most {most} of {name}")

    def effect(self) -> str:
        """Describe the rule."""
        parts = [f"ask for {listed(self.required)} with `--licenses`"] if self.required else []
        parts += [f"ask for no licenses but {listed(self.allowed)}"] if self.allowed else []
        parts += [f"ask for at most {most} of `{name}`" for name, most in self.most.items()]
        text = ", and ".join(parts)
        return f"{text[0].upper()}{text[1:]}."


def _has_one_of(names: tuple[str, ...], asked: Mapping[str, Range]) -> bool:
    """Tell whether a job gets at least one of some licenses, whichever of ``a|b`` Slurm chooses."""
    given = {name: count for name, count in asked.items() if count.most != 0}
    return any(matches(name, names) and count.least for name, count in given.items()) or (
        bool(given) and all(matches(name, names) for name in given)
    )


def _of(bounds: Bounds, name: str) -> int | Unlimited:
    return bounds.licenses[name].most if name in bounds.licenses else 0
