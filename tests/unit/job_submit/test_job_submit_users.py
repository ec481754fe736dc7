# SPDX-License-Identifier: GPL-2.0-or-later
"""Users and groups of a request, of which the name service may not know all."""

import grp
import os
import pwd
from types import SimpleNamespace
from typing import Any

import pytest

from slurmhooks.job_submit.users import Users


class FromTheClient(Users):
    """The name comes with the request."""

    def user_name(self, job: Any) -> str | None:
        """Return the name."""
        return "alice"


def missing(_: object) -> Any:
    """Answer as the name service during an outage."""
    raise KeyError


@pytest.mark.parametrize(("own", "recorded"), [(100, None), (None, 100)])
def test_groups_of_a_user_whom_only_the_client_knows(
    monkeypatch: pytest.MonkeyPatch, own: int | None, recorded: int | None
) -> None:
    """The group of the request, or of the job that an update changes, replaces the user's own; names are numbers."""
    monkeypatch.setattr(pwd, "getpwuid", missing)
    monkeypatch.setattr(grp, "getgrgid", missing)
    monkeypatch.setattr(os, "getgrouplist", lambda name, group: [group, 7])
    record = None if recorded is None else SimpleNamespace(group_id=recorded)
    job = SimpleNamespace(
        user_id=1000, group_id=own, _owner=None, _record=record, _asked_once=lambda question, ask: ask()
    )
    assert FromTheClient().groups(job) == {"100": 100, "7": 7}


@pytest.mark.parametrize(("kind", "own"), [(FromTheClient, {"users": 100, "100": 100}), (Users, {"100": 100})])
def test_groups_of_a_user_whom_the_name_service_does_not_know(
    monkeypatch: pytest.MonkeyPatch, kind: type[Users], own: dict[str, int]
) -> None:
    """The own group is there by its number, even if it has a name: there may be other groups."""
    monkeypatch.setattr(pwd, "getpwuid", missing)
    monkeypatch.setattr(grp, "getgrgid", lambda number: SimpleNamespace(gr_name="users"))
    monkeypatch.setattr(os, "getgrouplist", lambda name, group: [group])
    job = SimpleNamespace(
        user_id=1000, group_id=100, _owner=None, _record=None, _asked_once=lambda question, ask: ask()
    )
    assert kind().groups(job) == own


def test_without_any_group(monkeypatch: pytest.MonkeyPatch) -> None:
    """A user without a known group has none."""
    monkeypatch.setattr(pwd, "getpwuid", missing)
    assert FromTheClient().groups(SimpleNamespace(user_id=1000, group_id=None, _owner=None, _record=None)) == {}
