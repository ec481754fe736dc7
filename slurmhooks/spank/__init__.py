# SPDX-License-Identifier: GPL-2.0-or-later
"""The SPANK plugin point: srun, sbatch, salloc, slurmd, slurmstepd, prolog and epilog."""
