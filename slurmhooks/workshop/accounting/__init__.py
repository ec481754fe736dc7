# SPDX-License-Identifier: GPL-2.0-or-later
"""Makes recordings of what Slurm's accounting knows about past submissions; what it does not know stays unknown."""
