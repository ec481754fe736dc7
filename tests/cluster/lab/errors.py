# SPDX-License-Identifier: GPL-2.0-or-later
"""Name the ways in which a verb can fail, and the exit code of each."""

FAILED = 1
WRONG_USE = 2
CANNOT_REACH = 75
"""The mirror or the package index cannot be reached (EX_TEMPFAIL)."""
NOT_STARTED = 125
"""Nothing was done: the cluster is not up, or we are not root. `env` and `timeout` use it likewise."""
NOT_EXECUTABLE = 126
NOT_FOUND = 127


class LabError(Exception):
    """Say in one line what went wrong and what to do next."""

    code = FAILED


class UsageError(LabError):
    """Refuse a call that cannot mean anything."""

    code = WRONG_USE


class UnreachableError(LabError):
    """Say that the network, not the project, is what failed."""

    code = CANNOT_REACH


class NotUpError(LabError):
    """Say that there is no cluster to work in, or no right to."""

    code = NOT_STARTED
