# SPDX-License-Identifier: GPL-2.0-or-later
"""Commands that only need stand-ins for Slurm, logs or recordings, and what they share."""
