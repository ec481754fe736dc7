# SPDX-License-Identifier: GPL-2.0-or-later
"""A private place for each container, which is gone again when staging fails."""

from __future__ import annotations

import os

from slurmhooks.log import log
from slurmhooks.scrun.errors import StagingError
from slurmhooks.scrun.trees import remove_tree

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import TracebackType


class Staging:
    """A folder that exists only if what was done in it succeeded: for a ``with`` statement in ``stage_in``.

    scrun calls ``stage_out`` after a failed or cancelled ``stage_in`` too, but with the paths from before it: what
    failed has to clean up after itself.

    Args:
        path: the folder; readable by this user only; its parents are made as well.

    Raises:
        StagingError: it exists already, or cannot be made.
    """

    def __init__(self, path: str) -> None:
        """Keep the path; see the class."""
        self.path = path

    def __enter__(self) -> str:
        """Make the folder and return its path."""
        try:
            os.makedirs(os.path.dirname(self.path), exist_ok=True)
            os.mkdir(self.path, 0o700)
        except OSError as error:
            raise StagingError(f"{error.filename!r}: {error.strerror}") from error
        return self.path

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Remove it if the block raised."""
        if error is None:
            return
        try:
            remove_tree(self.path)
        except StagingError as left:
            log.error("after a failed staging this was left: %s", left)
