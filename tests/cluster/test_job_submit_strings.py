# SPDX-License-Identifier: GPL-2.0-or-later
"""Times, node lists, arrays and dependencies are what Slurm takes them for; it outlives all texts of handlers."""

import shlex

import pytest

from slurmhooks.fields.rows import Text
from slurmhooks.job_submit.strings import collapse_nodes, expand_nodes, time_str2mins
from slurmhooks.values import UNLIMITED
from tests.cluster.conftest import Cluster
from tests.cluster.field_probe import FOLDER, INFINITE, NO_VAL, Probe, probing

pytestmark = [pytest.mark.one_release("22.05", "24.11"), pytest.mark.stopped]


@pytest.fixture(scope="module")
def probe(cluster: Cluster) -> Probe:
    """The cluster with both witnesses."""
    return probing(cluster)


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


def test_slurmctld_outlives_the_texts_of_a_job_that_it_refuses(probe: Probe) -> None:
    """Whatever text a handler writes, slurmctld frees it once, although it refuses the job after it has stored it."""
    names = [name for name, (row, _) in probe.rows().items() if isinstance(row, Text) and row.writable]
    assert len(names) > 30
    probe.hooks(
        """
        @hook.job_submit
        def write(job):
            if job.name != "features":
                setattr(job, job.name, "1")
        """
    )
    for name in names:
        done = probe.cluster.user("alice", "sbatch", "-H", "-C", "nosuch", "-J", name, f"{FOLDER}/job.sh")
        assert done.returncode != 0, name
        assert "contact slurm controller" not in done.stderr, name
    probe.attempt("sbatch", "-H", f"{FOLDER}/job.sh")
