# SPDX-License-Identifier: GPL-2.0-or-later
"""Notations and updates by which users could get around a rule."""

import contextlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from slurmhooks import config
from slurmhooks.errors import Reject
from slurmhooks.job_submit.bounds.asked import Reader
from slurmhooks.policies import asking
from slurmhooks.policies import rules as all_rules
from slurmhooks.policies.base import Rule
from slurmhooks.policies.request import Request, Site
from slurmhooks.testing import FakeJob, FakeRecord
from tests.unit.policies.cases import Case, parameters
from tests.unit.policies.conftest import Rules
from tests.unit.policies.test_policies_rules import ALL

LISTS_OF_QOS = {
    "forbid": [
        Case('qos = ["urgent"]', {"qos": "urgent,normal"}, "you may not use"),
        Case('qos = ["urgent"]', {"qos": "normal,URGENT"}, "you may not use"),
        Case('qos = ["urgent"]', {"qos": "normal,long"}),
        Case('qos = ["*"]\nexcept_qos = ["normal"]', {"qos": "urgent,normal"}, "you may not use"),
        Case('qos = ["*"]\nexcept_qos = ["normal", "long"]', {"qos": "long,normal"}),
    ],
    "time_ceiling": [
        Case('qos = ["long"]\nlimit = 60', {"qos": "long,normal", "time_limit": 600}, "asked for 10:00:00")
    ],
    "require_qos": [
        Case('allowed = ["norm*"]', {"qos": "norm,urgent"}, "norm*"),
        Case('allowed = ["a", "b"]', {"qos": "a,B"}),
        Case('allowed = ["a", "b"]', {"qos": ","}, "a or b"),
        Case('allowed = ["a"]\ndefault_counts = true', {"default_qos": "b"}, "name a QOS"),
    ],
}
COUNTS = {
    "licenses": [
        *(Case("most = { a = 9 }", {"licenses": f"a{count}"}, "at most 9 of a")
          for count in (":+50", ": 50", ":\t+0050", "=+50", ":" + "0" * 30 + "50", ":+5,a:+5", ":1234567890")),
        *(Case("most = { a = 9 }", {"licenses": f"a{count}"}) for count in ("", ":+9", ":0", ":" + "0" * 30)),
    ],
    "gpu_ceiling": [
        *(Case("per_job = 4", {f"tres_per_{per}": f"gres/gpu{kind}:{'0' * 20}8"}, "not a TRES")
          for per in ("job", "node", "socket", "task") for kind in ("", ":a100")),
        Case("per_job = 4", {"tres_per_node": "gres/gpu:0008"}, "asked for 8"),
    ],
}  # fmt: skip


@pytest.mark.parametrize(("rule", "case"), parameters(COUNTS))
def test_counts(rules: Rules, rule: str, case: Case) -> None:
    """A count with a sign, blanks or leading zeros is the number that Slurm reads, or refused."""
    case.show(rules(case.toml(rule)))


@pytest.mark.parametrize(("rule", "case"), parameters(LISTS_OF_QOS))
def test_lists_of_qos(rules: Rules, rule: str, case: Case) -> None:
    """A rule concerns a job if any of its QOS matches; all must be allowed, and all exempt for an exemption."""
    case.show(rules(case.toml(rule)))


UPDATES = {
    "memory_ceiling": [
        Case('per_node = "10G"', {"tres_per_job": "gres/gpu:4"}, "up to 20G",
             record={"mem_per_tres": "gres/gpu:5120", "tres_per_job": "gres/gpu:1"}),
    ],
    "gpu_ceiling": [
        Case("per_job = 4", {"ntasks_per_node": 5}, "up to",
             record={"tres_per_task": "gres/gpu:1", "num_tasks": 1}),
    ],
    "licenses": [
        Case("most = { a = 2 }", {"min_nodes": 3, "ntasks_per_node": 1}, "at most 2 of a",
             record={"tres_per_task": "license/a:1"}),
    ],
}  # fmt: skip


@pytest.mark.parametrize(("rule", "case"), parameters(UPDATES))
def test_updates(rules: Rules, rule: str, case: Case) -> None:
    """An update of one field is checked although the job has the others, on which the result also depends."""
    case.show(rules(case.toml(rule)))


BUDGET = 'command = ["/budget", "{user} {account} {partition} {qos} {uid} {time_limit} {nodes} {cpus} {gpus}"]'
NOT_OF_SIZES = frozenset({"partition", "reservation", "time_limit", "time_min"})
"""Fields that the bounds of every request need, but not those that a rule about sizes limits."""


@pytest.mark.parametrize("name", [name for name, kind in all_rules.RULES.items() if kind.own_fields])
def test_rules_look_at_every_update_that_matters(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each field of the job that a rule reads is one of those whose updates it checks, and named once."""
    read = set[str]()

    def noted(get: Callable[[Any, str], Any], *, besides: frozenset[str] = frozenset()) -> Callable[[Any, str], Any]:
        def note(request: Any, field: str) -> Any:
            read.update({field} - besides)
            return get(request, field)

        return note

    monkeypatch.setattr(Request, "get", noted(Request.get))
    monkeypatch.setattr(Reader, "get", noted(Reader.get, besides=NOT_OF_SIZES))
    monkeypatch.setattr(Rule, "say", lambda *_, **__: "")  # which reads more for its message
    monkeypatch.setattr(asking, "program", lambda *_: asking.Answer(0, ""))
    for case in [*ALL.get(name, []), *UPDATES.get(name, []), *[Case(BUDGET, {})] * (name == "budget")]:
        path = tmp_path / "slurmhooks.toml"
        path.write_text(case.toml(name))
        (rule,) = all_rules.of_config(path, config.read(path))
        record = FakeRecord(**case.record or {})
        with contextlib.suppress(Reject):
            rule.check(Request(FakeJob(**case.job), 1000, Site(), modify=True, record=record))
    own = all_rules.RULES[name].own_fields
    assert read <= set(own)
    assert len(own) == len(set(own))
