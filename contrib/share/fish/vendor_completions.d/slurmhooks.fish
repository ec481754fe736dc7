# SPDX-License-Identifier: GPL-2.0-or-later
# The command knows its completion; fish loads this file at the first TAB.
_SLURMHOOKS_COMPLETE=fish_source slurmhooks 2>/dev/null | source
