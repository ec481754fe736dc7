/* SPDX-License-Identifier: GPL-2.0-or-later */
/* In place of Slurm's header, which renames functions of libslurm. */
