# SPDX-License-Identifier: GPL-2.0-or-later
"""Loads the handlers of prep's workers."""

from functools import partial

from slurmhooks.entry.worker_handlers import load_service
from slurmhooks.prep.service import Service

load = partial(load_service, Service)
