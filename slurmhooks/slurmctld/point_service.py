# SPDX-License-Identifier: GPL-2.0-or-later
"""What the services of all slurmctld plugins have in common: they run handlers, and hand finished calls on.

slurmhooks.worker.interface says what a worker expects of a service; each plugin point has its own, such as
slurmhooks/job_submit/service.py; slurmhooks/entry/worker_handlers.py loads its handlers.
"""

from __future__ import annotations

import os
from _thread import get_ident
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar

from slurmhooks.collector import reporting
from slurmhooks.handlers import dispatch
from slurmhooks.hooks.points import HOOKS, POINTS
from slurmhooks.hooks.rollout import OBSERVE
from slurmhooks.log import log
from slurmhooks.processes import stderr_log
from slurmhooks.processes.settings import Settings
from slurmhooks.slurmctld import PRIVATE_ARGUMENTS, every
from slurmhooks.slurmctld.around import InWorker, OfHook
from slurmhooks.slurmctld.call import Call
from slurmhooks.slurmctld.decision import Decisions
from slurmhooks.slurmctld.modes import Modes
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

_REQUEST = Type.REQUEST  # in Python 3.11, each look-up in an enumeration takes long


class PointService:
    """Handlers of one plugin, loaded from one set of files.

    Attributes:
        point: the plugin point, one of POINTS.
        settings: see slurmhooks.worker.interface.
        followers: functions that get every call after its answer has been sent.
        call: the running call, or the last one; None before the first call.
        texts: the messages of the last call to its user.
    """

    point: ClassVar[str]

    def __init__(self, tables: Tables, registry: Registry, settings: Settings) -> None:
        """Store the handlers."""
        self.settings = settings
        self._tables = tables
        self._registry = registry
        self._refuses_all = settings.policy.refusals == "all"
        self._rule_ids = settings.policy.rule_ids
        self._wanted = {hook: PRIVATE_ARGUMENTS.intersection(registry.wanted(hook)) for hook in HOOKS}
        self._of_hooks = {hook: OfHook.of(registry.handlers(hook)) for hook in HOOKS}
        self.followers: list[Callable[[Call], None]] = []
        self.call: Call | None = None
        self.texts: list[str] = []
        self._messages: list[str] = []
        self._calling = 0  # the thread of the running call

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
        """Run the periodic rules; see slurmhooks.worker.interface."""
        every.Rules(self._tables, self._registry.handlers("every"), self.settings.hooks).run(query, turns)

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
        stderr_log.attach(self._user)
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
            self._describe(call)
            for follow in self.followers:
                follow(call)

    def _describe(self, call: Call) -> None:
        """Add to the last call, after its answer, what its followers need to know of its request; here nothing."""

    def stop(self) -> None:
        """Clean up."""

    def _user(self, text: str) -> None:
        """Keep a message for the user of the running call.

        A thread that a handler started may outlive its call; the user of the next call must not read its messages.
        """
        if get_ident() == self._calling:
            self._messages.append(text)
        else:
            log_each(log.info, "no user waits for this", text)

    def _call(
        self,
        hook: str,
        arguments: dict[str, Any],
        view: Any = None,
        excluded: Container[bytes | None] = (),
        subject: Callable[..., Subject] | None = None,
        sender: int | None = None,
        reader: Callable[[Any], int] | None = None,
    ) -> Outcome:
        """Run the handlers of a hook in a call of its own.

        Args:
            hook: name of the hook.
            arguments: of the handlers.
            view: the view that they can write to.
            excluded: see InWorker.
            subject: returns whose request it is, see Modes; None: the hook has no modes.
            sender: user id of who reads messages, if there is one.
            reader: tells who reads notices, from the view, see Notices; None: the hook has none.
        """
        self._messages = []
        self._calling = get_ident()
        call = Call(hook, view) if self.followers else None
        handlers, flags, has_modes, has_notices = self._of_hooks[hook]
        modes = Modes(call, view, subject) if has_modes and subject is not None else None
        notices = None
        if has_notices and reader is not None and self.settings.policy.notices == "daily":
            notices = Notices(self._messages, sender, partial(reader, view))
        around = InWorker(flags, excluded, call, modes, notices, self._refuses_all, self._rule_ids, view=view)
        try:
            outcome = dispatch.run(handlers, arguments, view, around)
        finally:
            self._calling = 0
        if notices is not None:
            notices.read()
        self.texts = [*self._messages, outcome.text] if outcome.text else self._messages
        if call is not None:
            call.end(outcome, self.texts)
            self.call = call
        return outcome

    def _without_user(self, hook: str) -> Outcome:
        """Run handlers in a call that no user waits for: their messages to the user are logged."""
        outcome = self._call(hook, {})
        for text in self.texts:
            log_each(log.info if outcome.passed else log.error, hook, text)
        return outcome

    def _open(
        self, request: bytes, hooks: int
    ) -> tuple[tuple[int, int, int], list[tuple[int, bytes]], set[bytes | None]]:
        """Return the hook, sender and owner of a request, see Message; its structs; and the excluded handlers.

        Args:
            request: the message.
            hooks: how many hooks the plugin has; the request's first number is one of them.

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


def log_each(write: Callable[..., None], what: str, text: str) -> None:
    """Write each line of a text to the log."""
    for line in text.split("\n"):
        write("%s: %s", what, line)
