# SPDX-License-Identifier: GPL-2.0-or-later
"""The checks of `slurmhooks check`; each module finds one kind of mistake."""
