# SPDX-License-Identifier: GPL-2.0-or-later
"""Drains the node of a refused prolog or epilog with the text of the refusal, before Slurm drains it with its own.

Slurm leaves the reason of a node that is drained already as it is.
"""

from __future__ import annotations

from slurmhooks.errors import DeadlineExceeded
from slurmhooks.files import slurm_conf
from slurmhooks.handlers import deadline
from slurmhooks.hooks.node_states import CLOSED
from slurmhooks.log import log
from slurmhooks.node.model import reason_of

SECONDS = 10.0
"""What slurmctld may take to answer; after that, Slurm's own reason remains."""


def drain(text: str) -> None:
    """Drain this node with a text, unless it is drained; in the process that runs a prolog or epilog, as root.

    What goes wrong is logged: the node is drained all the same, by Slurm.
    """
    import _slurmhooks_node as native

    name = slurm_conf.environment("SLURMD_NODENAME")
    reason = reason_of(text)
    if not name or not reason:
        return
    try:
        with deadline.limit("draining the node with the text of the refusal", SECONDS):
            if not native.node(name)["state"] & CLOSED:
                native.drain(name, reason.encode("utf-8", "surrogateescape"))
    except (OSError, DeadlineExceeded) as error:
        log.error("%s is drained without the text of the refusal: %s", name, error)
