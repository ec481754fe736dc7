# SPDX-License-Identifier: GPL-2.0-or-later
"""Fixtures: a real Slurm cluster of each release, with the working tree installed."""

import contextlib
import inspect
import os
import re
import subprocess
import threading
import time
from collections.abc import Callable, Generator, Iterator, Mapping
from pathlib import Path

import pytest

from tests.cluster import reporting, turns
from tests.cluster.calls import call
from tests.cluster.containers import User, call_again_if_lost
from tests.cluster.lab import places, releases
from tests.cluster.spank.site import Site, site

NAME = "-".join(filter(None, (os.environ.get("SLURMHOOKS_TEST_PREFIX"), "test", os.environ.get("PYTEST_XDIST_WORKER"))))
"""The set of clusters that the fixtures use, separate from those of people and of other test processes."""
ASKED = tuple(os.environ.get("SLURMHOOKS_TEST_RELEASES", "").split())
"""The releases that somebody has chosen, such as those built from a source tree: each test runs on each of them."""
RELEASES = ASKED or tuple(releases.RELEASES)
"""The releases that are tested: Debian's, unless others are asked for."""
ONE_RELEASE = "24.11"
"""The release whose Python some tests name."""
NODES = 2
SLOW = {"cluster", "sanitized", "slow"}
"""The marks of tests that `make check` omits."""
FIXTURES = {"cluster", "large_cluster", "bare_cluster", "cluster_factory"}
SOURCES = re.compile(r"/etc/slurm/(plugstack\.conf|.*\.(lua|py|toml))")
"""The files that a deployment puts in force."""
OF_SETS = re.compile(r"[\w./-]*/slurmhooks\.d/sets/[0-9a-f]+")
"""The folder of a set, which has copies of the sources beside slurm.conf; Lua shortens long paths in its messages."""
UNREACHABLE = 75
MAKE_SECONDS = 1800.0
UP_SECONDS = 600.0
"""Seconds that a start may take, which may include a build by another process on a busy machine."""
CALL_SECONDS = 180.0
"""Seconds that a call may take while several clusters share the machine."""
WAIT_SECONDS = 60.0

_unreachable: dict[str, str] = {}
"""Why the root file system of a release cannot be made; an empty text if it is there."""
_brought_up: set[tuple[str, str]] = set()


def run(
    *arguments: str, name: str = NAME, stdin: str | None = None, timeout: float = CALL_SECONDS
) -> subprocess.CompletedProcess[str]:
    """Call `tests/cluster/run`.

    Raises:
        subprocess.TimeoutExpired: it took longer than `timeout` seconds; it has been killed.
    """
    return call(list(arguments), {**os.environ, "SLURMHOOKS_CLUSTER": name}, stdin, timeout)


class Cluster:
    """One running cluster.

    Attributes:
        release: of Slurm, such as "24.11", or "25.05.8" if it was built from a source tree.
        version: the first two numbers, such as (25, 5), for tests that depend on the release.
        has_scrun: whether this release ships a scrun that works. That of 23.11 loses requests of every second container
            by itself ("protocol_version 0 not supported").
        deploys: whether sources that :meth:`put` has written are deployed before the next command of a user, and
            before a restart; otherwise the test deploys by itself.
    """

    def __init__(self, release: str, name: str = NAME, *, deploys: bool = False) -> None:
        self.release = release
        self.name = name
        self.version = releases.version(release)
        self.has_scrun = self.version >= (24, 5)
        self.deploys = deploys
        self._has_changed = False
        self._deployment = threading.Lock()

    @property
    def has_sources(self) -> bool:
        """Whether its root file system has Slurm's sources, so that slurmctld's records and tables can be read."""
        return os.path.exists(f"{places.rootfs(self.release)}/usr/src/slurm/META")

    def call(
        self, verb: str, *arguments: str, stdin: str | None = None, timeout: float = CALL_SECONDS
    ) -> subprocess.CompletedProcess[str]:
        """Call a verb of `run` for this cluster."""
        return run(verb, self.release, *arguments, name=self.name, stdin=stdin, timeout=timeout)

    def tool(self, verb: str, *arguments: str, stdin: str | None = None, timeout: float = CALL_SECONDS) -> str:
        """Call a verb of `run` that must succeed, and return its output."""
        done = self.call(verb, *arguments, stdin=stdin, timeout=timeout)
        assert done.returncode == 0, f"run {verb} {self.release}: exit {done.returncode}\n{done.stdout}{done.stderr}"
        return done.stdout

    def root(
        self,
        *command: str,
        check: bool = False,
        input: str | None = None,  # noqa: A002 - as subprocess calls it
        timeout: float = CALL_SECONDS,
        env: Mapping[str, str] = {},
    ) -> subprocess.CompletedProcess[str]:
        """Run a command as root."""
        return self._command(["exec"], [self.release], command, check, input, timeout, env)

    def shell(self, script: str) -> str:
        """Return the output of a script of root."""
        return self.root("sh", "-c", script, check=True).stdout.strip()

    def user(
        self,
        name: str,
        *command: str,
        check: bool = False,
        input: str | None = None,  # noqa: A002 - as subprocess calls it
        timeout: float = CALL_SECONDS,
        env: Mapping[str, str] = {},
    ) -> subprocess.CompletedProcess[str]:
        """Run a command as alice or bob, with the present sources in force."""
        self.deploy_changes()
        return self._command(["as"], [self.release, name], command, check, input, timeout, env)

    def _command(
        self,
        verb: list[str],
        names: list[str],
        command: tuple[str, ...],
        check: bool,
        stdin: str | None,
        timeout: float,
        env: Mapping[str, str],
    ) -> subprocess.CompletedProcess[str]:
        options = [f"--env={key}={value}" for key, value in env.items()]
        done = run(*verb, *options, *names, "--", *command, name=self.name, stdin=stdin, timeout=timeout)
        if check:
            shown = " ".join(command)
            assert done.returncode == 0, f"{shown}: exit {done.returncode}\n{done.stdout}{done.stderr}"
        return done

    def put(self, content: str | Path, path: str, mode: int | None = None) -> None:
        """Write a text, or copy a host file, to `path`, owned by root (mode: 644, or the file's own).

        A source is in force once it is deployed: before the next command of a user, or by :meth:`deploy`.
        """
        if SOURCES.fullmatch(path):
            self.changed()
        options = [] if mode is None else ["--mode", f"{mode:o}"]
        if isinstance(content, Path):
            self.tool("put", *options, str(content), path)
        else:
            self.tool("put", *options, "-", path, stdin=content)

    def log(self, name: str = "slurmctld") -> str:
        """Return the log of slurmctld, of slurmd (all nodes) or of one node (n1)."""
        return self.tool("log", name)

    def restart(self, *names: str) -> None:
        """Stop and start all daemons, or only those named, such as "slurmctld" and "n1", with the present sources."""
        self.deploy_changes()
        self.tool("restart", *names, timeout=UP_SECONDS)

    def changed(self) -> None:
        """Note that a command has changed sources, as :meth:`put` does."""
        self._has_changed = True

    def deploy(self) -> None:
        """Put the sources, those beside slurm.conf, in force as a set."""
        done = self._deploy()
        assert done.returncode == 0, f"slurmhooks deploy: exit {done.returncode}\n{done.stdout}{done.stderr}"

    def refusal(self) -> str:
        """Deploy sources that must be refused, so that what was in force stays in force; return the reason."""
        done = self._deploy()
        assert done.returncode == 1, f"slurmhooks deploy: exit {done.returncode}\n{done.stdout}{done.stderr}"
        return done.stderr

    def deploy_changes(self) -> None:
        """Deploy sources that were changed since the last deployment; other threads wait for it."""
        with self._deployment:
            if self.deploys and self._has_changed:
                self.deploy()

    def _deploy(self) -> subprocess.CompletedProcess[str]:
        self._has_changed = False
        return self.root("slurmhooks", "deploy")

    def wait(self, predicate: Callable[[], object], timeout: float = WAIT_SECONDS, what: str = "the condition") -> None:
        """Call `predicate` until it returns true, with growing pauses, because most calls start a process.

        An AssertionError in it, such as that of a command which fails until a file exists, means "not yet".

        Raises:
            AssertionError: it did not become true within `timeout` seconds.
        """
        start = time.monotonic()
        while True:
            error = None
            try:
                if predicate():
                    return
            except AssertionError as failed:
                error = failed
            waited = time.monotonic() - start
            if waited >= timeout:
                raise AssertionError(f"Slurm {self.release}: no {what} within {timeout:g} s") from error
            time.sleep(min(max(waited / 2, 0.03), 0.5))


def need_rootfs(release: str) -> None:
    """Make the root file system of `release`, or skip the test if nothing can be downloaded.

    Raises:
        AssertionError: it could not be made for another reason.
    """
    if release not in _unreachable:
        done = run("rootfs", release, timeout=MAKE_SECONDS)
        assert done.returncode in (0, UNREACHABLE), f"no root file system of {release}: {done.stderr}"
        _unreachable[release] = done.stderr.strip() if done.returncode else ""
    if _unreachable[release]:
        pytest.skip(f"{reporting.SKIPPED} {release} WAS TESTED: {_unreachable[release]}")


@contextlib.contextmanager
def running(release: str, name: str, nodes: int, *options: str, deploys: bool = False) -> Iterator[Cluster]:
    """Bring up a fresh cluster, and take it down at the end; `options` are those of `run up`."""
    need_rootfs(release)
    instance = Cluster(release, name, deploys=deploys)
    _brought_up.add((release, name))
    try:
        instance.tool("up", "--fresh", "--nodes", str(nodes), *options, timeout=UP_SECONDS)
        yield instance
    finally:
        instance.tool("down")
        _brought_up.discard((release, name))


def installed(request: pytest.FixtureRequest) -> list[str]:
    """Return options of `run up` that install the working tree; a file with the marker stopped starts the daemons."""
    return ["--install", *(["--stopped"] if request.node.get_closest_marker("stopped") else [])]


def deploys(request: pytest.FixtureRequest) -> bool:
    """Tell whether the cluster deploys what tests have changed; a file with the marker deploys does so by itself."""
    return request.node.get_closest_marker("deploys") is None


@pytest.fixture(scope="module", params=RELEASES)
def cluster(request: pytest.FixtureRequest) -> Iterator[Cluster]:
    """A fresh cluster of two nodes, with the working tree installed and enabled."""
    with running(request.param, NAME, NODES, *installed(request), deploys=deploys(request)) as instance:
        yield instance


@pytest.fixture(scope="module", params=RELEASES)
def large_cluster(request: pytest.FixtureRequest) -> Iterator[Cluster]:
    """The same with three nodes, for jobs of three components and for tests that change slurm.conf."""
    with running(request.param, f"{NAME}-large", 3, *installed(request), deploys=deploys(request)) as instance:
        yield instance


@pytest.fixture(scope="module", params=RELEASES)
def bare_cluster(request: pytest.FixtureRequest) -> Iterator[Cluster]:
    """A cluster of one node without slurmhooks, in a set of its own; a test may take it down."""
    with running(request.param, f"{NAME}-bare", 1) as instance:
        yield instance


@pytest.fixture(scope="module", params=[release for release in RELEASES if release == ONE_RELEASE])
def bare_machine(request: pytest.FixtureRequest) -> Iterator[Cluster]:
    """The same in another set, only of the release whose Python the tests name."""
    with running(request.param, f"{NAME}-carried", 1) as instance:
        yield instance


@pytest.fixture
def cluster_factory() -> Iterator[Callable[[str, str], Cluster]]:
    """Return a function that brings up another bare cluster for this test, from a release and a name."""
    with contextlib.ExitStack() as stack:
        yield lambda release, name: stack.enter_context(running(release, f"{NAME}-{name}", 1))


@pytest.fixture(scope="module")
def lent(cluster: Cluster) -> Site:
    """A site for SPANK; each test has its own hook file."""
    lent_site = site(cluster)
    lent_site.plugstack("required spank_python.so")
    return lent_site


def pytest_unconfigure() -> None:
    """Take down clusters that a fixture could not, for instance after Ctrl-C during the start."""
    for release, name in sorted(_brought_up):
        run("down", release, name=name)


def pytest_configure(config: pytest.Config) -> None:
    """Report progress in the main process; the workers of xdist only run tests, and `make check` has no groups."""
    if not hasattr(config, "workerinput") and getattr(config.option, "dist", "no") not in ("no", "worksteal"):
        config.pluginmanager.register(reporting.Progress(config))


def is_left(item: pytest.Item) -> bool:
    """Whether `make test` leaves a test to `make rest`, since it runs on another release here.

    Raises:
        UsageError: a marker names a release that is not tested, so that `make test` would omit the test.
    """
    # A mark of a parameter comes before one of its function, and that before one of its file.
    marks = [*reversed(item.own_markers), *item.iter_markers()]
    marker = next((mark for mark in marks if mark.name in ("each_release", "one_release")), None)
    release = reporting.release_of(item.nodeid)
    has_own = marker is None and "release" in getattr(item, "fixturenames", ())
    if ASKED or has_own or not release:
        return False
    named = marker.args if marker and marker.args else RELEASES
    if unknown := set(named) - set(RELEASES):
        raise pytest.UsageError(f"{item.nodeid}: {marker}: {unknown} is not in {', '.join(RELEASES)}")
    is_each = marker is not None and marker.name == "each_release"
    return release not in (named if is_each else turns.releases_of(item.path.name, named))


def stays(item: pytest.Item) -> bool:
    """Whether a test is in STAY, which names the tests of its file that `make test` has; without it, all stay."""
    if not isinstance(item, pytest.Function):
        return True
    return item.originalname in getattr(item.module, "STAY", {item.originalname})


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark tests that need a cluster and those that are left to `make rest`, and put what takes long first."""
    for item in items:
        is_in_rest = item.get_closest_marker("moved") is not None or not stays(item)
        if not FIXTURES.isdisjoint(getattr(item, "fixturenames", ())):
            item.add_marker(pytest.mark.cluster)
            is_in_rest = is_in_rest or is_left(item)
        if is_in_rest and not item.get_closest_marker("soak"):
            item.add_marker(pytest.mark.rest)
            item.add_marker(pytest.mark.soak)
    slow: list[pytest.Item] = []
    quick: list[pytest.Item] = []
    for item in items:
        (quick if SLOW.isdisjoint(mark.name for mark in item.iter_markers()) else slow).append(item)
    reporting.sort(slow)
    items[:] = slow + quick


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item: pytest.Item) -> None:
    """Begin no group of tests for which no time is left."""
    group = reporting.group_of(item.nodeid)
    if turns.IS_LIMITED and not turns.has_time(group, reporting.read_durations().get(group, turns.USUAL)):
        pytest.skip(reporting.NO_TIME)


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Print how many random inputs the long tests have compared."""
    lines = [
        f"{report.nodeid}: {text}"
        for reports in terminalreporter.stats.values()
        for report in reports
        for name, text in getattr(report, "user_properties", ())
        if name == reporting.DRAWN and report.when == "call"
    ]
    if lines:
        terminalreporter.section(reporting.DRAWN)
        terminalreporter.write_line("\n".join(sorted(lines)))


@pytest.hookimpl(tryfirst=True)
def pytest_pyfunc_call(pyfuncitem: pytest.Function) -> bool | None:
    """Repeat tests with containers while scrun itself loses one, and report how many were lost."""
    users = [value for value in pyfuncitem.funcargs.values() if isinstance(value, User)]
    if not users:
        return None
    names = inspect.signature(pyfuncitem.obj).parameters
    try:
        call_again_if_lost(lambda: pyfuncitem.obj(**{name: pyfuncitem.funcargs[name] for name in names}), users)
    finally:
        for user in users:
            pyfuncitem.user_properties += [(reporting.LOST, name) for name in user.losses]
            user.losses.clear()
    return True


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Attach the logs of all daemons that this process has started to a failed test."""
    report = yield
    if report.failed:
        for release, name in sorted(_brought_up):
            reporting.add_logs(report, name, release, item.nodeid)
    return report
