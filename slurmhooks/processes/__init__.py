# SPDX-License-Identifier: GPL-2.0-or-later
"""Processes of the workers: how they start, speak, end, and what rights they have."""
