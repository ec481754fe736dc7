# SPDX-License-Identifier: GPL-2.0-or-later
"""Every field of a request, read and written in real slurmctlds, with two witnesses in C."""

import re
import shlex
from typing import Any

import pytest

from slurmhooks.fields import JobFields
from slurmhooks.fields.flag_rows import Enumerated
from slurmhooks.fields.number_rows import Switch, Tagged
from slurmhooks.fields.rows import Computed, Field, Lowered, Text, rows
from tests.cluster.conftest import OF_SETS, Cluster
from tests.cluster.field_probe import FOLDER, HOOK_FILE, INFINITE, NO_VAL, Probe, probing

pytestmark = [pytest.mark.each_release, pytest.mark.stopped]

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


@pytest.fixture(scope="module")
def probe(cluster: Cluster) -> Probe:
    """The cluster with both witnesses."""
    return probing(cluster)


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
    "account": "physics",
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
            # An empty text is unset, and slurmctld will convert some names.
            assert value == ((raw.lower() if isinstance(row, Lowered) else raw) if raw else None), name
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
        elif isinstance(row, Switch):
            value = raw = 1
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
    ("time_limit", "'ten'", "time_limit (minutes) takes an int, None or UNLIMITED, not 'ten'"),
    ("time_limit", "-1", "time_limit (minutes) takes 0 to 4294967293, None or UNLIMITED, not -1"),
    ("time_limit", "1 << 32", "time_limit (minutes) takes 0 to 4294967293, None or UNLIMITED, not 4294967296"),
    ("cpus_per_task", "65534", "cpus_per_task takes 0 to 65533, None or UNLIMITED, not 65534"),
    ("overcommit", "300", "overcommit takes 0 to 253, None or UNLIMITED, not 300"),
    ("comment", "'a\\0b'", "comment must not hold a NUL byte"),
    ("comment", "7", "comment takes a str, not 7"),
    ("account", "b'x'", "account takes a str, not b'x'"),
    ("nice", "1 << 31", "nice takes -2147483645 to 2147483645, not 2147483648"),
    ("min_mem_per_cpu", "1 << 63", "min_mem_per_cpu (MiB) takes 0 to"),
    ("core_spec", "1 << 15", "core_spec takes 0 to 32767, not 32768"),
    ("mail_type", "1 << 16", "mail_type takes MailType or None, as a number 0 to 65535; not 65536"),
    ("mail_type", "'END'", "mail_type takes MailType or None, not 'END'"),
    ("bitflags", "None", "bitflags takes JobFlag, not None"),
    ("deadline", "-1", "deadline (seconds since the epoch) takes 0 or more, not -1"),
    ("warn_time", "None", "warn_time (seconds) takes an int, not None"),
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
    log = OF_SETS.sub("/etc/slurm", probe.cluster.log("slurmctld"))
    assert 'file "' + HOOK_FILE.lower() in log.lower()
    assert probe.cluster.root("cat", f"{FOLDER}/after").returncode != 0, "the next plugin was called"


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
