# SPDX-License-Identifier: GPL-2.0-or-later
"""``slurmhooks deploy --watch``: what it deploys, and when."""

import sys
from collections.abc import Callable, Iterator
from types import SimpleNamespace
from typing import TYPE_CHECKING

import pytest

from slurmhooks import identity
from slurmhooks.cli.bundles.store import Store
from slurmhooks.cli.commands import deploy
from slurmhooks.cli.findings import Finding
from slurmhooks.processes import backoff, renewal
from tests.unit.cli.deploying import HANDLER

if TYPE_CHECKING:
    from click.testing import Result

    from tests.unit.cli.conftest import Site

pytestmark = pytest.mark.slow

Watch = Callable[..., "Result"]
Step = Callable[[], object]


@pytest.fixture
def watch(site: "Site", monkeypatch: pytest.MonkeyPatch) -> Watch:
    """Give a function that runs the command; what happens while it waits is given, and then it is interrupted.

    Each pause after a failure is over at the next look.
    """

    def watch(*steps: Step | None) -> "Result":
        left: Iterator[Step | None] = iter(steps)

        def sleep(_: float) -> None:
            try:
                step = next(left)
            except StopIteration:
                raise KeyboardInterrupt from None
            if step is not None:
                step()

        # Only where the command itself waits: what loads handlers may wait, too.
        monkeypatch.setattr(deploy, "time", SimpleNamespace(sleep=sleep))
        monkeypatch.setattr(backoff, "MOST", 0.0)
        return site.call("deploy", "--watch")

    return watch


def test_a_folder_that_is_followed(site: "Site", watch: Watch) -> None:
    """What is right is deployed once it stays the same; what is wrong is said once, and what was in force stays."""
    site.file(HANDLER.format(1))
    seen: list[list[str]] = []

    def look() -> None:
        seen.append(site.handlers())

    def write(text: str) -> Step:
        def step() -> None:
            look()
            site.file(text)

        return step

    result = watch(look, write("def ("), look, look, look, write(HANDLER.format(2)), look, look)
    assert result.output.count(f"{site.hooks}/a.py:2: ") == 1
    assert seen == [*[["a:version_1"]] * 7, ["a:version_2"]]
    assert [event.verb for event in Store(site.etc).events()] == ["watch", "watch"]


@pytest.mark.parametrize("error", [Finding("slurmctld has not answered"), OSError(28, "No space left"), KeyError("x")])
def test_what_has_passed_is_tried_again(
    site: "Site", watch: Watch, monkeypatch: pytest.MonkeyPatch, error: Exception
) -> None:
    """Without a change of the files, a deployment that has failed is repeated, and its reason is said once."""
    site.file(HANDLER.format(1))
    real, left = deploy.of_source, [error] * 3

    def of_source(*arguments: object, **options: object) -> object:
        if left:
            raise left.pop()
        return real(*arguments, **options)  # type: ignore[arg-type]

    monkeypatch.setattr(deploy, "of_source", of_source)
    result = watch(*[None] * 6)
    assert result.output.count("error: ") == 1, result.output
    assert "in force; before: " in result.output
    assert not left


def test_a_restart_undoes_nothing(site: "Site", watch: Watch) -> None:
    """After a return, a restart leaves the folder alone until it has changed, whichever command had deployed it."""
    ways: dict[int, Step] = {1: lambda: watch(None, None), 4: lambda: site.call("deploy")}
    for number, put in ways.items():
        for each in (number, number + 1):
            site.file(HANDLER.format(each))
            put()
        site.report("rollback")
        assert watch(None, None, None).output.count("in force") == 0
        assert site.handlers() == [f"a:version_{number}"]
        site.file(HANDLER.format(number + 2))
        watch(None, None)
        assert site.handlers() == [f"a:version_{number + 2}"]


def test_a_release_that_was_replaced_deploys_nothing_more(
    site: "Site", watch: Watch, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Before the next deployment, the process becomes the same program of the new release."""
    site.file(HANDLER.format(1))
    started: list[object] = []

    def execv(*arguments: object) -> None:
        started.append(arguments)
        raise SystemExit

    def replace() -> None:
        monkeypatch.setattr(identity, "here", lambda: "new")
        site.file(HANDLER.format(2))

    monkeypatch.setattr(renewal, "SETTLED", 0.0)
    monkeypatch.setattr("os.execv", execv)
    watch(None, None, replace, *[None] * 3)
    assert started == [(sys.executable, sys.orig_argv)]
    assert site.handlers() == ["a:version_1"]
