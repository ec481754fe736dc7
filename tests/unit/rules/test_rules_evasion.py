# SPDX-License-Identifier: GPL-2.0-or-later
"""Notations and updates by which users could get around a rule."""

import contextlib
import re
import time
from collections.abc import Callable
from itertools import permutations
from pathlib import Path
from typing import Any

import pytest

from slurmhooks.config import model as config
from slurmhooks.errors import Reject
from slurmhooks.fields.constants import JobFlag
from slurmhooks.job_submit.bounds.asked import Reader
from slurmhooks.rules import asking, catalogue
from slurmhooks.rules.base import Rule
from slurmhooks.rules.lines import LINES
from slurmhooks.rules.request import Request, Site
from slurmhooks.testing import FakeJob, FakeRecord, run
from slurmhooks.values import UNLIMITED
from tests.unit.rules.cases import Case, parameters
from tests.unit.rules.conftest import Rules
from tests.unit.rules.test_rules_catalogue import ALL

LOWER = 'lowering = "accept"'
SOON = "start = 2100-05-01T08:00:00\nend = 2100-05-02T18:00:00\n"
LISTS_OF_QOS = {
    "forbid": [
        Case('qos = ["urgent"]', {"qos": "urgent,normal"}, "you may not use"),
        Case('qos = ["urgent"]', {"qos": "normal,URGENT"}, "you may not use"),
        Case('qos = ["urgent"]', {"qos": "normal,long"}),
        Case('qos = ["*"]\nexcept_qos = ["normal"]', {"qos": "urgent,normal"}, "you may not use"),
        Case('qos = ["*"]\nexcept_qos = ["normal", "long"]', {"qos": "long,normal"}),
        *(
            Case('field = "deadline"\nallowed = [2027-01-01]', {"deadline": 1 << bit}, f"--deadline {1 << bit} is not")
            for bit in (56, 62)
        ),
        Case('field = "wckey"\nforbidden = ["secret"]', {"wckey": "*Secret"}, "--wckey *secret is not allowed"),
        Case('field = "wckey"\npartitions = ["gpu"]', {"partition": "gpu"}, record={"wckey": "*own"}),
        Case('field = "wckey"\npartitions = ["gpu"]', {"partition": "gpu"}, "not use WCKey", record={"wckey": "own"}),
    ],
    "time_ceiling": [
        Case('qos = ["long"]\nlimit = 60', {"qos": "long,normal", "time_limit": 600}, "would have 10:00:00")
    ],
    "require_qos": [
        Case('allowed = ["norm*"]', {"qos": "norm,urgent"}, "norm*"),
        Case('allowed = ["a", "b"]', {"qos": "a,B"}),
        Case('allowed = ["a", "b"]', {"qos": ","}, "a or b"),
        Case('allowed = ["a"]\ndefault_counts = true', {"default_qos": "b"}, "name a QOS"),
    ],
}
NOW = int(time.time())
LIMITS = {
    "time_ceiling": [
        # Slurm ends a job without a time limit by its deadline.
        *(Case(f"limit = 30{more}", {"deadline": NOW + 20 * 60}) for more in ("", '\nlonger = "lower"')),
        Case("limit = 30", {"deadline": NOW + 86400}, changes={"time_limit": 30}),
        Case("limit = 30", {"deadline": NOW + 86400}, changes={"time_limit": 30}, record={"deadline": NOW + 20 * 60}),
        Case("limit = 30", {"deadline": NOW + 20 * 60, "time_limit": 40}, "at most"),
        Case(
            'limit = 30\nlonger = "lower"\npartitions = ["b"]',
            {"partition": "b", "max_cpus": 1},
            "change max_cpus in another update",
            record={"partition": "a", "time_limit": 60},
        ),
        Case(
            'limit = 30\nlonger = "lower"\npartitions = ["b"]',
            {"partition": "b", "comment": "x"},
            changes={"time_limit": 30},
            record={"partition": "a", "time_limit": 60},
        ),
        *(
            Case(f"limit = 30{more}", {"time_min": 40, **job}, "--time-min")
            for more in ("", '\nlonger = "lower"', '\nunset = "accept"')
            for job in ({}, {"time_limit": 100})
        ),
        Case('limit = 30\nunset = "accept"', {"time_min": 40}, "TimeMin", record={"time_min": 10}),
        Case("limit = 30", {"time_min": 20}, changes={"time_limit": 30}),
    ],
    "default_time": [
        Case("value = 30", {"time_min": 40}, changes={"time_limit": 40}),
        Case("value = 30", {"time_min": 20}, changes={"time_limit": 30}),
        Case("value = 30", {"deadline": NOW + 20 * 60}),
    ],
    "interactive_limit": [
        Case("time = 30", {"deadline": NOW + 20 * 60}),
        Case("time = 30", {"time_min": 40}, "at most 00:30:00 of time"),
        Case("time = 30", {"time_min": 20}, changes={"time_limit": 30}),
    ],
}
COUNTS = {
    "node_count": [
        *(Case("most = 1", {"features": f"a*{count}"}, "up to 2")
          for count in ("2", "+2", " 2", "\t02", "-4294967294", "4294967298", "9223372032559808514")),
        *(Case("most = 1", {field: text}, "up to 2")
          for field in ("features", "prefer") for text in ("(a)*+2", "[a*+1&c*+1]", "[(a&b)*+1&c*1]")),
        *(Case("most = 1", {"features": f"a*{count}"}) for count in ("1", "+1", "0", "-2", "9" * 5000)),
        *(Case("most = 1", {field: "a*1", "req_nodes": "n3", **more}, "up to 2")
          for field in ("features", "prefer") for more in ({}, {"num_tasks": 1})),
        Case("most = 1", {"features": "a*1", "req_nodes": "n3", "max_nodes": 1}),
    ],
    "licenses": [
        *(Case("most = { a = 9 }", {"licenses": f"a{count}"}, "at most 9 of a")
          for count in (":+50", ": 50", ":\t+0050", "=+50", ":" + "0" * 30 + "50", ":+5,a:+5", ":1234567890")),
        *(Case("most = { a = 9 }", {"licenses": f"a{count}"}) for count in ("", ":+9", ":0", ":" + "0" * 30)),
    ],
    "gpu_ceiling": [
        *(Case("per_job = 4", {f"tres_per_{per}": f"gres/gpu{kind}:{'0' * 20}8"}, "not a TRES")
          for per in ("job", "node", "socket", "task") for kind in ("", ":a100")),
        Case("per_job = 4", {"tres_per_node": "gres/gpu:0008"}, "would have 8"),
    ],
    "forbid": [
        Case(f'field = "{field}"\nforbidden = ["lic", "afterany:*", "gres/gpu"]', {field: value}, text)
        for field, values, text in (
            ("licenses", ("lic:4294967297", "x,lic:8589934593", "lic:-4294967295", "x:4294967297"), "not a list"),
            ("licenses", ("lic:9", "x,lic"), "is not allowed"),
            ("licenses", ("x:9",), None),
            ("dependency", ("4294967298", "singleton,4294967298", "4294967298?singleton"), "not a dependency"),
            ("dependency", ("2,singleton",), "is not allowed"),
            ("dependency", ("afterok:2,singleton",), None),
            ("tres_per_node", (f"gres/gpu:{'9' * 20}", "gpu:+1", "gpu: 1", "x,gpu:a100:1:2", "gpu::1"), "not a"),
            ("tres_per_node", ("gpu", "gres:gpu:2", "gpu:a100:2", "gpu:a100", "x,gpu:2(S:0,1)"), "is not allowed"),
            ("tres_per_node", ("x:2(S:0,1),gpux",), None),
        )
        for value in values
    ],
}  # fmt: skip


@pytest.mark.parametrize(("rule", "case"), parameters(COUNTS))
def test_counts(rules: Rules, rule: str, case: Case) -> None:
    """A count with a sign, blanks or leading zeros, or of more than 32 bits, is what Slurm reads, or refused."""
    case.show(rules(case.toml(rule)))


@pytest.mark.parametrize(("rule", "case"), parameters(LISTS_OF_QOS))
def test_lists_of_qos(rules: Rules, rule: str, case: Case) -> None:
    """A rule concerns a job if any of its QOS matches; all must be allowed, and all exempt for an exemption."""
    case.show(rules(case.toml(rule)))


NAMES = ["health\ufe0fcheck", "h\u034fealthcheck", "healthcheck\u3164", "\uffa0healthcheck", "\u2800HealthCheck",
         "healthcheck\U000e0101", "health\u200bcheck", "healthcheck\udcff"]  # fmt: skip


@pytest.mark.parametrize(("rule", "case"), parameters(LIMITS))
def test_limits(rules: Rules, case: Case, rule: str) -> None:
    """A time limit that a rule sets fits the limits that the job names itself: --time-min and --deadline."""
    case.show(rules(case.toml(rule)))


@pytest.mark.parametrize("name", NAMES)
def test_names(rules: Rules, name: str) -> None:
    """A reserved name with characters that cannot be seen is that name."""
    Case('names = ["healthcheck"]', {"name": name}, "is reserved").show(
        rules(Case('names = ["healthcheck"]', {}).toml("reserved_names"))
    )


GPU = "gres/gpu"
TYPES = 'types = ["a100"]'
ATTACKS = {
    # Submissions.
    "gpu_ceiling": [
        Case("per_job = 2", {"num_tasks": 8, "ntasks_per_tres": 1}, "would have"),
        Case("per_job = 2", {"tres_per_task": "gresgpu", "num_tasks": 4}, "not a TRES"),
        Case("per_job = 2", {"tres_per_node": "gresgpu", "min_nodes": 4}, "not a TRES"),
        Case("per_job = 2", {"tres_per_job": f"{GPU}:1", "shared": 0}, "would have whole nodes (--exclusive)"),
        Case("per_job = 0", {"shared": 0}, "would have whole nodes (--exclusive)"),
        Case("per_job = 2", {"req_nodes": "n[1-4]", "tres_per_node": f"{GPU}:2"}, "up to 8"),
        Case("per_job = 2", {"tres_per_job": f"{GPU}:32"}, "would have 32"),
        Case("per_job = 2", {"tres_per_node": f"{GPU}:1", "min_nodes": 1, "max_nodes": 4}, "would have up to 4"),
        Case("per_job = 2", {"min_nodes": 1, "max_nodes": 2, "tres_per_node": f"{GPU}:2"}, "would have up to 4"),
        Case("per_node = 4", {"tres_per_job": f"{GPU}:8"}, "would have up to 8"),
        Case("per_job = 2", {"min_nodes": 4}, "would have",
             record={"ntasks_per_node": 2, "tres_per_task": f"{GPU}:1", "num_tasks": 2, "min_nodes": 1}),
        Case("per_job = 2", {"tres_per_socket": f"{GPU}:2"}, "would have", record={"tres_per_socket": f"{GPU}:1"}),
    ],
    "require_gpu_type": [
        Case(TYPES, {"num_tasks": 8, "ntasks_per_tres": 1}, "name the type"),
        Case(TYPES, {"tres_per_task": "gresgpu"}, "not a TRES"),
        Case(TYPES, {"tres_per_job": f"{GPU}:a100:1,{GPU}:1"}, "name the type"),
    ],
    "require_gpu": [Case("", {"num_tasks": 4, "ntasks_per_tres": 2})],
    "choose_partition": [
        Case('cases = [{ to = "gpu", min_gpus = 1 }]', {"num_tasks": 4, "ntasks_per_tres": 1}, None,
             {"partition": "gpu"}),
    ],
    "cpus_per_gpu": [
        Case("most = 4", {"tres_per_node": f"{GPU}:100,{GPU}:1", "cpus_per_task": 8}, "would have"),
        Case("most = 4", {"tres_per_job": f"{GPU}:100,{GPU}:1", "cpus_per_task": 8}, "would have"),
        Case("most = 1", {"num_tasks": 8, "ntasks_per_tres": 2, "cpus_per_task": 1}, "would have"),
    ],
    "memory_per_gpu": [
        Case("most = 200", {"tres_per_node": f"{GPU}:100,{GPU}:1", "min_mem_per_node": 1000}, "would have"),
        Case("most = 200", {"tres_per_job": f"{GPU}:100,1", "min_mem_per_node": 1000}, ""),
    ],
    "memory_ceiling": [
        Case("per_node = 200", {"shared": 0, "min_mem_per_cpu": 150}, "would have"),
        Case("per_node = 1000", {"shared": 0, "min_mem_per_cpu": 200}, "would have"),
        Case("per_node = 200", {"num_tasks": 8, "ntasks_per_tres": 1, "mem_per_tres": f"{GPU}:100"}, "would have"),
        Case('per_node = "40G"', {"tres_per_job": f"{GPU}:8", "mem_per_tres": f"{GPU}:40960"}, "would have"),
        Case("per_node = 200", {"tres_per_node": "gres/tape:2", "mem_per_tres": "gres/tape:200"}, "unlimited amount"),
        Case("per_node = 200", {"tres_per_node": f"{GPU}:k:1", "mem_per_tres": f"{GPU}:a100:9"}, "unlimited amount"),
        Case("per_cpu = 200", {"mem_per_tres": "gres/tape:200"}, "would have", record={"tres_per_node": "gres/tape:2"}),
        Case("per_node = 200", {"num_tasks": 2},
             record={"min_mem_per_node": 0, "bitflags": JobFlag(0)}),
        Case("per_node = 200", {"num_tasks": 2}, "would have all",
             record={"min_mem_per_node": 0, "bitflags": JobFlag.JOB_MEM_SET}),
        Case("per_node = 200", {"tres_per_job": f"{GPU}:a100:2", "mem_per_tres": f"{GPU}:100", "max_nodes": 1}),
    ],
    "cpu_count": [
        Case("most = 4", {"shared": 0}, "would have whole nodes (--exclusive)"),
        Case("most = 4", {"tres_per_job": f"{GPU}:1", "ntasks_per_tres": 8}, "would have"),
        Case("least = 4", {"num_tasks": 4, "overcommit": 1}, "would have 1"),
        Case("most = 4", {"tres_per_node": "gres/tape:2", "cpus_per_tres": "gres/tape:2"}, "unlimited amount"),
        Case("most = 4", {"tres_per_node": "gres/tape:2", "cpus_per_tres": f"{GPU}:2"}, "unlimited amount"),
        Case("most = 4", {"cpus_per_tres": "gres/tape:2"}, "unlimited amount", record={"tres_per_node": f"{GPU}:2"}),
        Case("most = 4", {"num_tasks": 5, "min_cpus": 5, "overcommit": 1}, "would have", record={"num_tasks": 1}),
        Case("most = 4", {"num_tasks": 5}, record={"num_tasks": 1, "min_cpus": 1, "overcommit": 1}),
        Case("most = 8", {"min_nodes": 1, "max_nodes": 2, "ntasks_per_node": 8}, "would have up to 16"),
        Case("most = 8", {"min_nodes": 1, "max_nodes": 2, "pn_min_cpus": 8}, "would have up to 16"),
        Case("least = 4", {"min_cpus": 1}, "would have 1", record={"min_cpus": 4, "num_tasks": 4}),
    ],
    "node_count": [
        Case("most = 1", {"max_nodes": UNLIMITED}, "would have"),
        Case("most = 1", {"req_nodes": "n[1-4]"}, "up to 4"),
        Case("most = 1", {"req_nodes": "n[1-]x[1-4]"}, "up to 4"),
        Case("most = 1", {"req_nodes": "n[1-"}, "not a node list"),
        Case("most = 1", {"req_nodes": "feature{ib}"}, "unlimited"),
        Case("most = 1", {"req_nodes": "feature{ib}", "min_nodes": 1, "max_nodes": 1}),
        Case("least = 2", {"req_nodes": "feature{ib}"}, "at least 2"),
        Case("most = 2", {"req_nodes": "n1,switch{a,b}"}, "unlimited"),
        Case("most = 1", {"req_nodes": "feature{ib}"}, "unlimited", record={"min_nodes": 1}),
        Case("most = 3", {"min_nodes": 3}, record={"min_nodes": 2, "req_nodes": "feature{ib}"}),
        Case("most = 3", {"min_nodes": 4}, "at most 3", record={"min_nodes": 3, "req_nodes": "feature{ib}"}),
        Case("most = 1", {"req_nodes": "n[1a-4]"}, "not a node list"),
        Case("most = 1", {"min_cpus": 32}, "would have", record={"min_nodes": 1}),
    ],
    "task_count": [
        Case("most = 2", {"tres_per_job": f"{GPU}:1", "ntasks_per_tres": 8}, "would have"),
        Case("most = 2", {"req_nodes": "n[1-4]", "ntasks_per_node": 2}, "would have"),
        Case("most = 2", {"min_nodes": 4}, "would have", record={"ntasks_per_node": 2, "num_tasks": 2, "min_nodes": 1}),
    ],
    "licenses": [
        Case("most = { ansys = 2 }", {"tres_per_task": "licenseansys", "num_tasks": 4}, "not a TRES"),
        Case('required = ["ansys"]', {"tres_per_task": "licenseansys"}, "not a TRES"),
        Case('allowed = ["x"]', {"tres_per_task": "licenseansys"}, "not a TRES"),
    ],
    "interactive_limit": [
        Case("cpus = 4", {"shared": 0}, "at most 4 CPUs"),
        Case("gpus = 1", {"shared": 0}, "at most 1 GPU"),
        Case("nodes = 1", {"req_nodes": "n[1-4]"}, "at most 1 node"),
    ],
    "require_time": [Case("", {"time_limit": UNLIMITED}, "name a time limit", record={"time_limit": 60})],
    "time_ceiling": [
        Case("limit = 10", {"end_time": 1000 + 3600}, "at most 00:10:00", record={"time_limit": 5, "end_time": 1300}),
        Case("limit = 10", {"end_time": 1000 + 600}, record={"time_limit": 5, "end_time": 1300}),
        Case("limit = 10", {"end_time": 0}, record={"time_limit": 50, "end_time": 4000}),
    ],
    "maintenance": [
        Case(f'{SOON}jobs = "refuse"', {"time_limit": UNLIMITED}, "only start afterwards", record={"time_limit": 1}),
        Case(f'{SOON}jobs = "refuse"', {"begin_time": 1}, "only start afterwards",
             record={"time_limit": UNLIMITED, "begin_time": 4200000000}),
    ],
    "require": [
        Case('field = "licenses"', {"tres_per_task": "license/ansys:1"}),
        Case('field = "wckey"', {"wckey": "*"}, "with --wckey"),
        Case('field = "wckey"\npartitions = ["gpu"]', {"partition": "gpu"}, "WCKey", record={"wckey": "*own"}),
        Case('field = "wckey"\nallowed = ["own"]', {"wckey": "*own"}),
    ],
    "guard_updates": [
        Case('changes = ["time_limit"]', {"end_time": 900}, "EndTime", record={"time_limit": 5, "end_time": 1300}),
        Case('changes = ["time_limit"]\nlowering = "accept"', {"end_time": 900},
             record={"time_limit": 5, "end_time": 1300}),
        Case('changes = ["time_limit"]\nlowering = "accept"', {"end_time": 9000}, "EndTime",
             record={"time_limit": 5, "end_time": 1300}),
        Case('changes = ["time_limit"]\npartitions = ["gpu"]', {"partition": "debug", "time_limit": 50}, "TimeLimit",
             record={"partition": "gpu", "time_limit": 5}),
        Case('changes = ["partition"]\npartitions = ["gpu"]', {"partition": "debug"}, "Partition",
             record={"partition": "gpu"}),
        Case('changes = ["qos"]\nqos = ["gpu"]', {"qos": "low"}, "QOS", record={"qos": "gpu"}),
        Case('changes = ["account"]\naccounts = ["gpu"]', {"account": "low"}, "Account", record={"account": "gpu"}),
        Case('changes = ["features"]', {"prefer": "gpu"}, "Prefer of a job", record={"features": "a"}),
        Case('changes = ["prefer"]', {"features": "gpu"}, record={"features": "a"}),
        Case(f'changes = ["nice"]\n{LOWER}', {"nice": 10}, record={"nice": 9}),
        Case(f'changes = ["nice"]\n{LOWER}', {"nice": 8}, "Nice", record={"nice": 9}),
        Case(f'changes = ["priority"]\n{LOWER}', {"priority": 0}, record={"priority": 9}),
        Case(f'changes = ["priority"]\n{LOWER}', {"priority": UNLIMITED}, record={"priority": 0}),
        Case(f'changes = ["priority"]\n{LOWER}', {"priority": UNLIMITED}, "Priority", record={"priority": 9}),
        Case(f'changes = ["priority"]\n{LOWER}', {"priority": 10}, "Priority", record={"priority": 9}),
        Case(f'changes = ["priority"]\n{LOWER}', {"priority": 10}, "Priority", record={"priority": 0}),
        Case('changes = ["begin_time"]', {"begin_time": 4000000000}, "StartTime", record={}),
        Case('changes = ["begin_time"]', {"time_limit": 5}, record={"begin_time": 4000000000}),
        # Members with several meanings.
        *(Case(f'changes = ["{name}"]', {other: 50}, name, record={name: 100})
          for name, other in permutations(("min_mem_per_node", "min_mem_per_cpu"))),
        *(Case(f'changes = ["{name}"]', {other: 1}, name, record={name: 2})
          for name, other in permutations(("core_spec", "thread_spec"))),
        # 0 is more than every other number.
        *(Case(f'changes = ["{name}"]\n{LOWER}', {name: 0}, name, record={name: 10})
          for name in ("min_mem_per_node", "min_mem_per_cpu", "pn_min_memory", "max_nodes", "max_cpus")),
        *(Case(f'changes = ["{name}"]\n{LOWER}', {name: 5}, record={name: 10})
          for name in ("min_mem_per_node", "min_mem_per_cpu", "pn_min_memory", "max_nodes", "max_cpus")),
        Case(f'changes = ["pn_min_memory"]\n{LOWER}', {"min_mem_per_node": 300}, "memory",
             record={"min_mem_per_cpu": 5}),
        # Slurm tries the partition of each of several reservations.
        *(Case('changes = ["partition"]', {"reservation": "a,b", "default_partition": "gpu"}, "Partition",
               record={"partition": "debug", "bitflags": JobFlag.JOB_PART_ASSIGNED, "resv_name": name})
          for name in (None, "a")),
        Case('changes = ["partition"]', {"reservation": "a,b", "default_partition": "gpu"},
             record={"partition": "debug", "bitflags": JobFlag(0)}),
        Case('changes = ["partition"]', {"reservation": "a", "default_partition": "gpu"},
             record={"partition": "debug", "bitflags": JobFlag.JOB_PART_ASSIGNED}),
        Case('changes = ["partition"]', {"reservation": "", "default_partition": "gpu"},
             record={"partition": "debug", "bitflags": JobFlag.JOB_PART_ASSIGNED, "resv_name": "a"}),
    ],
    "work_directory": [
        *(Case(f'inside = ["{folder}"]', {"work_dir": path}, "may not run", record={"work_dir": "/scratch/x"})
          for folder, path in (("/scratch", ""), ("/scratch", "scratch"), ("/scratch", "./x"), ("/", "x"))),
        Case('outside = ["/tmp"]', {"work_dir": ""}, "may not run in /tmp", record={"work_dir": "/scratch/x"}),
        Case('inside = ["/tmp"]', {"work_dir": ""}, record={"work_dir": "/tmp/x"}),
        Case('outside = ["/home"]', {"work_dir": ""}, record={"work_dir": "/tmp/x"}),
        Case('inside = ["/scratch"]', {"work_dir": "scratch"}, "may not run in scratch"),
    ],
    "require_account": [Case("", {"account": ""}, "name a project")],
    "require_features": [
        Case('one_of = ["rome"]', {"features": ""}, "name a kind of node"),
        Case('one_of = ["rome"]', {"features": "rome", "prefer": "milan"}, "--prefer: rome"),
        Case('one_of = ["rome"]', {"features": "milan", "prefer": "rome"}, "--constraint: rome"),
        Case('one_of = ["rome"]', {"prefer": "milan"}, "Prefer: rome", record={"features": "rome"}),
        Case('one_of = ["rome"]', {"features": "rome", "prefer": "rome&ib"}),
    ],
    "array_size": [
        *(Case("most = 2", {"array_inx": text}, "at most 2") for text in ("1-3%", "1-3,", "[1-3]", "+1-3", "1-3%x")),
        Case("at_once = 1", {"array_inx": "1-3%-1"}, None, {"array_inx": "1-3%1"}),
        Case("at_once = 1", {"array_inx": "1-3%0"}, None, {"array_inx": "1-3%1"}),
    ],
}  # fmt: skip
"""Requests by which users have got around a rule on real clusters. Other tables have those on addresses, paths, names
and scripts (test_rules_catalogue.py), reservations, cases of accounts and siblings (test_rules_selection.py)."""


@pytest.mark.parametrize(("rule", "case"), parameters(ATTACKS))
def test_attacks(rules: Rules, rule: str, case: Case) -> None:
    """No request that has got around a rule does so any more."""
    case.show(rules(case.toml(rule)))


MAIL = 'domains = ["a.org"]\npartitions = ["gpu"]'
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
    "mail_address": [
        Case(MAIL, {"partition": "gpu"}, "must be an address", record={"mail_user": "x@b.org"}),
        Case(MAIL, {"partition": "gpu"}, "must be an address", record={"mail_user": "alice@b.org"}),
        Case(MAIL, {"partition": "gpu"}, record={"mail_user": "x@a.org"}),
        Case(MAIL, {"partition": "gpu", "user_name": "alice"}, record={"mail_user": "alice"}),
        Case(MAIL, {"mail_user": "alice", "user_name": "alice"}, "must be an address", record={"partition": "gpu"}),
        Case(MAIL, {"mail_user": ""}, record={"partition": "gpu", "mail_user": "x@b.org"}),
        Case(MAIL, {"time_limit": 5}, record={"partition": "gpu", "mail_user": "x@b.org"}),
    ],
}  # fmt: skip


@pytest.mark.parametrize(("rule", "case"), parameters(UPDATES))
def test_updates(rules: Rules, rule: str, case: Case) -> None:
    """An update of one field is checked although the job has the others, on which the result also depends."""
    case.show(rules(case.toml(rule)))


def test_the_default_address(rules: Rules, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A job that is moved may have the address that Slurm has filled in, at MailDomain of slurm.conf."""
    conf = tmp_path / "slurm.conf"
    conf.write_text("MailDomain=b.org\n")
    monkeypatch.setenv("SLURM_CONF", str(conf))
    for address, refused in (("alice@b.org", None), ("alice", "must be an address"), ("x@b.org", "must be an address")):
        case = Case(MAIL, {"partition": "gpu", "user_name": "alice"}, refused, record={"mail_user": address})
        case.show(rules(case.toml("mail_address")))


BUDGET = 'command = ["/budget", "{user} {account} {partition} {qos} {uid} {time_limit} {nodes} {cpus} {gpus}"]'
NOT_OF_SIZES = frozenset({"partition", "reservation", "time_limit", "time_min", "deadline"})
"""Fields that the bounds of every request need, but not those that a rule about sizes limits."""


@pytest.mark.parametrize("name", [*catalogue.RULES, *LINES])
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
        read.clear()
        path = tmp_path / "slurmhooks.toml"
        path.write_text(case.toml(name))
        (rule,) = catalogue.of_config(path, config.read(path))
        own = rule.deciding()
        if not own:
            continue
        record = FakeRecord(**case.record or {})
        with contextlib.suppress(Reject):
            rule.check(Request(FakeJob(**case.job), 1000, Site(), modify=True, record=record))
        assert "job_modify" not in rule.hooks or read <= set(own), case
        assert len(own) == len(set(own))


OF_ALL_JOBS = {name: re.sub("^(partitions|except_groups) = .*$", "", kind.example, flags=re.MULTILINE)
               for name, kind in catalogue.RULES.items()} | {"forbid": 'users = ["alice"]'}  # fmt: skip
"""The keys of rules that are for all jobs."""
MOVABLE = [name for name, kind in catalogue.RULES.items() if {"job_submit", "job_modify"} <= set(kind.hooks)]


@pytest.mark.parametrize("name", MOVABLE)
def test_moves_into_the_share_of_a_rule(rules: Rules, name: str) -> None:
    """A rule that is in force for a partition or account checks each update that may take a job there."""
    table = f'[[rule]]\nrule = "{name}"\nname = "{name}"\nupdates = "refuse"\n{OF_ALL_JOBS[name]}\n'
    job = {"user_name": "alice"}
    for key, fields in (("partitions", ("partition", "reservation")), ("accounts", ("account",))):
        made = rules(f'[rules.modes."rule:{name}"]\n{key} = ["gpu"]\n{table}')
        for field in fields:
            result = run(made, "job_modify", job=FakeJob(**job, **{field: "gpu"}), modify_uid=1000)
            assert "only administrators may change" in (result.text or ""), (field, result)
        result = run(made, "job_modify", job=FakeJob(**job, comment="gpu"), modify_uid=1000)
        assert result.accepted, result
