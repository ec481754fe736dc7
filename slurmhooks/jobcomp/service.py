# SPDX-License-Identifier: GPL-2.0-or-later
"""The service of jobcomp's workers: each request asks for one delivery from the spool (native/jobcomp/delivery.c)."""

from __future__ import annotations

import math
from pathlib import Path
from typing import TYPE_CHECKING, cast

from slurmhooks.jobcomp.delivery import IDLE, Delivery
from slurmhooks.jobcomp.spool import Spool
from slurmhooks.jobcomp.trouble import Trouble
from slurmhooks.slurmctld.point_service import PointService
from slurmhooks.wire.message import Message, MessageError, decode, number_value, read_number, read_text
from slurmhooks.wire.protocol import WAIT, DeliveryItem, Type

if TYPE_CHECKING:
    from slurmhooks.config.controller import JobComp
    from slurmhooks.handlers.registry import Registry
    from slurmhooks.processes.settings import Settings
    from slurmhooks.wire.tables import Tables
    from slurmhooks.worker.interface import Query


class Service(PointService):
    """Handlers that were loaded from one set of files, and the spool with their records."""

    point = "jobcomp"

    def __init__(self, tables: Tables, registry: Registry, settings: Settings) -> None:
        super().__init__(tables, registry, settings)
        self._section = cast("JobComp", settings.section)
        self._deliveries: dict[str, Delivery] = {}
        self._trouble = Trouble("the spool can be used again: job_end is delivered")

    def handle(self, request: bytes, query: Query) -> bytes:
        """Deliver a record; the answer says after how many milliseconds to ask for the next one.

        Raises:
            MessageError: the request is damaged, or comes from another build.
        """
        message = decode(request, self._tables)
        items = dict(message.items)
        folder = read_text(items.get(DeliveryItem.FOLDER, b""))
        detail = read_text(items.get(DeliveryItem.DETAIL, b""))
        lane, lanes = (read_number(items.get(tag, b"")) for tag in (DeliveryItem.LANE, DeliveryItem.LANES))
        if message.type != Type.REQUEST or not folder or not lane < lanes:
            raise MessageError("not a request")
        name = folder.decode("utf-8", "surrogateescape")
        delivery = self._deliveries.get(name)
        if delivery is None:
            delivery = self._deliveries[name] = Delivery(Spool(Path(name)), self._registry, self._section)
        try:
            wait = delivery.turn(lane, lanes, None if detail is None else detail.decode("utf-8", "replace"))
        except OSError as error:
            self._trouble.note(f"the spool cannot be used, nothing is delivered: {error}", lane)
            del self._deliveries[name]  # its state in memory may differ from the files
            wait = IDLE
        else:
            self._trouble.note(None, lane)
            self.call = delivery.call if self.followers else None
        milliseconds = number_value(math.ceil(wait * 1000))
        return Message(Type.ANSWER, items=((WAIT, milliseconds),)).encode(self._tables)
