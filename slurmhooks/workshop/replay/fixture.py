# SPDX-License-Identifier: GPL-2.0-or-later
"""A recording of ``slurmhooks record`` as a fixture of tests.

    from slurmhooks.replay.fixture import compare

    def test_last_month_is_decided_as_it_was() -> None:
        assert compare("month.recording", "hooks.d/limits.py").same

:func:`replay` gives the requests one by one. If other people can read the file, for example in a repository, consider
what it reveals about users.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

from slurmhooks.job_submit import request as submitted
from slurmhooks.slurmctld.asking import Asking
from slurmhooks.wire.message import decode
from slurmhooks.wire.protocol import Type
from slurmhooks.workshop.recorded import Contents
from slurmhooks.workshop.replay import clock, hooks, run
from slurmhooks.workshop.replay.answers import Answers, Snapshots
from slurmhooks.workshop.replay.convert import Conversions
from slurmhooks.workshop.replay.engine import Engine, Reader, notes_of
from slurmhooks.workshop.replay.views import views_of
from slurmhooks.workshop.testing.tables import tables_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from slurmhooks.job_submit.model import Job
    from slurmhooks.recording.request import Recorded
    from slurmhooks.workshop.replay.engine import Decision
    from slurmhooks.workshop.replay.report import ReplayReport

    Path = str | os.PathLike[str]


def compare(
    recording: Path, new: Path, old: Path | None = None, *, release: str | None = None, **options: Any
) -> ReplayReport:
    """Compare what hooks decide about recorded requests with what was decided; see ``slurmhooks replay``.

    Args:
        recording: the file.
        new: a hook file, a folder of hook files, or a slurmhooks.toml or its folder.
        old: the old hooks, in the same forms; by default the recorded answers are the old decisions.
        release: release of Slurm to replay for, such as "26.05"; by default that of the recording.
        options: see slurmhooks.workshop.replay.run.Options.

    Returns:
        the differences; ``report.same`` tells whether there are none.

    Raises:
        RecordingError: the file is not a recording, or is damaged.
        ReplayError: the hooks do not load.
    """
    tables = None if release is None else tables_of(release)
    fd = os.open(recording, os.O_RDONLY | os.O_CLOEXEC)
    try:
        before = None if old is None else os.fspath(old)
        return run.replay(fd, run.Options(os.fspath(new), before, tables, **options))
    finally:
        os.close(fd)


def replay(recording: Path, *, release: str | None = None) -> Iterator[PlayedRequest]:
    """Yield the requests of a recording.

    Args:
        recording: the file.
        release: see :func:`compare`.

    Raises:
        RecordingError: the file is not a recording, or is damaged.
    """
    fd = os.open(recording, os.O_RDONLY | os.O_CLOEXEC)
    try:
        contents = Contents(fd)
        played = _Recording(contents, release)
        for offset in contents.offsets:
            for request in contents.requests(offset):
                yield PlayedRequest(played, played.conversions.request(request))
    finally:
        os.close(fd)


class _Recording:
    """The common data of the requests of a recording."""

    def __init__(self, contents: Contents, release: str | None) -> None:
        self.tables = contents.newest() if release is None else tables_of(release)
        self.conversions = Conversions(contents, self.tables)
        snapshots = Snapshots(self.tables, self.conversions.rows())
        self.answers = Answers(self.tables, snapshots, self.conversions.facts(), contents.users)
        self.reader = Reader(self.tables)
        self.views = views_of(self.tables, self.answers)
        self._engines: dict[str, Engine] = {}

    def engine(self, path: str) -> Engine:
        """Return the engine for hooks, which are loaded once."""
        if path not in self._engines:
            registry, settings = hooks.load(path, self.tables)
            self._engines[path] = Engine(self.tables, registry, self.answers, settings=settings)
        return self._engines[path]


class PlayedRequest:
    """A recorded request.

    Attributes:
        hook: name of the hook.
        id: as in the decision log.
        time: when it was received, in seconds since the epoch.
        decision: the recorded decision: ``verdict``, ``code``, ``text``, and the label of the handler that ``decided``.
    """

    def __init__(self, played: _Recording, request: Recorded) -> None:
        self._played = played
        self._request = request
        self.hook = request.hook
        self.id = request.id
        self.time = request.time
        bugs = [(label, "recorded") for label in request.bugs]
        self.decision: Decision = played.reader.read(request.answer, decided=request.decided, bugs=bugs)

    @property
    def job(self) -> Job:
        """The request as a handler sees it. Reading what was not recorded raises NotRecordedError."""
        self._played.answers.begin(self._request)
        message = decode(self._request.request, self._played.tables)
        assert message.type == Type.REQUEST
        asking = Asking(self._played.tables, self._played.answers, sparse=False)
        structs = [asking.struct(*item) for item in message.items]
        return submitted.RequestStructs(message[1:4], self._played.views, asking, structs).job()

    def run(self, path: Path) -> Decision:
        """Run hooks over the request, and return their decision.

        Args:
            path: see :func:`compare`. The files are loaded once for all requests of a replay, in this process.

        Raises:
            LoadError: the hooks do not load.
        """
        with clock.installed():
            engine = self._played.engine(os.fspath(path))
            with engine.running():
                answer, notes = engine.run(self._request)
        return self._played.reader.read(answer, **notes_of(notes))

    def __repr__(self) -> str:
        """Show which request it is, and what was decided."""
        return f"<{self.hook} request {self.id}: {self.decision.verdict}>"
