# SPDX-License-Identifier: GPL-2.0-or-later
"""What users read of each rule, on one page; ``python -m tests.unit.rules.test_rules_messages`` updates it."""

import re
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from unittest import mock

import pytest

from slurmhooks.config import model as config
from slurmhooks.fields.constants import MailType
from slurmhooks.handlers import loader
from slurmhooks.rules import asking, source
from slurmhooks.rules.catalogue import RULES
from slurmhooks.rules.lines import LINES
from slurmhooks.rules.options import OPTIONS
from slurmhooks.testing import FakeJob, FakeRecord, run
from slurmhooks.values import UNLIMITED

pytestmark = pytest.mark.slow

PAGE = Path(__file__).parent / "messages.txt"
TWO: dict[str, Any] = {"partition": "a,b"}
"""A job that names two partitions."""
ONE: dict[str, Any] = {"partition": "gpu"}
NONE: dict[str, Any] = {}
HELD: dict[str, Any] = {"partition": "gpu", "batch_flag": 0, "time_limit": 0}
"""The job of an update."""
PARTITIONS: dict[str, dict[str, object]] = {
    "debug": {"flag_default": True, "max_share": 1},
    **{name: {"max_share": 1} for name in ("gpu", "a", "b")},
    "whole": {"max_share": 0},
}
REQUESTS: dict[str, list[tuple[str, dict[str, Any], bool]]] = {
    "require_account": [("", {}, False), ("", {"account": ""}, True),
                        ('forbidden = ["guest"]', {"account": "guest"}, False)],
    "default_account": [('value = "phys"', {}, False)],
    "choose_partition": [('cases = [{ to = "gpu" }]', {}, False), ('cases = [{ to = "a,b" }]', {}, False)],
    "default_partition": [('value = "gpu"', {}, False), ('value = "a,b"', {}, False)],
    "forbid": [
        ('partitions = ["*"]', ONE, False), ('partitions = ["*"]', TWO, False), ('partitions = ["*"]', NONE, False),
        ('partitions = ["*"]', {**TWO}, True), ('qos = ["low"]', {"qos": "low"}, False),
        ('accounts = ["phys"]\npartitions = ["gpu"]', {**ONE, "account": "PHYS"}, False),
        ('users = ["alice"]', {"user_name": "alice"}, False), ('field = "nice"', {"nice": 5}, False),
        ('field = "comment"\nforbidden = ["x*"]', {"comment": "xy"}, True),
        ('field = "comment"\nallowed = ["x*"]', {"comment": "y"}, False),
    ],
    "require_qos": [("", {}, False), ('allowed = ["long"]', {"qos": "x"}, False),
                    ('allowed = ["long", "short"]', {"qos": "x"}, True)],
    "default_qos": [('value = "low"\nmessage = "QOS {chosen}"', {}, False)],
    "choose_qos": [('cases = [{ to = "low" }]\nmessage = "QOS {chosen}"', {}, False)],
    "require_time": [("", {}, False), ("", {"time_limit": UNLIMITED}, True)],
    "default_time": [('value = "1:00:00"', {}, False)],
    "time_ceiling": [
        *[("limit = 60", {**partition, "time_limit": 61}, False) for partition in (ONE, TWO, NONE)],
        ("limit = 60", {"time_limit": UNLIMITED}, True), ('limit = 60\nunset = "refuse"', ONE, False),
        ('limit = 60\nlonger = "lower"', {**ONE, "time_limit": 61}, False),
    ],
    "require_memory": [("", {}, False), ("", {"mem_per_tres": ""}, True)],
    "default_memory": [('per_cpu = "4G"', {}, False),
                       ('per_gpu = "4G"', {"tres_per_job": "gres/gpu:1"}, False)],
    "memory_ceiling": [
        ('per_node = "4G"', {**ONE, "min_mem_per_node": 5000}, False),
        ('per_node = "4G"', {**ONE, "min_mem_per_node": 0}, False),
        ('per_node = "4G"', {"min_mem_per_node": 0}, True),
        ('per_node = "4G"', {**TWO, "min_mem_per_cpu": 4096, "num_tasks": 2}, False),
        ('per_cpu = "1G"', {"min_mem_per_cpu": 2048}, True),
    ],
    "require_gpu": [("", ONE, False), ("", TWO, False), ("", NONE, False), ("", {"tres_per_job": ""}, True)],
    "gpu_ceiling": [
        ("per_job = 4", {**ONE, "tres_per_job": "gres/gpu:8"}, False),
        ("per_job = 1", {**TWO, "tres_per_job": "gres/gpu:2"}, False),
        ("per_job = 0", {**ONE, "tres_per_job": "gres/gpu:1"}, False),
        ("per_job = 1", {**ONE, "tres_per_node": "gres/gpu:2"}, False),
        ("per_node = 1", {"tres_per_job": "gres/gpu:4", "min_nodes": 2}, True),
        ("per_job = 1", {"partition": "gpu", "tres_per_node": "gres/gpu:2", "min_nodes": 2, "shared": 0}, False),
    ],
    "require_gpu_type": [
        ("", {"tres_per_job": "gres/gpu:1"}, False), ('types = ["a100"]', {"tres_per_job": "gres/gpu:1"}, False),
        ('types = ["a100", "h100"]', {"tres_per_job": "gres/gpu:1"}, True),
    ],
    "cpus_per_gpu": [
        ("most = 1", {"tres_per_job": "gres/gpu:1", "min_cpus": 2}, False),
        ("most = 8", {"tres_per_job": "gres/gpu:2", "num_tasks": 9, "cpus_per_task": 2}, False),
        ("most = 8", {"tres_per_job": "gres/gpu:2", "min_cpus": 20}, True),
    ],
    "memory_per_gpu": [
        ('most = "1G"', {"tres_per_node": "gres/gpu:1", "min_mem_per_node": 2048}, False),
        ('most = "1G"', {"tres_per_node": "gres/gpu:2", "min_mem_per_node": 0}, True),
    ],
    "node_count": [
        ("most = 1", {**ONE, "min_nodes": 2}, False), ("most = 2", {**TWO, "min_nodes": 1, "max_nodes": 4}, False),
        ("least = 2", NONE, False), ("least = 2\nmost = 4", {"min_nodes": 1}, True),
        ("most = 2", {"max_nodes": 4}, True),
    ],
    "task_count": [("most = 1", {**ONE, "num_tasks": 2}, False), ("least = 2", {**TWO, "num_tasks": 1}, False)],
    "cpu_count": [("most = 1", {**ONE, "min_cpus": 2}, False), ("most = 1", {"partition": "whole"}, False),
                  ("most = 1", {**ONE, "shared": 0}, False), ("least = 2", {"min_cpus": 1}, True)],
    "array_size": [("most = 1", {"array_inx": "1-2"}, False), ("most = 10", {"array_inx": "1-20"}, False),
                   ("most = 10", {"array_inx": "1-x"}, False)],
    "require_features": [('one_of = ["rome"]', {}, False), ('one_of = ["rome", "milan"]', {"features": "x"}, True)],
    "default_features": [('value = "rome"\nmessage = "features {chosen}"', {}, False)],
    "forbid_nodelist": [("", {"req_nodes": "n1"}, False), ("", {"req_nodes": "n1"}, True),
                        ('exclude = "refuse"', {"exc_nodes": "n1"}, False)],
    "licenses": [
        ('required = ["ansys", "matlab"]', {}, False), ('allowed = ["ansys"]', {"licenses": "x"}, False),
        ("most = { ansys = 1 }", {"licenses": "ansys:2"}, True), ("most = { ansys = 1 }", {"licenses": "a b"}, False),
    ],
    "interactive_limit": [
        ("forbid = true", ONE, False), ("forbid = true", TWO, False), ("forbid = true", NONE, False),
        ("time = 60", {**ONE, "time_limit": 61}, False), ("nodes = 1", {**TWO, "min_nodes": 2}, False),
        ("gpus = 4", {"tres_per_job": "gres/gpu:8"}, True),
    ],
    "reserved_names": [('names = ["probe"]', {"name": "probe"}, False), ('names = ["probe"]', {"name": "probe"}, True)],
    "reservation": [("required = true", {}, False), ('allowed = ["a", "b"]', {"reservation": "c"}, True)],
    "work_directory": [('outside = ["/home"]', {"work_dir": "/home"}, False),
                       ('outside = ["/home"]', {"work_dir": "/home"}, True)],
    "mail_address": [('domains = ["a.org"]', {"mail_user": "x@b.org"}, False),
                     ('domains = ["a.org", "c.org"]', {"mail_user": "x@b.org"}, True),
                     ('value = "x"', {"mail_user": "-s", "mail_type": MailType.MAIL_JOB_END}, False)],
    "guard_updates": [('changes = ["time_limit"]', {"time_limit": 5}, True),
                      ('changes = ["time_limit", "partition", "comment"]', {**ONE, "time_limit": 5}, True),
                      ('changes = ["qos"]\nupdates = "refuse"', {"qos": "x"}, True)],
    "script_content": [("forbidden = ['mpirun']", {"script": "#!\nmpirun x\n"}, False),
                       ("required = ['module']", {"script": "#!\n"}, False),
                       ("first = 1\nrequired = ['module']", {"script": "#!\nmodule\n" + "#" * 1024}, False)],
    "budget": [('command = ["/bin/true"]', {"account": "phys"}, False), ('command = ["/bin/true"]', {}, False),
               ('command = ["/bin/true"]', {"account": "phys"}, True)],
    "quota": [("jobs = 0", {**ONE, "user_name": "alice"}, False),
              ("cpu_hours = 0.5", {**ONE, "time_limit": None}, False),
              ("cpu_hours = 0.5", {**ONE, "user_name": "alice", "time_limit": 60}, False),
              ('per = "account"\njobs = 0', {**ONE, "account": "phys"}, False),
              ('per = "account"\njobs = 0', {}, False),
              ('per = "group"\ngroups = ["astro"]\njobs = 0', {**ONE, "groups": {"astro": 7}}, False),
              ("cpu_hours = 0.5", {**ONE, "user_name": "alice", "time_limit": 90}, True)],
    "notice": [('message = "partition {partition} closes; use {where}"', ONE, False)],
    "require": [('field = "comment"', {}, False), ('field = "comment"\nallowed = ["a*"]', {"comment": "x"}, True),
                ('field = "wckey"\nforbidden = ["x"]', {"wckey": "x"}, False)],
    "limit": [('field = "nice"\nmost = 5', {"nice": 7}, False), ('field = "nice"\nleast = 0', {"nice": -1}, True),
              ('field = "gpus"\nleast = 2', {**ONE, "tres_per_job": "gres/gpu:1"}, False)],
    "default": [('field = "comment"\nvalue = "x"\nmessage = "comment {chosen}"', {}, False)],
    "set": [('field = "requeue"\nvalue = true', {"requeue": 0}, False),
            ('field = "nice"\nvalue = 5', {"nice": 7}, True)],
    "copy": [('field = "comment"\nsource = "name"', {"name": "run7", "comment": "x"}, False)],
    "maintenance": [
        ('start = 2100-05-01T08:00:00\nend = 2100-05-02T18:00:00\njobs = "refuse"', {"time_limit": UNLIMITED}, False),
        ("start = 2100-05-01T08:00:00\nend = 2100-05-02T18:00:00", {}, False),
    ],
}  # fmt: skip
"""Keys of each rule with a request that it refuses or changes, and whether that is an update."""


def messages(folder: Path, *, of_site: bool = False) -> Iterator[tuple[str, bool, str]]:
    """Yield rule, whether it is an update, and text, of each request.

    ``of_site``: each rule has a message of the site, with all of its placeholders.
    """
    path = folder / "slurmhooks.toml"
    for name, requests in REQUESTS.items():
        for keys, fields, modify in requests:
            text = " ".join(f"{{{each}}}" for each in RULES[name].placeholders) if name in RULES else ""
            message = f'message = "site: {text}"\n' if of_site and "message" not in keys else ""
            path.write_text(f'[[rule]]\nrule = "{name}"\n{keys}\n{message}')
            made = loader.load(source.sources(config.read(path), path))
            job = FakeJob(**fields)
            with mock.patch.object(asking, "program", return_value=asking.Answer(1, "")):
                if modify:
                    result = run(made, "job_modify", job=job, record=FakeRecord(**HELD), modify_uid=1000,
                                 partitions=PARTITIONS)  # fmt: skip
                else:
                    result = run(made, "job_submit", job=job, submit_uid=1000, partitions=PARTITIONS)
            texts = [*result.user_messages, *([result.text] if result.text else [])]
            assert result.error_id is None, result
            assert texts, (name, keys, fields)
            yield from ((name, modify, text) for text in texts)


def page() -> str:
    """Return what users read, a line each."""
    zone = {"TZ": "UTC"}
    with tempfile.TemporaryDirectory() as folder, mock.patch.dict("os.environ", zone):
        time.tzset()
        lines = [f"{name:18}{'update' if modify else '':8}{text}" for name, modify, text in messages(Path(folder))]
    time.tzset()
    return "\n".join(lines) + "\n"


def test_what_users_read() -> None:
    """The page has a message of every rule, and shows each as it is."""
    assert REQUESTS.keys() == RULES.keys() | LINES.keys()
    assert page() == PAGE.read_text()


def test_messages_of_a_site(tmp_path: Path) -> None:
    """A message may have all placeholders of its rule, whatever the reason of a refusal is."""
    texts = [text for _, _, text in messages(tmp_path, of_site=True)]
    assert sum(text.startswith("site: ") for text in texts) > len(texts) / 2


def test_words(tmp_path: Path) -> None:
    """A message names no unknown value, agrees in number, and names options of the command that the user has run."""
    keys = {word for _, key in OPTIONS.values() for word in key.split(" or ")}
    for name, modify, text in messages(tmp_path):
        assert not re.search(r"\(none\)|\(default\)|None|\b1 (nodes|tasks|CPUs|GPUs)\b|partition \w+ and", text), text
        assert not re.search(r"partitions \w+(?! and|,)\b", text), text
        assert not (modify and re.search(r"(^|[\s(])--(?!exclusive)", text)), (name, text)
        assert modify or not any(re.search(rf"\b{re.escape(key)}\b", text) for key in keys - {"QOS", "Account"}), text


if __name__ == "__main__":
    PAGE.write_text(page())
