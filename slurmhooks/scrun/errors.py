# SPDX-License-Identifier: GPL-2.0-or-later
"""The errors of staging. All are refusals: the user of scrun reads the text."""

from __future__ import annotations

from slurmhooks.errors import Reject, SlurmhooksError


class StagingError(SlurmhooksError, Reject):
    """Staging failed: no space, no permission, a missing file.

    A handler that does not catch it refuses the container with its text.
    """


class BundleError(StagingError):
    """The config.json of a bundle is missing or invalid; the text names the file and the places in it."""


class CancelledError(StagingError):
    """The container was cancelled during staging: its job ended, or the container was deleted."""

    def __init__(self) -> None:
        super().__init__("staging was cancelled: the container's job has ended")
