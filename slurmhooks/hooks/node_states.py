# SPDX-License-Identifier: GPL-2.0-or-later
"""Bits of the state of a node, the same in all releases, and what they say about a drain. Imports nothing."""

from __future__ import annotations

BASE = 0xF
"""NODE_STATE_BASE of slurm.h: the state without flags."""
DOWN = 1
"""NODE_STATE_DOWN."""
UNDRAIN = 1 << 6
DRAIN = 1 << 9
FAIL = 1 << 13
"""Unlike DRAIN, slurmctld keeps it when a node registers."""
REBOOT_REQUESTED = 1 << 16
POWERING_DOWN = 1 << 18
REBOOT_ISSUED = 1 << 20
POWER_DOWN = 1 << 23
CLOSED = DRAIN | FAIL
"""With either of them a node gets no more jobs."""
UNSET = 0xFFFFFFFE
"""NO_VAL: the next state of a node that keeps its own after a reboot."""


NOT_RESPONDING = "Not responding"
"""The reason of a node that is down because its slurmd is silent; ReturnToService=1 returns only such a node."""
APPENDED = tuple(
    f" : {words}"
    for words in ("reboot issued", "reboot complete", "reboot timed out", NOT_RESPONDING, "ResumeTimeout reached")
)
"""What slurmctld appends to the reason of a node that it reboots or sets to DOWN (set_node_reason() of node_mgr.c); it
then is the user who has set it. None of this wants a drain."""


def needed_by_others(state: int) -> str:
    """Return why a drain must not be ended, whatever its reason says; "" if nothing is known.

    ``scontrol reboot ASAP`` and ``scontrol power down asap`` want a drain. If there is one already, slurmctld keeps it
    and its reason, so neither says that somebody else needs it now.
    """
    if state & (REBOOT_REQUESTED | REBOOT_ISSUED):
        return "a reboot is pending"
    if state & (POWER_DOWN | POWERING_DOWN):
        return "it is to be powered down"
    return ""


def drain_ends(state: int, next_state: int) -> bool:
    """Tell whether slurmctld takes DRAIN away when the node registers, whoever has set it.

    It then gives the node jobs again; or, after ``nextstate=DOWN`` and with ReturnToService=2, a moment later.

    Args:
        state: of the node.
        next_state: what ``scontrol reboot`` has asked for; ASAP alone asks for UNDRAIN.
    """
    return bool(state & REBOOT_ISSUED) and next_state != UNSET


def without_appended(reason: str) -> str:
    """Return a reason without what slurmctld has appended."""
    while words := next(filter(reason.endswith, APPENDED), ""):
        reason = reason.removesuffix(words)
    return reason


def is_reason(reason: str, own: str) -> bool:
    """Tell whether a reason is another one, which may have such words itself, perhaps with what was appended to it."""
    return reason.startswith(own) and not without_appended(reason[len(own) :])
