# SPDX-License-Identifier: GPL-2.0-or-later
"""`slurmhooks check` on a real site, and texts of users in its logs and on its terminals."""

from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

from tests.cluster.job_submit_site import CONF, Site

if TYPE_CHECKING:
    from tests.cluster.conftest import Cluster

TALKATIVE = """
    @hook.job_submit
    def submit(job):
        log.info("submitted %s", job.comment)
        log.info(job.script)
        log.user("you said %s", job.comment)

    @hook.job_modify
    def modify(job):
        log.info(f"updated {job.comment}")
        log.user("you said %s", job.comment)
"""
NASTY = "first\nforged: second\x1b[2J\r\u202e"


@pytest.fixture(scope="module")
def site(cluster: "Cluster") -> Iterator[Site]:
    """A cluster whose job_submit hooks log texts of users; restored afterwards."""
    lent_site = Site(cluster)
    lent_site.reset()
    lent_site.hooks(TALKATIVE)
    cluster.deploy()
    yield lent_site
    lent_site.reset()


def check(site: Site) -> tuple[int, str]:
    """Run check as root; return its exit code and output."""
    done = site.cluster.root("slurmhooks", "check")
    return done.returncode, done.stdout + done.stderr


def test_hooks_that_slurmctld_would_not_call(site: Site) -> None:
    """check ends with 1 and prints the line that slurm.conf needs; once the line is back, it has no finding."""
    code, said = check(site)
    assert code == 0, said
    before = site.cluster.root("cat", CONF, check=True).stdout
    assert "JobSubmitPlugins=python" in before
    try:
        site.cluster.put(before.replace("JobSubmitPlugins=python", "JobSubmitPlugins=lua"), CONF)
        code, said = check(site)
        assert code == 1
        assert "such as life:submit: it needs the line JobSubmitPlugins=lua,python" in said
    finally:
        site.cluster.put(before, CONF)


def test_text_of_a_user(site: Site) -> None:
    """A user's text forges no line of the log, controls no terminal and has a limited length, even in an update."""
    site.mark()
    done = site.cluster.user(
        "alice", "sbatch", "--hold", f"--comment={NASTY}", input="#!/bin/sh\n# " + "x" * 10_000 + "\n", check=True
    )
    job_id = done.stdout.split()[-1]
    assert "you said first" in done.stderr
    assert r"forged: second\x1b[2J\r\u202e" in done.stderr
    assert not set("\x1b\r\u202e") & set(done.stderr)
    update = site.cluster.user("alice", "scontrol", "update", f"jobid={job_id}", f"comment={NASTY}", check=True)
    assert not set("\x1b\r\u202e") & set(update.stdout + update.stderr)
    # slurmctld itself logs a new comment unescaped.
    logged = site.logged().split("\n")
    lines = [line for line in logged if "slurmhooks" in line or ("forged" in line and " for JobId=" not in line)]
    shown = r"first\nforged: second\x1b[2J\r\u202e"
    assert any(line.endswith(f"slurmhooks: submitted {shown}") for line in lines), lines
    # The handler has put this text into its own, in which a further line is marked.
    first, second = shown.split(r"\n", 1)
    place = next(number for number, line in enumerate(lines) if line.endswith(f"slurmhooks: updated {first}"))
    assert lines[place + 1].endswith(f"slurmhooks: | {second}")
    assert all("slurmhooks: " in line for line in lines)
    assert not set("\x1b\r\u202e") & set("".join(lines))
    place = next(number for number, line in enumerate(lines) if line.endswith("slurmhooks: #!/bin/sh"))
    script = lines[place + 1].partition("slurmhooks: ")[2]
    assert script.startswith("| # xxx")
    assert len(script) < 4096
    assert script.endswith(" bytes left out]")
    if site.release < (23, 2):  # no channel to the user: each line of the message is a record
        texts = [line.partition("not shown to the user by this release of Slurm: ")[2] for line in lines]
        assert list(filter(None, texts)) == ["you said first", r"forged: second\x1b[2J\r\u202e"]
    else:
        assert "you said first" in update.stdout + update.stderr
