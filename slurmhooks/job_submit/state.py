# SPDX-License-Identifier: GPL-2.0-or-later
"""What a view of a request has besides its class."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from slurmhooks.slurmctld.model import ViewState

if TYPE_CHECKING:
    from collections.abc import Callable

    from slurmhooks.job_submit.bounds.cluster import Cluster
    from slurmhooks.slurmctld.asking import Struct
    from slurmhooks.slurmctld.model import Record


class JobState(ViewState):
    """What a view of a request has besides its class.

    Attributes:
        argv: the staged words; None: not written.
        cluster: what looks up what Slurm can give, after its first use.
        make_cluster: returns it; None if slurmctld answers no questions about it.
        comparing: a value is read only to compare it with one that a handler of hook.job writes.
        mappings: the two environments, after their first use.
        modify: the request is an update.
        owner: user id of the job's owner, if the request does not have it.
        sender: user id of the sender, which Slurm has checked; None: not known.
        record: the job that an update changes; None for submissions, and if slurmctld did not send it.
        lasting: what was asked about the request, or made of it, and no write changes: answers by their questions.
    """

    __slots__ = (
        *(
            "_facts",
            "_facts_of",
            "argv",
            "cluster",
            "comparing",
            "lasting",
            "make_cluster",
            "mappings",
            "modify",
            "owner",
        ),
        *("record", "sender"),
    )

    def __init__(
        self,
        struct: Struct,
        modify: bool,
        owner: int | None,
        sender: int | None,
        record: Record | None,
        make_cluster: Callable[[], Cluster] | None,
    ) -> None:
        self.struct = struct
        self.writes = {}
        self.argv: list[bytes] | None = None
        self.cluster: Cluster | None = None
        self.make_cluster = make_cluster
        self.mappings: dict[str, Any] = {}
        self.modify = modify
        self.owner = owner
        self.sender = sender
        self.record = record
        self.lasting: dict[object, Any] = {}
        self.comparing = False
        self._facts: dict[object, Any] = {}
        self._facts_of: dict[str, Any] = {}

    def facts(self) -> dict[object, Any]:
        """Return what was worked out of the request as it is now; empty after its staged values have changed.

        Values are compared, because handlers, rollbacks and Lua scripts write in different ways.
        """
        if self.writes != self._facts_of:
            self._facts, self._facts_of = {}, self.writes.copy()
        return self._facts

    def is_set(self, member: str) -> bool:
        """Tell whether a text is set, without asking slurmctld for a long one."""
        return self.writes[member] is not None if member in self.writes else self.struct.is_set(member)
