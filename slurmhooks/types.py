# SPDX-License-Identifier: GPL-2.0-or-later
"""The types of what handlers get, for annotations in hook files.

    from slurmhooks import hook
    from slurmhooks.types import WholeJob

    @hook.job
    def limits(job: WholeJob) -> None: ...

A process imports only what a hook file asks for: in slurmctld's workers it has ``Job`` anyway, in slurmstepd ``Spank``.
A file that both run imports the types below ``if TYPE_CHECKING:``.
"""

from __future__ import annotations

TYPE_CHECKING: bool = False  # annotated, so that editors look into both branches
if TYPE_CHECKING:
    from slurmhooks.burst_buffer.model import BurstBuffer
    from slurmhooks.cli_filter.model import Options
    from slurmhooks.hooks.option import Option
    from slurmhooks.job_submit.model import (
        Association,
        Job,
        License,
        Node,
        Partition,
        Qos,
        Record,
        Reservation,
        Table,
    )
    from slurmhooks.job_submit.whole import WholeJob
    from slurmhooks.jobcomp.event import Event
    from slurmhooks.mail.model import Mail
    from slurmhooks.node.model import HealthNode
    from slurmhooks.scrun.model import Container
    from slurmhooks.slurmctld.actions import ActingNode, ActingRecord
    from slurmhooks.spank.model import Spank
    from slurmhooks.values import Unlimited

_SLURMCTLD = ("Association", "Job", "License", "Node", "Partition", "Qos", "Record", "Reservation", "Table")
_MODULES = {
    "ActingNode": "slurmctld.actions",
    "ActingRecord": "slurmctld.actions",
    "BurstBuffer": "burst_buffer.model",
    "Container": "scrun.model",
    "Event": "jobcomp.event",
    "HealthNode": "node.model",
    "Mail": "mail.model",
    "Option": "hooks.option",
    "Options": "cli_filter.model",
    "Spank": "spank.model",
    "Unlimited": "values",
    "WholeJob": "job_submit.whole",
    **dict.fromkeys(_SLURMCTLD, "job_submit.model"),
}

__all__ = [
    "ActingNode",
    "ActingRecord",
    "Association",
    "BurstBuffer",
    "Container",
    "Event",
    "HealthNode",
    "Job",
    "License",
    "Mail",
    "Node",
    "Option",
    "Options",
    "Partition",
    "Qos",
    "Record",
    "Reservation",
    "Spank",
    "Table",
    "Unlimited",
    "WholeJob",
]

if not TYPE_CHECKING:

    def __getattr__(name):
        """Import a type on its first use."""
        if name not in _MODULES:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        from importlib import import_module

        return getattr(import_module(f"slurmhooks.{_MODULES[name]}"), name)
