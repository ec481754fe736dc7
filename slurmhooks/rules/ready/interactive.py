# SPDX-License-Identifier: GPL-2.0-or-later
"""Rules on interactive jobs."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar, Literal

from slurmhooks.rules import resources
from slurmhooks.rules.base import Rule
from slurmhooks.rules.kinds import counted, shown_time
from slurmhooks.rules.table import key

if TYPE_CHECKING:
    from slurmhooks.rules.request import Request
    from slurmhooks.rules.value_types import Count, Minutes


class InteractiveLimit(Rule):
    """Jobs of srun and salloc have ceilings of their own, or are refused.

    Components of a heterogeneous batch job are not interactive, although only the first one has a script. A job without
    a time limit gets the ceiling, unless the DefaultTime of its partition is shorter.
    """

    rule: Literal["interactive_limit"] = key("interactive_limit")
    left_to_slurm: ClassVar[str] = (
        "the DefaultTime of the first of its partitions; if that has none, the largest DefaultTime (or else MaxTime)"
        " of those that the rule is for; the most "
        "nodes, CPUs and GPUs that Slurm can give"
    )
    forbid: bool = key(False, "refuse all interactive jobs")
    time: Minutes | None = key(None, "the maximum time limit: minutes, or in the notation of --time")
    nodes: Count | None = key(None, "the maximum number of nodes")
    cpus: Count | None = key(None, "the maximum number of CPUs in total")
    gpus: Count | None = key(None, "the maximum number of GPUs in total")

    own_fields: ClassVar[tuple[str, ...]] = ("time_limit", "time_min", "deadline", *resources.FIELDS)
    needs: ClassVar[tuple[str, ...]] = ("forbid", "time", "nodes", "cpus", "gpus")
    text: ClassVar[str] = "interactive jobs in {where} may have {allowed}; use sbatch for others"
    forbidding: ClassVar[str] = "interactive jobs are not allowed in {where}; use sbatch"
    placeholders: ClassVar[dict[str, str]] = {"allowed": "what they may have, such as at most 2 nodes"}
    code: ClassVar[str | None] = "ESLURM_ACCESS_DENIED"
    example: ClassVar[str] = 'time = "8:00:00"\nnodes = 2'

    def own_text(self) -> str:
        """Return the message if the site has none."""
        return self.forbidding if self.forbid else self.text

    def check(self, request: Request) -> None:
        """Refuse an interactive job that asks for too much."""
        if True not in request.interactive:
            return
        if self.forbid:
            self.refuse(request, allowed="no resources")
        if self.time is not None:
            asked = resources.named_limit(request, self.time)
            if asked is None and request.number("time_min") <= self.time:
                if resources.time_limit(request, self.limiting(request)).most > self.time:
                    resources.limit_time(request, self.time)
            elif asked is None or asked > self.time:
                self.refuse(request, allowed=f"at most {shown_time(self.time)} of time")
        for limit, what, most in (
            (self.nodes, "node", lambda bounds: bounds.nodes.most),
            (self.cpus, "CPU", lambda bounds: bounds.cpus.most),
            (self.gpus, "GPU", lambda bounds: bounds.gpus.most),
        ):
            if limit is not None and resources.exceeds(request, most, limit):
                self.refuse(request, allowed=f"at most {counted(limit, what)}")

    def effect(self) -> str:
        """Describe the rule."""
        if self.forbid:
            return "Interactive jobs (`srun`, `salloc`) are refused: use `sbatch`."
        pairs = (("node", self.nodes), ("CPU", self.cpus), ("GPU", self.gpus))
        parts = [f"{shown_time(self.time)} of time"] if self.time is not None else []
        parts += [counted(number, what) for what, number in pairs if number is not None]
        return f"Interactive jobs (`srun`, `salloc`) may have at most {', '.join(parts)}."
