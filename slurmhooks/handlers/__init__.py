# SPDX-License-Identifier: GPL-2.0-or-later
"""Loads hook files and runs handlers, in any process."""
