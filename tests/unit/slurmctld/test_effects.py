# SPDX-License-Identifier: GPL-2.0-or-later
"""What has become of an action: the job says, not the answer of slurmctld."""

from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from slurmhooks.slurmctld.action import Action
from slurmhooks.slurmctld.effects import job_state, outcome, values

WRONG = "Requested partition configuration not available now"


def job(**fields: Any) -> Any:
    """Return a pending job."""
    base = {"submit_time": 1, "restart_cnt": 0, "job_state": 0, "priority": 5, "comment": None, "time_limit": 60}
    return SimpleNamespace(**base | fields, _names=lambda: ["priority", "comment", "time_limit"])


@pytest.mark.parametrize(
    ("kind", "before", "after", "verdict"),
    [
        ("hold", {}, {"priority": 0}, "held"),
        ("hold", {}, {}, "failed"),
        ("hold", {}, {"job_state": 1}, "skipped"),
        ("release", {"priority": 0}, {}, "released"),
        ("release", {"priority": 0}, {"priority": 0}, "failed"),
        ("cancel", {"job_state": 1}, {"job_state": 4}, "cancelled"),
        ("cancel", {"job_state": 1}, {"job_state": 3}, "skipped"),
        ("cancel", {"job_state": 1}, {"job_state": 1}, "failed"),
        ("requeue", {"job_state": 1}, {"restart_cnt": 1}, "requeued"),
        ("requeue", {"job_state": 1}, {"job_state": 3}, "skipped"),
        ("requeue", {"job_state": 1}, {"job_state": 1}, "failed"),
        ("notify", {"job_state": 1}, {"job_state": 1}, "failed"),
    ],
)
def test_an_error_of_slurmctld(kind: str, before: dict[str, Any], after: dict[str, Any], verdict: str) -> None:
    """It is no proof that nothing was done; without one, the action was taken."""
    action = Action(kind, "7", "x", 7, job_state(job(**before)), {})
    found, why = outcome(action, {}, job(**after), WRONG)
    assert found == verdict
    assert (WRONG in why) == (verdict != "skipped")
    done = {"hold": "held", "release": "released", "notify": "notified"}.get(kind, f"{kind}led".replace("ueled", "ued"))
    assert outcome(action, {}, None, None) == (done, "")
    assert outcome(action, {}, None, WRONG)[0] == "skipped"


VALUES = {"comment": st.sampled_from([None, "a", "b"]), "time_limit": st.sampled_from([60, 77, 99])}


@given(
    before=st.fixed_dictionaries(VALUES),
    after=st.fixed_dictionaries(VALUES),
    wanted=st.fixed_dictionaries(
        {}, optional={"comment": st.just("b"), "time_limit": st.just(77), "script": st.just("s")}
    ),
    failed=st.booleans(),
)
def test_new_values(before: dict[str, Any], after: dict[str, Any], wanted: dict[str, Any], failed: bool) -> None:
    """An error is "updated", "half done" or "failed", as all, some or none of the values have changed."""
    was = job(**before)
    action = Action("update", "7", "", 7, job_state(was), {}, fields=wanted)
    verdict, why = outcome(action, values(was, wanted), job(**after), WRONG if failed else None)
    if not failed:
        assert verdict == "updated"
        return
    known = [name for name in wanted if name != "script"]
    right = [name for name in known if after[name] == wanted[name]]
    ours = [name for name in known if after[name] != before[name] != wanted[name]]
    if set(right) | set(ours) == set(wanted):
        assert verdict == "updated"
    elif ours:
        assert verdict == "half done"
        assert all(name in why for name in wanted if name in ours or name not in right)
    else:
        assert verdict in ("failed", "skipped")
    assert verdict == "skipped" or WRONG in why
