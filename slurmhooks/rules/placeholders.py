# SPDX-License-Identifier: GPL-2.0-or-later
"""The values that the message of a rule may have in braces."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from slurmhooks.rules.kinds import listed
from slurmhooks.rules.options import option_of

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from slurmhooks.rules.request import Request

COMMON = {
    "user": "the user of the job",
    "account": "its account",
    "partition": "those of its partitions that the rule is for",
    "where": "the same in words: partition gpu, partitions a and b, the default partition",
    "qos": "its QOS",
    "job": "its name",
    "option": "the option of sbatch that the rule is about; for an update, the key of scontrol",
}
"""The placeholders that every message may have."""


class Values(dict[str, object]):
    """The values of a message; those of the request are looked up only if the message has them."""

    def __init__(
        self, request: Request, option: str, limiting: Callable[[], Sequence[str]], values: dict[str, object]
    ) -> None:
        """Store where values are found.

        ``option`` is the field in OPTIONS that the message names as {option}. ``limiting`` returns the partitions of
        the job that the rule is for. ``values`` are those of the placeholders that only this message has.
        """
        super().__init__(values)
        self._request = request
        self._option = option
        self._limiting = limiting

    def __missing__(self, name: str) -> Any:
        """Return the value of a placeholder in COMMON; another one has none in a refusal for another reason."""
        if name not in COMMON:
            return "(none)"
        request = self._request
        if name == "partition":
            return ",".join(self._where()) or "(default)"
        if name == "where":
            return named("partition", self._where()) or "the default partition"
        if name == "option":
            return option_of(request, self._option)
        if name == "job":
            return request.get("name") or "(none)"
        return getattr(request, name) or "(default)"

    def _where(self) -> Sequence[str]:
        """Return the partitions that the rule is for; all of the job if it has just moved it out of these."""
        return self._limiting() or self._request.partitions


def named(what: str, names: Sequence[str]) -> str:
    """Return names of some kind in words: ``partition a``, ``partitions a and b``; empty without names."""
    return f"{what}{'s' * (len(names) > 1)} {listed(names, 'and')}" if names else ""
