# SPDX-License-Identifier: GPL-2.0-or-later
"""What the plugins of slurmctld share on the side of their workers; in C: native/slurmctld."""

from slurmhooks.hook_specs import LISTS

PRIVATE_ARGUMENTS = frozenset({"record", *LISTS})
"""What needs slurmctld's private structs, and so a build with Slurm's sources."""
NEEDS_SOURCES = (
    "this build has only Slurm's public headers; to have them, run 'slurmhooks build --slurm-source DIR' with the"
    " sources of exactly the installed release, and install the result"
)
