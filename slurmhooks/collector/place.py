# SPDX-License-Identifier: GPL-2.0-or-later
"""Where the decision log is."""

from __future__ import annotations

from slurmhooks.files import slurm_conf


def decisions_folder(named: str | None) -> str:
    """Return the folder of the decision log; by default beside slurmctld's log.

    Args:
        named: the folder in [decisions] of slurmhooks.toml; None: it names none.
    """
    if named is not None:
        return named
    file = slurm_conf.own_value("SlurmctldLogFile") or ""
    return f"{file.rpartition('/')[0] or '/var/log/slurm'}/slurmhooks"
