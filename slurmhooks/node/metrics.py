# SPDX-License-Identifier: GPL-2.0-or-later
"""The metrics of a node, as a file for node_exporter's textfile collector."""

from __future__ import annotations

import posix

from slurmhooks.files.exposition import sample
from slurmhooks.node import verdict

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from slurmhooks.handlers.registry import Handler
    from slurmhooks.node.state import NodeMemory

FILE = "slurmhooks_health.prom"


def text(checks: Iterable[Handler], state: NodeMemory, now: float) -> str:
    """Return the metrics after a run."""
    return "".join(f"{line}\n" for line in _lines(checks, state, now))


def _lines(checks: Iterable[Handler], state: NodeMemory, now: float) -> Iterator[str]:
    yield "# HELP slurmhooks_health_check_failing Whether a health check refuses as often as it must."
    yield "# TYPE slurmhooks_health_check_failing gauge"
    for check in checks:
        mode = verdict.terms_of(check).mode
        failing = int(verdict.is_failing(check, state))
        yield sample("slurmhooks_health_check_failing", failing, check=check.label, mode=mode)
    yield "# HELP slurmhooks_health_drained Whether health checks have drained the node."
    yield "# TYPE slurmhooks_health_drained gauge"
    yield sample("slurmhooks_health_drained", int(bool(state.reasons) and not state.released))
    yield "# HELP slurmhooks_health_run_timestamp_seconds When the health checks have run."
    yield "# TYPE slurmhooks_health_run_timestamp_seconds gauge"
    yield sample("slurmhooks_health_run_timestamp_seconds", f"{now:.3f}")


def write(folder: str, content: str) -> None:
    """Replace the file; its folder may belong to another user.

    Raises:
        OSError: it cannot be written; the old one stays.
    """
    new = f"{folder}/.{FILE}.{posix.urandom(8).hex()}"  # never an existing file or link
    descriptor = posix.open(new, posix.O_WRONLY | posix.O_CREAT | posix.O_EXCL | posix.O_CLOEXEC, 0o644)
    try:
        try:
            posix.fchmod(descriptor, 0o644)
            data = content.encode("utf-8", "replace")
            while data:
                data = data[posix.write(descriptor, data) :]
        finally:
            posix.close(descriptor)
        posix.rename(new, f"{folder}/{FILE}")
    except OSError:
        posix.unlink(new)
        raise
