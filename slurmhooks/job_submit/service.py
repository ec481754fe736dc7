# SPDX-License-Identifier: GPL-2.0-or-later
"""The service of job_submit's workers: handles one request of slurmctld at a time (slurmhooks.worker.interface)."""

from __future__ import annotations

import re
from functools import partial
from itertools import starmap
from typing import TYPE_CHECKING

from slurmhooks.errors import LoadError, StaleHandleError
from slurmhooks.fields.rows import release_of
from slurmhooks.handlers import dispatch
from slurmhooks.job_submit.observing import observe
from slurmhooks.job_submit.request import HOOKS, RequestStructs
from slurmhooks.job_submit.views import Views
from slurmhooks.log import coloured
from slurmhooks.slurmctld.asking import begin
from slurmhooks.slurmctld.call import Call
from slurmhooks.slurmctld.capture import Recording
from slurmhooks.slurmctld.notices import NO_READER, READER, SOME_READER
from slurmhooks.slurmctld.observation import Observation, deferred, late
from slurmhooks.slurmctld.point_service import PointService, texts_of
from slurmhooks.wire.message import MessageError, answer
from slurmhooks.wire.protocol import DEFERRED
from slurmhooks.worker import accepted

if TYPE_CHECKING:
    from collections.abc import Callable

    from slurmhooks.handlers.dispatch import Outcome
    from slurmhooks.handlers.registry import Registry
    from slurmhooks.job_submit.model import Job
    from slurmhooks.job_submit.subject import Subject
    from slurmhooks.processes.settings import Settings
    from slurmhooks.slurmctld.asking import Struct
    from slurmhooks.wire.tables import Tables
    from slurmhooks.worker.interface import Progress, Query

REFUSED = "ESLURM_ACCESS_DENIED"
"""The code of a refusal whose handler gives none."""
NAMES = ("account", "partition", "qos", "reservation")
"""The members with lists of names, each of which can cost a question to slurmctld."""
LONGEST_NAMES = 1024
"""The most bytes of one of these that Slurm accepts: _test_job_desc_fields() of job_mgr.c, after the plugin."""
TELLS_UPDATES = (23, 2)
"""The first release in which a text about an update reaches its user; before, it goes to slurmctld's log."""
MEMBERS = 16 << 20
"""Maximum bytes of a request's long members, such as its script, that observing handlers can read."""
PARSABLE = re.compile(r"--pars(a(b(le?)?)?)?")
TEST_ONLY = re.compile(r"--te(s(t(-(o(n(ly?)?)?)?)?)?)?")
"""The options, also abbreviated as getopt_long() permits."""
TEST_MARK = b"--te"
"""A request that does not contain this does not give TEST_ONLY."""
_DIRECTIVE = re.compile(r"^#SBATCH\s(.*)$", re.MULTILINE)


class Service(PointService):
    """Handlers of job_submit and job_modify."""

    point = "job_submit"

    def __init__(self, tables: Tables, registry: Registry, settings: Settings, views: Views | None = None) -> None:
        """Store the handlers; tests pass views of their own."""
        super().__init__(tables, registry, settings)
        self._views = Views(tables) if views is None else views
        self._recording = Recording(tables, settings.hooks, self.followers)
        self._subject: Callable[..., Subject] | None = None
        if any(each.has_modes for each in self._of_hooks.values()):
            from slurmhooks.job_submit.subject import Subject  # takes long to import, and only modes need it

            self._subject = Subject

    def start(self) -> None:
        """Run the ``job_submit.init`` handlers; see PointService."""
        super().start()
        outcome = self._without_user("job_submit.init")
        if not outcome.passed:
            raise LoadError([f"a job_submit.init handler failed: {outcome.text}"])

    def stop(self) -> None:
        """Run the ``job_submit.fini`` handlers; their failures are only logged, because this worker is done."""
        self._without_user("job_submit.fini")

    def handle(self, request: bytes, query: Query) -> bytes:
        """Run the handlers of a request and return the answer.

        Raises:
            MessageError: the request is damaged, or comes from another build.
        """
        return self._recording.around(request, query, self._handle)

    def _handle(self, request: bytes, query: Query) -> bytes:
        numbers, items, excluded = self._open(request, len(HOOKS))
        sparse = self._views.sparse and not self._recording.running
        asking = begin(self._tables, query, steady=True, sparse=sparse)
        structs = list(starmap(asking.struct, items))
        submitted = RequestStructs(numbers, self._views, asking, structs)
        done = self._run(submitted, excluded)
        call = self.call
        if call is not None:
            _describe(submitted, call)
            call.request = request
            if call.observers:
                call.members = deferred(structs, MEMBERS)  # slurmctld no longer has these members after the answer
        return done

    def observe(self, data: bytes, query: Query, progress: Progress) -> None:
        """Run the observing handlers, each on the request as it was at its turn; see slurmhooks.worker.interface."""
        observation = Observation.of(data)
        numbers, items, _ = self._open(observation.request, len(HOOKS))
        hook, sender, owner = numbers
        query = late(query, sender, owner, modify=hook == HOOKS.index("job_modify"))
        asking = begin(self._tables, query, sparse=self._views.sparse)
        structs = [
            asking.struct(tag, value, partial(observation.member, number)) for number, (tag, value) in enumerate(items)
        ]
        request = RequestStructs(numbers, self._views, asking, structs)
        handlers = self._registry.handlers(request.hook)
        call = observe(request, observation, progress, handlers, self.settings.section.timeout)
        _describe(request, call)
        self._follow(call)

    def _run(self, request: RequestStructs, excluded: set[bytes | None]) -> bytes:
        job = request.job()
        messages: list[str] = []
        long = next((name for name in NAMES if _is_too_long(request.structs[0], name)), None)
        if long is not None:
            outcome = self._refused(request.hook, job, long)
        else:
            arguments = request.arguments(job, self._wanted[request.hook])
            passed = False
            try:
                outcome, messages = self._call(
                    request.hook, arguments, job, excluded, self._subject, request.sender, _reader
                )
                passed = outcome.passed
            finally:
                request.close_records()
                if accepted.shared is not None:
                    accepted.shared.settle(passed=passed)
        texts = texts_of(outcome, messages)
        reaches_user = request.hook == "job_submit" or release_of(job._release) >= TELLS_UPDATES
        text = "\n".join(map(coloured, texts) if reaches_user else texts).encode() or None
        code = 0 if outcome.passed else self._number(_code(outcome))
        try:
            return answer(self._tables, code, text, request.structs[0].written if outcome.passed else None)
        except ValueError as error:  # it is too long
            line, error_id = dispatch.report_bug(f"the answer of the {request.hook} handlers", error)
            if self.call is not None:
                self.call.end(dispatch.Outcome(passed=False, text=line, error_id=error_id), [line])
            return answer(self._tables, self._number(None), line.encode())

    def _refused(self, hook: str, job: Job, name: str) -> dispatch.Outcome:
        """Refuse, before any handler runs, what Slurm refuses anyway."""
        text = f"{name} is longer than {LONGEST_NAMES} bytes, the most that Slurm accepts"
        outcome = dispatch.Outcome(passed=False, code="ESLURM_PATHNAME_TOO_LONG", text=text)
        if self.followers:
            self.call = Call(hook, job)
            self.call.end(outcome, [text])
        job.close()
        return outcome


def _describe(request: RequestStructs, call: Call) -> None:
    """Set what followers of a call need to know of its request; see Call."""
    call.sender, call.fresh, call.structs = request.sender, request.fresh, request.structs
    call.about = partial(_of_update if request.hook == "job_modify" else _of_submission, request)


def _is_too_long(struct: Struct, name: str) -> bool:
    """Tell whether Slurm refuses a list of names because of its length; slurmctld defers only longer texts."""
    slot = struct.slots[struct.table.places[name]]
    return slot == DEFERRED or slot >> 32 > LONGEST_NAMES + 1  # with its NUL


def _code(outcome: Outcome) -> str | int | None:
    """Return the code of a refusal.

    Callers that show no texts (slurmrestd, scrontab, libslurm's bindings) show what the code means. For a refusal
    without a code, that of the general failure would only say "Unspecified error", as it does after a bug.
    """
    return REFUSED if outcome.code is None and outcome.error_id is None else outcome.code


def _reader(job: Job) -> int:
    """Tell who reads notices; see slurmhooks.slurmctld.notices."""
    if gives(job, PARSABLE):
        return NO_READER
    return READER if job._modify or job.interactive else SOME_READER


def _of_submission(request: RequestStructs) -> dict[str, object]:
    """Return what the command line of a submission says about it: whether it is only a test, as far as one can see."""
    struct = request.structs[0]
    may_be = struct.contains("submit_line", TEST_MARK) or struct.contains("script", TEST_MARK)
    return {"test_only": True} if may_be and gives(request.job(), TEST_ONLY) else {}


def _of_update(request: RequestStructs) -> dict[str, object]:
    """Return what an update asks for, as NAME=VALUE; after the answer, so that its imports cost nobody time."""
    from slurmhooks.job_submit.updates import asked

    return {"asks": asked(request.job())}


def gives(job: Job, option: re.Pattern[str]) -> bool:
    """Tell whether the command line, or a line ``#SBATCH`` of the script, has an option without a value.

    ``submit_line`` has the words of the command, separated by spaces and without quotes, so words with spaces cannot be
    told from several words. A user may send any text: nothing that is forbidden may depend on it.

    ``option`` matches the option and its abbreviations.
    """
    return any(option.fullmatch(word) for words in (_options, _directives) for word in _known(words, job))


def _known(words: Callable[[Job], list[str]], job: Job) -> list[str]:
    """Return words; none if the text was too long to be sent with the request, and slurmctld no longer answers."""
    try:
        return words(job)
    except (StaleHandleError, MessageError):
        return []


def _directives(job: Job) -> list[str]:
    """Return the words of the lines of the script that sbatch reads."""
    return [word for text in _DIRECTIVE.findall(job.script or "") for word in text.partition(" #")[0].split()]


def _options(job: Job) -> list[str]:
    """Return the words of the command line in front of the script, or the program, and its arguments."""
    line, words = job.submit_line or "", list(job.argv)
    after = " ".join(words[1:])
    if words and after and line.endswith(f" {after}"):
        line = line[: -len(after) - 1]
    return line.split()[1:]
