# SPDX-License-Identifier: GPL-2.0-or-later
"""A rule on licenses."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar, Literal

from slurmhooks.rules import resources
from slurmhooks.rules.base import Rule
from slurmhooks.rules.kinds import listed, matches
from slurmhooks.rules.table import key

if TYPE_CHECKING:
    from collections.abc import Mapping

    from slurmhooks.job_submit.bounds import Bounds, Range
    from slurmhooks.rules.request import Request
    from slurmhooks.rules.value_types import Count, Words
    from slurmhooks.values import Unlimited


class Licenses(Rule):
    """Jobs must ask for a license, may ask only for certain licenses, or for a limited number of each (--licenses)."""

    rule: Literal["licenses"] = key("licenses")
    left_to_slurm: ClassVar[str] = "a job that names none gets none"
    required: Words = key((), "the licenses, one of which a job must ask for; shell patterns")
    allowed: Words = key((), "the licenses that a job may ask for; shell patterns; empty: all")
    most: dict[str, Count] = key(
        {},
        "the maximum number of each license, by its name; for a remote one, with its @server, and where"
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
