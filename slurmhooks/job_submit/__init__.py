# SPDX-License-Identifier: GPL-2.0-or-later
"""The job_submit plugin point: slurmctld, for every submission and modification of a job."""
