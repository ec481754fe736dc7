# SPDX-License-Identifier: GPL-2.0-or-later
"""Node lists are what Slurm takes them for; it outlives all texts of handlers."""

import shlex

import pytest

from slurmhooks.fields.rows import Text
from slurmhooks.job_submit.strings import collapse_nodes, expand_nodes
from tests.cluster.conftest import Cluster
from tests.cluster.field_probe import FOLDER, Probe, probing

pytestmark = [pytest.mark.one_release("22.05", "24.11"), pytest.mark.stopped]


@pytest.fixture(scope="module")
def probe(cluster: Cluster) -> Probe:
    """The cluster with both witnesses."""
    return probing(cluster)


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
