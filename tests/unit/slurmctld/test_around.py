# SPDX-License-Identifier: GPL-2.0-or-later
"""Texts of refusals: with the label of the rule, and of all rules at once."""

import itertools
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from slurmhooks.log import log
from slurmhooks.rules.catalogue import RULES
from tests.unit.slurmctld.site_of_rules import Worker

ALL = '[rules]\nrefusals = "all"\n'
THREE = """
[[rule]]
rule = "require_time"
message = "time"
[[rule]]
rule = "require_qos"
name = "qos"
message = "qos"
help_url = "https://help.example.org"
[[rule]]
rule = "node_count"
most = 1
message = "nodes"
"""


@pytest.fixture(autouse=True)
def attached() -> Iterator[None]:
    """Restore the log, which a service takes over."""
    before = log.attach(None, None)
    yield
    log.attach(*before)


def test_id_of_the_rule(tmp_path: Path) -> None:
    """The first line of a refusal ends with the label of its handler; other lines follow it."""
    worker = Worker(tmp_path, THREE)
    assert worker.submit(time_limit=5, min_nodes=2, qos="") == ["qos (rule:qos)", "See https://help.example.org"]
    decision = worker.decision()
    assert decision["text"] == "qos (rule:qos)\nSee https://help.example.org"
    assert [step.get("text") for step in decision["handlers"]] == [None, "qos\nSee https://help.example.org"]


def test_ids_can_be_switched_off(tmp_path: Path) -> None:
    """With rule_ids = false, users read the texts of rules as they are."""
    assert Worker(tmp_path, "[rules]\nrule_ids = false\n" + THREE).submit() == ["time"]


def test_bugs_and_scripts_have_no_id(tmp_path: Path) -> None:
    """The line about a bug has the label and the id of the bug already; what is accepted has no id."""
    worker = Worker(tmp_path, "", "@hook.job_submit\ndef f(job):\n    if job.name: log.user('hi')\n    else: 1/0\n")
    (line,) = worker.submit()
    assert line.startswith("slurmhooks: job_submit handler site:f failed (error ")
    assert line.endswith("please tell your administrators")
    assert worker.submit(name="x") == ["hi"]


def test_a_refusal_without_a_text(tmp_path: Path) -> None:
    """A refusal without a text is the label alone, so that users can at least ask about it."""
    assert Worker(tmp_path, "", "@hook.job_submit\ndef f(job):\n    raise Reject\n").submit() == ["(site:f)"]


def test_all_refusals(tmp_path: Path) -> None:
    """With refusals = "all", the user reads what each rule refuses; the code is that of the first."""
    worker = Worker(tmp_path, ALL + THREE)
    lines = ["time (rule:require_time)", "qos (rule:qos)", "See https://help.example.org"]
    assert worker.submit(min_nodes=2) == [*lines, "nodes (rule:node_count)"]
    decision = worker.decision()
    assert [step["outcome"] for step in decision["handlers"]] == ["refused"] * 3
    assert (decision["verdict"], decision["code"]) == ("refused", "ESLURM_MISSING_TIME_LIMIT")
    assert worker.submit(min_nodes=2, time_limit=5, qos="q") == ["nodes (rule:node_count)"]
    assert worker.submit(min_nodes=1, time_limit=5, qos="q") == []
    assert worker.code == 0


def test_what_is_filled_in_is_no_refusal(tmp_path: Path) -> None:
    """A rule that fills in a value does so also after a refusal, so that no later rule refuses what is filled in."""
    rules = """
[[rule]]
rule = "require_qos"
message = "qos"
[[rule]]
rule = "default_time"
value = 10
message = "filled in"
[[rule]]
rule = "require_time"
message = "time"
"""
    worker = Worker(tmp_path, ALL + rules)
    assert worker.submit() == ["qos (rule:require_qos)"]
    assert worker.writes == {}
    (_, fills, passes) = worker.decision()["handlers"]
    assert (fills["outcome"], fills["changes"]["time_limit"]) == ("passed", [None, 10])
    assert "changes" not in passes


def test_no_effects_after_a_refusal(tmp_path: Path) -> None:
    """After a refusal no handler of a hook file runs, nor any rule behind it; no service is asked, no notice read."""
    rules = f"""
[[rule]]
rule = "require_time"
message = "time"
[[rule]]
rule = "budget"
command = ["/bin/sh", "-c", "touch {tmp_path}/asked"]
[[rule]]
rule = "notice"
message = "hello"
[[rule]]
rule = "require_qos"
message = "qos"
[[rule]]
rule = "node_count"
most = 1
order = 60
"""
    effect = f"@hook.job_submit\ndef f(job):\n    open('{tmp_path}/effect', 'w').close()\n    raise Reject('site')\n"
    worker = Worker(tmp_path, ALL + rules, effect)
    assert worker.submit(min_nodes=2) == ["time (rule:require_time)", "qos (rule:require_qos)"]
    assert not (tmp_path / "asked").exists()
    assert not (tmp_path / "effect").exists()
    worker.submit(time_limit=1, qos="q")
    assert (tmp_path / "asked").exists()
    assert (tmp_path / "effect").exists()


def test_modes_after_a_refusal(tmp_path: Path) -> None:
    """Rules that only warn or observe are not tried after a refusal."""
    rules = '[rules.modes."rule:b"]\nmode = "warn"\n[rules.modes."rule:c"]\nmode = "observe"\n'
    rules += "".join(f'[[rule]]\nrule = "require_time"\nname = "{name}"\nmessage = "{name}"\n' for name in "abcd")
    worker = Worker(tmp_path, ALL + rules)
    assert worker.submit() == ["a (rule:a)", "d (rule:d)"]
    assert worker.calls[-1].observers == ()


def test_a_bug_after_a_refusal(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A bug in a rule that is only tried is logged, and does not hide the refusals of others."""
    check = RULES["require"].check

    def broken(rule: Any, request: Any) -> None:
        if rule.field == "qos":
            raise ZeroDivisionError
        check(rule, request)

    monkeypatch.setattr(RULES["require"], "check", broken)
    worker = Worker(tmp_path, ALL + THREE)
    assert worker.submit(min_nodes=2) == ["time (rule:require_time)", "nodes (rule:node_count)"]
    assert worker.decision()["verdict"] == "refused"


CHECKS: dict[str, tuple[str, dict[str, Any]]] = {
    "require_time": ("", {"time_limit": 5}),
    "require_qos": ("", {"qos": "q"}),
    "require_account": ("", {"account": "a"}),
    "node_count": ("most = 1", {"min_nodes": 1}),
    "array_size": ("most = 10", {"array_inx": "1-5"}),
    "licenses": ('allowed = ["a"]', {"licenses": "a"}),
}
WRONG: dict[str, Any] = {"min_nodes": 3, "array_inx": "1-50", "licenses": "b"}


HANDLER = """
@hook.job_submit(effects=False, order={order})
def {name}(job):
    if not ({accepts}):
        job.comment = "discarded"
        log.user("not read")
        raise Reject("{name}")
"""
IN_PYTHON = {
    "require_time": "job.time_limit is not None",
    "require_qos": "job.qos",
    "require_account": "job.account",
    "node_count": "job.min_nodes is None or job.min_nodes <= 1",
    "array_size": "job.array_inx != '1-50'",
    "licenses": "job.licenses in (None, 'a')",
}


@pytest.mark.moved
@pytest.mark.slow
@settings(max_examples=60, deadline=None)
@given(st.permutations(list(CHECKS)), st.sets(st.sampled_from(list(CHECKS))), st.sets(st.sampled_from(list(CHECKS))))
def test_all_is_what_one_a_try_would_find(order: list[str], right: set[str], in_python: set[str]) -> None:
    """The refusals at once are those that a user meets who mends one after the other, in rules and in hook files."""
    numbers = itertools.count()
    with tempfile.TemporaryDirectory(dir=Path.home()) as folder:
        toml, hooks = "", ""
        for place, name in enumerate(order):
            if name in in_python:
                hooks += HANDLER.format(name=name, order=place, accepts=IN_PYTHON[name])
            else:
                rule = f'[[rule]]\nrule = "{name}"\nmessage = "{name}"\norder = {place}\n{CHECKS[name][0]}\n'
                toml += rule
        at_once, first = Worker(Path(folder), ALL + toml, hooks), Worker(Path(folder), toml, hooks)
        given = dict(WRONG)
        for name in right:
            given |= CHECKS[name][1]
        fields, expected = dict(given), []
        while lines := first.submit(**fields):
            expected += [line for line in lines if line != "not read"]
            fields |= CHECKS[lines[-1].split()[0]][1]
            assert next(numbers) < 100
        said = at_once.submit(**given)
        # What the first handler has told before it refused is read, as without this setting.
        assert [line for line in said if line != "not read"] == expected
        assert said.count("not read") <= 1
        assert at_once.writes == {}


def test_handlers_fill_in_after_a_refusal(tmp_path: Path) -> None:
    """A handler without effects fills in for those behind it; one with effects ends the search, run or not."""
    toml = '[[rule]]\nrule = "require_qos"\nmessage = "qos"\norder = 1\n'
    hooks = """
@hook.job_submit(effects=False)
def fill(job):
    job.time_limit = 10
@hook.job_submit(effects=False)
def check(job):
    if job.time_limit is None: raise Reject("time")
    if job.account is None: raise Reject("account")
@hook.job_submit
def book(job):
    raise AssertionError
@hook.job_submit(effects=False)
def last(job):
    raise Reject("last")
"""
    worker = Worker(tmp_path, ALL + toml, hooks)
    assert worker.submit() == ["qos (rule:require_qos)", "account (site:check)"]
    assert worker.writes == {}


def test_a_lenient_handler_after_a_refusal(tmp_path: Path) -> None:
    """A bug in a lenient handler that is only tried hides no refusal, and the user does not read of it."""
    toml = '[[rule]]\nrule = "require_qos"\nmessage = "qos"\norder = 1\n'
    hooks = """
@hook.job_submit(effects=False, on_error="accept")
def wrong(job):
    1 / 0
@hook.job_submit(effects=False)
def check(job):
    raise Reject("check")
"""
    assert Worker(tmp_path, ALL + toml, hooks).submit() == ["qos (rule:require_qos)", "check (site:check)"]
