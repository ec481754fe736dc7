# SPDX-License-Identifier: GPL-2.0-or-later
"""What workers serve for job_submit: one request of slurmctld at a time, as SlurmUser (slurmhooks.worker.service)."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

from slurmhooks import loader
from slurmhooks.job_submit import model
from slurmhooks.job_submit.subject import Subject
from slurmhooks.job_submit.users import Facts, Users
from slurmhooks.slurmctld import source
from slurmhooks.slurmctld.call import about_record
from slurmhooks.slurmctld.service import PointService, load_point
from slurmhooks.slurmctld.source import Asking, Struct
from slurmhooks.wire.message import answer

if TYPE_CHECKING:
    from collections.abc import Callable, Container
    from pathlib import Path

    from slurmhooks.config import Config
    from slurmhooks.dispatch import Outcome
    from slurmhooks.job_submit.model import Job
    from slurmhooks.registry import Registry
    from slurmhooks.slurmctld.binding import Computations
    from slurmhooks.watch import Watch
    from slurmhooks.wire.message import Message, Raw
    from slurmhooks.wire.tables import Tables
    from slurmhooks.worker.service import Query, Settings

HOOKS = ("job_submit", "job_modify")
"""Hooks by their numbers in a request."""


class Views(source.Views):
    """Adds the class of requests.

    Attributes:
        job: the class of requests.
    """

    def __init__(
        self, tables: Tables, of_job: Computations | None = None, of_record: Computations | None = None
    ) -> None:
        """Bind the classes.

        Args:
            tables: of the build.
            of_job: the functions of a request's fields that are no members; by default slurmctld's and the system's.
            of_record: likewise, of a record's.
        """
        super().__init__(tables, of_record)
        if of_job is None:
            users = Facts() if self.private else Users()
            of_job = {name: getattr(users, name) for name in dir(users) if not name.startswith("_")}
        self.job: Any = self.bound(model.Job, "job", of_job)


class Service(PointService):
    """Handlers of job_submit and job_modify."""

    def __init__(self, tables: Tables, registry: Registry, settings: Settings, views: Views | None = None) -> None:
        """Keep the handlers; tests have views of their own."""
        super().__init__(tables, registry, settings)
        self._views = Views(tables) if views is None else views

    def start(self) -> None:
        """Run the ``job_submit.init`` handlers; see PointService."""
        super().start()
        self._without_user("job_submit.init")

    def stop(self) -> None:
        """Run the ``job_submit.fini`` handlers."""
        self._without_user("job_submit.fini")

    def handle(self, request: bytes, query: Query) -> bytes:
        """Run the handlers of a request and return the answer.

        Raises:
            MessageError: the request is damaged, or comes from another build.
        """
        message, items, left_out = self._open(request, len(HOOKS))
        asking = source.current = Asking(self._tables, query)
        structs = [asking.struct(tag, value) for tag, value in items]
        done = self._run(message, asking, structs, left_out).encode(self._tables)
        if self.call is not None:
            self.call.request = request
        return done

    def _run(self, message: Message, asking: Asking, structs: list[Struct], left_out: set[bytes | None]) -> Message:
        hook = HOOKS[message.first]
        modify = hook == "job_modify"
        struct = structs[0]
        make = partial(self._views.job, struct, modify=modify, owner=message.third if modify else None)
        job = make()
        arguments: dict[str, Any] = {"job": job, f"{hook.removeprefix('job_')}_uid": message.second}
        record = structs[1] if len(structs) > 1 else None
        others = self._views.arguments(self._registry.wanted(hook), asking, record)
        try:
            subject = Subject(job, self._views, asking, record)
            outcome = self._call(hook, arguments | others, job, left_out, subject)
        finally:
            for view in others.values():
                view.close()
        if self.call is not None:
            self.call.number = message.second
            self.call.fresh = partial(_fresh, make)
            if len(structs) > 1:
                self.call.about = partial(self._about, structs[1])
        return self._answer(outcome, struct.written)

    def _about(self, record: Struct) -> dict[str, object]:
        """Return what the record of an update tells of its job."""
        return about_record(self._views.record(record))

    def _answer(self, outcome: Outcome, written: dict[str, Raw]) -> Message:
        texts = self._texts(outcome)
        text = "\n".join(texts).encode() if texts else None
        code = 0 if outcome.passed else self._number(outcome.code)
        return answer(self._tables["job"], code, text, written if outcome.passed else None)


def _fresh(make: Callable[[], Job], savepoint: object) -> Job:
    """Return a new view of a request as a savepoint has it."""
    job = make()
    job.rollback(savepoint)
    return job


def load(watch: Watch) -> Service:
    """Load what the configuration names; the function that slurmctld's plugin names to the supervisor.

    Raises:
        ConfigError: the configuration is wrong.
        LoadError: a hook file is, or needs what this build does not have.
    """
    former = watch.before.handlers if watch.before is not None else ()
    scripts = partial(named_in, former=former)
    return Service(*load_point(watch, "job_submit", HOOKS, ("job_submit.init", "job_submit.fini"), scripts))


def named_in(read: Config, path: Path, former: Container[str] = ()) -> list[loader.Source]:
    """Return what a configuration names for job_submit besides hook files: its Lua script and its ready-made rules.

    Args:
        read: the configuration.
        path: its path.
        former: names of the sources in service, which stay there if the script cannot be loaded.
    """
    sources = []
    if read.job_submit.lua is not None:
        from slurmhooks.lua import job_submit

        sources += job_submit.sources(read, path, former)
    if read.policies:
        from slurmhooks.policies import source as policies

        sources += policies.sources(read, path)
    return sources
