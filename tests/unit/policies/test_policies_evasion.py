# SPDX-License-Identifier: GPL-2.0-or-later
"""Notations and updates by which users could get around a rule."""

import pytest

from tests.unit.policies.cases import Case, parameters
from tests.unit.policies.conftest import Rules

LISTS_OF_QOS = {
    "forbid": [
        Case('qos = ["urgent"]', {"qos": "urgent,normal"}, "you may not use"),
        Case('qos = ["urgent"]', {"qos": "normal,URGENT"}, "you may not use"),
        Case('qos = ["urgent"]', {"qos": "normal,long"}),
        Case('qos = ["*"]\nexcept_qos = ["normal"]', {"qos": "urgent,normal"}, "you may not use"),
        Case('qos = ["*"]\nexcept_qos = ["normal", "long"]', {"qos": "long,normal"}),
    ],
    "time_ceiling": [Case('qos = ["long"]\nlimit = 60', {"qos": "long,normal", "time_limit": 600}, "not 10:00:00")],
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
        Case("per_job = 4", {"tres_per_node": "gres/gpu:0008"}, "not 8"),
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
