# SPDX-License-Identifier: GPL-2.0-or-later
"""Options of SPANK plugins on the command line of sbatch, and what they put into a submission.

Source: plugstack.c:spank_process_option, spank_set_remote_options and spank_set_remote_options_env; slurmctld gets the
same on a real cluster.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from slurmhooks.handlers import trace
from slurmhooks.hooks.requested import OMITTED, variables_of

if TYPE_CHECKING:
    from collections.abc import Mapping

    from slurmhooks.hooks.option import Option

__all__ = ["OMITTED", "insert"]


def insert(fields: dict[str, Any], options: Mapping[str, Option], *, inherit: bool) -> None:
    """Set what options put into a submission: variables for prolog and epilog, for the batch step, and for srun in it.

    ``_spank`` of the fields has the options that are given, by name. ``inherit``: the submission has an environment.
    """
    given: dict[str, str | None] = fields.get("_spank", {})
    for name, of_user in given.items():
        text = _sent(options[name], of_user)
        for_scripts, for_job = variables_of(options[name], OMITTED if text is None else text)
        fields.setdefault("spank_job_env", {}).update(for_scripts)
        if inherit:
            own = options[name].variable
            if text is not None:
                for_job[own] = text  # also "(null)", if it is what the user wrote
            fields["environment"] |= for_job


def _sent(option: Option, text: str | None) -> str | None:
    """Return what the command passes on: what the checks have made of a text, if they make the same of it again."""
    if text is None or not option.checked:
        return text
    made: str | None = trace.tried(lambda: option.standing_for(text, option.convert(text)), lambda _: None)
    return text if made is None else made  # whoever runs the checks says what fails
