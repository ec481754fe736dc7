# SPDX-License-Identifier: GPL-2.0-or-later
"""The version of the package, which is defined only here."""

__version__ = "1.0.0"
