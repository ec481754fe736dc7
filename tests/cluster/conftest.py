# SPDX-License-Identifier: GPL-2.0-or-later
"""Give every test here a real Slurm, one cluster a release, with the working tree installed."""

import contextlib
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import IO

import pytest

RUN = Path(__file__).parent / "run"
PREFIX = os.environ.get("SLURMHOOKS_TEST_PREFIX", "")
"""Set it to run these tests twice at the same time."""
NAME = f"{PREFIX}test"
"""The set of clusters that the fixture uses, so that tests leave people's own alone."""
RELEASES = ("22.05", "24.11", "26.05")
NODES = 2
BARE_NAME = f"{PREFIX}selftest"
FIXTURES = {"cluster", "large_cluster", "bare_cluster", "cluster_factory"}
UNREACHABLE = 75
MAKE_SECONDS = 1800.0
UP_SECONDS = 300.0

_unreachable: dict[str, str] = {}
_brought_up: set[tuple[str, str]] = set()


def run(
    *arguments: str, name: str = NAME, stdin: str | None = None, timeout: float = 60.0
) -> subprocess.CompletedProcess[str]:
    """Call `tests/cluster/run`.

    Output goes through files: with pipes, a process that outlives its parent would be waited for.

    Raises:
        subprocess.TimeoutExpired: it took longer than `timeout` seconds; it has been killed.
    """
    # -I -S: this is called hundreds of times, and needs nothing that a site adds.
    command = [sys.executable, "-I", "-S", str(RUN), *arguments]
    env = {**os.environ, "SLURMHOOKS_CLUSTER": name}
    with tempfile.TemporaryFile() as source, tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
        source.write((stdin or "").encode(errors="surrogateescape"))
        source.seek(0)

        def said(file: IO[bytes]) -> str:
            file.seek(0)
            return file.read().decode(errors="surrogateescape")

        try:
            code = subprocess.run(command, stdin=source, stdout=out, stderr=err, env=env, timeout=timeout).returncode
        except subprocess.TimeoutExpired as error:
            raise subprocess.TimeoutExpired(command, timeout, said(out), said(err)) from error
        return subprocess.CompletedProcess(command, code, said(out), said(err))


class Cluster:
    """Speak to one running cluster.

    Attributes:
        release: of Slurm, such as "24.11".
        has_scrun: whether this release ships scrun.
    """

    def __init__(self, release: str, name: str = NAME) -> None:
        self.release = release
        self.name = name
        self.has_scrun = release != "22.05"

    def call(
        self, verb: str, *arguments: str, stdin: str | None = None, timeout: float = 60.0
    ) -> subprocess.CompletedProcess[str]:
        """Call a verb of `run` for this cluster."""
        return run(verb, self.release, *arguments, name=self.name, stdin=stdin, timeout=timeout)

    def tool(self, verb: str, *arguments: str, stdin: str | None = None, timeout: float = 60.0) -> str:
        """Call a verb of `run` that must succeed, and return its output."""
        done = self.call(verb, *arguments, stdin=stdin, timeout=timeout)
        assert done.returncode == 0, f"run {verb} {self.release}: exit {done.returncode}\n{done.stdout}{done.stderr}"
        return done.stdout

    def root(
        self,
        *command: str,
        check: bool = False,
        input: str | None = None,  # noqa: A002 - as subprocess calls it
        timeout: float = 60.0,
        env: Mapping[str, str] = {},
    ) -> subprocess.CompletedProcess[str]:
        """Run a command as root."""
        return self._command(["exec"], [self.release], command, check, input, timeout, env)

    def user(
        self,
        name: str,
        *command: str,
        check: bool = False,
        input: str | None = None,  # noqa: A002 - as subprocess calls it
        timeout: float = 60.0,
        env: Mapping[str, str] = {},
    ) -> subprocess.CompletedProcess[str]:
        """Run a command as alice or bob."""
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
        """Write a text, or copy a host file, to `path` as root's (mode: 644, or the file's own)."""
        options = [] if mode is None else ["--mode", f"{mode:o}"]
        if isinstance(content, Path):
            self.tool("put", *options, str(content), path)
        else:
            self.tool("put", *options, "-", path, stdin=content)

    def log(self, name: str = "slurmctld") -> str:
        """Return the log of slurmctld, of slurmd (all nodes) or of one node (n1)."""
        return self.tool("log", name)

    def restart(self) -> None:
        """Stop and start the daemons."""
        self.tool("restart", timeout=UP_SECONDS)

    def wait(self, predicate: Callable[[], object], timeout: float = 20.0, what: str = "the condition") -> None:
        """Call `predicate` until it is true.

        Raises:
            AssertionError: it was not within `timeout` seconds.
        """
        deadline = time.monotonic() + timeout
        while not predicate():
            assert time.monotonic() < deadline, f"Slurm {self.release}: no {what} within {timeout:g} s"
            time.sleep(0.02)


def need_rootfs(release: str) -> None:
    """Have the root file system of `release`, or skip the test when nothing can be downloaded.

    Raises:
        AssertionError: it could not be made for any other reason.
    """
    if release not in _unreachable:
        done = run("rootfs", release, timeout=MAKE_SECONDS)
        if done.returncode == UNREACHABLE:
            _unreachable[release] = done.stderr.strip()
        else:
            assert done.returncode == 0, f"no root file system of {release}: {done.stderr}"
    if release in _unreachable:
        pytest.skip(f"NO REAL SLURM {release} WAS TESTED: {_unreachable[release]}")


@contextlib.contextmanager
def _running(release: str, name: str, nodes: int) -> Iterator[Cluster]:
    need_rootfs(release)
    made = Cluster(release, name)
    _brought_up.add((release, name))
    try:
        made.tool("up", "--fresh", "--nodes", str(nodes), timeout=UP_SECONDS)
        yield made
    finally:
        made.tool("down")
        _brought_up.discard((release, name))


@pytest.fixture(scope="session", params=RELEASES)
def cluster(request: pytest.FixtureRequest) -> Iterator[Cluster]:
    """A cluster of two nodes, as a fresh machine would be, with the working tree installed and enabled."""
    with _running(request.param, NAME, NODES) as made:
        made.tool("install", timeout=UP_SECONDS)
        yield made


@pytest.fixture(scope="session", params=RELEASES)
def large_cluster(request: pytest.FixtureRequest) -> Iterator[Cluster]:
    """The same with three nodes, which jobs of three components need; for what changes slurm.conf to suit itself."""
    with _running(request.param, f"{PREFIX}large", 3) as made:
        made.tool("install", timeout=UP_SECONDS)
        yield made


@pytest.fixture(scope="session", params=RELEASES)
def bare_cluster(request: pytest.FixtureRequest) -> Iterator[Cluster]:
    """A cluster of one node with nothing of ours in it; a set of its own, which a test may take down."""
    with _running(request.param, BARE_NAME, 1) as made:
        yield made


@pytest.fixture
def cluster_factory() -> Iterator[Callable[[str, str], Cluster]]:
    """Return a function that brings up one more bare cluster, of a release and a name, for this test."""
    with contextlib.ExitStack() as stack:
        yield lambda release, name: stack.enter_context(_running(release, PREFIX + name, 1))


def pytest_unconfigure() -> None:
    """Take down what a fixture could not, for instance after Ctrl-C while it came up."""
    for release, name in sorted(_brought_up):
        run("down", release, name=name)


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark what needs a cluster, so that `-m "not cluster"` leaves it out."""
    for item in items:
        if FIXTURES.intersection(getattr(item, "fixturenames", ())):
            item.add_marker(pytest.mark.cluster)


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Say loudly which release nothing was tested on."""
    for release, reason in _unreachable.items():
        terminalreporter.section(f"NO REAL SLURM {release} WAS TESTED", red=True)
        terminalreporter.write_line(reason)
