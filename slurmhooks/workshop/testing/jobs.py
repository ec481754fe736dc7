# SPDX-License-Identifier: GPL-2.0-or-later
"""The job of the stand-ins."""

JOB_ID = 0x03FFFFFF
"""Its default id, which Slurm never gives: ids are below MaxJobId, which is at most this (MAX_JOB_ID of slurm.h).

Handlers really run, and remove folders and the like by the id of the job.
"""
