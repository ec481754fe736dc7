# SPDX-License-Identifier: GPL-2.0-or-later
"""What it costs to go through a table, how rows are completed, and how many there are, in real slurmctlds."""

import json
from collections import Counter
from collections.abc import Iterator

import pytest

from tests.cluster.conftest import Cluster
from tests.cluster.job_submit_site import DEFAULT_TOML, TOML, Site, lend, prepare
from tests.cluster.test_job_submit_tables import NO_SOURCES

pytestmark = [pytest.mark.one_release("22.05", "24.11"), pytest.mark.moved]

MIB = 1 << 20
BIG_JOBS = 150
GROWTH = 64 * MIB
"""How much memory a worker may need for a walk, in bytes."""
CONF = """\
JobSubmitPlugins=python
MessageTimeout=60
MaxJobCount=1000
MinJobAge=300
NodeName=c[1-300] CPUs=4 RealMemory=1000 Weight=3 State=CLOUD
NodeName=c[301-303] CPUs=8 Sockets=2 CoresPerSocket=4 RealMemory=2000 State=CLOUD
PartitionName=clouds Nodes=c[1-302]
PartitionName=late Nodes=c[300-303]
"""
BIG = """
printf '#!/bin/sh\\ntrue\\n' > /tmp/big.sh
long=$(head -c 120000 /dev/zero | tr '\\0' a)
for i in $(seq {count}); do
    sbatch -H -D /tmp -J big$i -o /dev/null /tmp/big.sh $i $long $long $long $long $long $long $long > /dev/null
done
"""
WALKS = """
import resource

def peak():
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024

@hook.job_submit
def look(job, jobs):
    if job.name not in ("names", "lines"):
        return
    before = peak()
    if job.name == "names":
        found = sum(1 for each in jobs.values() if each.name.startswith("big") and each.user_id)
    else:
        rows = list(jobs.values())
        # Twice, and backwards: what has been given up is asked for again.
        found = sorted(len(row.submit_line) for row in rows if row.name.startswith("big"))
        again = sorted(len(row.submit_line) for row in reversed(rows) if row.name.startswith("big"))
        found = [len(found), found == again, found[0]]
        first = next(row for row in rows if row.name == "big1")
        found += [first.argv[1:3] == ["1", "a" * 120000], first.argv == jobs[first.job_id].argv]
    tell(found=found, grown=peak() - before)
"""
FIELDS = """
def plain(value):
    return value if isinstance(value, (bool, int, float, str, list)) or value is None else str(value)

def fields(view, names):
    return {name: plain(getattr(view, name)) for name in names}

@hook.job_submit
def look(job, jobs, nodes):
    if job.name != "look":
        return
    wrong = []
    for table in (jobs, nodes):
        keys = list(table)
        names = dir(table[keys[0]])
        whole = {key: fields(table[key], names) for key in keys}
        for turn in range(3):
            # In each turn, slurmctld sends other members; fields are read by row, and then row by row.
            rows = dict(table.items())
            for name in names[turn::2]:
                for key, row in rows.items():
                    if plain(getattr(row, name)) != whole[key][name]:
                        wrong.append([turn, name, str(key)])
            for key, row in table.items():
                if fields(row, names) != whole[key]:
                    wrong.append([turn, "all", str(key)])
    tell(wrong=wrong, fields=len(names), jobs=len(jobs))
"""
COUNTS = """
from collections import Counter
from slurmhooks.job_submit.constants import JobState

def shape(node):
    return (node.cpus, node.tot_sockets, node.real_memory, node.gres, node.weight)

@hook.job_submit
def look(job, jobs, nodes, partitions):
    if job.name != "look":
        return
    fields = ("cpus", "tot_sockets", "real_memory", "gres", "weight")
    tell(
        all=jobs.count(),
        rows=[len(jobs), len(list(jobs)), len(dict(jobs.items()))],
        states={int(state): number for (state,), number in jobs.counts("job_state").items()},
        mine=[jobs.count(user_id=job.user_id), len(jobs.of_user(job.user_id)), len(list(jobs.of_user(job.user_id)))],
        pending=jobs.count(job_state=JobState.JOB_PENDING, name="tasks"),
        none=[jobs.count(name="nothing"), bool(jobs.where(name="nothing")), jobs.counts("name", name="nothing") == {}],
        named=sorted([user, name, number] for (user, name), number in jobs.counts("user_id", "name").items()),
        nodes=[
            nodes.counts(*fields) == Counter(map(shape, nodes.values())),
            nodes.counts(*fields, partitions="clouds")
            == Counter(shape(node) for node in nodes.values() if "clouds" in node.partitions),
            len(nodes.counts(*fields, partitions="clouds")),
            nodes.count(partitions="late"), len(nodes.where(partitions="late")),
            [node.name for node in nodes.where(partitions="late")],
            nodes.count(partitions="nothing"), nodes.count(partitions=""), nodes.count(partitions="late", cpus=8),
            [[sorted(names), number] for (names,), number in nodes.counts("partitions", name="c300").items()],
        ],
        partitions=[len(partitions), partitions.count(name="late"), partitions.count() == len(list(partitions))],
    )
"""
JOBS = """
sbatch -H -o /dev/null -J tasks --array=1-400 --wrap true
sbatch -o /dev/null -J runs --mem=1 --array=1-3%1 --wrap 'sleep 1000'
sbatch -H -o /dev/null -J parts --mem=1 : --mem=2 --wrap true
sbatch -o /dev/null -J ended --mem=1 --wrap true
sbatch -H -o /dev/null -J gone --array=1-5 --wrap true
scancel --name=gone
"""


@pytest.fixture(scope="module")
def module_site(cluster: Cluster) -> Site:
    """A site with many nodes."""
    if not cluster.has_sources:
        pytest.skip(NO_SOURCES)
    return prepare(cluster, CONF)


@pytest.fixture
def site(module_site: Site) -> Iterator[Site]:
    """The site for one test."""
    yield from lend(module_site)


def look(site: Site, name: str, user: str = "bob") -> dict[str, object]:
    """Let the handler look, by a submission of a user."""
    done = site.run("sbatch", "--hold", "--output=/dev/null", f"--job-name={name}", "--wrap=true", user=user)
    assert done.returncode == 0, done.stderr + site.logged()[-3000:]
    (told,) = site.told()
    site.run("scancel", f"--name={name}", user=user)
    return told


def test_rows_have_all_fields(site: Site) -> None:
    """Each field of a row of a walk is that of the same row looked up alone, whatever was read before."""
    site.shell(JOBS)
    site.shell(f"sbatch -H -o /dev/null -J long --comment={'x' * 1024} --wrap='true {'y' * 5000}' > /dev/null")
    site.hooks(FIELDS)
    told = look(site, "look")
    assert told["wrong"] == []
    assert isinstance(told["jobs"], int)
    assert told["jobs"] > 5


def test_numbers_are_those_of_squeue(site: Site) -> None:
    """Counts are how many tasks, components and ended jobs squeue lists; len() is how many rows there are."""
    site.shell(JOBS, user="alice")
    site.cluster.wait(
        lambda: "COMPLETED" in site.said("squeue", "-h", "--name=ended", "-t", "all", "-o", "%T"),
        what="the end of a job",
    )
    site.cluster.wait(lambda: "RUNNING" in site.said("squeue", "-h", "--name=runs", "-o", "%T"), what="a running task")
    site.hooks(COUNTS)
    format_ = '{"name":"%j","user":%U,"state":"%T"}'
    listed = list(
        map(json.loads, site.said("squeue", "-h", "-r", "-t", "all", "-o", format_, user="root").splitlines())
    )
    told = look(site, "look")
    assert told["all"] == len(listed)
    # A job array that was cancelled before a task began is one row without tasks, of which squeue lists one.
    assert told["named"] == sorted(
        [*key, number] for key, number in Counter((each["user"], each["name"]) for each in listed).items()
    )
    assert told["pending"] == 400
    rows = told["rows"]
    assert isinstance(rows, list)
    assert len(set(rows)) == 1
    assert rows[0] < len(listed)
    assert told["none"] == [0, False, True]
    assert told["mine"] == [sum(each["user"] == 2002 for each in listed)] * 3
    names = ["c300", "c301", "c302", "c303"]
    assert told["nodes"] == [True, True, 2, 4, 4, names, 0, 0, 3, [[["clouds", "debug", "late", "other"], 1]]]
    partitions = told["partitions"]
    assert isinstance(partitions, list)
    assert partitions[1:] == [1, True]


@pytest.mark.moved
def test_long_texts_of_one_user_do_not_decide_for_others(site: Site) -> None:
    """A handler that walks the table of jobs costs the same, however long the command lines of one user are.

    Those that it reads, it gets; the worker does not keep them all.
    """
    site.shell(BIG.format(count=BIG_JOBS))
    site.cluster.put(f"{DEFAULT_TOML}[job_submit]\ntimeout = 9\n", TOML)  # all texts together are 250 MB
    site.hooks(WALKS)
    told = look(site, "names")
    assert told["found"] == BIG_JOBS
    assert isinstance(told["grown"], int)
    assert told["grown"] < GROWTH / 8
    told = look(site, "lines")
    assert told["found"] == [
        BIG_JOBS,
        True,
        840_000 + len("sbatch -H -D /tmp -J big1 -o /dev/null /tmp/big.sh 1 ") + 6,
        True,
        True,
    ]
    assert isinstance(told["grown"], int)
    assert told["grown"] < GROWTH
