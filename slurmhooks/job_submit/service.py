# SPDX-License-Identifier: GPL-2.0-or-later
"""What workers serve for job_submit: one request of slurmctld at a time, as SlurmUser (slurmhooks.worker.service)."""

from __future__ import annotations

from _thread import get_ident
from contextlib import closing
from functools import partial
from typing import TYPE_CHECKING, Any

from slurmhooks import dispatch, loader
from slurmhooks.errors import LoadError
from slurmhooks.job_submit import source
from slurmhooks.job_submit.model import NEEDS_SOURCES
from slurmhooks.job_submit.source import Asking, Struct, Views
from slurmhooks.log import log
from slurmhooks.wire.message import LEFT_OUT_HANDLER, MessageError, Type, answer, decode, read_text
from slurmhooks.wire.tables import TableError, installed
from slurmhooks.worker import process
from slurmhooks.worker.channel import ALL_LENIENT, LENIENT, on_page
from slurmhooks.worker.service import Settings, load_site
from slurmhooks.worker.worker import doing

if TYPE_CHECKING:
    from collections.abc import Callable, Container, Generator
    from pathlib import Path

    from slurmhooks.config import Config
    from slurmhooks.outcome import Outcome
    from slurmhooks.registry import Handler, Registry
    from slurmhooks.watch import Watch
    from slurmhooks.wire.message import Message, Raw
    from slurmhooks.wire.tables import Tables
    from slurmhooks.worker.service import Query

PRIVATE_ARGUMENTS = frozenset({"record", "jobs", "partitions", "reservations"})
"""What needs slurmctld's private structs, and so a build with Slurm's sources."""
HOOKS = ("job_submit", "job_modify")
"""Hooks by their numbers in a request."""


class Service:
    """Handlers that were loaded from one set of files.

    Attributes:
        settings: see slurmhooks.worker.service.
    """

    def __init__(self, tables: Tables, registry: Registry, settings: Settings, views: Views | None = None) -> None:
        """Keep the handlers; tests have views of their own."""
        self.settings = settings
        self._tables = tables
        self._views = Views(tables) if views is None else views
        self._registry = registry
        self._messages: list[str] = []
        self._calling = 0  # the thread of the running call

    def start(self) -> None:
        """Take what handlers say to users, and run the ``job_submit.init`` handlers.

        Raises:
            LoadError: one failed, which ends the worker.
        """
        process.log_to_stderr(self._user)
        self._without_user("job_submit.init")

    def stop(self) -> None:
        """Run the ``job_submit.fini`` handlers."""
        self._without_user("job_submit.fini")

    def _user(self, text: str) -> None:
        """Keep a message for the user of the running call.

        A thread that a handler started may outlive its call, and the user of the next call must not read what it says.
        """
        if get_ident() == self._calling:
            self._messages.append(text)
        else:
            _log_each(log.info, "no user waits for this", text)

    def _without_user(self, hook: str) -> None:
        """Run handlers in a call that no user waits for: what they say to one goes to the log."""
        outcome = self._call(hook, {})
        for text in [*self._messages, *([outcome.text] if outcome.text else [])]:
            _log_each(log.info if outcome.passed else log.error, hook, text)
        if not outcome.passed:
            raise LoadError([f"a {hook} handler failed: {outcome.text}"])

    def _call(
        self, hook: str, arguments: dict[str, Any], job: Any = None, left_out: Container[bytes | None] = ()
    ) -> Outcome:
        """Run the handlers of a hook in a call of its own."""
        self._messages.clear()
        self._calling = get_ident()
        try:
            with closing(_watched(self._registry.handlers(hook), left_out)) as handlers:
                return dispatch.run(handlers, arguments, job)
        finally:
            self._calling = 0

    def handle(self, request: bytes, query: Query) -> bytes:
        """Run the handlers of a request and return the answer.

        Raises:
            MessageError: the request is damaged, or comes from another build.
        """
        message = decode(request, self._tables)
        if message.type != Type.REQUEST or not message.items or message.first >= len(HOOKS):
            raise MessageError("not a request")
        asking = source.current = Asking(self._tables, query)
        structs = [asking.struct(tag, value) for tag, value in message.items if tag != LEFT_OUT_HANDLER]
        left_out = {read_text(value) for tag, value in message.items if tag == LEFT_OUT_HANDLER}
        return self._run(message, asking, structs, left_out).encode(self._tables)

    def _run(self, message: Message, asking: Asking, structs: list[Struct], left_out: set[bytes | None]) -> Message:
        hook = HOOKS[message.first]
        modify = hook == "job_modify"
        struct = structs[0]
        job = self._views.job(struct, modify=modify, owner=message.third if modify else None)
        arguments: dict[str, Any] = {"job": job, f"{hook.removeprefix('job_')}_uid": message.second}
        wanted = self._registry.wanted(hook) & PRIVATE_ARGUMENTS
        others = {name: self._argument(name, asking, structs) for name in wanted}
        try:
            outcome = self._call(hook, arguments | others, job, left_out)
        finally:
            for view in others.values():
                view.close()
        return self._answer(outcome, struct.written)

    def _argument(self, name: str, asking: Asking, structs: list[Struct]) -> Any:
        if name != "record":
            return getattr(self._views, name)(asking)
        if len(structs) < 2:
            raise MessageError("an update without its record")
        return self._views.record(structs[1])

    def _answer(self, outcome: Outcome, written: dict[str, Raw]) -> Message:
        texts = [*self._messages, *([outcome.text] if outcome.text else [])]
        text = "\n".join(texts).encode() if texts else None
        code = 0 if outcome.passed else self._number(outcome.code)
        return answer(self._tables["job"], code, text, written if outcome.passed else None)

    def _number(self, code: str | int | None) -> int:
        """Return the number of a code; the general one if this release does not know it. Never success."""
        known = self._tables.constants["ESLURM"]
        if isinstance(code, str):
            if code not in known:
                log.error("Reject(code=%r): this release of Slurm has no such code", code)
            code = known.get(code)
        return int(code) if code else known["SLURM_ERROR"]


def _watched(handlers: tuple[Handler, ...], left_out: Container[bytes | None]) -> Generator[Handler]:
    """Say which handler runs, for the process that may have to end it.

    Args:
        handlers: of one hook.
        left_out: as status pages have them, the names of those that are not to run. They ended a worker that may have
            had other files: what must not fail is not left out.
    """
    every = ALL_LENIENT if all(handler.lenient for handler in handlers) else 0
    try:
        for handler in handlers:
            if not handler.lenient or on_page(handler.label) not in left_out:
                doing(handler.label, every | (LENIENT if handler.lenient else 0), handler.timeout)
                yield handler
    finally:
        # Also after a refusal: what ends the worker from here on must not count as the handler's own end.
        doing("")


def _log_each(write: Callable[..., None], what: str, text: str) -> None:
    for line in text.split("\n"):
        write("%s: %s", what, line)


def load(watch: Watch) -> Service:
    """Load what the configuration names; the function that slurmctld's plugin names to the supervisor.

    Raises:
        ConfigError: the configuration is wrong.
        LoadError: a hook file is, or needs what this build does not have.
    """
    tables = _tables()
    hooks = (*HOOKS, "job_submit.init", "job_submit.fini")
    former = watch.before.handlers if watch.before is not None else ()
    scripts = partial(_scripts, former=former)
    read, registry = load_site(watch, lambda registry: _check(registry, tables), scripts, hooks)
    settings = Settings.of(read)
    for handler in (handler for hook in HOOKS for handler in registry.handlers(hook)):
        if handler.timeout is not None and handler.timeout > settings.timeout:
            log.error(
                "%s: handler %s: timeout=%g is never reached: [job_submit] timeout = %g ends it before",
                *(handler.where, handler.label, handler.timeout, settings.timeout),
            )
    return Service(tables, registry, settings)


def _tables() -> Tables:
    """Return the tables of the plugin that this process serves.

    Raises:
        LoadError: they cannot be read, or nobody serves a plugin here.
    """
    try:
        tables = installed()
    except TableError as error:
        raise LoadError([str(error)]) from None
    if tables is None:
        raise LoadError(["the folder of the plugin is not known: slurmctld's plugin has to start this process"])
    return tables


def _scripts(read: Config, path: Path, former: Container[str]) -> list[loader.Source]:
    if read.job_submit.lua is None:
        return []
    from slurmhooks.lua import job_submit

    return job_submit.sources(read, path, former)


def _check(registry: Registry, tables: Tables) -> list[str]:
    """Return the handlers that this build cannot serve, each with the way to mend it."""
    if "record" in tables:
        return []
    return [
        f"{handler.where}: handler {handler.label} takes {', '.join(missing)}: {NEEDS_SOURCES}"
        for hook in HOOKS
        for handler in registry.handlers(hook)
        if (missing := sorted(PRIVATE_ARGUMENTS.intersection(handler.names)))
    ]
