# SPDX-License-Identifier: GPL-2.0-or-later
"""The functions of Python that C names, one module for each plugin; only these may import Lua scripts and rules."""
