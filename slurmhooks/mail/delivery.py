# SPDX-License-Identifier: GPL-2.0-or-later
"""Delivers mails: those of a user to the same recipients in order, and several of them at once if they are collected.

A user may name anybody as the recipient of a mail, so it keeps no mail of another user waiting.
"""

from __future__ import annotations

import json
import time
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from slurmhooks.files import durable, regular
from slurmhooks.handover.calls import read
from slurmhooks.handover.process import CallDelivery
from slurmhooks.handover.records import record_of
from slurmhooks.hooks.terms import seconds
from slurmhooks.jobcomp.delivery import UNREADABLE
from slurmhooks.log import log
from slurmhooks.mail.model import Mail, addresses, digest

if TYPE_CHECKING:
    from collections.abc import Mapping

    from slurmhooks.config.controller import Mail as Section
    from slurmhooks.handlers.registry import Handler, Registry
    from slurmhooks.jobcomp.segment import Record
    from slurmhooks.jobcomp.spool import Spool

TOLD = "told.json"
"""The file with what the log need not repeat: for each, when it was told, in seconds since the epoch."""
REPEAT = 86400.0
"""Seconds after which the log has the same again."""
MOST = 1000
"""Users with recipients in the file."""
LONGEST = 200
"""Characters of each: users may write a hundred thousand."""


class MailDelivery(CallDelivery):
    """Delivers the mails of a spool."""

    seconds = 10.0
    interval = 1.0

    def __init__(self, spool: Spool, registry: Registry, section: Section) -> None:
        super().__init__(spool, registry, section)
        length = seconds(section.digest)
        self._digest = length if isinstance(length, int) else 0
        self._longest = max(self._longest, self._digest)
        self._followers: list[Record] = []  # what is delivered with the record of this turn

    def _order(self, message: bytes) -> tuple[str, ...]:
        arguments, environment = read(message)
        return (" ".join((environment.get("SLURM_JOB_USER", ""), *addresses(arguments[-1].lower()))),)

    def _due(self, record: Record) -> float:
        if record.tries or record.hurried:
            return record.due
        return max(record.due, record.frame.time / 1e9 + self._digest)

    def _arguments(self, record: Record) -> dict[str, object] | str:
        first = Mail.of(record.segment.message(record.frame))
        self._followers, mails = [], [first]
        for other in self._spool.records() if self._digest else ():
            if other is record or other.passed != record.passed or self._keys(other) != self._keys(record):
                continue
            with suppress(*UNREADABLE):
                mails.append(Mail.of(other.segment.message(other.frame)))
                self._followers.append(other)
        mail = digest(tuple(mails), lambda text: self._tell(record, "recipients", text))
        needs_record = any("record" in handler.names for handler in self._handlers(record))
        return {"mail": mail, "record": record_of(mail.job_id) if needs_record else None}

    def _run(self, record: Record, handler: Handler, *more: Any) -> None:
        super()._run(record, handler, *more)
        if handler.label in record.passed:
            for other in self._followers:
                other.segment.note(other, "passed", handler.label)

    def _end(self, record: Record, refused: Mapping[str, str] | None = None) -> None:
        super()._end(record, refused)
        followers, self._followers = self._followers, []
        delivered = 0
        for other in followers:
            if not self._handlers(other):
                other.segment.note(other, "done")
                delivered += 1
            elif record.frame.position not in record.segment.records:
                other.reasons, other.tries = dict(record.reasons), record.tries
                self._bury(other)
        if delivered:
            self.counts.add(record.frame.hook, "delivered", delivered)

    def _tell(self, record: Record, about: str, text: str) -> None:
        """Log something once a day for the same recipients: an array may have thousands of mails to a wrong address."""
        now, told = time.time(), dict[str, float]()
        path = self._spool.folder / TOLD
        with suppress(OSError, AttributeError, *UNREADABLE):
            told = {str(key): float(at) for key, at in json.loads(regular.read(path)).items()}
        key = " ".join([about, *map(str, self._keys(record))])[:LONGEST]
        if now - REPEAT < told.get(key, 0.0) <= now:
            return
        super()._tell(record, about, f"{text} (the same is not logged again for a day)")
        kept = dict(sorted({**told, key: now}.items(), key=lambda item: item[1])[-MOST:])
        try:
            durable.write(path, json.dumps(kept).encode(), sync=False)
        except OSError as error:
            log.error("%s: %s", path, error)
