# SPDX-License-Identifier: GPL-2.0-or-later
"""Programs that Slurm starts hand their calls over to a process that delivers them to handlers."""
