# SPDX-License-Identifier: GPL-2.0-or-later
"""Where the decision log and the spool of jobcomp are."""

from __future__ import annotations

from slurmhooks.files import slurm_conf


def decisions_folder(named: str | None) -> str:
    """Return the folder of the decision log, as [decisions] has named it; by default beside slurmctld's log."""
    if named is not None:
        return named
    file = slurm_conf.own_value("SlurmctldLogFile") or ""
    return f"{file.rpartition('/')[0] or '/var/log/slurm'}/slurmhooks"


def spool_folder(named: str | None, state_save_location: str | None = None) -> str:
    """Return the folder of the spool of jobcomp, as [jobcomp] has named it; by default in StateSaveLocation."""
    if named is not None:
        return named
    return f"{state_save_location or slurm_conf.own_value('StateSaveLocation') or '/var/spool'}/slurmhooks"
