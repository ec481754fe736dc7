# SPDX-License-Identifier: GPL-2.0-or-later
"""Options of Slurm's commands as text, as users write them and as cli_filter sees them.

``names`` lists the options of each command, ``variables`` the variables that give them; ``command_lines`` splits a
command line into options. ``texts.printed`` tells whether a command accepts a value, and how it prints it again:
``printers`` has one function for each kind of value, which ``numbers``, ``words`` and ``values`` read.
slurmhooks.workshop.testing.sbatch makes fields of a request from the same values.
"""
