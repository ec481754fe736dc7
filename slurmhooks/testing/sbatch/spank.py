# SPDX-License-Identifier: GPL-2.0-or-later
"""Options of SPANK plugins on the command line of sbatch, and what they put into a submission.

Source: plugstack.c:spank_process_option, spank_set_remote_options and spank_set_remote_options_env; slurmctld gets the
same on a real cluster.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from slurmhooks.requested import INHERITED, OMITTED, variables_of

if TYPE_CHECKING:
    from collections.abc import Mapping

    from slurmhooks.option import Option

__all__ = ["OMITTED", "given_in", "insert"]


def given_in(environment: Mapping[str, str], options: Mapping[str, Option]) -> dict[str, str]:
    """Return the options that variables give, by name, with their arguments."""
    names = {name: f"{INHERITED}{option.variable}" for name, option in options.items()}
    return {name: environment[key] for name, key in names.items() if key in environment}


def insert(fields: dict[str, Any], options: Mapping[str, Option], environment: Mapping[str, str] | None) -> None:
    """Set what options put into a submission: variables for prolog and epilog, for the batch step, and for srun in it.

    Args:
        fields: of the submission; ``_spank`` has the options of the command line and the script, by name.
        options: all options, by name.
        environment: of the command; None: the submission has no environment.
    """
    given: dict[str, str] = given_in(environment or {}, options) | fields.get("_spank", {})
    for name, text in given.items():
        for_scripts, for_job = variables_of(options[name], text)
        fields.setdefault("spank_job_env", {}).update(for_scripts)
        if environment is not None:
            fields["environment"] |= for_job
