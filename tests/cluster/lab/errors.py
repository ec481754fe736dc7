# SPDX-License-Identifier: GPL-2.0-or-later
"""The errors of verbs, and the exit code of each."""

FAILED = 1
WRONG_USE = 2
CANNOT_REACH = 75
"""The mirror or the package index cannot be reached (EX_TEMPFAIL)."""
NOT_STARTED = 125
"""Nothing was done: the cluster is not up, or the caller is not root. `env` and `timeout` use the same code."""
NOT_EXECUTABLE = 126
NOT_FOUND = 127


class LabError(Exception):
    """A failure; the text says in one line what went wrong and what to do next."""

    code = FAILED


class UsageError(LabError):
    """A call without a meaning."""

    code = WRONG_USE


class UnreachableError(LabError):
    """The network failed, not the project."""

    code = CANNOT_REACH


class NotUpError(LabError):
    """The cluster is not up, or this process may not enter it."""

    code = NOT_STARTED
