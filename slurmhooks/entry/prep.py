# SPDX-License-Identifier: GPL-2.0-or-later
"""Loads the handlers of prep's workers."""

from functools import partial

from slurmhooks.prep.service import Service
from slurmhooks.slurmctld.service import load_service

load = partial(load_service, "prep", Service)
