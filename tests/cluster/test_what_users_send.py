# SPDX-License-Identifier: GPL-2.0-or-later
"""Whatever users send is accepted or refused with one line, controls no terminal, forges no log, and stops nothing."""

import re
import textwrap

import pytest

from tests.cluster.conftest import Cluster
from tests.cluster.job_submit_site import DEFAULT_TOML, TOML, Site

pytestmark = pytest.mark.stopped

PYTHON = "/opt/slurmhooks/bin/python3"
MIB = 1 << 20
LARGEST_SCRIPT = 512 * MIB
"""The most that Slurm allows for max_script_size."""
ACTING = re.compile(r"[\x00-\x08\x0b-\x1f\x7f\x80-\x9f\u202a-\u202e\u2066-\u2069]")
"""What acts on a terminal, or on whoever reads a log."""
TEXTS = ("account", "comment", "name", "partition", "work_dir", "dependency", "licenses", "features", "req_nodes")
HOOK = f"""
@hook.job_submit
def look(job, submit_uid):
    for name in {TEXTS!r}:
        value = getattr(job, name)
        log.info("%s: %s", name, value)
        log.info(f"{{name}}: {{value}}".replace("%", "%%"))
        if value is not None:
            log.user(value)
    if job.comment == "read":
        tell(script=len(job.script), variables=len(job.environment), last=len(job.environment.get("V9999", "")))
    if job.comment and "%n" in job.comment:
        raise Reject(job.comment)
"""


@pytest.fixture(scope="module")
def site(cluster: Cluster) -> Site:
    """A site that accepts the largest scripts, with a handler that logs values that users choose."""
    site = Site(cluster)
    site.clear()
    # A busy machine takes seconds for 60 MiB.
    site.conf(f"JobSubmitPlugins=python\nSchedulerParameters=max_script_size={LARGEST_SCRIPT}\nMessageTimeout=60\n")
    cluster.put(f"{DEFAULT_TOML}[job_submit]\ntimeout = 30.0\n", TOML)
    site.hooks(HOOK)
    return site


def alive(site: Site) -> None:
    """Check that slurmctld and its workers serve the next request, and that the log has no unexpected errors."""
    assert "are UP" in site.said("scontrol", "ping") or "is UP" in site.said("scontrol", "ping")
    assert site.submit("--comment=next")
    logged = site.logged()
    ours = "\n".join(line for line in logged.split("\n") if "slurmhooks" in line)
    assert not ACTING.search(ours.replace("\t", "")), repr(ours[-2000:])
    assert not re.search(r"slurmhooks: [^\n]*\n(slurmctld: )?error: forged", logged)


def test_hostile_bytes_and_format_strings(site: Site) -> None:
    """A text option may contain anything: it is shown escaped, to the user and in the log, never as a format string."""
    site.mark()
    script = "\n".join(
        f"sbatch --hold -o /dev/null {option}=$'{text}' --wrap=true || true"
        for text in (r"%n%s%99999d\x1b[31m\x1b]0;t\x07\r\nslurmctld: error: forged", r"\x9b2J\u202e\xff%(x)s {x}$(id);")
        for option in ("--comment", "-J", "-A", "-p", "-D", "-d", "-L", "-C", "-w", "--mail-user", "--wckey", "--qos")
    )
    said = site.run("bash", "-c", f"export LC_ALL=C.UTF-8\n{script}\nexec 2>&1")
    lines = [line for line in said.stderr.split("\n") if "error: forged" not in line]
    assert "job_submit" not in "".join(line for line in lines if "raised" in line)
    alive(site)
    assert "%n%s%99999d\\x1b[31m" in site.logged()


def test_large_scripts(site: Site) -> None:
    """A script of 60 MiB is read; a script of 100 MiB, which no message can hold, is refused if a handler reads it."""
    site.mark()
    make = "(echo '#!/bin/sh'; yes '# long' | head -c {}) > /tmp/large.sh; sbatch --hold -o /dev/null --comment={} {}"
    said = site.said("sh", "-c", make.format(60 * MIB, "read", "/tmp/large.sh"))
    assert "Submitted batch job" in said
    assert [each["script"] for each in site.told()] == [60 * MIB + 10]
    said = site.said("sh", "-c", make.format(100 * MIB, "read", "/tmp/large.sh"))
    assert said.count("script is longer than 64 MiB, the most that the hooks of this site can read") == 1
    assert "did not answer" not in said
    said = site.said("sh", "-c", make.format(100 * MIB, "ignored", "/tmp/large.sh; rm /tmp/large.sh"))
    assert "Submitted batch job" in said
    alive(site)
    assert "invalid message" not in site.logged()


def test_large_environments(site: Site) -> None:
    """10,000 variables with 40 MB are read; variables that no message can hold are refused with one line."""
    site.mark()
    # sbatch itself takes minutes for 100,000 variables.
    source = """
        import sys
        with open("/tmp/variables", "wb") as file:
            for index in range(10000):
                file.write(b"V%d=%s\\0" % (index, b"x" * int(sys.argv[1])))
    """
    site.cluster.put(textwrap.dedent(source), "/tmp/variables.py")
    # 26.05 accepts the variables only with --export=ALL.
    options = "--hold -o /dev/null --export=ALL --export-file=/tmp/variables --comment=read"
    submit = f"{PYTHON} /tmp/variables.py {{}}; sbatch {options}"
    said = site.said("sh", "-c", f"{submit.format(4000)} --wrap=true")
    assert "Submitted batch job" in said
    (told,) = site.told()
    assert told["last"] == 4000, told
    said = site.said("sh", "-c", f"{submit.format(8000)} --wrap=true")
    assert said.count("environment is longer than 64 MiB, the most that the hooks of this site can read") == 1
    alive(site)
    assert "invalid message" not in site.logged()
