# SPDX-License-Identifier: GPL-2.0-or-later
"""Each ready-made rule: what it accepts, changes and refuses, up to the boundary, in submissions and updates."""

from pathlib import Path

import pytest

from slurmhooks.fields.constants import MailType
from slurmhooks.rules import catalogue
from slurmhooks.rules.lines import LINES
from slurmhooks.values import UNLIMITED
from tests.unit.rules.cases import Case, parameters
from tests.unit.rules.conftest import Rules
from tests.unit.rules.field_cases import FIELDS, FORBID
from tests.unit.rules.resource_cases import GPUS, MEMORY, SIZES

END = MailType.MAIL_JOB_END
LOWER = 'lowering = "accept"'

ACCOUNTS = {
    "require_account": [
        Case("", {}, "name a project with --account"),
        Case("", {"account": "physics"}),
        Case('forbidden = ["guest*"]', {"account": "guest1"}, "account guest1 is not allowed: name another one with"),
        Case('forbidden = ["guest*"]', {"account": "GUEST"}, "account guest is not allowed"),
        Case('forbidden = ["guest*"]', {"account": "physics"}),
        Case("", {}, uid=0),
        Case("", {"account": ""}, "name a project", record={"account": "physics"}),
        Case("", {"account": "maths"}, record={"account": "physics"}),
        Case("", {"name": "x"}, record={}),
    ],
    "default_account": [
        Case('value = "all"', {}, changes={"account": "all"}),
        Case('value = "all"', {"account": "physics"}),
        Case('by_group = { a = "first", b = "second" }', {"groups": {"b": 2, "a": 1}}, changes={"account": "first"}),
        Case('by_group = { a = "first", b = "second" }', {"groups": {"b": 2}}, changes={"account": "second"}),
        Case('by_group = { a = "first" }', {"groups": {"c": 3}}),
        Case('by_group = { a = "first" }\nvalue = "all"', {"groups": {"c": 3}}, changes={"account": "all"}),
        Case('value = "all"', {}, uid=0),
        Case('value = "all"', {"account": ""}, record={"account": "physics"}),
    ],
    "require_qos": [
        Case("", {}, "name a QOS with --qos"),
        Case("", {"qos": "normal"}),
        Case('allowed = ["long*"]', {"qos": "longer"}),
        Case('allowed = ["long*"]', {"qos": "normal"}, "name a QOS with --qos: long*"),
        Case("", {"default_qos": "normal"}, "name a QOS"),
        Case("default_counts = true", {"default_qos": "normal"}),
        Case('allowed = ["long"]', {"qos": "short"}, "long", record={"qos": "long"}),
        Case('allowed = ["long"]', {"qos": "long"}, record={"qos": "short"}),
    ],
    "default_qos": [
        Case('value = "gpu"', {}, changes={"qos": "gpu"}),
        Case('value = "gpu"', {"qos": "normal"}),
        Case('value = "gpu"\npartitions = ["gpu"]', {"partition": "cpu"}),
    ],
    "choose_qos": [
        Case(
            'cases = [{ to = "short", max_time = 60 }, { to = "long" }]', {"time_limit": 60}, changes={"qos": "short"}
        ),
        Case('cases = [{ to = "short", max_time = 60 }, { to = "long" }]', {"time_limit": 61}, changes={"qos": "long"}),
        Case('cases = [{ to = "short", max_time = 60 }]', {"time_limit": 60, "qos": "x"}),
        Case('override = true\ncases = [{ to = "y" }]', {"qos": "x"}, changes={"qos": "y"}),
        Case('cases = [{ to = "g", partitions = ["g*"] }]', {"partition": "gpu"}, changes={"qos": "g"}),
        Case('cases = [{ to = "g", partitions = ["g*"] }]', {"partition": "cpu"}),
    ],
}
PARTITIONS = {
    "choose_partition": [
        Case('cases = [{ to = "gpu", min_gpus = 1 }]', {"tres_per_node": "gres/gpu:1"}, changes={"partition": "gpu"}),
        Case('cases = [{ to = "gpu", min_gpus = 1 }]', {"tres_per_job": "gres/gpu:0"}),
        Case('cases = [{ to = "gpu", min_gpus = 1 }]', {"tres_per_node": "gres/gpu:1", "partition": "x"}),
        Case('cases = [{ to = "gpu", min_gpus = 1 }]', {"tres_per_node": "gpu"}, record={}),
        Case(
            'cases = [{ to = "a", gpu_types = ["a*"] }]',
            {"tres_per_node": "gres/gpu:a100:1"},
            changes={"partition": "a"},
        ),
        Case('cases = [{ to = "a", gpu_types = ["a*"] }]', {"tres_per_node": "gres/gpu:h100:1"}),
        Case('cases = [{ to = "big", min_memory = "10G" }]', {"min_mem_per_node": 10240}, changes={"partition": "big"}),
        Case('cases = [{ to = "big", min_memory = "10G" }]', {"min_mem_per_node": 10239}),
        Case('cases = [{ to = "big", min_memory = "10G" }]', {}),
        Case('cases = [{ to = "big", min_memory = "10G" }]', {"min_mem_per_node": 0}, changes={"partition": "big"}),
        Case('cases = [{ to = "big", min_memory = "10G" }]', {"min_mem_per_cpu": 0}, changes={"partition": "big"}),
        Case(
            'cases = [{ to = "big", min_memory = "10G" }]',
            {"min_mem_per_cpu": 5120, "min_cpus": 2, "max_nodes": 1},
            changes={"partition": "big"},
        ),
        Case('cases = [{ to = "long", min_time = 61 }]', {"time_limit": UNLIMITED}, changes={"partition": "long"}),
        Case('cases = [{ to = "long", min_time = 61 }]', {"time_limit": 60}),
        Case(
            'cases = [{ to = "some", min_nodes = 2, max_nodes = 3 }]', {"min_nodes": 3}, changes={"partition": "some"}
        ),
        Case('cases = [{ to = "some", min_nodes = 2, max_nodes = 3 }]', {"min_nodes": 4}),
        Case('cases = [{ to = "one", max_cpus = 1 }]', {"min_cpus": 1}, changes={"partition": "one"}),
        Case('cases = [{ to = "one", max_cpus = 1 }]', {"num_tasks": 2}),
        Case('cases = [{ to = "p", accounts = ["phys*"] }]', {"account": "physics"}, changes={"partition": "p"}),
        Case('cases = [{ to = "p", accounts = ["phys*"] }]', {"account": "maths"}),
        Case('cases = [{ to = "t", groups = ["students"] }]', {"groups": {"students": 1}}, changes={"partition": "t"}),
        Case('cases = [{ to = "t", groups = ["students"] }]', {"groups": {"staff": 1}}),
        Case('cases = [{ to = "i", interactive = true }]', {}, changes={"partition": "i"}),
        Case('cases = [{ to = "i", interactive = true }]', {"script": "#!"}),
        Case('cases = [{ to = "b", interactive = false }]', {"script": "#!"}, changes={"partition": "b"}),
        Case('cases = [{ to = "x", max_time = 5 }, { to = "y" }]', {}, changes={"partition": "y"}),
        Case('cases = [{ to = "y" }]', {}, uid=0),
    ],
    "default_partition": [
        Case('value = "teaching"', {}, changes={"partition": "teaching"}),
        Case('value = "teaching"', {"partition": "other"}),
        Case('value = "teaching"', {"partition": "other"}, record={"partition": "x"}),
    ],
    "forbid": [
        Case('partitions = ["gpu"]\nexcept_groups = ["ai"]', {"partition": "gpu", "groups": {}}, "you may not use"),
        Case('partitions = ["gpu"]\nexcept_groups = ["ai"]', {"partition": "gpu", "groups": {"ai": 3}}),
        Case('partitions = ["gpu"]', {"partition": "cpu"}),
        Case('partitions = ["gpu"]', {"partition": "gpu"}, uid=0),
        Case('partitions = ["gpu"]', {"partition": "gpu"}, "you may not use", record={"partition": "cpu"}),
        Case('partitions = ["gpu"]', {"time_limit": 5}, record={"partition": "gpu"}),
        Case(
            'field = "req_nodes"\nforbidden = ["login3"]',
            {"req_nodes": "n1,login[2-4]"},
            "--nodelist n1,login[2-4] is not allowed",
        ),
        Case('field = "req_nodes"\nforbidden = ["login3"]', {"req_nodes": "n1,login[4-5]"}),
        Case('field = "req_nodes"\nforbidden = ["login3"]', {"req_nodes": "n1,feature{ib}"}, "is not allowed"),
        Case('field = "req_nodes"\nallowed = ["n*"]', {"req_nodes": "n1,feature{ib}"}, "is not allowed"),
        Case(
            'field = "nice"\nunless = [{ where = { req_nodes = "n1" } }]',
            {"nice": 1, "req_nodes": "feature{x}"},
            "do not use --nice",
        ),
        Case('field = "features"\nforbidden = ["old"]', {"features": "a", "prefer": "b|old"}, "is not allowed"),
        Case('field = "features"\nforbidden = ["old"]', {"prefer": "old"}, "is not allowed", record={"features": "a"}),
        Case('field = "features"\nallowed = ["a"]', {"prefer": "a"}),
        Case('field = "features"', {"prefer": "old"}),
        Case(
            'field = "req_nodes"\nallowed = ["n*"]',
            {"req_nodes": "n1,login1"},
            "--nodelist n1,login1 is not allowed: n*",
        ),
        Case('field = "req_nodes"\nallowed = ["n*"]', {"req_nodes": "n[1-3],n7"}),
        Case('field = "dependency"\nforbidden = ["singleton"]', {"dependency": "afterany:1,Singleton"}, "not allowed"),
        Case('field = "dependency"\nforbidden = ["singleton"]', {"dependency": "after:1?singleton"}, "not allowed"),
        Case('field = "dependency"\nforbidden = ["singleton"]', {"dependency": "afterany:1"}),
        *(
            Case(
                f'field = "dependency"\nforbidden = ["{pattern}"]\npartitions = ["b"]',
                {"partition": "b"},
                "not allowed",
                record={"partition": "a", "orig_dependency": "afterok:2(unfulfilled),singleton(unfulfilled)"},
            )
            for pattern in ("afterok:2", "singleton")
        ),
        Case('field = "mail_user"\nforbidden = ["*@a.org"]', {"mail_user": "x@A.org,y@b.org"}, "not allowed"),
        Case('field = "mail_user"\nallowed = ["*@a.org"]', {"mail_user": "x@b.org,y@a.org"}, "not allowed"),
        Case('field = "licenses"\nforbidden = ["b:*"]', {"licenses": "a:1;b:1"}, "not allowed"),
        *(
            Case(f'field = "licenses"\nforbidden = ["{pattern}"]', {"licenses": text}, "not allowed")
            for pattern, text in (
                ("b:*", "a:1,b=1"),
                ("b:*", "a;b"),
                ("b=*", "b:1"),
                ("b", "b:1"),
                ("b", "b=2"),
                ("b:2", "b,b"),
                ("b:2", "b: +02"),
                ("b:[2-9]", "b:1;b"),
                ("b:*", "b|c"),
            )
        ),
        *(
            Case(f'field = "licenses"\nallowed = ["{pattern}"]', {"licenses": text}, refused)
            for pattern, text, refused in (
                ("b:[1-2]", "b=2", None),
                ("b:1", "b", None),
                ("b", "b:1", None),
                ("b", "b:2", "not allowed"),
                ("b:1", "b,b", "not allowed"),
                ("b:1", "b=1,c=1", "not allowed"),
                ("b*", "b=9", None),
            )
        ),
        *(
            Case(f'field = "{field}"\nforbidden = ["{pattern}"]', {"tres_per_node": f"gres/x:1,{text}"}, "not allowed")
            for field in ("tres_per_node", "gres")
            for pattern, text in (
                ("gres/gpu:*", "gres/gpu"),
                ("gres/gpu:*", "gpu=2"),
                ("gres:gpu:*", "gres/gpu=2"),
                ("gpu:*", "gres/gpu"),
                ("gres/gpu:a100:*", "gres/gpu:a100=2"),
                ("gres/gpu:a100=*", "gres:gpu:a100"),
                ("gres/gpu", "gpu:2"),
                ("gres/gpu:a100", "gres/gpu:a100:2"),
            )
        ),
        Case('field = "tres_per_node"\nallowed = ["gres/gpu:2"]', {"tres_per_node": "gpu=2"}),
        Case('field = "tres_per_node"\nallowed = ["gres/gpu"]', {"tres_per_node": "gres/gpu:2"}, "not allowed"),
        Case('field = "tres_per_node"\nforbidden = ["gres/gpu*"]', {"tres_per_node": "gres/x:1,gres/gpu"}, "allowed"),
        Case('field = "comment"\nwhere = { licenses = "a:*" }', {"comment": "x", "licenses": "b:1,a:1"}, "--comment"),
        Case(
            'field = "comment"\nunless = [{ where = { licenses = "a:*" } }]',
            {"comment": "x", "licenses": "a:1|b:1"},
            "--comment",
        ),
    ],
}
TIMES = {
    "require_time": [
        Case("", {}, "name a time limit with --time"),
        Case("", {"time_limit": 1}),
        *(Case("", {"time_limit": none}, "name a time limit") for none in (0, UNLIMITED)),
        Case("", {}, uid=0),
        Case("", {"name": "x"}, record={"time_limit": UNLIMITED}),
        *(Case("", {"time_limit": none}, "name a time limit with TimeLimit", record={}) for none in (0, UNLIMITED)),
        Case("", {"time_limit": 5}, record={"time_limit": UNLIMITED}),
        Case("", {"time_limit": UNLIMITED}, record={}, uid=0),
    ],
    "default_time": [
        Case('value = "1:00:00"', {}, changes={"time_limit": 60}),
        Case('value = "1:00:00"', {"time_limit": 90}),
        Case('value = "1:00:00"', {}, uid=0),
        Case('value = "1:00:00"', {"name": "x"}, record={}),
    ],
    "time_ceiling": [
        Case("limit = 60", {"time_limit": 61}, "01:01:00 (TimeLimit)", record={"time_limit": 5}),
        Case("limit = 60", {"time_limit": 60}),
        Case("limit = 60", {"time_limit": 61}, "at most 01:00:00 in the default partition; the"),
        Case("limit = 60", {"time_limit": UNLIMITED}, "would have UNLIMITED"),
        Case("limit = 60", {}, changes={"time_limit": 60}),
        Case('limit = 60\nunset = "accept"', {}),
        Case('limit = 60\nunset = "refuse"', {}, "the job would have no time limit"),
        Case('limit = 60\nlonger = "lower"', {"time_limit": 61}, changes={"time_limit": 60}),
        Case('limit = 60\nlonger = "lower"', {"time_limit": 60}),
        Case("limit = 60", {"time_limit": 61}, uid=0),
        Case('limit = 60\nlonger = "lower"', {"time_limit": 61}, changes={"time_limit": 60}, record={"time_limit": 5}),
    ],
}
BATCH = {"script": "x", "batch_flag": 1, "partition": "c"}
OTHERS = {
    "require_features": [
        Case('one_of = ["rome", "sky*"]', {}, "--constraint: rome or sky*"),
        Case('one_of = ["rome", "sky*"]', {"features": "ib&[skylake*2|x]"}),
        Case('one_of = ["rome", "sky*"]', {"features": "romeo"}, "--constraint"),
        Case('one_of = ["rome"]', {"features": "milan"}, "rome", record={"features": "rome"}),
        Case('one_of = ["rome"]', {"features": "rome"}, record={}),
    ],
    "default_features": [
        Case('value = "rome|milan"', {}, changes={"features": "rome|milan"}),
        Case('value = "rome|milan"', {"features": "ib"}),
        Case('value = "rome|milan"', {"features": ""}, record={"features": "ib"}),
    ],
    "forbid_nodelist": [
        Case("", {}),
        Case("", {"req_nodes": "n[1-3]"}, "do not name nodes"),
        Case("", {"exc_nodes": "n1"}),
        Case('exclude = "refuse"', {"exc_nodes": "n1"}, "do not name nodes"),
        Case("", {"req_nodes": "n1"}, "do not name nodes", record={}),
        Case("", {"req_nodes": ""}, record={"req_nodes": "n1"}),
        Case("", {"exc_nodes": ""}, record={"req_nodes": "n1"}),
        Case('partitions = ["a"]', {"partition": "a"}, "ReqNodeList", record={"req_nodes": "n1"}),
        Case('partitions = ["a"]', {"partition": "a", "exc_nodes": ""}, "ReqNodeList", record={"req_nodes": "n1"}),
        Case('partitions = ["a"]', {"partition": "a", "req_nodes": ""}, record={"req_nodes": "n1"}),
        Case('partitions = ["a"]', {"partition": "a"}, record={"exc_nodes": "n1"}),
        Case("", {"req_nodes": "n1"}, uid=0),
    ],
    "licenses": [
        Case('required = ["ansys*"]', {}, "one of ansys*"),
        Case('required = ["ansys*"]', {"licenses": "ansys@server:2"}),
        Case('allowed = ["ansys"]', {"licenses": "ansys:2,matlab"}, "only ansys"),
        Case('allowed = ["ansys"]', {}),
        Case("most = { ansys = 2 }", {"licenses": "ansys:2"}),
        Case("most = { ansys = 2 }", {"licenses": "ansys=3"}, "at most 2 of ansys"),
        Case("most = { ansys = 2 }", {"tres_per_task": "license/ansys:1", "num_tasks": 3}, "at most 2 of ansys"),
        Case("most = { ansys = 2 }", {"licenses": "ansys:3"}, "at most 2 of ansys"),
        Case("most = { ansys = 2 }", {"licenses": "ansys:2,matlab:9;ansys"}, "at most 2 of ansys"),
        Case("most = { ansys = 2 }", {"licenses": "ansys:2|matlab:9,ansys"}, "use either commas or"),
        Case("most = { ansys = 2 }", {"licenses": "matlab|ansys:3"}, "at most 2 of ansys"),
        Case("most = { ansys = 2 }", {"licenses": "ansys:power"}, "at most 2 of ansys"),
        Case('required = ["ansys"]', {"licenses": "ansys|matlab"}, "one of ansys"),
        Case('required = ["ansys", "matlab"]', {"licenses": "ansys|matlab"}),
        *(Case('required = ["ansys"]', {"licenses": text}, "one of ansys") for text in ("ansys:0", "ansys:", "matlab")),
        Case("most = { ansys = 2 }", {"licenses": "ansys:3"}, "at most 2", record={"licenses": "ansys"}),
    ],
    "interactive_limit": [
        Case("forbid = true", {}, "interactive jobs are not allowed in the default partition; use sbatch"),
        Case("forbid = true", {"script": "#!/bin/sh"}),
        Case("time = 60", {"time_limit": 60}),
        Case("time = 60", {"time_limit": 61}, "at most 01:00:00 of time"),
        Case("time = 60", {"time_limit": 61, "script": "#!/bin/sh"}),
        Case("time = 60", {}, changes={"time_limit": 60}),
        Case("nodes = 1", {"min_nodes": 2}, "at most 1 node;"),
        Case("cpus = 4", {"min_cpus": 5}, "at most 4 CPUs"),
        Case("cpus = 4", {"min_cpus": 4}),
        Case("gpus = 1", {"tres_per_job": "gres/gpu:2"}, "at most 1 GPU;"),
        Case("time = 60", {"time_limit": 61}, "at most", record={"batch_flag": 0}),
        Case("time = 60", {"time_limit": 61}, record={"batch_flag": 1}),
    ],
    "reserved_names": [
        Case('names = ["sys/*", "probe"]', {"name": "sys/x"}, "the job name sys/x is reserved"),
        Case('names = ["sys/*", "probe"]', {"name": "probes"}),
        Case('names = ["probe"]', {}),
        Case('names = ["probe"]', {"name": "probe"}, uid=0),
        Case('names = ["probe"]', {"name": "probe"}, "reserved", record={"name": "x"}),
        Case('names = ["probe"]', {"comment": "x"}, record={"name": "probe"}),
        *(Case('names = ["Probe", "sys/*"]', {"name": name}, "reserved")
          for name in ("probe ", " PROBE", "probe\t", "pro\u200bbe", "\uff50robe", "SYS/x", " sys/", "probe\x01")),
    ],
    "reservation": [
        Case("required = true", {}, "name a reservation"),
        Case("required = true", {"reservation": "any"}),
        Case('allowed = ["course-*"]', {}),
        Case('allowed = ["course-*"]', {"reservation": "course-1,other"}, "course-*"),
        Case('allowed = ["course-*"]', {"reservation": "course-1,course-2"}),
        Case('allowed = ["a"]', {"reservation": "b"}, "with ReservationName: a", record={}),
        Case('required = true\npartitions = ["c"]', {"partition": "c"}, record={"resv_name": "r"}),
        Case("required = true", {"reservation": ""}, "name a reservation", record={"resv_name": "r"}),
    ],
    "work_directory": [
        Case('outside = ["/home"]', {"work_dir": "/home/alice"}, "may not run in /home/alice"),
        Case('outside = ["/home"]', {"work_dir": "/home"}, "/home"),
        Case('outside = ["/home/"]', {"work_dir": "/homes/alice"}),
        Case('outside = ["/home"]', {"work_dir": "/scratch/../home/alice"}, "may not run"),
        Case('outside = ["/home"]', {"work_dir": "//home/alice"}, "may not run"),
        Case('inside = ["/scratch", "/work"]', {"work_dir": "/work/x"}),
        Case('inside = ["/scratch"]', {"work_dir": "/work/x"}, "may not run"),
        Case('inside = ["/"]', {"work_dir": "/work/x"}),
        Case('outside = ["/home"]', {}),
        *(Case(keys, {"work_dir": path}, "may not run")
          for keys in ('outside = ["/home"]', 'inside = ["/scratch", "/proc"]')
          for path in ("/proc/self/cwd/../home/alice", "/proc/self/root/home/alice", "/proc", "/dev/fd/3",
                       "/scratch/../proc/self/cwd/../../../scratch", "/sys/x", "/x/../proc/1/root/../../../scratch")),
        Case('outside = ["/home"]', {"work_dir": "/home/x"}, "may not", record={"work_dir": "/scratch"}),
    ],
    "mail_address": [
        Case('domains = ["example.org"]', {"mail_user": "a@example.org"}),
        Case('domains = ["example.org"]', {"mail_user": "a@EXAMPLE.org"}),
        Case('domains = ["example.org"]', {"mail_user": "a@example.org.evil"}, "an address of example.org, not a@ex"),
        Case('domains = ["example.org"]', {"mail_user": "alice"}, "not alice"),
        Case('domains = ["example.org"]', {"mail_user": "a@evil.org,b@example.org"}, "not a@evil.org"),
        Case('domains = ["example.org"]', {"mail_user": "a@example.org, b@example.org"}),
        Case('domains = ["example.org"]', {}),
        Case('value = "{user}@a.b"', {"mail_type": END, "user_name": "al"}, changes={"mail_user": "al@a.b"}),
        Case('value = "{user}@a.b"', {"user_name": "al"}),
        Case('value = "{user}@a.b"', {"mail_type": END, "mail_user": "me"}),
        Case('domains = ["a.b"]', {"mail_user": "me@c.d"}, "MailUser must be an address of a.b", record={}),
        Case('domains = ["A.b"]', {"mail_user": "me@a.B"}),
        *(Case('domains = ["example.org"]', {"mail_user": text}, "must be an address of example.org")
          for text in ("a@evil.com b@example.org", "a@evil.com;b@example.org", "a@evil.com|b@example.org",
                       "a@evil.com\tb@example.org", "<a@evil.com> b@example.org", "-oQ/tmp@example.org",
                       "-S x b@example.org", "a@evil.com\nb@example.org", "x@example.org, -f@example.org",
                       "a@evil.com>@example.org", "a@b@example.org", "`id`@example.org", "@example.org", ",@",
                       ",a@evil.com", "a@example.org,\t", "a\u2028b@example.org", "a@evil.com\u00a0b@example.org")),
        *(Case(keys, {"mail_user": text})
          for keys in ('domains = ["example.org"]', 'value = "x@example.org"')
          for text in (",a@example.org", "a@example.org,", "a@example.org, ,b@example.org", ",", " ,, ")),
        Case('value = "{user}@a.b"', {"mail_type": END, "mail_user": ", ", "user_name": "al"},
             changes={"mail_user": "al@a.b"}),
        *(Case('value = "{user}@a.b"', {"mail_user": text}, "--mail-user must be a valid address")
          for text in ("-s", "a b", "a;b", "a|b", "%u@a.b", "%u")),
        Case('domains = ["example.org"]', {"mail_user": "%u@example.org"}, "not %u@example.org"),
        Case('value = "{user}@a.b"', {"mail_type": END}, record={"user_name": "al"}, changes={"mail_user": "al@a.b"}),
        Case('value = "{user}@a.b"', {"mail_type": END}, record={"user_name": "al", "mail_user": "x@c.d"}),
        Case('value = "{user}@a.b"', {"mail_type": 0}, record={"user_name": "al"}),
    ],
    "guard_updates": [
        Case('changes = ["time_limit", "nice"]', {"time_limit": 5}, "may change TimeLimit of a job", record={}),
        Case('changes = ["time_limit", "nice"]', {"time_limit": 5, "nice": 0}, "TimeLimit and Nice", record={}),
        Case('changes = ["time_limit"]', {"nice": 5}, record={}),
        Case('changes = ["time_limit"]', {"time_limit": 5}, record={}, uid=0),
        Case('changes = ["time_limit"]\nlowering = "accept"', {"time_limit": 5}, record={"time_limit": 6}),
        Case('changes = ["time_limit"]\n' + LOWER, {"time_limit": 7}, "TimeLimit", record={"time_limit": 6}),
        Case('changes = ["partition"]\n' + LOWER, {"partition": "a"}, "Partition", record={"partition": "b"}),
        Case('changes = ["time_limit"]\nupdates = "refuse"', {"time_limit": 5}, "may change TimeLimit", record={}),
        Case('changes = ["time_limit"]', {"time_limit": 5}),
    ],
    "script_content": [
        Case("forbidden = ['\\bmpirun\\b']", {"script": "#!/bin/sh\nmpirun x\n"}, "line 2 has 'mpirun'"),
        Case("forbidden = ['\\bmpirun\\b']", {"script": "#!/bin/sh\nsrun x\n"}),
        Case("forbidden = ['^mpirun']", {"script": "#!/bin/sh\n# mpirun\n"}),
        Case("required = ['^module load']", {"script": "#!/bin/sh\nmodule load x\n"}),
        Case("required = ['^module load']", {"script": "#!/bin/sh\n"}, "nothing in it matches ^module load"),
        Case("forbidden = ['.']", {}),
        Case("first = 1\nforbidden = ['end']", {"script": "#" * 1021 + "end"}, "'end'") ,
        Case("first = 1\nforbidden = ['end']", {"script": "#" * 1022 + "end"}, "longer than 1 KiB"),
        Case("first = 1\nforbidden = ['end']\nlonger = 'accept'", {"script": "#" * 1022 + "end"}),
        Case("forbidden = ['end']", {"script": "#\n" * (1 << 19) + "end"}, "longer than 1024 KiB"),
        Case("forbidden = ['end']", {"script": "#\n" * (1 << 19)}),
        Case("forbidden = ['x']", {"script": "x"}, uid=0),
        Case("forbidden = ['x']\npartitions = ['a']", {"partition": "a"}, "has 'x'", record=BATCH),
        Case("forbidden = ['x']\npartitions = ['a']", {"partition": "b"}, record=BATCH),
        Case("forbidden = ['y']\npartitions = ['a']", {"partition": "a"}, record=BATCH),
        Case("forbidden = ['x']\npartitions = ['a']", {"partition": "a"}, record={**BATCH, "batch_flag": 0}),
        Case("forbidden = ['x']", {"partition": "a"}, record=BATCH),
    ],
}  # fmt: skip
ALL = ACCOUNTS | PARTITIONS | TIMES | MEMORY | GPUS | SIZES | OTHERS | FIELDS
ALL["forbid"] = [*PARTITIONS["forbid"], *FORBID]
ELSEWHERE = {"budget", "maintenance", "notice", "quota"}
"""Rules with tests in files of their own."""


@pytest.mark.parametrize(("rule", "case"), parameters(ALL))
def test_what_rules_do(rules: Rules, rule: str, case: Case) -> None:
    """A rule accepts, changes or refuses a request as its keys say."""
    case.show(rules(case.toml(rule)))


def test_every_rule_is_tested() -> None:
    """Each rule is shown to accept something; each that refuses, to refuse something; each that changes, a change."""
    assert set(ALL) | ELSEWHERE == set(catalogue.RULES) | set(LINES)
    for name, cases in ALL.items():
        kind = catalogue.RULES[LINES[name].keys["rule"] if name in LINES else name]
        assert any(case.refused is None and not case.changes for case in cases), name
        assert any(case.refused for case in cases) == (kind.code is not None), name
        assert kind.code is not None or any(case.changes for case in cases), name
        if kind.code is not None and "job_modify" in kind.hooks:
            assert any(case.refused and case.record is not None for case in cases), name


WITHIN = {
    rule: [
        Case(keys, {"partition": "debug"}, changes={"time_limit": 30} if rule == "default_time" else {}),
        Case(keys, {"partition": "long"}, changes={"time_limit": 60}),
        Case(keys, {"partition": "debug,long"}, changes={"time_limit": 60}),
    ]
    for rule, keys in {"default_time": "value = 60", "time_ceiling": "limit = 60"}.items()
}


@pytest.mark.parametrize(("rule", "case"), parameters(WITHIN))
def test_times_that_rules_set(
    rules: Rules, rule: str, case: Case, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """No rule sets a time limit above MaxTime of all partitions of a job, with which it would never start."""
    path = tmp_path / "slurm.conf"
    path.write_text("PartitionName=debug MaxTime=30\nPartitionName=long MaxTime=2-0\n")
    monkeypatch.setenv("SLURM_CONF", str(path))
    case.show(rules(case.toml(rule)))
