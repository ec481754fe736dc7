# SPDX-License-Identifier: GPL-2.0-or-later
"""The ready-made rules, each in the module of its topic."""
