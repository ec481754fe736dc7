# SPDX-License-Identifier: GPL-2.0-or-later
"""Power hooks: Slurm's power programs hand their calls over to a process that delivers them."""
