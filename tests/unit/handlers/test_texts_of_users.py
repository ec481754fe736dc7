# SPDX-License-Identifier: GPL-2.0-or-later
"""Texts of users through every hook: nothing that leaves acts on a terminal, or begins a line of a log."""

import os
import unicodedata
from collections.abc import Iterable
from pathlib import Path

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from slurmhooks import testing
from slurmhooks.hooks.points import HOOKS
from slurmhooks.power.model import PowerNode
from tests.cluster.turns import moved_from

pytestmark = pytest.mark.slow

TEXT = st.text(st.characters(codec="utf-8") | st.sampled_from("\0\n\r\t\x1b\x07\x7f\x9b\u061c\u202e\u2028\udc9b\udcff"))
ODD = "x\x1b]0;owned\x07\n2026-01-01 error: forged\r\u202e\u009b31m\udc9b"
PERIOD = {"every": '("5m")'}
WAYS = {
    "refuses": "raise Reject(TEXT)",
    "fails": "raise RuntimeError(TEXT)",
    "fails in two lines": 'raise RuntimeError("a\\n" + TEXT) from ValueError(TEXT)',
    "logs": "log.info(TEXT); log.error('%s', TEXT); log.info('x', name=TEXT)",
    "tells": "log.user(TEXT)",
    "returns": "return TEXT",
}
"""How a handler lets a text out."""
ALLOWED = {"\n", "\t"}
"""In texts of several lines, for users."""


def acting(texts: Iterable[str | None], allowed: set[str]) -> list[str]:
    """Return the characters that act on a terminal or end a line: by Unicode, not by our own rule."""
    categories = ("Cc", "Cf", "Cs", "Zl", "Zp")
    return [
        char
        for text in texts
        if text
        for char in text
        if char not in allowed and unicodedata.category(char) in categories
    ]


def _given(monkeypatch: pytest.MonkeyPatch, text: str) -> None:
    monkeypatch.setitem(os.__dict__, "text_of_a_user", text)


@pytest.mark.parametrize("way", moved_from(2, WAYS))
@pytest.mark.parametrize("name", HOOKS)
def test_nothing_acts(tmp_path: Path, name: str, way: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever a handler does with a text, a log gets lines without control characters, and a user only layout."""
    path = tmp_path / "hooks.py"
    source = (
        f"import os\nfrom slurmhooks import Reject, hook, log\n@hook.{name}{PERIOD.get(name, '')}\ndef handler():\n"
    )
    path.write_text(f"{source}    TEXT = os.text_of_a_user\n    {WAYS[way]}\n")

    @settings(max_examples=8, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
    @given(text=TEXT)
    @example(text=ODD)
    def check(text: str) -> None:
        _given(monkeypatch, text)
        if name == "node.health_check":
            health = testing.health(path)
            assert not acting([*health.log, *health.texts.values(), health.reason], set())
            return
        result = testing.run(path, name)
        assert not acting(result.log, set())
        assert not acting([result.text, *result.user_messages], ALLOWED)

    check()


@pytest.mark.parametrize("line", ["nodes['n1'].drain(TEXT)", "job.cancel(TEXT)", "job.hold(TEXT)", "job.notify(TEXT)"])
def test_no_action_acts(tmp_path: Path, line: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """What a periodic handler says about a job or node is one line."""
    path = tmp_path / "hooks.py"
    path.write_text(
        "import os\nfrom slurmhooks import hook\n@hook.every('5m')\ndef handler(jobs, nodes):\n"
        f"    TEXT, job = os.text_of_a_user, jobs[7]\n    {line}\n"
    )

    @settings(max_examples=20, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
    @given(text=TEXT)
    @example(text=ODD)
    def check(text: str) -> None:
        _given(monkeypatch, text)
        jobs = testing.fake_jobs([testing.FakeRecord(job_id=7, job_state=1 if "notify" in line else 0, priority=5)])
        result = testing.run(path, "every", jobs=jobs, nodes=testing.fake_nodes({"n1": {}}))
        assert len(result.log) == 1
        assert not acting(result.log, set())

    check()


@given(text=TEXT)
@example(text=ODD)
def test_a_node_is_down_with_one_line(text: str) -> None:
    """The reason that a power handler gives to a node is one line, and no further word of scontrol."""
    said: list[tuple[str, ...]] = []

    def scontrol(*words: str) -> str:
        said.append(words)
        return ""

    PowerNode("n1", (), (), scontrol).down(text)
    ((*first, reason),) = said
    assert first == ["update", "NodeName=n1", "State=DOWN"]
    assert reason.startswith("Reason=")
    assert len(reason.encode()) <= 207
    assert not acting([reason], set())
