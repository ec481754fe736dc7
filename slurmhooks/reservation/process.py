# SPDX-License-Identifier: GPL-2.0-or-later
"""The process that delivers the start and the end of reservations."""

from __future__ import annotations

from typing import TYPE_CHECKING

from slurmhooks.handover.calls import read
from slurmhooks.handover.process import CallDelivery, main

if TYPE_CHECKING:
    from slurmhooks.jobcomp.segment import Record


class ReservationDelivery(CallDelivery):
    """Delivers the calls of a spool, in order for each reservation."""

    def _order(self, message: bytes) -> tuple[str, ...]:
        return (read(message)[0][0],)

    def _arguments(self, record: Record) -> dict[str, object] | str:
        (name, *_), _ = read(record.segment.message(record.frame))
        return {"reservation": name}


if __name__ == "__main__":
    main(ReservationDelivery)
