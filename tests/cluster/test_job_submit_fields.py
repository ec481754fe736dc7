# SPDX-License-Identifier: GPL-2.0-or-later
"""Every field of a request, read and written in real slurmctlds, with two witnesses in C.

The witnesses are job_submit plugins that are compiled here with the release's own header. One runs before slurmhooks
and one after it, and each records every member of the request, without slurmhooks' tables and fields. JobSubmitPlugins
is ``before,python,after,lua`` while these tests run.
"""

import json
import re
import shlex
import textwrap
from collections.abc import Iterator
from typing import Any, NamedTuple

import pytest

from slurmhooks.job_submit.strings import collapse_nodes, expand_nodes, time_str2mins
from slurmhooks.slurmctld.fields import JobFields
from slurmhooks.slurmctld.flag_rows import Enumerated
from slurmhooks.slurmctld.number_rows import Tagged
from slurmhooks.slurmctld.rows import Computed, Field, Text, rows
from slurmhooks.values import UNLIMITED
from tests.cluster.conftest import Cluster
from tests.cluster.job_submit_site import place
from tests.cluster.lab.cluster import cluster_name

HOOK_FILE = "/etc/slurm/hooks.d/fields.py"
FOLDER = "/var/tmp/fields"
"""The folder for records of hooks and witnesses, and for users' scripts."""
PLUGINS = "/usr/local/lib/slurm"
NO_VAL = {8: 0xFE, 16: 0xFFFE, 32: 0xFFFFFFFE, 64: 0xFFFFFFFFFFFFFFFE}
INFINITE = {bits: value + 1 for bits, value in NO_VAL.items()}

NOT_FIELDS = {
    "argv": "job.argv, a list",
    "array_bitmap": "made by slurmctld from array_inx, after the plugins",
    "crontab_entry": "a struct of slurmctld's own",
    "env_hash": "made by slurmctld, after the plugins",
    "environment": "job.environment, a mapping",
    "id": "a struct of slurmctld's own; job.user_name reads it",
    "script_buf": "the client's copy of the script; slurmctld gets it as script",
    "script_hash": "made by slurmctld, after the plugins",
    "select_jobinfo": "opaque, of the select plugin; until 22.05",
    "spank_job_env": "job.spank_job_env, a mapping",
    "tres_req_cnt": "made by slurmctld, after the plugins",
}
"""Members of job_desc_msg_t without a row, and why."""

WITNESS = r"""
#include <slurm/slurm.h>
#include <slurm/slurm_errno.h>
#include <slurm/slurm_version.h>
#include <stdio.h>

const char plugin_name[] = "witness", plugin_type[] = "job_submit/@NAME@";
const uint32_t plugin_version = SLURM_VERSION_NUMBER;

static void text(FILE *out, const char *name, const char *value)
{
    fprintf(out, "%s=", name);
    if (value) {
        fputc('"', out);
        for (; *value; value++)
            fprintf(out, "%02x", (unsigned char)*value);
    }
    fputc('\n', out);
}

static void array(FILE *out, const char *name, char **value)
{
    for (int i = 0; value && value[i]; i++)
        text(out, name, value[i]);
}

#define NUMBER(member) fprintf(out, #member "=%llu\n", (unsigned long long)d->member)
#define TEXT(member) text(out, #member, d->member)
#define ARRAY(member) array(out, #member "[]", d->member)

static int see(job_desc_msg_t *d)
{
    FILE *out = fopen("@FOLDER@/@NAME@.new", "w");
    if (!out)
        return SLURM_ERROR;
@MEMBERS@
    fclose(out);
    rename("@FOLDER@/@NAME@.new", "@FOLDER@/@NAME@");
    return SLURM_SUCCESS;
}

int init(void) { return SLURM_SUCCESS; }
int fini(void) { return SLURM_SUCCESS; }
int job_submit(job_desc_msg_t *d, uint32_t uid, char **message) { return see(d); }
#if SLURM_VERSION_NUMBER >= SLURM_VERSION_NUM(23, 2, 0)
int job_modify(job_desc_msg_t *d, void *record, uint32_t uid, char **message) { return see(d); }
#else
int job_modify(job_desc_msg_t *d, void *record, uint32_t uid) { return see(d); }
#endif
"""

LUA = """
function slurm_job_submit(job, partitions, uid)
    local asked = io.open("@FOLDER@/times")
    if asked then
        local out = io.open("@FOLDER@/times.lua", "w")
        for line in asked:lines() do out:write(line, "=", slurm.time_str2mins(line), "\\n") end
        out:close()
        asked:close()
    end
    return slurm.SUCCESS
end
function slurm_job_modify(job, record, partitions, uid)
    return slurm.SUCCESS
end
"""

PREAMBLE = f"""\
import json
from slurmhooks import Reject, hook, log
from slurmhooks.job_submit import constants

def shown(value):
    if isinstance(value, bool) or value is None or isinstance(value, str):
        return value
    if isinstance(value, int):
        return [int(value), repr(value)]
    return repr(value)

def fields(view):
    found = {{}}
    for name in dir(view):
        try:
            found[name] = shown(getattr(view, name))
        except Exception as error:
            found[name] = f"{{type(error).__name__}}: {{error}}"
    return found

def tell(**what):
    with open("{FOLDER}/told", "a") as file:
        file.write(json.dumps(what) + "\\n")

"""


class Member(NamedTuple):
    """One member of job_desc_msg_t, as the header declares it."""

    kind: str
    stars: str
    name: str


class Probe:
    """A cluster with the witnesses."""

    def __init__(self, cluster: Cluster) -> None:
        self.cluster = cluster
        self.release = cluster.version
        header = cluster.root("cat", "/usr/include/slurm/slurm.h", check=True).stdout
        self.header = re.sub(r"/\*.*?\*/", "", header, flags=re.DOTALL)
        self.members = _members(self.header, "job_descriptor")
        self.said = ""
        self.private = cluster.has_sources
        """Whether slurmhooks was built with Slurm's sources."""

    def hooks(self, source: str) -> None:
        """Put only these hooks in force."""
        place(self.cluster, PREAMBLE + textwrap.dedent(source), HOOK_FILE)
        self.cluster.root("sh", "-c", f"rm -f {FOLDER}/told {FOLDER}/before {FOLDER}/after")

    def submit(self, *command: str, user: str = "alice", env: dict[str, str] | None = None) -> str:
        """Run a command that must succeed, and return its output."""
        said: str = self.cluster.user(user, *command, check=True, env=env or {}).stdout
        return said.strip()

    def attempt(self, *command: str, user: str = "alice") -> str:
        """Run a command that may fail, and return its messages."""
        self.said = self.cluster.user(user, *command).stderr
        return self.said

    def told(self) -> list[dict[str, Any]]:
        """Return the records of hooks."""
        done = self.cluster.root("cat", f"{FOLDER}/told")
        return [json.loads(line) for line in done.stdout.splitlines()]

    def saw(self, witness: str) -> dict[str, Any]:
        """Return the last record of a witness: numbers, texts or None by member; lists of texts by "member[]"."""
        members: dict[str, Any] = {f"{name}[]": [] for name in ("argv", "environment", "spank_job_env")}
        done = self.cluster.root("cat", f"{FOLDER}/{witness}")
        assert done.returncode == 0, f"{witness} was not called; {self.said}\n{self.cluster.log()[-3000:]}"
        for line in done.stdout.splitlines():
            name, value = line.split("=", 1)
            if value.startswith('"'):
                text = bytes.fromhex(value[1:]).decode("utf-8", "surrogateescape")
                if name.endswith("[]"):
                    members[name].append(text)
                else:
                    members[name] = text
            else:
                members[name] = int(value) if value else None
        return members

    def show(self, job_id: str) -> dict[str, str]:
        """Return the fields that scontrol shows for a job."""
        text = self.submit("scontrol", "show", "job", "-o", job_id)
        pairs = re.split(r" +(?=[A-Z][\w:/]*=)", text.strip())
        return {name: value.strip() for name, _, value in (pair.partition("=") for pair in pairs)}

    def rows(self) -> dict[str, tuple[Field[Any], str]]:
        """Return the rows of this release, each with the path of its member."""
        names = {member.name for member in self.members} | {
            f"{member.name}.{inner.name}"
            for member in self.members
            if member.kind == "slurm_step_id_t"
            for inner in _members(self.header, "slurm_step_id_t")
        }
        rows_ = {}
        for name, row in rows(JobFields).items():
            path = next((path for path in row.members if path in names), None)
            if path is not None and not isinstance(row, Computed):
                rows_[name] = (row, path)
        return rows_


def _members(header: str, name: str) -> list[Member]:
    body = re.search(rf"struct(?: {name})? \{{([^{{}}]*)\}}\s*(?:job_desc_msg_t|{name});", header)
    assert body is not None, name
    parts = []
    for declaration in body.group(1).split(";"):
        match = re.fullmatch(r"(.*?)\s*(\**)\s*(\w+)", " ".join(declaration.split()))
        if match:
            parts.append(Member(match.group(1), match.group(2), match.group(3)))
    return parts


def _witness(name: str, members: list[Member], header: str) -> str:
    lines = []
    for member in members:
        path = member.name
        if member.kind == "char" and member.stars:
            lines.append(f"    {'TEXT' if member.stars == '*' else 'ARRAY'}({path});")
        elif member.kind == "slurm_step_id_t":
            lines += [f"    NUMBER({path}.{inner.name});" for inner in _members(header, "slurm_step_id_t")]
        elif not member.stars and member.kind != "slurm_hash_t":
            lines.append(f"    NUMBER({path});")
    source = WITNESS.replace("@NAME@", name).replace("@FOLDER@", FOLDER)
    return source.replace("@MEMBERS@", "\n".join(lines))


@pytest.fixture(scope="module")
def probe(cluster: Cluster) -> Iterator[Probe]:
    """The cluster with both witnesses and job_submit/lua beside slurmhooks; they are removed at the end."""
    cluster.without_spank()
    new_probe = Probe(cluster)
    cluster.root("sh", "-c", f"rm -f /etc/slurm/hooks.d/*.py; mkdir -p {FOLDER}; chmod 777 {FOLDER}", check=True)
    for name in ("before", "after"):
        cluster.put(_witness(name, new_probe.members, new_probe.header), f"{FOLDER}/{name}.c")
        output = f"{PLUGINS}/job_submit_{name}.so"
        cluster.root("gcc", "-shared", "-fPIC", "-w", "-o", output, f"{FOLDER}/{name}.c", check=True)
    cluster.put(LUA.replace("@FOLDER@", FOLDER), "/etc/slurm/job_submit.lua")
    cluster.put('#!/bin/sh\necho "ran $*"\nsleep 1\n', f"{FOLDER}/job.sh", mode=0o755)
    conf = "/etc/slurm/local.conf"
    before = cluster.root("cat", conf, check=True).stdout
    rest = "".join(line for line in before.splitlines(keepends=True) if not line.startswith("JobSubmitPlugins"))
    cluster.put(
        f"{rest}JobSubmitPlugins=before,python,after,lua\nLicenses=matlab:10\nGresTypes=gpu\nScronParameters=enable\n",
        conf,
    )
    cluster.restart()
    yield new_probe
    cluster.root("sh", "-c", f"scancel --state=pending; rm -rf /etc/slurm/hooks.d/*.py {FOLDER}")
    cluster.put(before, conf)
    cluster.restart()


def bits(row: Field[Any]) -> int:
    """Return the width of a number's row."""
    assert row.bits, row.name
    return row.bits


def test_every_member_of_the_request_is_a_field(probe: Probe) -> None:
    """Each member of the header has a row or is in NOT_FIELDS, and `since` and `until` of the rows are right."""
    declared = {member.name for member in probe.members}
    have = {path.split(".")[0] for _, path in probe.rows().values()}
    assert declared - have - set(NOT_FIELDS) == set()
    assert have.isdisjoint(NOT_FIELDS)
    for name, row in rows(JobFields).items():
        if isinstance(row, Computed):
            continue
        expected = (not row.since or probe.release >= _release(row.since)) and (
            not row.until or probe.release <= _release(row.until)
        )
        assert (name in probe.rows()) == expected, name


def _release(text: str) -> tuple[int, ...]:
    return tuple(int(part) for part in text.split("."))


OPTIONS = shlex.split(
    "--account=Physics --acctg-freq=task=30 --batch=fast --begin=now+1hour --comment=söme --constraint=fast"
    " --contiguous --cores-per-socket=2 --cpu-freq=low-high:performance --cpus-per-task=2 --deadline=now+2days"
    " --delay-boot=3 --dependency=singleton --exclude=n9 --gpus-per-node=0 --hint=nomultithread"
    " --job-name=full --kill-on-invalid-dep=yes --licenses=matlab:2 --mail-type=END,FAIL --mail-user=bob"
    " --mem-per-cpu=10 --mincpus=3 --network=fat --nice=7 --no-kill --nodelist=n1 --nodes=1-2 --no-requeue"
    " --ntasks=2 --ntasks-per-core=1 --ntasks-per-node=2 --ntasks-per-socket=2 --open-mode=append --oversubscribe"
    " --partition=debug --prefer=slow --qos=high --reservation=none --signal=B:10@60"
    " --sockets-per-node=1 --spread-job --switches=1@5 --threads-per-core=1 --time=5 --time-min=3 --tmp=9"
    " --use-min-nodes --wait-all-nodes=1 --wckey=key --chdir=/tmp --output=/o --error=/e --input=/i --hold"
)

EXPECTED = {
    "account": "Physics",
    "acctg_freq": "task=30",
    "batch_features": "fast",
    "comment": "söme",
    "contiguous": [1, "1"],
    "cores_per_socket": [2, "2"],
    "cpu_freq_gov": [0x82000000, "<CpuFreq.CPU_FREQ_PERFORMANCE: 2181038080>"],
    "cpu_freq_max": [0x80000003, "<CpuFreq.CPU_FREQ_HIGH: 2147483651>"],
    "cpu_freq_min": [0x80000001, "<CpuFreq.CPU_FREQ_LOW: 2147483649>"],
    "cpus_per_task": [2, "2"],
    "cron_job": False,
    "delay_boot": [180, "180"],
    "dependency": "singleton",
    "exc_nodes": "n9",
    "features": "fast",
    "kill_on_node_fail": [0, "0"],
    "licenses": "matlab:2",
    "mail_type": [6, "<MailType.MAIL_JOB_END|MAIL_JOB_FAIL: 6>"],
    "mail_user": "bob",
    "max_nodes": [2, "2"],
    "min_mem_per_cpu": [10, "10"],
    "min_mem_per_node": None,
    "min_nodes": [1, "1"],
    "name": "full",
    "network": "fat",
    "nice": [7, "7"],
    "ntasks_per_core": [1, "1"],
    "ntasks_per_node": [2, "2"],
    "num_tasks": [2, "2"],
    "open_mode": [1, "<OpenMode.OPEN_MODE_APPEND: 1>"],
    "oversubscribe": [1, "<Shared.JOB_SHARED_OK: 1>"],
    "partition": "debug",
    "pn_min_cpus": [3, "3"],
    "pn_min_tmp_disk": [9, "9"],
    "prefer": "slow",
    "priority": [0, "0"],
    "qos": "high",
    "req_nodes": "n1",
    "req_switch": [1, "1"],
    "requeue": [0, "0"],
    "reservation": "none",
    "restart_cnt": [0, "0"],
    "script": '#!/bin/sh\necho "ran $*"\nsleep 1\n',
    "site_factor": None,
    "std_err": "/e",
    "std_in": "/i",
    "std_out": "/o",
    "threads_per_core": [1, "1"],
    "time_limit": [5, "5"],
    "time_min": [3, "3"],
    "user_id": [2001, "2001"],
    "user_name": "alice",
    "group_name": "alice",
    "groups": "{'alice': 2001}",
    "wait4switch": [300, "300"],
    "wait_all_nodes": [1, "1"],
    "warn_flags": [1, "<WarnFlag.KILL_JOB_BATCH: 1>"],
    "warn_signal": [10, "10"],
    "warn_time": [60, "60"],
    "wckey": "key",
    "work_dir": "/tmp",
}
"""The values that a handler reads from a job with those options."""


def test_every_field_reads_what_slurm_has(probe: Probe) -> None:
    """In a job with many options, a handler reads in each field what the user gave, and what the witness recorded."""
    probe.hooks(
        """
        @hook.job_submit
        def look(job):
            tell(**fields(job))
            raise Reject("seen", code="ESLURM_DISABLED")
        """
    )
    done = probe.cluster.user("alice", "sbatch", *OPTIONS, f"{FOLDER}/job.sh", "one", "two words")
    assert "seen" in done.stderr, done.stderr
    (told,) = probe.told()
    saw = probe.saw("before")
    assert {name: told[name] for name in EXPECTED} == EXPECTED
    for name, (row, path) in probe.rows().items():
        assert name in told, name
        raw = saw[path]
        value = told[name][0] if isinstance(told[name], list) else told[name]
        if isinstance(row, Text):
            assert value == raw, name
        elif name == "sluid":
            assert (value is None) == (raw == 0)
        elif value is None:
            # Unset values, values with a second meaning, or a user that Slurm's own tools omit.
            assert raw in (NO_VAL[bits(row)], 0, 99) or isinstance(row, Tagged), name
        elif name in ("nice", "site_factor"):
            assert value == raw - 0x80000000, name
        elif isinstance(row, Enumerated) and row.mask is not None:
            assert value == raw & row.mask, name
        elif isinstance(value, bool):
            assert not value, name
        elif isinstance(value, str):
            assert (value, raw) == ("UNLIMITED", INFINITE[bits(row)]), name
        else:
            assert value == (raw & ~(1 << (bits(row) - 1)) if isinstance(row, Tagged) else raw), name
    assert told["argv"] == repr([f"{FOLDER}/job.sh", "one", "two words"])
    assert saw["argc"] == len(saw["argv[]"]) == 3
    assert saw["env_size"] == len(saw["environment[]"])


def writable(probe: Probe) -> dict[str, tuple[Any, str, Any]]:
    """Return, for each writable row, a value, the member that must have it, and its value there."""
    values: dict[str, tuple[Any, str, Any]] = {}
    for number, (name, (row, path)) in enumerate(probe.rows().items()):
        if not row.writable or "." in path:
            continue
        if isinstance(row, Text):
            value: Any = f"t{number} ü\udcff"
            raw: Any = f"gres:{value}" if name == "gres" and probe.release < (23, 11) else value
            raw = f"gres/{value}" if name == "gres" and probe.release >= (23, 11) else raw
        elif name in ("nice", "site_factor"):
            value, raw = -number, 0x80000000 - number
        elif isinstance(row, Tagged):
            value, raw = number, number | (1 << (bits(row) - 1) if row.tagged else 0)
        elif name == "task_dist_flags":
            value = raw = 0x800000
        else:
            value = raw = number + 1
        values[name] = (value, path, raw)
    return values


def test_every_writable_field_is_written(probe: Probe) -> None:
    """Each writable field that a handler writes, even with None, is in the request that the next plugin gets."""
    plan = writable(probe)
    values = {name: value for name, (value, _, _) in plan.items()}
    shared_member = {"oversubscribe", "gres", "ntasks_per_gpu", "thread_spec", "min_mem_per_cpu", "pn_min_memory"}
    rounds = [
        {name: value for name, value in values.items() if name not in shared_member},
        {name: value for name, value in values.items() if name in shared_member - {"pn_min_memory"}},
        {"pn_min_memory": values["pn_min_memory"]},
        {"task_dist": 2, "task_dist_flags": 0x400000},
    ]
    for chosen in rounds:
        probe.hooks(
            f"""
            @hook.job_submit(order=1)
            def write(job):
                for name, value in {chosen!r}.items():
                    setattr(job, name, value)

            @hook.job_submit(order=2)
            def read_back(job):
                tell(**{{name: shown(getattr(job, name)) for name in {list(chosen)!r}}})
            """
        )
        probe.attempt("sbatch", "-H", f"{FOLDER}/job.sh")
        saw = probe.saw("after")
        (told,) = probe.told()
        for name, value in chosen.items():
            back = told[name][0] if isinstance(told[name], list) else told[name]
            if name == "gres":
                assert back == saw["tres_per_node"] == plan["gres"][2]
            else:
                assert back == value, name
            if name not in ("task_dist", "task_dist_flags"):
                assert saw[plan[name][1]] == plan[name][2], name
        if "task_dist" in chosen:
            assert saw["task_dist"] == (0x400002 if len(chosen) == 2 else 0x800000 | values["task_dist"])

    optional = {
        name: None
        for name, (row, _) in probe.rows().items()
        if name in plan and row.bits and not isinstance(_try_none(row), Exception)
    }
    texts = {name: None for name, (row, _) in probe.rows().items() if name in plan and isinstance(row, Text)}
    texts["script"] = plan["script"][0]  # without a script it would not be a batch job
    probe.hooks(
        f"""
        @hook.job_submit
        def unset(job):
            for name, value in {optional | texts!r}.items():
                setattr(job, name, value)
        """
    )
    probe.attempt("sbatch", "-H", *OPTIONS, f"{FOLDER}/job.sh")
    saw = probe.saw("after")
    for name in optional:
        assert saw[plan[name][1]] == NO_VAL[bits(probe.rows()[name][0])], name
    for name in texts:
        assert saw[plan[name][1]] == texts[name], name
    assert len(optional) > 50


def _try_none(row: Field[Any]) -> Exception | None:
    class Nothing:
        release = (99, 0)

    try:
        row.encoder(Nothing())(None)  # type: ignore[arg-type]
    except TypeError as error:
        return error
    return None


BAD = [
    ("time_limit", "'ten'", "time_limit takes an int, None or UNLIMITED, not 'ten'"),
    ("time_limit", "-1", "time_limit takes 0 to 4294967293, None or UNLIMITED, not -1"),
    ("time_limit", "1 << 32", "time_limit takes 0 to 4294967293, None or UNLIMITED, not 4294967296"),
    ("cpus_per_task", "65534", "cpus_per_task takes 0 to 65533, None or UNLIMITED, not 65534"),
    ("overcommit", "300", "overcommit takes 0 to 253, None or UNLIMITED, not 300"),
    ("comment", "'a\\0b'", "comment must not hold a NUL byte"),
    ("comment", "7", "comment takes a str, not 7"),
    ("account", "b'x'", "account takes a str, not b'x'"),
    ("nice", "1 << 31", "nice takes -2147483645 to 2147483645, not 2147483648"),
    ("min_mem_per_cpu", "1 << 63", "min_mem_per_cpu takes 0 to"),
    ("core_spec", "1 << 15", "core_spec takes 0 to 32767, not 32768"),
    ("mail_type", "1 << 16", "mail_type takes MailType or None, as a number 0 to 65535; not 65536"),
    ("mail_type", "'END'", "mail_type takes MailType or None, not 'END'"),
    ("bitflags", "None", "bitflags takes JobFlag, not None"),
    ("deadline", "-1", "deadline takes 0 or more, not -1"),
    ("warn_time", "None", "warn_time takes an int, not None"),
    ("user_id", "0", "job.user_id is read-only"),
    ("argc", "0", "job.argc is read-only"),
    ("user_name", "'root'", "job.user_name is read-only"),
    ("timelimit", "1", "job has no 'timelimit'; nearest: time_limit"),
    ("argv", "'word'", "argv takes a list of str, not 'word'"),
    ("argv", "['a\\0b']", "argv must not hold a NUL byte"),
    ("environment", "{'A': 1}", "environment variable A takes a str, not 1"),
    ("environment", "{'A=B': 'x'}", "must not be empty nor hold '='"),
    ("environment", "{'A': '\\0'}", "environment variable A must not hold a NUL byte"),
]


def test_what_slurm_cannot_hold_raises_where_it_is_written(probe: Probe) -> None:
    """A value of a wrong type or size, a NUL byte and an unknown name raise, and nothing is written."""
    lines = "\n".join(f"        ({name!r}, lambda: {value})," for name, value, _ in BAD)
    probe.hooks(
        f"""
        BAD = [\n{lines}
        ]

        @hook.job_submit(order=1)
        def good(job):
            job.comment = "good"
            job.environment["GOOD"] = "1"

        @hook.job_submit(order=2)
        def bad(job):
            found = []
            for name, make in BAD:
                try:
                    setattr(job, name, make())
                    found.append("taken")
                except (AttributeError, TypeError, ValueError) as error:
                    found.append(str(error))
            tell(found=found)

        @hook.job_submit(order=3, on_error="accept")
        def lenient(job):
            job.comment = "bad"
            job.environment["GOOD"] = "2"
            job.environment["BAD"] = "1"
            job.argv = []
            job.time_limit = "ten"
        """
    )
    job_id = probe.submit("sbatch", "--parsable", "-H", f"{FOLDER}/job.sh", "word")
    (told,) = probe.told()
    for (name, value, expected), found in zip(BAD, told["found"], strict=True):
        assert expected in found, f"{name} = {value}"
    saw = probe.saw("after")
    assert saw["comment"] == "good" == probe.show(job_id)["Comment"]
    assert saw["argv[]"] == [f"{FOLDER}/job.sh", "word"]
    assert "GOOD=1" in saw["environment[]"]
    assert "BAD=1" not in saw["environment[]"]

    probe.hooks(
        """
        @hook.job_submit
        def strict(job):
            job.comment = "half"
            job.time_limit = 1 << 40
        """
    )
    done = probe.cluster.user("alice", "sbatch", "-H", f"{FOLDER}/job.sh")
    assert done.returncode != 0
    assert "strict failed (error" in done.stderr
    assert 'file "' + HOOK_FILE.lower() in probe.cluster.log("slurmctld").lower()
    assert probe.cluster.root("cat", f"{FOLDER}/after").returncode != 0, "the next plugin was called"


def test_a_refusal_names_slurms_code(probe: Probe) -> None:
    """Reject takes an error code by name or as a member, and the user reads Slurm's text for it."""
    probe.hooks(
        """
        from slurmhooks.job_submit.constants import ESLURM, ESLURM_INVALID_QOS

        @hook.job_submit
        def refuse(job):
            codes = {
                "name": "ESLURM_INVALID_ACCOUNT",
                "member": ESLURM.ESLURM_INVALID_WCKEY,
                "module": ESLURM_INVALID_QOS,
            }
            raise Reject("because", code=codes[job.name])
        """
    )
    for name, text in (("name", "Invalid account"), ("member", "Invalid wckey"), ("module", "Invalid qos")):
        done = probe.cluster.user("alice", "sbatch", "-J", name, f"{FOLDER}/job.sh")
        assert text in done.stderr
        assert "because" in done.stderr


HEADERS = ("stdio.h", "slurm/slurm.h", "slurm/slurm_errno.h", "slurm/slurmdb.h")


def test_constants_are_those_of_the_header(probe: Probe) -> None:
    """Each constant has the number that a C compiler computes from the header; no error code is missing."""
    probe.hooks(
        """
        @hook.job_submit
        def constants_of(job):
            kinds = {name: kind.__members__ for name, kind in constants.KINDS.items()}
            kinds["ESLURM"] = constants.ESLURM.__members__
            kinds["NUMBERS"] = constants.NUMBERS
            tell(**{name: {item: int(value) for item, value in items.items()} for name, items in kinds.items()})
        """
    )
    probe.submit("sbatch", "-H", f"{FOLDER}/job.sh")
    (told,) = probe.told()
    names = [name for items in told.values() for name in items]
    lines = "".join(f'printf("%llu\\n", (unsigned long long)({name}));\n' for name in names)
    headers = "".join(f"#include <{name}>\n" for name in HEADERS)
    source = f"{headers}int main(void) {{\n{lines}}}\n"
    probe.cluster.put(source, f"{FOLDER}/numbers.c")
    command = f"cd {FOLDER} && gcc -w -o numbers numbers.c && ./numbers"
    numbers = probe.cluster.root("sh", "-c", command, check=True).stdout.split()
    told_numbers = [value % (1 << 64) for items in told.values() for value in items.values()]
    assert dict(zip(names, map(int, numbers), strict=True)) == dict(zip(names, told_numbers, strict=True))
    header = probe.cluster.root("cat", "/usr/include/slurm/slurm_errno.h", check=True).stdout
    declared = set(re.findall(r"^\s+(E?S[A-Z]+_\w+)\s*(?:=\s*\w+\s*)?,", header, re.MULTILINE))
    assert len(declared) > 200
    assert declared - set(told["ESLURM"]) == set()
    assert {"MAIL_JOB_TIME90", "MAIL_INVALID_DEPEND"} <= set(told["MailType"])
    assert len(told["JobFlag"]) > 30


def test_slurm_takes_what_a_handler_wrote(probe: Probe) -> None:
    """scontrol shows fields that a handler has written."""
    probe.hooks(
        """
        from slurmhooks.job_submit.constants import JobFlag, MailType, OpenMode, Shared
        import time

        @hook.job_submit
        def write(job):
            job.admin_comment = "by the site"
            job.array_inx = "1-3%2"
            job.begin_time = 2000000000
            job.bitflags |= JobFlag.GRES_ENFORCE_BIND
            job.comment = "hello"
            job.contiguous = True
            job.cpus_per_task = 2
            job.deadline = 2100000000
            job.exc_nodes = "n2"
            job.licenses = "matlab:3"
            job.mail_type = MailType.MAIL_JOB_END
            job.mail_user = "bob"
            job.min_mem_per_cpu = 7
            job.name = "renamed"
            job.nice = -100
            job.num_tasks = 2
            job.open_mode = OpenMode.OPEN_MODE_APPEND
            job.partition = "other"
            job.priority = 0
            job.reboot = 0
            job.requeue = 0
            job.std_out = "/tmp/%j.out"
            job.shared = Shared.JOB_SHARED_OK
            job.time_limit = 42
            job.time_min = 41
            job.work_dir = "/var/tmp"
        """
    )
    job_id = probe.submit("sbatch", "--parsable", f"{FOLDER}/job.sh")
    shown = probe.show(job_id)
    assert shown["AdminComment"] == "by the site"
    assert shown["ArrayTaskId"] == "1-3%2"
    assert shown["Comment"] == "hello"
    assert shown["CPUs/Task"] == "2"
    assert shown["Contiguous"] == "1"
    assert shown["Deadline"] == "2036-07-18T13:20:00"
    assert shown["ExcNodeList"] == "n2"
    assert shown["JobName"] == "renamed"
    assert shown["Licenses"] == "matlab:3"
    assert shown["MailType"] == "END"
    assert shown["MailUser"] == "bob"
    assert shown["MinMemoryCPU"] == "7M"
    assert shown["Nice"] == "-100"
    assert shown["Partition"] == "other"
    assert shown["Priority"] == "0"
    assert shown["Requeue"] == "0"
    assert shown["TimeLimit"] == "00:42:00"
    assert shown["TimeMin"] == "00:41:00"
    assert shown["WorkDir"] == "/var/tmp"


def test_environment_and_arguments_reach_the_job(probe: Probe) -> None:
    """The job gets variables as handlers set, changed and deleted them, and new arguments; the counters follow."""
    probe.hooks(
        """
        @hook.job_submit(order=1)
        def write(job):
            tell(had=job.environment["WAS"], gone=job.environment.get("NOT"), known="GONE" in job.environment)
            job.environment["NEW"] = "wörd"
            job.environment["WAS"] = "changed"
            del job.environment["GONE"]
            job.spank_job_env["SITE"] = "spank"
            job.argv = [job.argv[0], "first", "second one"]

        @hook.job_submit(order=2)
        def read(job):
            tell(new=job.environment["NEW"], gone="GONE" in job.environment, argv=list(job.argv))
        """
    )
    script = '#!/bin/sh\necho "$# $2 NEW=$NEW WAS=$WAS GONE=${GONE-none}"\n'
    probe.cluster.put(script, f"{FOLDER}/env.sh", mode=0o755)
    variables = {"WAS": "before", "GONE": "here"}
    output = f"{FOLDER}/env.out"
    probe.submit("sbatch", "-o", output, f"{FOLDER}/env.sh", "only", env=variables)
    expected = "2 second one NEW=wörd WAS=changed GONE=none\n"
    probe.cluster.wait(lambda: probe.cluster.root("cat", output).stdout == expected, what="output")
    first, second = probe.told()
    assert first == {"had": "before", "gone": None, "known": True}
    assert second["new"] == "wörd"
    assert second["gone"] is False
    saw, had = probe.saw("after"), probe.saw("before")
    assert saw["env_size"] == len(saw["environment[]"]) == had["env_size"]
    assert saw["environment[]"][: had["env_size"] - 2] == [
        item for item in had["environment[]"] if not item.startswith(("WAS=", "GONE="))
    ]
    assert saw["spank_job_env[]"] == ["SITE=spank"]
    assert saw["spank_job_env_size"] == 1
    assert saw["argc"] == len(saw["argv[]"]) == 3


def test_only_batch_jobs_have_an_environment_to_change(probe: Probe) -> None:
    """For srun and salloc, and in updates, Slurm would ignore a variable: setting one raises."""
    probe.hooks(
        """
        @hook.job_submit
        def write(job):
            tell(environment=dict(job.environment), script=job.script, argv=len(job.argv))
            if job.name != "quiet":
                job.environment["A"] = "1"
        """
    )
    done = probe.cluster.user("alice", "srun", "true")
    assert done.returncode != 0
    assert "only batch jobs carry their environment" in probe.cluster.log("slurmctld")
    probe.submit("srun", "-J", "quiet", "true")
    probe.submit("salloc", "-J", "quiet", "true")
    for told in probe.told():
        assert told["environment"] == {}
        assert told["script"] is None


def test_arrays_components_and_trials(probe: Probe) -> None:
    """Handlers recognize job arrays, heterogeneous jobs and --test-only."""
    probe.hooks(
        """
        @hook.job_submit
        def look(job):
            what = ("array_inx", "het_job_offset", "pack_job_offset", "cron_job", "name", "min_cpus", "bitflags")
            tell(**{name: shown(getattr(job, name)) for name in what}, immediate=job.immediate)
        """
    )
    probe.submit("sbatch", "-H", "--array=0-10:2%3", f"{FOLDER}/job.sh")
    probe.submit("sbatch", "-H", "-J", "one", ":", "-J", "two", "-n2", f"{FOLDER}/job.sh")
    probe.cluster.user("alice", "sbatch", "--test-only", "-J", "tested", f"{FOLDER}/job.sh")
    array, first, second, tested = probe.told()
    assert array["array_inx"] == "0-10:2%3"
    assert array["het_job_offset"] is None
    assert (first["name"], first["het_job_offset"], first["pack_job_offset"]) == ("one", [0, "0"], [0, "0"])
    assert (second["name"], second["het_job_offset"]) == ("two", [1, "1"])
    assert tested["name"] == "tested"


def test_scrontab(probe: Probe) -> None:
    """cron_job is set in jobs of scrontab."""
    if probe.cluster.user("alice", "which", "scrontab").returncode:
        pytest.skip("scrontab is not packaged for this release")
    probe.hooks(
        """
        @hook.job_submit
        def look(job):
            tell(cron_job=job.cron_job, name=job.name)
        """
    )
    command = f"printf '#SCRON -J cron\\n0 0 1 1 * {FOLDER}/job.sh\\n' | scrontab -"
    probe.submit("sh", "-c", command)
    assert {"cron_job": True, "name": "cron"} in probe.told()
    probe.cluster.user("alice", "scrontab", "-r")


def test_updates_show_only_what_they_change(probe: Probe) -> None:
    """In an update unchanged fields are unset, writes of a handler are applied, and "" clears."""
    source = """
        @hook.job_modify
        def look(job, modify_uid):
            tell(**fields(job), modify_uid=modify_uid)
            if job.comment == "clear":
                job.comment = ""
            elif job.comment == "keep":
                job.comment = None
            elif job.comment == "time":
                job.time_limit = 3
        """
    probe.hooks(source)
    job_id = probe.submit("sbatch", "--parsable", "-H", "-t5", "--comment=old", f"{FOLDER}/job.sh")
    probe.submit("scontrol", "update", f"jobid={job_id}", "timelimit=4")
    (told,) = probe.told()
    assert told["time_limit"] == [4, "4"]
    assert told["modify_uid"] == 2001
    assert told["job_id_str"] == job_id
    unset = ("account", "comment", "cpus_per_task", "min_nodes", "nice", "partition", "priority", "script", "shared")
    assert [told[name] for name in unset] == [None] * len(unset)
    if probe.private:
        assert told["user_name"] == "alice"
    for comment, expected in (("keep", "old"), ("clear", None), ("time", "time")):
        probe.submit("scontrol", "update", f"jobid={job_id}", f"comment={comment}")
        assert (probe.show(job_id).get("Comment") or None) == expected, comment
    assert probe.show(job_id)["TimeLimit"] == "00:03:00"


def test_records_partitions_reservations(probe: Probe) -> None:
    """A handler reads jobs, partitions and reservations as scontrol shows them, read-only and only during its call."""
    if not probe.private:
        _without_sources(probe)
        return
    cluster = probe.cluster
    cluster.root("scontrol", "delete", "reservation=fields")
    cluster.root(
        *shlex.split(
            "scontrol create reservation reservationname=fields users=alice,bob starttime=now+1hour duration=30"
        ),
        *shlex.split("nodecnt=1 flags=maint,ignore_jobs"),
        check=True,
    )
    cluster.root(*shlex.split("scontrol create partition=root rootonly=yes nodes=n1"))
    cluster.root(
        *shlex.split("scontrol update partition=other maxtime=50 defaulttime=20 maxnodes=1 defmempercpu=5"), check=True
    )
    probe.hooks(
        """
        from slurmhooks.job_submit.slurmctld import cluster_name, qos_priority

        kept = []

        @hook.job_submit
        def look(job, partitions, reservations, jobs, submit_uid):
            tell(
                partitions={name: fields(one) for name, one in partitions.items()},
                reservations={name: fields(one) for name, one in reservations.items()},
                names=[sorted(partitions), "root" in partitions, "nowhere" in partitions, len(reservations)],
            )
            if job.name != "first":
                job_id = int(job.name)
                one, same = jobs[job_id], jobs[str(job_id)]
                tell(record=fields(one), same=one.name == same.name, missing=jobs.get(1 << 20), count=len(jobs),
                     cluster=cluster_name(), priority=qos_priority("nonsense"))
                for view in (one, partitions["debug"], reservations["fields"]):
                    try:
                        view.name = "x"
                    except AttributeError as error:
                        tell(error=str(error))
                kept.append(one)
        """
    )
    options = "-J first -H -t7 --mem=30 --nice=4 --array=3,5 --comment=here -d singleton -o /tmp/o -n3"
    job_id = probe.submit("sbatch", "--parsable", *options.split(), f"{FOLDER}/job.sh", "word")
    probe.submit("sbatch", "-H", "-J", job_id, f"{FOLDER}/job.sh")
    _, told, about, *errors = probe.told()
    partitions, reservation, record = told["partitions"], told["reservations"]["fields"], about["record"]
    assert told["names"] == [["debug", "other"], False, False, 1]
    other = partitions["other"]
    assert (other["max_time"], other["default_time"], other["max_nodes"]) == ([50, "50"], [20, "20"], [1, "1"])
    assert (other["def_mem_per_cpu"], other["def_mem_per_node"]) == ([5, "5"], None)
    assert (other["flag_default"], partitions["debug"]["flag_default"]) == (False, True)
    assert other["state_up"][1] == "<PartitionState.PARTITION_UP: 3>"
    assert partitions["debug"]["max_time"] == "UNLIMITED"
    assert partitions["debug"]["nodes"] == "n[1-2]"
    assert partitions["debug"]["total_nodes"] == [2, "2"]
    assert "RESERVE_FLAG_MAINT" in reservation["flags"][1]
    assert reservation["users"] == "alice,bob"
    assert reservation["node_cnt"] == [1, "1"]
    assert reservation["end_time"][0] - reservation["start_time"][0] == 1800
    assert reservation["full_nodes"] is True
    expected = {
        "array_job_id": [int(job_id), job_id],
        "array_task_cnt": [2, "2"],
        "comment": "here",
        "curr_dependency": "singleton(unfulfilled)",
        "exit_code": [0, "<ExitStatus exit code 0>"],
        "job_id": [int(job_id), job_id],
        "job_state": [0, "<JobState.JOB_PENDING: 0>"],
        "job_state_flags": [0, "<JobStateFlag: 0>"],
        "min_mem_per_cpu": None,
        "min_mem_per_node": [30, "30"],
        "name": "first",
        "nice": [4, "4"],
        "num_tasks": [3, "3"],
        "orig_dependency": "singleton(unfulfilled)",
        "priority": [0, "0"],
        "resizing": False,
        "script": '#!/bin/sh\necho "ran $*"\nsleep 1\n',
        "std_out": "/tmp/o",
        "time_limit": [7, "7"],
        "user_id": [2001, "2001"],
        "user_name": "alice",
        "argv": repr([f"{FOLDER}/job.sh", "word"]),
    }
    assert {name: record[name] for name in expected} == expected
    assert not [name for name, value in record.items() if isinstance(value, str) and "Error: " in value]
    assert about["same"] is True
    assert about["missing"] is None
    assert about["count"] >= 1
    assert about["cluster"] == cluster_name(cluster.release)
    assert about["priority"] is None
    assert [error["error"] for error in errors] == [
        f"{kind}.name is read-only" for kind in ("record", "partition", "reservation")
    ]
    probe.hooks(
        """
        import sys
        kept = sys.modules["slurmhooks_site.fields"].__dict__.setdefault("kept", [])

        @hook.job_modify
        def look(job, record, partitions):
            kept.append((record, partitions))
            tell(record=fields(record), partitions=sorted(partitions))
            for view in kept[:-1]:
                for use in (lambda: view[0].name, lambda: sorted(view[1])):
                    try:
                        use()
                    except Exception as error:
                        tell(error=type(error).__name__)
        """
    )
    for who in ("root", "alice"):
        command = ("scontrol", "update", f"jobid={job_id}", "comment=x")
        assert (cluster.root(*command) if who == "root" else cluster.user(who, *command)).returncode == 0
    first, second, *stale = probe.told()
    assert first["record"]["comment"] == "here"
    assert second["record"]["comment"] == "x"
    assert first["partitions"] == ["debug", "other", "root"]
    assert second["partitions"] == ["debug", "other"]
    assert stale == [{"error": "StaleHandleError"}] * 2


def _without_sources(probe: Probe) -> None:
    """A build with only public headers says what it lacks, and how to get it."""
    probe.hooks(
        """
        @hook.job_submit
        def look(job):
            for name in ("default_account", "assoc_qos"):
                try:
                    tell(value=getattr(job, name))
                except AttributeError as error:
                    tell(error=str(error))
            tell(user=job.user_name, groups=job.groups)
        """
    )
    probe.submit("sbatch", "-H", f"{FOLDER}/job.sh")
    *errors, names = probe.told()
    assert len(errors) == 2
    assert all("--slurm-source" in error["error"] for error in errors)
    assert names == {"user": "alice", "groups": {"alice": 2001}}


TIMES = shlex.split(
    "0 1 60 1:30 0:1 2:00:00 1:00:01 1- 1-2 1-02:03 1-02:03:01 7-0:0:0 UNLIMITED infinite -1 5m 1: :1 1::2 1:2:3:4"
    " 1-2-3 1:2-3 +5 1-1: 00:00:59 00:59 100000 365-23:59:59"
)


def test_times_are_what_slurm_takes_them_for(probe: Probe) -> None:
    """time_str2mins returns the same as slurm.time_str2mins of job_submit/lua, and refuses the same texts."""
    probe.cluster.put("\n".join(TIMES) + "\n", f"{FOLDER}/times")
    probe.hooks("")
    probe.attempt("sbatch", "-H", f"{FOLDER}/job.sh")
    answers = probe.cluster.root("cat", f"{FOLDER}/times.lua", check=True).stdout.splitlines()
    probe.cluster.root("rm", f"{FOLDER}/times")
    assert [answer.rsplit("=", 1)[0] for answer in answers] == TIMES
    for answer in answers:
        text, number = answer.rsplit("=", 1)
        minutes = int(float(number)) % (1 << 32)
        if minutes == NO_VAL[32]:
            with pytest.raises(ValueError, match="not a time"):
                time_str2mins(text)
        else:
            assert time_str2mins(text) == (UNLIMITED if minutes == INFINITE[32] else minutes), text


NODE_LISTS = shlex.split(
    "n1 n[1-3],n5 n1,n3,n2 n[01-03,7],gpu1 r[0-1]n[1-2] n09,n10,n11 n9,n10 n1,n1 a,b,a1 n1-2,n1-3 n001,n2 n1,m1,n2 ,n1,"
    " n[1-2],n[1-2] r[0-1]n[1-2]x[3] r[0-1]n[1-2]x[3-4] a[1-2]b[3-4]c[5-6]d[7-8] n[1-2]m[1] n[09-11] n[9-11] n[0-09]"
    " n[098-101] n98,n99,n100 n098,n99,n100 a1b2,a1b3 n007,n08,n9 x[1-3,5,7-9],y[2],x4 n[3-1] n[a-b] n[] n3,n2,n1,n2,n3"
)


def test_node_lists_are_what_slurm_takes_them_for(probe: Probe) -> None:
    """expand_nodes and collapse_nodes return the same as scontrol, and refuse the same texts."""
    script = (
        "for list; do scontrol show hostnames $list 2>&1 | paste -sd' '; scontrol show hostlist $list 2>&1; echo; done"
    )
    answers = probe.submit("sh", "-c", script, "sh", *NODE_LISTS).split("\n\n")
    for text, answer in zip(NODE_LISTS, answers, strict=True):
        if "Invalid" in answer:
            with pytest.raises(ValueError, match="not a node list"):
                expand_nodes(text)
            continue
        names, together = answer.split("\n")
        assert expand_nodes(text) == names.split(), text
        assert collapse_nodes(names.split()) == together, text


def test_arrays_and_dependencies_are_what_slurm_takes_them_for(probe: Probe) -> None:
    """ArraySpec counts the tasks that Slurm makes; Dependencies reads the notations of users and of Slurm."""
    if not probe.private:
        pytest.skip("this release was built without its sources")
    probe.hooks(
        """
        from slurmhooks.job_submit.strings import ArraySpec, Dependencies

        @hook.job_submit
        def parse(job):
            spec = ArraySpec.parse(job.array_inx) if job.array_inx else None
            ids = sorted(Dependencies.parse(job.dependency).job_ids)
            tell(count=spec and len(spec), limit=spec and spec.limit, ids=ids)

        @hook.job_modify
        def compare(job, record):
            tell(count=record.array_task_cnt, shown=str(Dependencies.parse(record.curr_dependency)))
        """
    )
    first = probe.submit("sbatch", "--parsable", "-H", "--array=0-10:5,3,3,7-9%2", f"{FOLDER}/job.sh")
    wanted = f"after:{first}_3+5,afterany:{first}_*,singleton"
    second = probe.submit("sbatch", "--parsable", "-H", "-d", wanted, f"{FOLDER}/job.sh")
    for job_id in (first, second):
        probe.submit("scontrol", "update", f"jobid={job_id}", "comment=x")
    asked, waiting, made, shown = probe.told()
    assert (asked["count"], asked["limit"]) == (7, 2)
    assert made["count"] == 7
    assert waiting["ids"] == [int(first)]
    plain = shown["shown"].replace("(unfulfilled)", "")
    assert sorted(plain.split(",")) == sorted(wanted.split(",")), shown
