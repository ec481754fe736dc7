/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Replaces Slurm's header, which renames functions of libslurm. */
