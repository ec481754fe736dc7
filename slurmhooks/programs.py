# SPDX-License-Identifier: GPL-2.0-or-later
"""Programs that handlers start.

srun blocks SIGHUP, SIGINT, SIGPIPE, SIGTERM and other signals, because one of its threads takes them. A program
inherits this, so that neither Ctrl-C nor ``terminate()`` would end it.
"""

from __future__ import annotations

import _signal  # type: ignore[import-not-found] # signal imports enum, which takes long

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from os import PathLike
    from subprocess import Popen
    from typing import Any


def popen(command: str | Sequence[str | PathLike[str]], **keywords: Any) -> Popen[Any]:
    """Start a program that no signal is blocked in; otherwise the same as subprocess.Popen().

    It works in every process and callback. Before 26.05 it is needed in srun, for handlers of SPANK and cli_filter;
    elsewhere Slurm blocks no signals.

    Args:
        command: as for Popen.
        keywords: as for Popen, except ``preexec_fn``.

    Raises:
        OSError: as for Popen.
    """
    from subprocess import Popen

    return Popen(command, preexec_fn=_unblock, **keywords)


def _unblock() -> None:
    _signal.pthread_sigmask(_signal.SIG_SETMASK, ())
