# SPDX-License-Identifier: GPL-2.0-or-later
"""Options of SPANK plugins on the command line of sbatch, and what they put into a submission.

Source: plugstack.c:spank_process_option, spank_set_remote_options and spank_set_remote_options_env; slurmctld gets the
same on a real cluster.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from slurmhooks.hooks.requested import OMITTED, variables_of

if TYPE_CHECKING:
    from collections.abc import Mapping

    from slurmhooks.hooks.option import Option

__all__ = ["OMITTED", "insert"]


def insert(fields: dict[str, Any], options: Mapping[str, Option], *, inherit: bool, of_step: bool = True) -> None:
    """Set what options put into a submission: variables for prolog and epilog, for the batch step, and for srun in it.

    Args:
        fields: of the submission; ``_spank`` has the options that are given, by name.
        options: all options, by name.
        inherit: the submission has an environment.
        of_step: the environment has the variables for the batch step.
    """
    given: dict[str, str | None] = fields.get("_spank", {})
    for name, text in given.items():
        for_scripts, for_job = variables_of(options[name], OMITTED if text is None else text)
        fields.setdefault("spank_job_env", {}).update(for_scripts)
        if inherit:
            own = options[name].variable
            if text is not None:
                for_job[own] = text  # also "(null)", if it is what the user wrote
            if not of_step:
                del for_job[own]
            fields["environment"] |= for_job
