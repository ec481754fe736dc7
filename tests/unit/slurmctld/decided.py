# SPDX-License-Identifier: GPL-2.0-or-later
"""The decision log's line of a call, as worker and collector make it."""

from typing import Any

from slurmhooks.collector import json_lines
from slurmhooks.collector.checked import Checker
from slurmhooks.slurmctld.call import Call
from slurmhooks.slurmctld.changes import secrets
from slurmhooks.slurmctld.decision import report
from slurmhooks.slurmctld.logged_fields import LoggedFields
from slurmhooks.wire.tables import Tables


def decision(call: Call, tables: Tables, included: tuple[str, ...] = ()) -> dict[str, Any]:
    """Return what happened in a call; ``included`` names secrets that are reported."""
    shown = LoggedFields(tables, secrets(included))
    return shown.complete(Checker().decision(json_lines.encode(report(call, shown, (0, "")))))
