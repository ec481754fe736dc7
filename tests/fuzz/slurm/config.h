/* SPDX-License-Identifier: GPL-2.0-or-later */
/* In place of the file that Slurm's configure writes. */
