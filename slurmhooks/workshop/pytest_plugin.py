# SPDX-License-Identifier: GPL-2.0-or-later
"""The pytest plugin: fixtures that run the hooks of a site, and what a whole test run has covered.

pytest imports this module in every test run on a machine where slurmhooks is installed, so it imports nothing of
slurmhooks.testing before a test asks for one of its fixtures.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from collections.abc import Generator, Mapping, Sequence

    from slurmhooks.handlers.registry import Registry
    from slurmhooks.testing import Result
    from slurmhooks.workshop.testing.launch import Launch
    from slurmhooks.workshop.testing.runner import Given

_WATCHING = "slurmhooks.workshop.testing.watching"
_SHOWN = pytest.StashKey[list[str]]()
_OTHERS = pytest.StashKey[list[tuple[str, str, bool, bool]]]()


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add ``--hooks``."""
    parser.getgroup("slurmhooks").addoption(
        "--hooks",
        action="append",
        metavar="PATH",
        help="hook file, or folder of hook files, that the fixtures submit, srun and container run",
    )


@pytest.fixture
def hook_files(request: pytest.FixtureRequest) -> Sequence[Path]:
    """Return the hook files to test; override it in conftest.py, or give them with ``--hooks``."""
    paths = [request.config.invocation_params.dir / path for path in request.config.getoption("--hooks") or ()]
    if not paths:
        raise pytest.UsageError("no hooks to test: run pytest with --hooks PATH, or define the fixture hook_files")
    files = [file for path in paths for file in (sorted(path.glob("*.py")) if path.is_dir() else [path])]
    if not files:
        raise pytest.UsageError(f"no hook file in {', '.join(map(str, paths))}")
    return files


class Runner:
    """The common base of the fixtures: loads the handlers of all files anew for each test."""

    def __init__(self, files: Sequence[Path], shown: list[str]) -> None:
        """Load hook files; for the report of a failed test, a text is added to ``shown`` for each call."""
        from slurmhooks.entry.scripts_and_rules import of_files
        from slurmhooks.errors import LoadError
        from slurmhooks.handlers.refusals import unknown_codes
        from slurmhooks.workshop.testing.exits import no_exit

        with no_exit():
            self.registry: Registry = of_files(str(file.resolve()) for file in files).load()
        if wrong := unknown_codes([self.registry]):
            raise LoadError(wrong)
        self._shown = shown

    def _done(self, request: str, result: Result | Launch) -> None:
        lines = [request, f"{'accepted' if result.accepted else 'refused'}: {result.text or ''}".rstrip(": ")]
        lines += [f"ran: {', '.join(result.ran) or 'no handler'}"]
        lines += [f"{name} became {value!r}" for name, value in getattr(result, "changes", {}).items()]
        lines += [f"to the user: {text}" for text in result.user_messages]
        lines += [f"log: {line}" for line in result.log]
        self._shown.append("\n".join(lines))

    def _must_have(self, *hooks: str) -> None:
        if not any(self.registry.handlers(hook) for hook in hooks):
            present = dict.fromkeys(handler.spec.name for handler in self.registry.all_handlers())
            wanted = " or ".join(f"hook.{hook}" for hook in hooks)
            raise ValueError(f"no handler of {wanted}; there are handlers of: {', '.join(present) or 'nothing'}")


class Submit(Runner):
    """The fixture ``submit``."""

    def __call__(
        self,
        *options: str,
        script: str | None = None,
        uid: int | None = None,
        tables: Mapping[str, Any] | None = None,
        record: Mapping[str, Any] | None = None,
        release: str | None = None,
        command: str = "sbatch",
        **fields: Any,
    ) -> Result:
        """Run a submission through the handlers of job_submit, or an update through those of job_modify.

        Args:
            options: of the command, such as ``--time=60``; for srun and salloc also the words after its options.
            script: a batch script, whose ``#SBATCH`` lines are read; by default one of a single command.
            uid: user id of the submitter; by default that of the job.
            tables: tables of slurmctld by name: ``{"partitions": {"debug": {"max_time": 60}}}``.
            record: fields of the job as slurmctld knows it: this is an update.
            release: of Slurm, such as ``24.11``; by default the newest.
            command: that submits: ``sbatch``, or ``srun`` or ``salloc`` for an interactive job.
            fields: fields of the job, as handlers see them.
        """
        __tracebackhide__ = True  # what is wrong with the words is the test's, not ours
        from slurmhooks.testing import FakeJob, FakeRecord, run
        from slurmhooks.workshop.testing import sbatch
        from slurmhooks.workshop.testing.job_submit import RELEASE

        release = release or RELEASE
        hook = "job_submit" if record is None else "job_modify"
        self._must_have(hook)
        try:
            given = self._request(options, script, record is not None, release, command)
        except sbatch.OperandError as error:
            raise sbatch.OperandError(f"{error}: a script is not named, its text is given as script=") from None
        except sbatch.SbatchError as error:
            raise sbatch.SbatchError(str(error)) from None
        given.update(fields)
        arguments: dict[str, Any] = dict(tables or {})
        if record is not None:
            arguments["record"] = FakeRecord(release=release, **record)
        if uid is not None:
            arguments["submit_uid" if record is None else "modify_uid"] = uid
        result = run(self.registry, hook, job=FakeJob(release=release, **given), **arguments)
        self._done(f"{hook} of {given}", result)
        return result

    def _request(
        self, options: Sequence[str], script: str | None, update: bool, release: str, command: str
    ) -> dict[str, Any]:
        """Return the fields that the words of a command decide."""
        from slurmhooks.workshop.testing import allocations, sbatch

        given: dict[str, Any] = {}
        if command != "sbatch":
            given = allocations.request(command, options, [], release=release, options=self.registry.options)
        elif script is None and options and not update:
            text = sbatch.WRAPPED.format("true")
            given = sbatch.submission(None, text, options, [], release=release, options=self.registry.options)
        elif script is not None:
            given = sbatch.submission("script", script, options, [], release=release, options=self.registry.options)
        else:
            sbatch.apply(options, given, [], self.registry.options)
        return given


class Srun(Runner):
    """The fixture ``srun``."""

    def __call__(self, *argv: str, options: Mapping[str, Given] | None = None, **more: Any) -> Launch:
        """Run the handlers of SPANK from srun's options to the end of the tasks.

        Args:
            argv: the program of the tasks, and its arguments; by default ``true``.
            options: options that the hook files add, by name; True for one without an argument.
            more: see :func:`slurmhooks.testing.launch`.
        """
        from slurmhooks.workshop.testing.launch import launch

        result = launch(self.registry, argv or ("true",), options=options, **more)
        self._done(f"srun {' '.join(argv)} with options {dict(options or {})}", result)
        return result


class Stage(Runner):
    """The fixture ``container``."""

    def __call__(self, function: str = "stage_in", /, **values: Any) -> Result:
        """Run the handlers of a staging function; none of their commands is run.

        Args:
            function: ``stage_in`` or ``stage_out``.
            values: see :class:`slurmhooks.testing.FakeContainer`.
        """
        from slurmhooks.testing import FakeContainer, run

        self._must_have(f"scrun.{function}")
        result = run(self.registry, f"scrun.{function}", container=FakeContainer(**values))
        self._done(f"{function} of a container with {values}", result)
        return result


def _shown_by(request: pytest.FixtureRequest) -> list[str]:
    shown: list[str] = request.node.stash.setdefault(_SHOWN, [])
    return shown


@pytest.fixture
def submit(hook_files: Sequence[Path], request: pytest.FixtureRequest) -> Submit:
    """Return a function that submits or updates a job; see :class:`Submit`."""
    return Submit(hook_files, _shown_by(request))


@pytest.fixture
def srun(hook_files: Sequence[Path], request: pytest.FixtureRequest) -> Srun:
    """Return a function that launches tasks; see :class:`Srun`."""
    return Srun(hook_files, _shown_by(request))


@pytest.fixture
def container(hook_files: Sequence[Path], request: pytest.FixtureRequest) -> Stage:
    """Return a function that stages a container; see :class:`Stage`."""
    return Stage(hook_files, _shown_by(request))


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Show the requests of a failed test, with what handlers changed and said."""
    report = yield
    if report.failed:
        report.sections += [("slurmhooks", text) for text in item.stash.get(_SHOWN, [])]
    return report


def pytest_sessionfinish(session: pytest.Session) -> None:
    """Send what this process has covered to the pytest-xdist process that started it."""
    if hasattr(session.config, "workeroutput") and _WATCHING in sys.modules:
        session.config.workeroutput["slurmhooks"] = sys.modules[_WATCHING].coverage.rows()


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node: Any) -> None:
    """Add what another process has covered."""
    node.config.stash.setdefault(_OTHERS, []).extend(getattr(node, "workeroutput", {}).get("slurmhooks", ()))


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    """Name the handlers that never ran, or never refused, if hooks were tested."""
    others = config.stash.get(_OTHERS, [])
    if not config.getoption("--hooks") or not (others or _WATCHING in sys.modules):
        return
    from slurmhooks.workshop.testing.watching import coverage

    coverage.add(others)
    terminalreporter.section("slurmhooks")
    for line in coverage.summary():
        terminalreporter.write_line(line)
