# SPDX-License-Identifier: GPL-2.0-or-later
"""What users of the cluster may rely on."""

from slurmhooks.pytest_plugin import Submit


def test_a_default(submit: Submit) -> None:
    """A job without a time limit gets one, and its user reads so."""
    result = submit(account="physics")
    assert (result.changes, result.user_messages) == ({"time_limit": 20}, ["no --time given: limited to 20 minutes"])
    assert submit("--time=90", account="physics").changes == {}


def test_updates(submit: Submit) -> None:
    """Users may shorten a job, and not extend it."""
    assert submit(time_limit=10, record={"time_limit": 20}).accepted
    assert submit(time_limit=30, record={"time_limit": 20}).code == "ESLURM_ACCESS_DENIED"
