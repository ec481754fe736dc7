# SPDX-License-Identifier: GPL-2.0-or-later
"""Callers of job_submit: many at once, their messages, all ways to send jobs and updates, and codes to refuse them."""

import re
from collections.abc import Iterator

import pytest

from tests.cluster import rest
from tests.cluster.conftest import Cluster
from tests.cluster.job_submit_site import FOLDER, Site, lend, prepare
from tests.cluster.turns import moved_from

pytestmark = pytest.mark.stopped


@pytest.fixture(scope="module")
def module_site(cluster: Cluster) -> Site:
    """The cluster, with Slurm's crontabs enabled and no hooks."""
    return prepare(cluster, "JobSubmitPlugins=python\nScronParameters=enable\n")


@pytest.fixture
def site(module_site: Site) -> Iterator[Site]:
    """Start each test without hooks and jobs."""
    yield from lend(module_site)


def test_many_at_once(site: Site) -> None:
    """Calls of many RPC threads, and updates between them, do not mix: each user reads only their own messages."""
    site.hooks("""
        import time
        @hook.job_submit
        def slow(job):
            log.user("one %s", job.name)
            job.comment = job.name
            time.sleep(0.01)            # lets go of Python's lock
            assert job.comment == job.name
            log.user("two %s", job.name)
        @hook.job_modify
        def modify(job):
            job.comment = f"{job.comment} modified"
    """)
    script = """
    one() {
        sbatch --hold --output=/dev/null --job-name=j$1 --wrap true > said.$1 2>&1
        job=$(sed -n 's/Submitted batch job //p' said.$1)
        scontrol update jobid=$job comment=j$1
    }
    rm -f said.*
    for number in $(seq 30); do one $number & done
    wait
    for number in $(seq 30); do
        grep -o -E '(one|two) j[0-9]+' said.$number | tr '\\n' ' '; echo "of j$number"
    done
    squeue -h -o '%j %k'
    """
    lines = site.shell(script).splitlines()
    assert lines[:30] == [f"one j{number} two j{number} of j{number}" for number in range(1, 31)]
    assert sorted(lines[30:]) == sorted(f"j{number} j{number} modified" for number in range(1, 31))


@pytest.mark.parametrize("opening", moved_from(1, ["[", '{"a":']))
def test_deeply_nested_text_of_a_user(site: Site, opening: str) -> None:
    """A user's text cannot overflow the stack of slurmctld's threads, an eighth of the size that CPython expects."""
    site.hooks("""
        import json
        @hook.job_submit
        def read(job):
            json.loads(job.script.partition("#DATA ")[2])
    """)
    before = site.shell("pidof slurmctld")
    program = f"print('#!/bin/sh', '#DATA ' + {opening!r} * 50000, sep=chr(10))"
    site.cluster.put(program, "/tmp/deep.py")
    said = site.shell("python3 /tmp/deep.py > deep.sh; sbatch deep.sh || true")
    assert "job_submit handler life:read failed" in said
    # CPython 3.14 checks the stack itself, and slurmctld 26.05 has enough for this.
    assert re.search("RecursionError|JSONDecodeError", site.logged())
    assert site.shell("pidof slurmctld") == before


def test_a_child_that_comes_back(site: Site) -> None:
    """A handler that forks and does not end its child does not create a second slurmctld."""
    site.hooks("""
        import os
        @hook.job_submit
        def forks(job):
            child = os.fork()
            if child:
                log.user("the child ended with %d", os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
            job.comment = "child" if not child else "parent"
    """)
    before = site.shell("pidof slurmctld")
    said = site.said("sbatch", "--hold", "--job-name=forks", "--output=/dev/null", "--wrap=true")
    assert "the child ended with 1" in said
    site.cluster.wait(lambda: "a handler has forked and its child came back" in site.logged(), what="line")
    assert site.shell("squeue -h -n forks -o %k").split() == ["parent"]
    assert site.shell("pidof slurmctld") == before


def _private(site: Site) -> bool:
    return site.cluster.has_sources


MESSENGER = """
@hook.job_submit
def submit(job):
    log.user("first line\\nsecond line")
    if job.comment == "refuse":
        raise Reject("third line", code="ESLURM_INVALID_QOS")
@hook.job_modify
def modify(job):
    log.user("first of update")
    if job.comment == "refuse":
        raise Reject("second of update", code="ESLURM_INVALID_QOS")
"""


@pytest.mark.moved
def test_long_texts_of_tables(site: Site) -> None:
    """A row of a table has its texts, however long they are."""
    if not site.cluster.has_sources:
        pytest.skip("Debian has no sources of this release, without which slurmctld's structs cannot be read")
    site.hooks(
        """
        @hook.job_submit
        def count(job, partitions):
            row, page = partitions["long"], dict(partitions)["long"]
            tell(event=f"{len(row.allow_accounts)} {len(page.allow_accounts)}")
        """
    )
    accounts = ",".join(f"account{number:04}" for number in range(2000))
    site.cluster.root("scontrol", "create", "partitionname=long", f"allowaccounts={accounts}", check=True)
    try:
        site.submit()
    finally:
        site.cluster.root("scontrol", "delete", "partitionname=long", check=True)
    assert site.events() == [f"{len(accounts)} {len(accounts)}"]


@pytest.mark.parametrize("command", moved_from(2, ["sbatch", "srun", "salloc"]))
def test_messages_of_a_submission(site: Site, command: str) -> None:
    """All lines reach the user in order, whether the job is accepted or not; a refusal has its code and text."""
    site.hooks(MESSENGER)
    tail = ["--wrap=true"] if command == "sbatch" else ["true"]
    done = site.run(command, *tail)
    assert done.returncode == 0, done.stderr
    assert re.findall(r"(\w+) line", done.stderr) == ["first", "second"]
    done = site.run(command, "--comment=refuse", *tail)
    assert done.returncode == 1
    assert re.findall(r"(\w+) line", done.stderr) == ["first", "second", "third"]
    assert "Invalid qos" in done.stderr


@pytest.mark.moved
@pytest.mark.parametrize("command", ["sbatch", "srun", "salloc"])
def test_messages_of_what_slurm_refuses(site: Site, command: str) -> None:
    """If Slurm refuses a job that handlers have accepted, users read the messages, too."""
    site.hooks(MESSENGER)
    done = site.run(command, "--partition=nowhere", *(["--wrap=true"] if command == "sbatch" else ["true"]))
    assert done.returncode == 1
    assert re.findall(r"(\w+) line", done.stderr) == ["first", "second"]
    assert "partition" in done.stderr


def test_messages_of_an_update(site: Site) -> None:
    """The same for scontrol; 22.05 cannot show texts there, so the log has them."""
    site.hooks(MESSENGER)
    job_id = site.submit()
    accepted = site.run("scontrol", "update", f"jobid={job_id}", "comment=x")
    refused = site.run("scontrol", "update", f"jobid={job_id}", "comment=refuse")
    assert accepted.returncode == 0, accepted.stderr
    assert refused.returncode == 1
    assert "Invalid qos" in refused.stderr
    seen = [re.findall(r"(\w+) of update", done.stdout + done.stderr) for done in (accepted, refused)]
    if site.release < (23, 2):
        assert seen == [[], []]
        lines = [line for line in site.logged().splitlines() if "not shown to the user" in line or "of update" in line]
        assert re.findall(r"(\w+) of update", "\n".join(lines)) == ["first", "first", "second"]
        assert "not shown to the user by this release of Slurm" in lines[0]
    else:
        assert seen == [["first"], ["first", "second"]]


# Kinds of jobs


@pytest.mark.parametrize("command", moved_from(1, ["sbatch", "srun", "salloc"]))
def test_test_only(site: Site, command: str) -> None:
    """--test-only calls the handlers too, shows their messages or refusal, and leaves no job."""
    site.hooks(MESSENGER)
    tail = ["--wrap=true"] if command == "sbatch" else ["true"]
    if command != "salloc":
        assert "second line" in site.said(command, "--test-only", *tail)
        done = site.run(command, "--test-only", "--comment=refuse", *tail)
        assert done.returncode != 0
        assert "third line" in done.stderr
    assert site.said("squeue", "-h") == ""


def test_het_jobs(site: Site) -> None:
    """Each component has its own call and offset; writes apply to that component."""
    site.hooks("""
        @hook.job_submit
        def component(job):
            tell(offset=job.het_job_offset, tasks=job.num_tasks)
            job.comment = f"component {job.het_job_offset} of {job.num_tasks} tasks"
    """)
    job_id = site.submit("-n2", ":", "-n1", ":", "-n3")
    assert site.told() == [{"offset": 0, "tasks": 2}, {"offset": 1, "tasks": 1}, {"offset": 2, "tasks": 3}]
    shown = site.said("scontrol", "show", "job", "-o", job_id)
    assert re.findall(r"Comment=(component \d of \d tasks)", shown) == [
        "component 0 of 2 tasks",
        "component 1 of 1 tasks",
        "component 2 of 3 tasks",
    ]


@pytest.mark.parametrize("command", moved_from(1, ["sbatch", "srun", "salloc"]))
def test_a_refused_component(site: Site, command: str) -> None:
    """A refused component refuses the whole job: no component remains, later ones are not called; texts are shown."""
    site.hooks("""
        @hook.job_submit
        def component(job):
            tell(offset=job.het_job_offset)
            log.user("told by %d", job.het_job_offset)
            if job.het_job_offset == 1:
                raise Reject("not the second")
    """)
    tail = ["--wrap=true"] if command == "sbatch" else ["true"]
    done = site.run(command, "-n1", ":", "-n1", ":", "-n1", *tail)
    assert done.returncode != 0
    assert re.findall(r"told by (\d)", done.stderr) == ["0", "1"]
    assert "not the second" in done.stderr
    assert site.told() == [{"offset": 0}, {"offset": 1}]
    assert site.said("squeue", "-h") == ""


def test_array_jobs(site: Site) -> None:
    """The whole array has one call, which may change its indices; an update of one task says which."""
    private = _private(site)
    site.hooks(f"""
        @hook.job_submit
        def array(job):
            tell(array_inx=job.array_inx)
            job.array_inx = "0-3%2"
        @hook.job_modify
        def task(job{", record" if private else ""}):
            tell({"task=record.array_task_id" if private else "task=None"}, job_id=job.job_id_str)
    """)
    job_id = site.submit("--array=0-9")
    assert site.told() == [{"array_inx": "0-9"}]
    assert site.show(job_id)["ArrayTaskId"] == "0-3%2"
    done = site.run("scontrol", "update", f"jobid={job_id}_1", "comment=one")
    assert done.returncode == 0, done.stderr
    records = site.told()
    assert records[-1]["job_id"] == f"{job_id}_1"
    if private:
        assert records[-1]["task"] == 1


def test_scrontab(site: Site) -> None:
    """Handlers see jobs of a crontab and can recognize them; a refusal refuses the crontab.

    If it is accepted, the user reads the handlers' texts; if it is refused, scrontab prints no message.
    """
    if site.run("sh", "-c", "command -v scrontab").returncode != 0:
        pytest.skip("Debian's Slurm of this release has no scrontab")
    site.hooks("""
        @hook.job_submit
        def cron(job):
            tell(cron=job.cron_job, script=job.script.splitlines()[-1])
            if job.name == "refuse":
                raise Reject("no such crontab", code="ESLURM_INVALID_QOS")
            job.comment = "from a crontab"
            log.user("welcome, crontab")
    """)
    table = "/home/alice/table"
    site.cluster.put("#SCRON --job-name=nightly\n0 0 1 1 * true\n", table)
    assert "welcome, crontab" in site.shell(f"scrontab {table}")
    assert site.told() == [{"cron": True, "script": "true"}]
    shown = site.said("scontrol", "show", "job", "-o")
    assert "JobName=nightly" in shown
    assert "Comment=from a crontab" in shown
    site.cluster.put("#SCRON --job-name=refuse\n0 0 1 1 * true\n", table)
    done = site.run("scrontab", table)
    assert done.returncode != 0
    assert "Invalid qos" in done.stdout + done.stderr
    assert "no such crontab" not in done.stdout + done.stderr  # scrontab prints "(null)" in place of the text
    assert "JobName=refuse" not in site.said("scontrol", "show", "job", "-o")
    site.shell("scrontab -r")


@pytest.mark.moved
def test_updates_of_arrays(site: Site) -> None:
    """An update of an array makes one call, and one more for each task that has a record of its own."""
    site.hooks("""
        @hook.job_modify
        def change(job):
            tell(called=True)
    """)
    job = site.submit("--array=1-9")
    site.said("scontrol", "update", f"jobid={job}", "comment=x")
    assert len(site.told()) == 1
    site.said("scontrol", "update", f"jobid={job}_[2-4]", "comment=x")
    assert len(site.told()) == 3
    site.said("scontrol", "update", f"jobid={job}", "comment=x")
    assert len(site.told()) == 4


def test_commands_that_call_no_hook(site: Site) -> None:
    """Slurm asks nobody when a job is suspended, resumed, requeued, moved to the top, or cancelled."""
    site.hooks("""
        @hook.job_modify
        def change(job):
            tell(called=True)
            raise Reject("no changes")
    """)
    job = site.said("sbatch", "--parsable", "--output=/dev/null", "--wrap", "sleep 600").strip()
    site.cluster.wait(lambda: site.show(job)["JobState"] == "RUNNING", what="a running job")
    for verb in ("suspend", "resume", "requeue"):
        site.cluster.root("scontrol", verb, job, check=True)
    held = site.submit()
    site.cluster.root("scontrol", "top", held)
    site.cluster.root("scancel", job, held, check=True)
    assert site.told() == []


@pytest.mark.moved
def test_slurmrestd(site: Site) -> None:
    """slurmrestd's submissions and updates call the handlers; its answer has messages of accepted submissions.

    Of a refusal it has only the code: slurmrestd logs the text where its administrators read it.
    """
    rest.install(site)
    site.hooks("""
        @hook.job_submit
        def rest(job):
            tell(script=job.script, path=job.environment["PATH"])
            if job.comment == "refuse":
                raise Reject("not by this way", code="ESLURM_INVALID_QOS")
            job.comment = f"{job.comment} by rest"
            log.user("welcome, rest")

        @hook.job_modify
        def update(job):
            if job.comment == "refuse":
                raise Reject("no such update")
            job.comment = f"{job.comment} by update"
    """)
    said, _ = rest.post(site, ("submit", rest.submission(site, comment="accept")))
    assert site.told() == [{"script": "#!/bin/sh\ntrue\n", "path": "/bin"}], said
    assert "welcome, rest" in said
    job_id = re.findall(r'"job_id": (\d+)', said)[0]
    assert site.show(job_id)["Comment"] == "accept by rest"
    said, logged = rest.post(site, ("submit", rest.submission(site, comment="refuse")))
    assert re.search("Invalid qos|ESLURM_INVALID_QOS", said), said
    assert ("not by this way" in said, "not by this way" in logged) == (False, True), said
    # Only a job that has not ended can be updated.
    held = site.submit("--comment=old")
    said, _ = rest.post(site, (held, {"comment": "new"}))
    assert site.show(held)["Comment"] == "new by update", said
    said, _ = rest.post(site, (held, {"comment": "refuse"}))
    assert site.show(held)["Comment"] == "new by update", said
    assert "no such update" not in said
    site.shell(f"scancel {held}")


CONSTANTS = """
from slurmhooks.job_submit import constants

@hook.job_submit
def look(job):
    kinds = [kind.__members__ for kind in constants.KINDS.values()]
    names = [*constants.NUMBERS, *constants.ESLURM.__members__, *(name for kind in kinds for name in kind)]
    tell(**{name: int(getattr(constants, name)) for name in names})
"""


def test_constants(site: Site) -> None:
    """Every error code of the release exists by name, and every constant has the number that a C compiler computes."""
    site.hooks(CONSTANTS)
    site.said("sbatch", "--test-only", "--wrap=true")
    (python,) = site.told()
    headers = site.shell("cat /usr/include/slurm/slurm.h /usr/include/slurm/slurm_errno.h")
    words = set(re.findall(r"\b[A-Z][A-Z0-9_]+\b", re.sub(r"/\*.*?\*/", "", headers, flags=re.DOTALL)))
    assert {word for word in words if word.startswith("ESLURM_")} - set(python) == set()
    # The other codes are in headers that Slurm does not install.
    public = sorted(words & set(python))
    assert len(public) > 300
    lines = "".join(f'printf("{name}=%llu\\n", (unsigned long long)({name}));' for name in public)
    includes = "#include <slurm/slurm.h>\n#include <slurm/slurm_errno.h>\n#include <stdio.h>\n"
    site.cluster.put(f"{includes}int main(void) {{{lines} return 0;}}\n", f"{FOLDER}/constants.c")
    compiled = site.shell(f"cd {FOLDER}; gcc -w -o constants constants.c; ./constants", user="root")
    numbers = {name: int(value) for name, value in (line.split("=") for line in compiled.splitlines())}
    assert {
        name: (python[name], number) for name, number in numbers.items() if python[name] % (1 << 64) != number
    } == {}
