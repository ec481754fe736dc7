# SPDX-License-Identifier: GPL-2.0-or-later
"""Priorities of jobs: PrioritySiteFactorPlugin=site_factor/python."""
