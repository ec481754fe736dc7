# SPDX-License-Identifier: GPL-2.0-or-later
"""What a hook file writes with: decorators, options, and the table of hooks."""
