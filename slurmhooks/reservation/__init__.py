# SPDX-License-Identifier: GPL-2.0-or-later
"""Reservation hooks: ResvProlog and ResvEpilog."""
