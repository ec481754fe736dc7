# SPDX-License-Identifier: GPL-2.0-or-later
"""The one place where the version is written."""

__version__ = "0.1.0"
