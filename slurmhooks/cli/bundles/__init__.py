# SPDX-License-Identifier: GPL-2.0-or-later
"""Sets: the files of a site's policy as they are in force, and the folder in which a machine keeps them.

Beside slurm.conf, or in the home, are::

    slurmhooks.set -> slurmhooks.d/sets/ID  one rename of this link deploys a set, or goes back to another one
    slurmhooks.d/sets/ID/                   the files of a set, which never change
    slurmhooks.d/events                     what came into force, when, and by whom
    slurmhooks.d/begun                      while a deployment has not ended: the history as it will be
    slurmhooks.allowed_signers              if it exists, only signed archives are accepted
    slurmhooks.toml, hooks.d/               sources, which only `deploy` reads once something has been deployed
"""
