# SPDX-License-Identifier: GPL-2.0-or-later
"""The SPANK plugin point: srun, sbatch, salloc, slurmd, slurmstepd, prolog and epilog."""

CALLBACKS = (
    "init",
    "job_prolog",
    "init_post_opt",
    "local_user_init",
    "user_init",
    "task_init_privileged",
    "task_init",
    "task_post_fork",
    "task_exit",
    "job_epilog",
    "slurmd_exit",
    "exit",
)
"""The callbacks in the order of native/manifest/manifest.h: C passes their indices."""
