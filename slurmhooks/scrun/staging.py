# SPDX-License-Identifier: GPL-2.0-or-later
"""A private folder for a container, which is removed when staging fails."""

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
    """A new folder that is removed if the block of a ``with`` statement in ``stage_in`` fails.

    After a failed or cancelled ``stage_in`` scrun calls ``stage_out`` with the original paths, so ``stage_in`` must
    clean up after itself. Only the folder that was created is removed, not another one that has its name by then; see
    :func:`~slurmhooks.scrun.remove_tree`.

    Args:
        path: path of the folder, which only this user can read; missing parents are created, too.

    Raises:
        StagingError: the folder exists already, or cannot be created.
    """

    def __init__(self, path: str) -> None:
        self.path = path
        self._folder = -1

    def __enter__(self) -> str:
        """Create the folder and return its path."""
        path = self.path.rstrip("/")
        try:
            with parent_of(path, make=True) as (parent, name):
                os.mkdir(name, 0o700, dir_fd=parent)
                # An open folder keeps its inode number, by which it is recognized.
                self._folder = open_folder(name, parent)
        except OSError as error:
            raise explained(error, self.path) from error
        return self.path

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Remove the folder if the block raised."""
        try:
            if error is not None:
                path = self.path.rstrip("/")
                with parent_of(path) as (parent, name):
                    remove_at(name, parent, path, expected=identity(os.fstat(self._folder)))
        except StagingError as failure:
            log.error("cannot remove the files of a failed staging: %s", failure)
        except FileNotFoundError:
            pass  # the block removed it
        except OSError as failure:
            log.error("cannot remove the files of a failed staging: %s", explained(failure, self.path))
        finally:
            os.close(self._folder)
