# SPDX-License-Identifier: GPL-2.0-or-later
"""Slurm's constants and error codes, under the name that hook files import; see slurmhooks.slurmctld.constants."""

from slurmhooks.slurmctld.constants import *  # noqa: F403
from slurmhooks.slurmctld.constants import __all__ as __all__  # for type checkers
from slurmhooks.slurmctld.constants import __getattr__ as __getattr__
