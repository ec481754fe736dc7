# SPDX-License-Identifier: GPL-2.0-or-later
"""Code that the workers of all slurmctld plugins share; in C: native/slurmctld."""

from slurmhooks.hooks.points import LISTS

PRIVATE_ARGUMENTS = frozenset({"record", *LISTS})
"""The arguments that need slurmctld's private structs, and so a build with Slurm's sources."""
NEEDS_SOURCES = (
    "this build has only Slurm's public headers; to have them, run 'slurmhooks build --fetch-source', or --slurm-source"
    " with the sources of exactly the installed release, and install the result"
)
