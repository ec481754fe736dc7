# SPDX-License-Identifier: GPL-2.0-or-later
"""The fields that may hold passwords, collected from their rows."""

from __future__ import annotations

from typing import TYPE_CHECKING

from slurmhooks.fields import TABLES
from slurmhooks.fields.rows import rows

if TYPE_CHECKING:
    from slurmhooks.fields.facts import Secret

BESIDES: dict[str, Secret] = {"argv": "script", "environment": "environment", "spank_job_env": "environment"}
"""The fields of a request that are no rows, because they are mutable, each with its fact ``secret``."""


def _secrets() -> dict[Secret, frozenset[str]]:
    found: dict[Secret, set[str]] = {"script": set(), "environment": set()}
    for name, secret in BESIDES.items():
        found[secret].add(name)
    for view in TABLES.values():
        for name, row in rows(view).items():
            secret_of_row = row.facts.get("secret")
            if secret_of_row is not None:
                found[secret_of_row].add(name)
    return {secret: frozenset(names) for secret, names in found.items()}


SECRETS = _secrets()
"""Fields that may hold passwords, by the names with which a site asks for them: submit_line has the whole script of
``sbatch --wrap`` and the variables of ``--export``, and whoever has the cookie may use the user's screen. They are not
recorded otherwise, nor logged as changes."""
