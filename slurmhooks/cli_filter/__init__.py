# SPDX-License-Identifier: GPL-2.0-or-later
"""The plugin point cli_filter: sbatch, salloc, srun and scrontab, as the user who called them."""
