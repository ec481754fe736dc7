# SPDX-License-Identifier: GPL-2.0-or-later
"""What can go wrong with a bundle or a copy: refusals, for the user of scrun reads them and can act on them."""

from __future__ import annotations

from slurmhooks.errors import Reject, SlurmhooksError


class StagingError(SlurmhooksError, Reject):
    """Something could not be staged: no space, no right, a file that is not there.

    A handler that lets it pass refuses the container with its text.
    """


class BundleError(StagingError):
    """The bundle's config.json is missing or wrong; the text names the file and the place in it."""


class CancelledError(StagingError):
    """The container was cancelled while it was staged: its job ended, or it was deleted."""

    def __init__(self) -> None:
        """Say so; see the class."""
        super().__init__("staging was cancelled: the container's job has ended")
