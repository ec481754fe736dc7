# SPDX-License-Identifier: GPL-2.0-or-later
"""Every rule selects jobs in the same way: by what Slurm will choose, in submissions and updates."""

from pathlib import Path
from typing import Any
from unittest import mock

import pytest

from slurmhooks.config import model as config
from slurmhooks.handlers import loader
from slurmhooks.handlers.registry import Registry
from slurmhooks.rules import asking, source
from slurmhooks.rules.catalogue import RULES
from slurmhooks.testing import FakeJob, FakeRecord, Result, run
from tests.cluster.turns import moved
from tests.unit.rules.test_rules_messages import REQUESTS

pytestmark = pytest.mark.slow

PARTITIONS: dict[str, dict[str, object]] = {
    "debug": {"flag_default": True, "max_share": 1},
    **{name: {"max_share": 1} for name in ("fb", "gpu")},
}
RESERVATIONS: dict[str, dict[str, object]] = {"course": {"partition": "fb"}, "anywhere": {}}
CHOSEN = {"choose_partition", "default_partition"}
"""Rules that leave jobs in reservations to Slurm."""
OWN = {
    "choose_partition": "partition", "default_partition": "partition", "default_account": "account",
    "require_account": "account", "default_qos": "qos", "choose_qos": "qos", "require_qos": "qos",
    "reservation": "reservation",
}  # fmt: skip
"""Rules that do not act on a job which names something."""
USER: dict[str, Any] = {"default_account": "physics", "default_qos": "normal", "user_name": "alice"}
KEYS = [
    (f'{kind}s = ["{name}"]' if kind != "qos" else f'qos = ["{name}"]', kind, name)
    for kind, names in (("partition", ("debug", "fb", "gpu")), ("account", ("Physics", "maths")),
                        ("qos", ("Normal", "long")))
    for name in names
]  # fmt: skip
FIRST = ("debug", "gpu", "Physics", "Normal")
SOME = pytest.mark.parametrize(
    "selections",
    [[key for key in KEYS if key[2] in FIRST], *moved([key for key in KEYS if key[2] not in FIRST])],
    ids=["some", "others"],
)
"""`make test` has two partitions, an account and a QOS: all values go the same way."""
SUBMISSIONS: list[tuple[dict[str, Any], dict[str, set[str]]]] = [
    ({}, {"partition": {"debug"}, "account": {"physics"}, "qos": {"normal"}}),
    ({"partition": "", "account": "", "qos": ""}, {"partition": {"debug"}, "account": {"physics"}, "qos": {"normal"}}),
    ({"partition": "fb,gpu"}, {"partition": {"fb", "gpu"}}),
    ({"partition": ",gpu,"}, {"partition": {"gpu"}}),
    ({"reservation": "course"}, {"partition": {"fb"}}),
    ({"reservation": "course", "partition": "gpu"}, {"partition": {"gpu"}}),
    ({"reservation": "anywhere"}, {"partition": {"debug"}}),
    ({"account": "PHYSICS"}, {"account": {"physics"}}),
    ({"account": "Maths"}, {"account": {"maths"}}),
    ({"qos": "LONG"}, {"qos": {"long"}}),
    ({"qos": "normal,Long"}, {"qos": {"normal", "long"}}),
]
"""What a request names, and what Slurm chooses for it."""
RECORD: dict[str, Any] = {"partition": "gpu", "account": "maths", "qos": "long", "time_limit": 0}
UPDATES: list[tuple[dict[str, Any], dict[str, set[str]]]] = [
    ({}, {"partition": {"gpu"}, "account": {"maths"}, "qos": {"long"}}),
    ({"partition": "fb"}, {"partition": {"fb"}}),
    ({"partition": "fb,debug"}, {"partition": {"fb", "debug"}}),
    ({"account": "PHYSICS"}, {"account": {"physics"}}),
    ({"qos": "Normal"}, {"qos": {"normal"}}),
]


def made_of(folder: Path, name: str, keys: str, selection: str) -> Registry:
    """Load a rule."""
    path = folder / "slurmhooks.toml"
    path.write_text(f'[[rule]]\nrule = "{name}"\n{keys}\n{selection}\n')
    return loader.load(source.sources(config.read(path), path))


def acts(result: Result) -> bool:
    """Tell whether the rule did something."""
    assert result.error_id is None, result
    return not result.accepted or bool(result.changes) or bool(result.user_messages)


def plain(name: str, *, modify: bool) -> list[tuple[str, dict[str, Any]]]:
    """Return a request on which a rule acts, and which names nothing that selects it; none if it needs one of these."""
    for keys, fields, update in REQUESTS[name]:
        if update == modify and not any(
            key in f"\n{keys}" for key in ("\npartitions", "\nqos", "\naccounts", "\nusers")
        ):
            others = {key: value for key, value in fields.items() if key != "partition"}
            if others.keys().isdisjoint({"account", "qos"}):
                return [(keys, others)]
    return []


@pytest.fixture(autouse=True)
def _refused() -> Any:
    """A budget service that refuses everything."""
    with mock.patch.object(asking, "program", return_value=asking.Answer(1, "")):
        yield


SUBMIT = [(name, *case) for name in REQUESTS for case in plain(name, modify=False)]
MODIFY = [(name, *case) for name in REQUESTS for case in plain(name, modify=True)]


@SOME
@pytest.mark.parametrize(("name", "keys", "fields"), SUBMIT, ids=[name for name, *_ in SUBMIT])
def test_submissions(
    tmp_path: Path, name: str, keys: str, fields: dict[str, Any], selections: list[tuple[str, str, str]]
) -> None:
    """A rule for a partition, account or QOS acts on exactly the jobs that Slurm would put there."""
    for selection, kind, value in selections:
        made = made_of(tmp_path, name, keys, selection)
        for named, chosen in SUBMISSIONS:
            if kind not in chosen or named.get(OWN.get(name, "")) or (name in CHOSEN and "reservation" in named):
                continue  # it would not act anyway
            job = FakeJob(**{**USER, **fields, **named})
            tables: dict[str, Any] = {"partitions": PARTITIONS, "reservations": RESERVATIONS}
            result = run(made, "job_submit", job=job, submit_uid=1000, **tables)
            assert acts(result) == (value.lower() in chosen[kind]), (selection, named, result)


@SOME
@pytest.mark.parametrize(("name", "keys", "fields"), MODIFY, ids=[name for name, *_ in MODIFY])
def test_updates(
    tmp_path: Path, name: str, keys: str, fields: dict[str, Any], selections: list[tuple[str, str, str]]
) -> None:
    """In an update, what it sets counts, else what the job has; for guard_updates both do."""
    for selection, kind, value in selections:
        made = made_of(tmp_path, name, keys, selection)
        for named, chosen in UPDATES:
            if kind not in chosen or named.get(OWN.get(name, "")):
                continue
            job, record = FakeJob(**{**fields, **named}), FakeRecord(**{**RECORD, "batch_flag": 0})
            tables: dict[str, Any] = {"partitions": PARTITIONS, "reservations": RESERVATIONS}
            result = run(made, "job_modify", job=job, record=record, modify_uid=1000, **tables)
            counts = chosen[kind] | ({RECORD[kind]} if name == "guard_updates" else set())
            assert acts(result) == (value.lower() in counts), (selection, named, result)


@pytest.mark.parametrize(("name", "keys", "fields"), SUBMIT, ids=[name for name, *_ in SUBMIT])
def test_who_asks(tmp_path: Path, name: str, keys: str, fields: dict[str, Any]) -> None:
    """Root is exempt, but not as the sibling of a federation that sends or requeues the job of a user."""
    made = made_of(tmp_path, name, keys, "")
    sibling = {"job_id": 67108880, "fed_siblings_viable": 3, "user_id": 1000}
    again = {**sibling, "restart_cnt": 1}
    for others, sender, expected in [
        ({}, 1000, True),
        ({}, 0, False),
        (sibling, 0, True),
        (again, 0, True),
        ({**sibling, "user_id": 0}, 0, False),
    ]:
        job = FakeJob(**{**USER, "user_id": 1000, **fields, **others})
        result = run(made, "job_submit", job=job, submit_uid=sender, partitions=PARTITIONS)
        assert acts(result) == expected, (others, sender, result)


LEFT_OUT = {"forbid", "copy", "maintenance", "budget", "quota", "require_account", "require_qos", "task_count",
            "array_size", "script_content"}  # fmt: skip
"""Rules whose updates in REQUESTS name what selects them, or that have none there."""


def test_rules_that_are_tried() -> None:
    """Only rules that need a selection, or have one hook, are left out above."""
    assert RULES.keys() - {name for name, *_ in SUBMIT} == {"guard_updates"}
    with_updates = {name for name, kind in RULES.items() if "job_modify" in kind.hooks}
    assert with_updates - {name for name, *_ in MODIFY} <= LEFT_OUT
