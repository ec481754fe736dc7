# SPDX-License-Identifier: GPL-2.0-or-later
"""Bundles: the files of a site's policy in one archive, and the folder in which a machine keeps its bundles.

Beside slurm.conf are::

    slurmhooks.toml -> slurmhooks.d/current/slurmhooks.toml
    slurmhooks.d/current -> bundles/ID      one rename of this link deploys a bundle, or goes back to another one
    slurmhooks.d/bundles/ID/                the files of a bundle, which never change
    slurmhooks.d/history                    the ids in the order in which they were deployed
    slurmhooks.d/unfinished                 while a deployment has not ended: the new bundle, and the former one
    slurmhooks.allowed_signers              if it exists, bundles must be signed
"""
