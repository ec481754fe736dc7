# SPDX-License-Identifier: GPL-2.0-or-later
"""What users of 'slurmhooks import' may take for granted of requests that accounting does not know."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from slurmhooks.testing import FakeJob
from slurmhooks.values import UNLIMITED
from slurmhooks.workshop.accounting.known import OTHERS, OWN
from slurmhooks.workshop.testing.job_submit import struct_of

if TYPE_CHECKING:
    from slurmhooks.wire.message import Raw

OPTIONS_ASSUMED = "options"
"""Scripts and variables that accounting does not have give no options but those of which accounting shows the effect;
and what slurmctld does not fill in (KEPT_AS_SENT) is as users sent it."""
VARIABLES_ASSUMED = "variables"
"""Variables give no options."""
WORDS_ASSUMED = "words"
"""A word on a command line that begins like an option is one."""
ASSUMABLE = {
    "account": ("account", "Account"),
    "comment": ("comment", "Comment"),
    "features": ("features", "Constraints"),
    "name": ("name", "JobName"),
    "partition": ("partition", "Partition"),
    "qos": ("qos", "QOS"),
    "reservation": ("reservation", "Reservation"),
    "time_limit": ("time_limit", "TimelimitRaw"),
    "wckey": ("wckey", "WCKey"),
    "work_dir": ("work_dir", "WorkDir"),
}
"""Fields for which users may take what the job got: members, and columns of sacct."""
KEPT_AS_SENT = frozenset({"features", "name", "reservation", "work_dir"})
"""Those that slurmctld does not fill in, with the exception of magnetic reservations."""


def taken(assume: frozenset[str]) -> frozenset[str]:
    """Return the fields for which a user takes what the job got, of all words of ``--assume``."""
    return assume.intersection(ASSUMABLE) | (KEPT_AS_SENT if OPTIONS_ASSUMED in assume else frozenset())


def word_for(member: str) -> str:
    """Return the word of ``--assume`` by which a member is known; empty if there is none."""
    if member in KEPT_AS_SENT:
        return OPTIONS_ASSUMED
    if member in ASSUMABLE:
        return member
    return OPTIONS_ASSUMED if member in OWN or member in OTHERS else ""


def assumed(name: str, text: str) -> Raw:
    """Return the raw value of a field, a key of ASSUMABLE, that is what the job got, in a column of sacct."""
    if name == "time_limit":
        value: Any = {"UNLIMITED": UNLIMITED}.get(text, int(text) if text.isdecimal() else None)
        raws: Raw = struct_of(FakeJob(time_limit=value)).raws["time_limit"]
        return raws
    return text.encode("utf-8", "surrogateescape") or None
