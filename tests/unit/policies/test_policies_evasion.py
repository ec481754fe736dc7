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


@pytest.mark.parametrize(("rule", "case"), parameters(LISTS_OF_QOS))
def test_lists_of_qos(rules: Rules, rule: str, case: Case) -> None:
    """A rule concerns a job if any of its QOS matches; all must be allowed, and all exempt for an exemption."""
    case.show(rules(case.toml(rule)))
