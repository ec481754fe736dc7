/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Replaces the file that Slurm's configure writes. */
