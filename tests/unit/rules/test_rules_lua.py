# SPDX-License-Identifier: GPL-2.0-or-later
"""Ready-made rules decide as the Lua scripts that they replace: compared over generated requests.

Each script in the folder lua is in the style of those of real sites, and has a configuration beside it.
"""

import random
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from slurmhooks.config import model as config
from slurmhooks.fields.constants import MailType
from slurmhooks.handlers import dispatch, loader
from slurmhooks.handlers.registry import Registry
from slurmhooks.log import heard
from slurmhooks.lua import job_submit
from slurmhooks.lua.job_constants import table_constants
from slurmhooks.rules import source
from slurmhooks.testing import FakeJob, FakeRecord, fake_jobs, fake_partitions, fake_reservations
from slurmhooks.values import UNLIMITED
from slurmhooks.workshop.testing.log_capture import CapturedLog
from slurmhooks.workshop.testing.tables import code_of, tables_of

pytestmark = pytest.mark.slow

FOLDER = Path(__file__).parent / "lua"
SCRIPTS = sorted(path.stem for path in FOLDER.glob("*.lua"))
REQUESTS = 300
SCRIPT = "#!/bin/bash\nsrun ./a\n"

VALUES: dict[str, list[Any]] = {
    "account": [None, None, "phys", "chem", "course", "guest", "guest1", "general"],
    "array_inx": [None, None, "1-100", "0-100", "1,3,5-7%2", "7", "0-99%5"],
    "cpus_per_task": [None, 1, 2, 8, 9],
    "features": [None, "rome", "milan|rome"],
    "licenses": [None, "ansys", "ansys:4", "ansys:5", "matlab:9", "matlab,ansys:2", "ansys:3,ansys:2"],
    "mail_type": [None, MailType.MAIL_JOB_END],
    "mail_user": [
        None,
        "a@example.org",
        "b@cs.example.org",
        "c@example.com",
        "alice",
        "d@badexample.org",
        "@example.org",
    ],
    "max_nodes": [None, None, 1, 2, 3],
    "min_cpus": [None, 1, 8, 16, 17, 31, 32, 33],
    "min_nodes": [None, 1, 2, 3],
    "name": [None, "run", "healthcheck", "sys-x", "system"],
    "num_tasks": [None, 1, 2, 16],
    "partition": [None, None, "batch", "debug", "long", "gpu", "night", "cad", "serial", "parallel", "physics"],
    "qos": [None, None, "long", "longer", "short"],
    "req_nodes": [None, None, None, "n[1-2]"],
    "reservation": [None, "course", "other"],
    "script": [None, SCRIPT, "#!/bin/sh\n mpirun ./a\n", "#!/bin/zsh\n", "#!/bin/bash\necho mpirun x\n"],
    "time_limit": [None, 1, 30, 31, 60, 61, 480, 481, 1440, 1441, 2880, 2881, 20160, 20161, UNLIMITED],
    "tres_per_job": [None, None, None, "gres/gpu:2", "gres/shard:1"],
    "tres_per_node": [
        None,
        None,
        "gres/gpu:1",
        "gres/gpu:a100:2",
        "gres/gpu",
        "gres:gpu:4",
        "gres/shard:1",
        "gres/gpu:0",
    ],
    "user_name": ["alice", "bob"],
    "work_dir": [None, "/home", "/home/bob/x", "/homes/bob", "/scratch/bob"],
}
"""Values of fields, up to the boundaries in the scripts; None is unset."""
MEMORY: list[dict[str, Any]] = [
    {},
    *({"min_mem_per_node": value} for value in (0, 189999, 190000)),
    *({"min_mem_per_cpu": value} for value in (0, 10, 16384, 16385)),
]
LISTS = ["debug,batch", "debug,long", "batch,night", "gpu,batch"]
LISTED = {"partition_times", "gpu_partition", "interactive"}
"""Scripts that understand lists of partitions."""
SIZED = {"interactive", "memory", "sizes"}
"""Scripts that add up sizes, which is right only for requests that leave nothing to Slurm."""
IN_UPDATES = ("time_limit", "partition", "qos", "name", "num_tasks", "features")


@pytest.fixture(autouse=True)
def codes(monkeypatch: pytest.MonkeyPatch) -> None:
    """Give scripts the error codes, whose numbers otherwise only an installed Slurm knows."""
    numbers = {name: float(number) for name, number in tables_of("26.05").constants["ESLURM"].items()}
    monkeypatch.setattr(job_submit, "table_constants", lambda release: {**numbers, **table_constants(release)})


def requests(name: str) -> list[dict[str, Any]]:
    """Return the generated requests for a script: hook, fields and arguments."""
    generator = random.Random(name)
    return [_request(generator, name) for _ in range(REQUESTS)]


def _request(generator: random.Random, name: str) -> dict[str, Any]:
    uid = 0 if generator.random() < 0.1 else 1000
    fields = {field: generator.choice(values) for field, values in VALUES.items()}
    if name in LISTED and generator.random() < 0.3:
        fields["partition"] = generator.choice(LISTS)
    fields |= generator.choice(MEMORY)
    if name in SIZED:
        fields |= _decided(generator, 1 if name == "memory" else generator.choice([1, 2, 3]))
    if name == "guard" and generator.random() < 0.7:
        update = {field: fields[field] for field in IN_UPDATES if generator.random() < 0.3}
        update["nice"] = generator.choice([None, None, None, 0, 100])
        record = {key: fields[key] for key in ("tres_per_node", "tres_per_job", "partition", "qos", "time_limit")}
        return {"hook": "job_modify", "job": update, "record": record, "arguments": {"modify_uid": uid}}
    return {"hook": "job_submit", "job": fields, "arguments": {"submit_uid": uid}}


def _decided(generator: random.Random, nodes: int) -> dict[str, Any]:
    """Return the fields of a request that names all its sizes, as sbatch sends it."""
    tasks, cpus = nodes * generator.choice([1, 2, 16]), generator.choice([1, 2, 8, 9])
    return {
        "min_nodes": nodes,
        "max_nodes": nodes,
        "num_tasks": tasks,
        "cpus_per_task": cpus,
        "min_cpus": tasks * cpus,
        "req_nodes": None,
    }


class Decision(NamedTuple):
    """The outcome for a user; changes are raw values of members."""

    accepted: bool
    code: str | int | None
    text: str
    changes: dict[str, Any]


TABLES = {"partitions": fake_partitions({}), "jobs": fake_jobs([]), "reservations": fake_reservations({})}


def decide(registry: Registry, request: dict[str, Any]) -> Decision:
    """Run a request as slurmhooks.testing.run does, but without encoding messages, which takes most of the time."""
    job = FakeJob(**request["job"])
    struct = job._struct
    arguments = {"job": job, **TABLES, **request["arguments"]}
    if "record" in request:
        arguments["record"] = FakeRecord(**request["record"])
    captured = CapturedLog()
    with captured.capturing():
        outcome = dispatch.run(registry.handlers(request["hook"]), arguments, job)
    assert outcome.error_id is None, captured.lines
    assert not any("error:" in line for line in captured.lines), captured.lines
    text = "\n".join([*heard(captured.user_messages, outcome.passed), *([outcome.text] if outcome.text else [])])
    code = code_of(outcome.code) if isinstance(outcome.code, int) else outcome.code
    return Decision(outcome.passed, code, text, dict(struct.written) if outcome.passed else {})


@pytest.mark.parametrize("name", SCRIPTS)
def test_rules_decide_as_the_script(name: str) -> None:
    """On each of 1,000 requests both accept or refuse, with the same code and text, and change the same fields.

    What was filled in before is said in other words when the request is refused: the script says what the job gets.
    """
    path = FOLDER / f"{name}.toml"
    script = loader.load([loader.Source(path=str(FOLDER / f"{name}.lua"), read=job_submit.load)])
    rules = loader.load(source.sources(config.read(path), path))
    outcomes = []
    for request in requests(name):
        by_script, by_rules = decide(script, request), decide(rules, request)
        if not by_script.accepted:
            by_rules = by_rules._replace(text=by_rules.text.split("\n")[0])
            by_script = by_script._replace(text=by_script.text.split("\n")[-1])
        assert by_rules == by_script, request
        outcomes.append(by_script)
    refused = sum(not outcome.accepted for outcome in outcomes)
    assert len({outcome.text for outcome in outcomes}) > 1
    assert REQUESTS / 50 < refused < REQUESTS * 49 / 50, refused


def test_there_are_enough_scripts() -> None:
    """At least ten scripts are compared, and each has its configuration."""
    assert len(SCRIPTS) >= 10
    assert sorted(path.stem for path in FOLDER.glob("*.toml")) == SCRIPTS
