# SPDX-License-Identifier: GPL-2.0-or-later
"""Ready-made rules decide as public job_submit.lua scripts do under Slurm's own plugin, on a real slurmctld.

Each script is fetched at a pinned commit. None of them is in this tree: public_scripts has the same policies as rules,
and for some of them a few lines of Python.
"""

import json
import os
import random
import re
import shlex
from collections import Counter
from collections.abc import Callable
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest

from tests.cluster import accounting, reporting
from tests.cluster.conftest import Cluster
from tests.cluster.job_submit_site import DEFAULT_TOML, HOOKS_D, TOML, shown
from tests.cluster.public_scripts.table import ACCOUNTS, CONF, HARDWARE, SCRIPT, SCRIPTS, PublicScript
from tests.cluster.repositories import fetched, git

pytestmark = [pytest.mark.soak, pytest.mark.stopped, pytest.mark.deploys]

HERE = Path(__file__).parent
NUMBER = int(os.environ.get("SLURMHOOKS_PUBLIC_SCRIPTS_REQUESTS", "1000"))
"""Submissions for each script; half of them are updated, too."""
MOMENTARY = re.compile(r"\w*[Tt]ime$|AccrueTime|LastSchedEval|Priority|SLUID|JobId|Reason|SubmitLine|Sched")
"""Fields that depend on when a job was submitted, except those below."""
BESIDES = ("called", "script", "told")
"""What is compared besides the fields of a job: calls of programs, the batch script, whether the user read anything."""
OF_USERS = {"TimeLimit", "TimeMin"}


def source(script: PublicScript) -> dict[str, str]:
    """Return the files of a script by their paths in a cluster, with the names of this test's cluster."""
    repository = fetched(script.repository, script.commit)
    files = {}
    for path, target in script.files.items():
        shown = git(repository, "show", f"{script.commit}:{path}")
        assert shown.returncode == 0, shown.stderr
        text = shown.stdout.decode()
        for pattern, replacement in script.renamed.items():
            text = re.sub(pattern, replacement, text)
        files[target] = text
    return files


def requests(script: PublicScript) -> list[dict[str, Any]]:
    """Draw submissions and updates from the options of a script."""
    generator = random.Random(script.name)
    matters = "--wrap" in str(script.options)
    drawn = []
    for _ in range(NUMBER):
        options = [word for choices in script.options for word in shlex.split(generator.choice(choices))]
        interactive = script.interactive and generator.random() < 0.25
        wraps = any(word.startswith("--wrap") for word in options)
        first, last = (["salloc", "--no-shell"], []) if interactive else (["sbatch"], ["--wrap=true"][wraps:])
        options = [word for word in options if not (interactive and word.startswith("--wrap"))]
        update = shlex.split(generator.choice(script.updates)) if generator.random() < 0.5 else []
        drawn.append({"submission": [*first, "--hold", *options, *last], "update": update, "script": matters})
    return drawn


def play(cluster: Cluster, plugin: str, wanted: list[dict[str, Any]], *, tells: bool) -> list[dict[str, Any]]:
    """Restart slurmctld with a plugin, send requests, and return the outcomes."""
    local = cluster.root(
        "sed", "s/^JobSubmitPlugins=.*/JobSubmitPlugins=" + plugin + "/", "/etc/slurm/local.conf"
    ).stdout
    cluster.put(local, "/etc/slurm/local.conf")
    if plugin == "python":
        cluster.deploy()
    cluster.restart("slurmctld")
    done = cluster.root(
        "python3", "/root/submit_drawn.py", input=json.dumps(wanted), timeout=60 + 4 * len(wanted), check=True
    )
    outcomes: list[dict[str, Any]] = json.loads(done.stdout)
    for outcome in outcomes if tells else ():
        outcome["told"] = str(any("job" not in line.lower() for line in outcome["said"].splitlines()))
    return outcomes


def fields(outcome: dict[str, Any]) -> dict[str, str]:
    """Return what scontrol shows of a job, if there is one."""
    job = shown(outcome.get("job", ""))
    values = {name: value for name, value in job.items() if name in OF_USERS or not MOMENTARY.search(name)}
    if "T" in job.get("EligibleTime", ""):
        waits = datetime.fromisoformat(job["EligibleTime"]) - datetime.fromisoformat(job["SubmitTime"])
        values["minutes until it is eligible"] = str(round(waits.total_seconds() / 60))
    return values


def differences(ours: dict[str, Any], theirs: dict[str, Any]) -> str:
    """Return how two outcomes of a request differ, or an empty text."""
    if ours["accepted"] != theirs["accepted"]:
        words = {True: "accepts", False: "refuses"}
        return f"the script {words[theirs['accepted']]}, the rules {'refuse' if theirs['accepted'] else 'accept'}"
    mine, others = ({**fields(each), **{key: each.get(key, "") for key in BESIDES}} for each in (ours, theirs))
    names = sorted(name for name in mine.keys() | others.keys() if mine.get(name) != others.get(name))
    return ", ".join(f"{name}: the script {others.get(name)}, the rules {mine.get(name)}" for name in names)


def compare(script: PublicScript, wanted: list[dict[str, Any]], theirs: list[Any], ours: list[Any]) -> Counter[str]:
    """Compare all outcomes; return how many are the same, fail in the script, or differ for a known reason.

    Raises:
        AssertionError: some differ for no known reason.
    """
    counts: Counter[str] = Counter()
    wrong = []

    def one(what: str, line: str, mine: dict[str, Any], other: dict[str, Any]) -> bool:
        difference = differences(mine, other)
        if other["failed"]:
            counts[f"{what}: the script fails"] += 1
            return False
        line = f"{line}: {difference}"
        if not difference:
            counts[f"{what}: the same"] += 1
            return bool(other["accepted"])
        for why, pattern in script.differs.items():
            if re.search(pattern, line):
                counts[f"{what}: {why}"] += 1
                return False
        wrong.append(f"{line}\n  theirs: {other['said'].strip()}\n  ours: {mine['said'].strip()}")
        return False

    for request, other, mine in zip(wanted, theirs, ours, strict=True):
        line = shlex.join(request["submission"])
        counts["refused"] += not other["accepted"]
        if one("submission", line, mine, other) and "update" in other:
            counts["updates refused"] += not other["update"]["accepted"]
            one("update", f"{line} | {shlex.join(request['update'])}", mine["update"], other["update"])
    assert not wrong, f"{counts}\n" + "\n".join(wrong[:20])
    return counts


@pytest.fixture(scope="module")
def site(cluster: Cluster) -> Cluster:
    """A cluster with the partitions, accounts and QOS that the scripts name."""
    accounting.need_sources(cluster)
    edits = ["-e", "/^PartitionName=/d", "-e", f"s/CPUs=8 RealMemory=4000/{HARDWARE}/"]
    cluster.root("sed", "-i", *edits, "/etc/slurm/slurm.conf", check=True)
    gpus = [f"/var/tmp/gpu{number}" for number in range(8)]
    cluster.root("touch", *gpus, check=True)
    cluster.put("Name=gpu Type=tesla File=/var/tmp/gpu[0-7]\n", "/etc/slurm/gres.conf")
    cluster.put(HERE / "submit_drawn.py", "/root/submit_drawn.py")
    cluster.put(HERE / "public_scripts" / "again.c", "/root/again.c")
    cluster.root("gcc", "-O1", "-shared", "-fPIC", "-o", "/var/tmp/again.so", "/root/again.c", check=True)
    # What commands load is the same for the script and for the rules, and costs more than they do.
    cluster.put("", "/etc/slurm/plugstack.conf")
    accounting.start(cluster, *ACCOUNTS, enforce="associations", more=CONF)
    for name, node in {"brief": "n1", "course": "n2"}.items():
        words = (
            f"scontrol create reservation={name} nodes={node} users=alice starttime=now duration=1-0 flags=ignore_jobs"
        )
        cluster.root(*words.split(), check=True)
    return cluster


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda script: script.name)
def test_the_rules_decide_as_the_script(
    site: Cluster, script: PublicScript, record_property: Callable[[str, object], None]
) -> None:
    """Rules accept and refuse what the script does, and change jobs as it does, or the table says why not."""
    if site.version < script.since:
        pytest.skip(f"NOT TESTED ON {site.release}: it does not write what the script reads")
    files = source(script)
    wanted = requests(script)
    for path, text in {**files, **script.beside}.items():
        site.root("mkdir", "-p", str(Path(path).parent), check=True)
        site.put(text, path)
    theirs = play(site, "lua", wanted, tells=script.tells)
    site.root("sh", "-c", f"rm -rf {HOOKS_D}/*", check=True)
    rules = HERE / "public_scripts" / f"{script.name}.toml"
    python = rules.with_suffix(".py")
    site.put(DEFAULT_TOML + (rules.read_text() if rules.exists() else ""), TOML)
    if python.exists():
        site.put(python, f"{HOOKS_D}/{script.name}.py")
    ours = play(site, "python", wanted, tells=script.tells)
    site.root("rm", "-f", SCRIPT, *script.beside, *files)
    counts = compare(script, wanted, theirs, ours)
    record_property(reporting.DRAWN, dict(sorted(counts.items())))
    assert counts["submission: the same"] > NUMBER * script.alike, counts
