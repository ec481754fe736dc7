# SPDX-License-Identifier: GPL-2.0-or-later
"""Find options that Slurm's commands ignore."""

from collections.abc import Collection

from slurmhooks.cli_filter.command_options import NAMES
from slurmhooks.hooks.option import Option

COMMANDS = {"local": ("srun",), "allocator": ("sbatch", "salloc", "scrontab")}
"""The commands whose options are known, by context."""


def taken(options: Collection[Option]) -> list[str]:
    """Return a note for each option that has the name of one of Slurm's own: the command keeps its own."""
    notes = []
    for option in options:
        commands = [
            command
            for context, commands in COMMANDS.items()
            for command in commands
            if context in option.contexts and option.name in NAMES[command]
        ]
        if commands:
            notes.append(
                f"{option.where}: option --{option.name}: in some releases {', '.join(commands)} have an option of this"
                " name, and ignore this one with an error for each user: use another name"
            )
    return notes
