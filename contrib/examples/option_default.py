# SPDX-License-Identifier: GPL-2.0-or-later
"""An option with a default for every job: by the commands, and by slurmctld for the jobs of other clients."""

from __future__ import annotations

from slurmhooks import hook

TYPE_CHECKING = False
if TYPE_CHECKING:
    from slurmhooks.types import Job, Options

gpu_mode = hook.spank.option("gpu-mode", "MODE", usage="[site] how to use the GPUs")


@hook.cli_filter.setup_defaults(contexts=["srun", "sbatch", "salloc"])
def default_of_commands(options: Options) -> None:
    """Give the commands a default; what users say takes precedence."""
    options.spank["python"]["gpu-mode"] = "shared"


@hook.job_submit
def default_of_other_clients(job: Job) -> None:
    """Set it for batch jobs of slurmrestd, which knows no options of SPANK plugins."""
    if job.script is not None and gpu_mode.of(job) is None:
        gpu_mode.set(job, "shared")
