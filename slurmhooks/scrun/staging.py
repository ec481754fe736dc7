# SPDX-License-Identifier: GPL-2.0-or-later
"""A private place for each container, which is gone again when staging fails."""

from __future__ import annotations

import os

from slurmhooks.log import log
from slurmhooks.scrun.errors import StagingError
from slurmhooks.scrun.folders import explained, identity, open_folder, parent_of
from slurmhooks.scrun.removal import remove_at

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import TracebackType


class Staging:
    """A folder that exists only if what was done in it succeeded: for a ``with`` statement in ``stage_in``.

    scrun calls ``stage_out`` after a failed or cancelled ``stage_in`` too, but with the paths from before it: what
    failed has to clean up after itself. Removed is the folder that was made, and nothing else that has its name by
    then; see :func:`~slurmhooks.scrun.remove_tree`.

    Args:
        path: the folder; readable by this user only; its parents are made as well.

    Raises:
        StagingError: it exists already, or cannot be made.
    """

    def __init__(self, path: str) -> None:
        """Keep the path; see the class."""
        self.path = path
        self._folder = -1

    def __enter__(self) -> str:
        """Make the folder and return its path."""
        path = self.path.rstrip("/")
        try:
            os.makedirs(os.path.dirname(path) or ".", exist_ok=True)
            with parent_of(path) as (parent, name):
                os.mkdir(name, 0o700, dir_fd=parent)
                # Stays open, so that no other folder gets its inode number.
                self._folder = open_folder(name, parent)
        except OSError as error:
            raise explained(error, self.path) from error
        return self.path

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Remove it if the block raised."""
        try:
            if error is not None:
                path = self.path.rstrip("/")
                with parent_of(path) as (parent, name):
                    remove_at(name, parent, path, expected=identity(os.fstat(self._folder)))
        except StagingError as left:
            log.error("after a failed staging this was left: %s", left)
        except FileNotFoundError:
            pass  # the block has removed it
        except OSError as left:
            log.error("after a failed staging this was left: %s", explained(left, self.path))
        finally:
            os.close(self._folder)
