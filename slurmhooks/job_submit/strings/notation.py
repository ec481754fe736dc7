# SPDX-License-Identifier: GPL-2.0-or-later
"""The error and the numbers of all parsers of notations."""

from __future__ import annotations

from slurmhooks.errors import NotationError

__all__ = ("MAX_AMOUNT", "NUMBER", "NotationError")

NUMBER = r"\d{1,18}"
"""Pattern of a number: Slurm's have at most 64 bits, and the conversion of longer ones takes quadratic time."""
MAX_AMOUNT = 10**18 - 1
"""The largest amount, with its unit: one that is written without the unit is such a number, and fits into 64 bits."""
