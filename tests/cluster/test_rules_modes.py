# SPDX-License-Identifier: GPL-2.0-or-later
"""Handlers of job_submit and job_modify that warn or observe, and for which requests."""

import re

import pytest

from slurmhooks.hooks.rollout import share_of
from tests.cluster.conftest import Cluster
from tests.cluster.job_submit_site import DEFAULT_TOML, FOLDER, TOML, Site, prepare

pytestmark = [pytest.mark.one_release("24.11"), pytest.mark.stopped]

NO_SOURCES = "Debian has no sources of this release, without which slurmctld's structs cannot be read"
WARNING = "Warning: a rule that is not in force yet would refuse this request: no account"


@pytest.fixture(scope="module")
def module_site(cluster: Cluster) -> Site:
    """The cluster, with no hooks."""
    return prepare(cluster, "JobSubmitPlugins=python\n")


@pytest.fixture
def site(module_site: Site) -> Site:
    """Start each test without hooks and jobs."""
    module_site.reset()
    return module_site


def records(site: Site, count: int) -> list[dict[str, object]]:
    """Wait for records of handlers; return and remove them."""
    lines = f"grep -c '^' {FOLDER}/told || true"
    site.cluster.wait(
        lambda: int(site.cluster.root("sh", "-c", lines).stdout or 0) >= count, what=f"{count} records of handlers"
    )
    return site.told()


def policy(site: Site, table: str) -> None:
    """Put a [rules] of the handler in force."""
    site.cluster.put(f'{DEFAULT_TOML}[rules.modes."life:rule"]\n{table}\n', TOML)


def test_observers_change_nothing(site: Site) -> None:
    """Observing handlers read long fields after the answer; their refusals and changes have no effect."""
    site.hooks("""
        @hook.job_submit(mode="observe")
        def rule(job):
            tell(script=len(job.script), variable=len(job.environment["LONG"]))
            job.comment = "observed"
            log.user("nobody reads this")
            raise Reject("no")

        @hook.job_modify(mode="observe")
        def updates(job):
            tell(comment=job.comment)
            job.comment = "observed"
    """)
    script = "#!/bin/sh\n" + "# long\n" * 5000
    site.cluster.put(script, "/tmp/long.sh")
    output = site.shell("export LONG=$(printf %020000d 0); sbatch -J one --hold -o /dev/null /tmp/long.sh")
    job_id = output.split()[-1]
    assert output == f"Submitted batch job {job_id}\n"
    assert records(site, 1) == [{"script": len(script), "variable": 20000}]
    assert site.said("scontrol", "update", f"JobId={job_id}", "Comment=user") == ""
    assert records(site, 1) == [{"comment": "user"}]
    assert site.show(job_id)["Comment"] == "user"


def test_observers_ask_slurmctld(site: Site) -> None:
    """After the answer, observing handlers have slurmctld's tables, and the job that an update changes."""
    if not site.cluster.has_sources:
        pytest.skip(NO_SOURCES)
    site.hooks("""
        @hook.job_submit(mode="observe")
        def rule(job, partitions):
            tell(partitions=sorted(partitions))

        @hook.job_modify(mode="observe")
        def updates(job, record, jobs):
            tell(record=record.name, job=jobs[record.job_id].name)
    """)
    job_id = site.submit("-J", "one")
    assert records(site, 1) == [{"partitions": sorted(site.said("sinfo", "-ho", "%R").split())}]
    assert site.said("scontrol", "update", f"JobId={job_id}", "Comment=user") == ""
    assert records(site, 1) == [{"record": "one", "job": "one"}]


def test_observers_cannot_hurt_requests(site: Site) -> None:
    """Submissions continue while an observing handler hangs, crashes or takes memory; the log names the handler."""
    site.hooks("""
        import os, signal, time

        @hook.job_submit(mode="observe", timeout=2)
        def rule(job):
            if job.name == "hang": time.sleep(1000)
            if job.name == "crash": os.kill(os.getpid(), signal.SIGKILL)
            if job.name == "memory": bytearray(1 << 40)
            tell(name=job.name)

        @hook.job_submit(mode="observe", order=60)
        def second(job):
            tell(second=job.name)
    """)
    for name in ("hang", "crash", "memory", "next"):
        site.submit("-J", name)
    seen = records(site, 5)
    assert [record for record in seen if "name" in record] == [{"name": "next"}]
    assert [record["second"] for record in seen if "second" in record] == ["hang", "crash", "memory", "next"]
    for line in (
        "missed the time limit of life:rule and was killed; no request is affected",
        "was killed by SIGKILL in life:rule; no request is affected",
        r"handler life:rule \(.*\) raised MemoryError",
    ):
        site.cluster.wait(lambda line=line: re.search(line, site.logged()), what=line)  # type: ignore[misc]


def test_modes_are_switched_by_a_deployment(site: Site) -> None:
    """[rules] alone switches a running site from enforce to warn and off.

    A label without a handler changes nothing.
    """
    site.hooks("""
        @hook.job_submit
        def rule(job):
            if job.comment != "good":
                job.comment = "lost"
                raise Reject("no account")
    """)
    assert "no account" in site.refused()
    policy(site, 'mode = "warn"\nnote = "from 1 March on"')
    output = site.said("sbatch", "--hold", "-o/dev/null", "--wrap=true")
    assert f"{WARNING} (from 1 March on)\n" in output
    assert "Submitted batch job" in output
    assert "Warning" not in site.said("sbatch", "--hold", "--comment=good", "-o/dev/null", "--wrap=true")
    info = site.said("slurmhooks", "info", user="root")
    assert re.search(r"in force: job_submit handler life:rule \(/etc/slurm/\S*/life\.py\), warn", info), info
    site.cluster.put(f'{DEFAULT_TOML}[rules.modes."life:rul"]\nmode = "enforce"\n', TOML)
    said = site.cluster.refusal()
    assert '[rules.modes."life:rul"] of slurmhooks.toml: no hook file, package or script has this handler' in said
    assert WARNING in site.said("sbatch", "--hold", "-o/dev/null", "--wrap=true")
    policy(site, 'mode = "off"')
    assert "Warning" not in site.said("sbatch", "--hold", "-o/dev/null", "--wrap=true")


@pytest.mark.moved
def test_shares(site: Site) -> None:
    """A percentage, a user or a partition decides whether a rule is in force; it warns all others."""
    site.hooks("""
        @hook.job_submit
        def rule(job):
            raise Reject("no account")
    """)
    places = {name: share_of("life:rule", int(site.said("id", "-u", user=name))) for name in ("alice", "bob")}
    first, second = sorted(places, key=lambda name: places[name])

    def refused(user: str, *options: str) -> bool:
        done = site.run("sbatch", "--hold", "-o/dev/null", *options, "--wrap=true", user=user)
        assert "no account" in done.stderr
        return done.returncode != 0

    policy(site, f'percent = {(places[first] + places[second]) / 2:.3f}\notherwise = "warn"')
    assert (refused(first), refused(second)) == (True, False)
    policy(site, 'users = ["alice"]\notherwise = "warn"')
    assert (refused("alice"), refused("bob")) == (True, False)
    default = site.said("sh", "-c", "sinfo -ho %P | grep '*' | tr -d '*\\n'")
    policy(site, f'partitions = ["{default}"]\notherwise = "warn"')
    assert refused("alice") is site.cluster.has_sources  # otherwise slurmctld cannot be asked
    assert refused("alice", f"--partition={default}")
    policy(site, 'partitions = ["none"]\notherwise = "warn"')
    assert not refused("alice")
