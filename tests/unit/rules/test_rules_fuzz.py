# SPDX-License-Identifier: GPL-2.0-or-later
"""No request, however odd, makes a rule fail: it accepts, changes or refuses it."""

import pickle
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from slurmhooks.config import model as config
from slurmhooks.config.plain import Checked
from slurmhooks.fields.constants import MailType
from slurmhooks.handlers import dispatch, loader
from slurmhooks.handlers.registry import Registry
from slurmhooks.rules import asking, catalogue, describe, source
from slurmhooks.rules.catalogue import RULES
from slurmhooks.testing import FakeJob, FakeRecord, fake_jobs, fake_partitions, fake_reservations, run
from slurmhooks.values import UNLIMITED
from slurmhooks.workshop.testing.log_capture import CapturedLog
from tests.bench.rules import toml

pytestmark = pytest.mark.slow

TABLES = {
    "partitions": fake_partitions({"debug": {"flag_default": True}}),
    "reservations": fake_reservations({}),
    "jobs": fake_jobs([]),
}


def texts(*usual: str) -> st.SearchStrategy[str | None]:
    """Return a strategy for usual texts, None, and any other text; some are not UTF-8, as clients may send them."""
    signs = st.characters(exclude_characters="\0", exclude_categories=["Cs"]) | st.characters(
        min_codepoint=0xDC80, max_codepoint=0xDCFF, categories=["Cs"]
    )
    return st.one_of(st.none(), st.sampled_from(["", *usual]), st.text(signs, max_size=12))


def numbers(bits: int) -> st.SearchStrategy[Any]:
    """Return a strategy for numbers of a width, None, and UNLIMITED."""
    return st.one_of(st.none(), st.just(UNLIMITED), st.integers(0, 70), st.integers(0, (1 << bits) - 3))


TRES = texts(
    "gres/gpu", "gres/gpu:2", "gres/gpu:a100:1", "gres:gpu:4", "gres/gpu:0", "license/ansys:2", "gpu:(", "cpu:4"
)
BOTH: dict[str, st.SearchStrategy[Any]] = {
    "account": texts("phys"),
    "cpus_per_task": numbers(16),
    "cpus_per_tres": TRES,
    "features": texts("a&b", "[rack1*2&rack2*4]"),
    "licenses": texts("ansys:4", "a,b;c|d", ":::", "=", "a:99999999999"),
    "max_nodes": numbers(32),
    "mem_per_tres": TRES,
    "min_cpus": numbers(32),
    "min_nodes": numbers(32),
    "name": texts("sys/x"),
    "num_tasks": numbers(32),
    "partition": texts("gpu", "debug,gpu", ",", ",,x"),
    "qos": texts("long"),
    "time_limit": numbers(32),
    "tres_per_job": TRES,
    "tres_per_node": TRES,
    "tres_per_socket": TRES,
    "tres_per_task": TRES,
    "work_dir": texts("/home", "/../home", "//", "."),
}
MEMORY = st.one_of(
    st.just({}),
    *(
        st.builds(lambda value, name=name: {name: value}, st.integers(0, 1 << 60))
        for name in ("min_mem_per_cpu", "min_mem_per_node")
    ),
)
FIELDS = st.fixed_dictionaries(
    {},
    optional=BOTH
    | {
        "array_inx": texts("1-10", "0-4000000", "1-2%0", "%"),
        "mail_type": st.sampled_from([None, MailType.MAIL_JOB_END]),
        "mail_user": texts("a@example.org", "@", "a@", ",", "a@b,c@d"),
        "exc_nodes": texts("n1"),
        "ntasks_per_node": numbers(16),
        "pn_min_cpus": numbers(16),
        "req_nodes": texts("n[1-"),
        "reservation": texts("a,b", ","),
        "script": texts("#!/bin/sh\nmpirun x\n"),
        "sockets_per_node": numbers(16),
        "user_name": texts("alice"),
        "groups": st.just({"physics": 1}),
    },
)
RECORDS = st.fixed_dictionaries({}, optional=BOTH | {"batch_flag": st.integers(0, 2)})


@pytest.fixture(scope="module")
def registries(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Registry]:
    """Each rule alone, as in its example."""
    made = {}
    for name, kind in RULES.items():
        path: Path = tmp_path_factory.mktemp(name) / "slurmhooks.toml"
        path.write_text(describe.example(kind))
        made[name] = loader.load(source.sources(config.read(path), path))
    return made


@pytest.fixture(scope="module")
def pairs(tmp_path_factory: pytest.TempPathFactory) -> dict[str, tuple[Registry, Registry]]:
    """The same, and the rules of the benchmark: as they were checked, and as a worker reads them from a set."""
    made = {}
    examples = {name: describe.example(kind) for name, kind in RULES.items()}
    for name, text in {**examples, "all kinds of the benchmark": toml(60)}.items():
        path: Path = tmp_path_factory.mktemp("checked") / "slurmhooks.toml"
        path.write_text(text)
        read = config.read(path)
        checked: Any = pickle.loads(pickle.dumps(Checked(read, catalogue.of_config(path, read))))
        made[name] = (loader.load(source.sources(read, path)), loader.load(source.sources(checked, path)))
    return made


@pytest.fixture
def answered(monkeypatch: pytest.MonkeyPatch) -> None:
    """A budget service that accepts everything."""
    monkeypatch.setattr(asking, "web", lambda url, deadline: asking.Answer(200, '{"hours_left": 1}'))


@pytest.mark.usefixtures("answered")
@settings(max_examples=60)
@given(fields=FIELDS, memory=MEMORY, record=RECORDS, modify=st.booleans())
def test_no_request_makes_a_rule_fail(
    registries: dict[str, Registry],
    fields: dict[str, Any],
    memory: dict[str, Any],
    record: dict[str, Any],
    modify: bool,
) -> None:
    """Whatever a request and its job contain, each rule ends with a decision, and a refusal has a text."""
    hook = "job_modify" if modify else "job_submit"
    for name, registry in registries.items():
        captured = CapturedLog()
        for handler in registry.handlers(hook):
            job = FakeJob(**fields, **memory)
            arguments = {"job": job, "record": FakeRecord(**record), f"{hook[4:]}_uid": 1000, **TABLES}
            with captured.capturing():
                outcome = dispatch.run([handler], arguments, job)
            assert outcome.error_id is None, (name, captured.lines)
            assert outcome.passed or outcome.text, name


@pytest.mark.usefixtures("answered")
@settings(max_examples=20)
@given(fields=FIELDS, memory=MEMORY, record=RECORDS, modify=st.booleans())
def test_rules_of_a_set_decide_the_same(
    pairs: dict[str, tuple[Registry, Registry]],
    fields: dict[str, Any],
    memory: dict[str, Any],
    record: dict[str, Any],
    modify: bool,
) -> None:
    """Rules that a worker reads from a set decide about each request as those that have just been checked."""
    hook = "job_modify" if modify else "job_submit"
    more: Any = TABLES | {f"{hook[4:]}_uid": 1000} | ({"record": FakeRecord(**record)} if modify else {})
    for name, both in pairs.items():
        results = [
            run(registry, hook, job=FakeJob(**fields, **memory), **more) for registry in both if registry.handlers(hook)
        ]
        assert [vars(each) for each in results[1:]] == [vars(each) for each in results[:1]], name
