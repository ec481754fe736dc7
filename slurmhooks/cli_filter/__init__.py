# SPDX-License-Identifier: GPL-2.0-or-later
"""The plugin point cli_filter: sbatch, salloc, srun and scrontab, as the user who called them."""

CALLS = ("setup_defaults", "pre_submit", "post_submit")
"""The functions that Slurm calls, in the order of native/manifest/manifest.h, which passes their numbers."""
