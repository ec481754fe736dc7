# SPDX-License-Identifier: GPL-2.0-or-later
"""Slurm does what handlers write into a request; arrays, updates and records are to them what they are to Slurm."""

import shlex

import pytest

from tests.cluster.conftest import Cluster
from tests.cluster.field_probe import FOLDER, Probe, probing
from tests.cluster.lab.cluster import cluster_name

pytestmark = pytest.mark.stopped


@pytest.fixture(scope="module")
def probe(cluster: Cluster) -> Probe:
    """The cluster with both witnesses."""
    return probing(cluster)


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


def test_each_component_has_an_environment_to_change(probe: Probe) -> None:
    """Setting a variable for each component of a batch job is accepted; the script has that of the first."""
    probe.hooks(
        """
        @hook.job_submit
        def write(job):
            tell(script=job.script is not None, before=job.environment.get("WHERE"))
            job.environment["WHERE"] = "first" if job.script is not None else "second"
        """
    )
    output = f"{FOLDER}/components.out"
    script = 'echo $WHERE; srun --het-group=1 sh -c "echo \\$WHERE"'
    words = ("-n1", "-w", "n1", ":", "-n1", "-w", "n2")
    probe.submit("sbatch", "-o", output, *words, "--wrap", script, env={"WHERE": "user"})
    probe.cluster.wait(lambda: probe.cluster.root("cat", output).stdout == "first\nfirst\n", what="output")
    assert [told["script"] for told in probe.told()] == [True, False]
    assert {told["before"] for told in probe.told()} == {"user"}


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
            tell(record=fields(record), partitions=sorted(partitions), user=job.user_name)
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
    assert first["user"] == second["user"] == "alice"  # also if root changes the job
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
