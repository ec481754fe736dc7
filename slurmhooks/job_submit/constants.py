# SPDX-License-Identifier: GPL-2.0-or-later
"""Slurm's constants and error codes, under the name that hook files import; see slurmhooks.fields.constants."""

from slurmhooks.fields.constants import *  # noqa: F403
from slurmhooks.fields.constants import __all__ as __all__  # for type checkers
from slurmhooks.fields.constants import __getattr__ as __getattr__
