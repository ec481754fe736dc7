# SPDX-License-Identifier: GPL-2.0-or-later
"""What the services of all slurmctld plugins have in common: they run handlers, and hand finished calls on.

slurmhooks.worker.interface says what a worker expects of a service; each plugin point has its own, such as
slurmhooks/job_submit/service.py; slurmhooks/entry/worker_handlers.py loads its handlers.
"""

from __future__ import annotations

import os
import time
from _thread import get_ident
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar

from slurmhooks.collector import reporting
from slurmhooks.handlers import dispatch
from slurmhooks.hooks.points import HOOKS, POINTS
from slurmhooks.hooks.rollout import OBSERVE
from slurmhooks.log import heard, log
from slurmhooks.processes import stderr_log
from slurmhooks.processes.settings import Settings
from slurmhooks.slurmctld import PRIVATE_ARGUMENTS, every
from slurmhooks.slurmctld.around import InWorker, OfHook
from slurmhooks.slurmctld.call import Call
from slurmhooks.slurmctld.decision import Decisions
from slurmhooks.slurmctld.notices import Notices
from slurmhooks.slurmctld.observation import Observation
from slurmhooks.wire.message import MessageError, fields, read_text
from slurmhooks.wire.protocol import EXCLUDED_HANDLER, Type

if TYPE_CHECKING:
    from collections.abc import Callable, Container

    from slurmhooks.handlers.dispatch import Outcome
    from slurmhooks.handlers.registry import Handler, Registry
    from slurmhooks.hooks.rollout import Subject
    from slurmhooks.wire.tables import Tables
    from slurmhooks.worker.interface import Progress, Query, Turns

NO_USER = "no user waits for this"
_REQUEST = Type.REQUEST  # in Python 3.11, each look-up in an enumeration takes long


class PointService:
    """Handlers of one plugin, loaded from one set of files.

    Attributes:
        point: the plugin point, one of POINTS.
        settings: see slurmhooks.worker.interface.
        followers: functions that get every call after its answer has been sent.
        call: a finished call, until :meth:`after` hands it to the followers.
    """

    point: ClassVar[str]

    def __init__(self, tables: Tables, registry: Registry, settings: Settings) -> None:
        self.settings = settings
        self._tables = tables
        self._registry = registry
        self._refuses_all = settings.rules.refusals == "all"
        self._rule_ids = settings.rules.rule_ids
        self._wanted = {hook: PRIVATE_ARGUMENTS.intersection(registry.wanted(hook)) for hook in HOOKS}
        self._of_hooks = {hook: OfHook.of(*registry.handlers(hook)) for hook in HOOKS}
        self.followers: list[Callable[[Call], None]] = []
        self.call: Call | None = None
        self._started = False
        self._loaded = time.time()

    @property
    def observes(self) -> bool:
        """Whether some handlers run after the answer."""
        return any(
            handler.rollout is not None and handler.rollout.may_be(OBSERVE)
            for handler in self._own()
            if not handler.spec.is_periodic
        )

    @property
    def repeats(self) -> bool:
        """Whether some handlers run periodically."""
        return any(handler.spec.is_periodic for handler in self._own())

    def _own(self) -> list[Handler]:
        """Return the handlers of this plugin; the files may have some of others, whose processes run them."""
        return [handler for spec in POINTS[self.point].hooks for handler in self._registry.handlers(spec.name)]

    def repeat(self, query: Query, turns: Turns) -> None:
        """Run the periodic handlers; see slurmhooks.worker.interface."""
        handlers = self._registry.handlers("every")
        every.Rules(self._tables, handlers, self.settings.hooks, self._loaded).run(query, turns)

    def observed_by(self, send: Callable[[bytes], object]) -> None:
        """Let ``send`` get each request that handlers observe, before other followers get it."""

        def follow(call: Call) -> None:
            if call.observers and not call.observed:
                places = self._registry.handlers(call.hook)
                seen = [(places.index(handler), savepoint) for handler, savepoint in call.observers]
                send(Observation(call.id, call.time, call.request, call.members, seen).pack())

        Observation("", 0.0, b"", {}, []).pack()  # imports modules, before a handler leaves no way to do so
        self.followers.insert(0, follow)

    def observe(self, data: bytes, query: Query, progress: Progress) -> None:
        """Run handlers after the answer; called only at plugin points whose hooks have modes."""
        raise NotImplementedError

    def start(self) -> None:
        """Capture messages of handlers to users, and report decisions if the collector wants them.

        Raises:
            LoadError: a handler that runs when a worker starts has failed; this ends the worker.
        """
        stderr_log.attach(partial(log_each, log.info, NO_USER))
        self._started = True  # the stand-ins, which hear messages to users themselves, do not start it
        reporter, collect = reporting.reporter, self.settings.collect
        if reporter is not None and collect:
            follower = Decisions(reporter, tuple(collect["include"]), self.settings.hooks, self._tables)
            self.followers.append(follower.follow)

    def after(self) -> None:
        """Hand the last call to the followers."""
        call, self.call = self.call, None
        if call is not None:
            os.sched_yield()  # let the thread that waits for the answer run first, even on a busy machine
            call.id = os.urandom(6).hex()
            self._follow(call)

    def _follow(self, call: Call) -> None:
        """Hand a call to the followers; those of stand-ins keep it."""
        for follow in self.followers:
            follow(call)
        if self._started:
            call.release()

    def stop(self) -> None:
        """Clean up."""

    def _call(
        self,
        hook: str,
        arguments: dict[str, Any],
        view: Any = None,
        excluded: Container[bytes | None] = (),
        subject: Callable[..., Subject] | None = None,
        sender: int | None = None,
        reader: Callable[[Any], int] | None = None,
    ) -> tuple[Outcome, list[str]]:
        """Run the handlers of a hook in a call of its own; return the outcome, and what they told the user besides it.

        For ``excluded`` and ``subject`` see InWorker. ``sender`` is the user id of who reads messages, if there is one.
        ``reader`` tells who reads notices, from the view, see Notices; None: the hook has none.
        """
        messages: list[str] = []
        call, of_hook = Call(hook, view), self._of_hooks[hook]
        notices = None
        if of_hook.has_notices and reader is not None and self.settings.rules.notices == "daily":
            notices = Notices(messages, sender, partial(reader, view))
        around = InWorker(
            of_hook,
            call,
            excluded,
            view=view,
            subject=subject,
            notices=notices,
            refuse_all=self._refuses_all,
            rule_ids=self._rule_ids,
        )
        unheard = log.divert(partial(_keep, messages, get_ident())) if self._started else None
        try:
            outcome = dispatch.run(of_hook.handlers, arguments, view, around)
        finally:
            if self._started:
                log.divert(unheard)
        if notices is not None:
            notices.read()
        messages = heard(messages, outcome.passed)
        call.end(outcome, texts_of(outcome, messages))
        self.call = call if self.followers else None
        if self.call is None:
            call.release()
        return outcome, messages

    def _without_user(self, hook: str) -> Outcome:
        """Run handlers in a call that no user waits for: their messages to the user are logged."""
        outcome, messages = self._call(hook, {})
        for text in texts_of(outcome, messages):
            log_each(log.info if outcome.passed else log.error, hook, text)
        return outcome

    def _open(
        self, request: bytes, hooks: int
    ) -> tuple[tuple[int, int, int], list[tuple[int, bytes]], set[bytes | None]]:
        """Return the hook, sender and owner of a request, see Message; its structs; and the excluded handlers.

        ``hooks`` is how many the plugin has; the request's first number is one of them.

        Raises:
            MessageError: it is damaged, or comes from another build.
        """
        kind, hook, sender, owner, parts = fields(request, self._tables)
        if kind != _REQUEST or not parts or hook >= hooks:
            raise MessageError("not a request")
        structs: list[tuple[int, bytes]] = []
        excluded: set[bytes | None] = set()
        for item in parts:
            if item[0] == EXCLUDED_HANDLER:
                excluded.add(read_text(item[1]))
            else:
                structs.append(item)
        return (hook, sender, owner), structs, excluded

    def _number(self, code: str | int | None) -> int:
        """Return the number of a code, or of the general error if this release lacks the code. Never success."""
        codes = self._tables.constants["ESLURM"]
        if isinstance(code, str):
            if code not in codes:
                log.error("Reject(code=%r): this release of Slurm has no such code", code)
            code = codes.get(code)
        return int(code) if code else codes["SLURM_ERROR"]


def _keep(messages: list[str], thread: int, text: str) -> None:
    """Keep a message for the user of a call.

    A thread that a handler started may outlive its call; the user of the next call must not read its messages.
    """
    if get_ident() == thread:
        messages.append(text)
    else:
        log_each(log.info, NO_USER, text)


def texts_of(outcome: Outcome, messages: list[str]) -> list[str]:
    """Return all that the user of a call is told."""
    return [*messages, outcome.text] if outcome.text else messages


def log_each(write: Callable[..., None], what: str, text: str) -> None:
    """Write each line of a text to the log."""
    for line in text.split("\n"):
        write("%s: %s", what, line)
