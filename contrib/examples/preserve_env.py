# SPDX-License-Identifier: GPL-2.0-or-later
"""--preserve-slurm-env gives tasks the SLURM_* variables that srun was called with, not those of their step."""

from slurmhooks import hook
from slurmhooks.types import Spank

preserve = hook.spank.option(
    "preserve-slurm-env", usage="[site] for 'salloc srun --pty $SHELL': keep the SLURM_* variables of salloc's shell"
)
SAVED = "SAVED_"
LEFT_OUT = ("SLURM_RLIMIT", "SLURM_UMASK", "SLURM_PRIO")


@hook.spank.init_post_opt(contexts="local")
def save(spank: Spank) -> None:
    """Runs in srun before it sets its own variables; tasks inherit srun's environment."""
    if preserve.given:
        given = {name: value for name, value in spank.env.items() if name.startswith("SLURM_")}
        spank.env.update({SAVED + name: value for name, value in given.items() if not name.startswith(LEFT_OUT)})


@hook.spank.task_init
def restore(spank: Spank) -> None:
    """Runs in the task, whose SLURM_* variables are complete now."""
    if preserve.given:
        saved = {name: spank.env[name] for name in spank.env if name.startswith(SAVED + "SLURM_")}
        for name in [name for name in spank.env if name.startswith(("SLURM_", "MPIRUN_", SAVED + "SLURM_"))]:
            del spank.env[name]
        spank.env.update({name.removeprefix(SAVED): value for name, value in saved.items()})
