# SPDX-License-Identifier: GPL-2.0-or-later
"""Jobs are imported from a real slurmdbd: what the import says of a request is what slurmctld got, or unknown."""

import base64
import os
import random
import re
import shlex
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from slurmhooks.fields.rows import Computed, rows
from slurmhooks.job_submit.model import Job
from slurmhooks.workshop.accounting.words import FOLLOWED
from slurmhooks.workshop.cli.commands.import_ import command
from slurmhooks.workshop.replay.answers import NotRecordedError
from slurmhooks.workshop.replay.fixture import PlayedRequest, replay
from tests.cluster import accounting
from tests.cluster.conftest import Cluster
from tests.cluster.drawn_submissions import Submission, draw
from tests.cluster.job_submit_site import Site
from tests.cluster.turns import moved

RECORDED, IMPORTED, ASK = "/var/log/slurm/drawn.recording", "/var/log/slurm/imported.recording", "/root/ask.sh"
MORE = "AccountingStoreFlags=job_comment,job_script,job_env\nPartitionName=closed Nodes=ALL State=DOWN\n"
SAMPLE, ALL = 24, 260
"""Numbers of submissions, of which some are refused: in each run of the tests, and in `make soak`."""
RULES = """
from slurmhooks import Reject, hook

"""
RULE = """
@hook.job_submit
def rule_{number}(job, submit_uid):
    if {condition}:
        raise Reject("rule {number}")
"""
CONDITIONS = (
    *("job.time_limit is None", "(job.time_limit or 0) > 5", "job.account is None", "job.account == 'physics'"),
    *("job.partition is None", "'closed' in (job.partition or '')", "job.qos == 'low'", "job.qos is None"),
    *("(job.min_nodes or 1) > 1", "job.max_nodes == 1", "(job.num_tasks or 1) > 1", "(job.cpus_per_task or 1) > 1"),
    *(
        "job.min_cpus > 2",
        "job.min_mem_per_node is None",
        "job.min_mem_per_cpu",
        "job.shared == 0",
        "' ' in (job.name or '')",
    ),
    *("job.name == 'plain'", "job.array_inx", "job.requeue == 1", "job.script and '-n' in job.script", "job.comment"),
    *("'/tmp' in (job.std_out or '')", "job.environment.get('SITE')", "job.work_dir == '/tmp'", "len(job.argv) > 1"),
    *(
        "job.interactive",
        "job.nice",
        "job.mail_type",
        "job.exc_nodes or job.req_nodes",
        "submit_uid == 0",
        "job.dependency",
    ),
    *("job.bounds.nodes.most is None", "job.user_name == 'alice'", "'alice' in job.groups", "job.threads_per_core"),
)


class Drawn:
    """Submissions that were recorded and imported.

    ``imported`` are recordings of the same from accounting, by what was used of it; ``saved`` is the output of the
    script that asks sacct. A cluster that several tests share has other submissions than ``markers``, too.
    """

    def __init__(self, cluster: Cluster, folder: Path, submissions: list[Submission]) -> None:
        """Record and submit them; then import them, there and here."""
        site = Site(cluster)
        site.hooks("@hook.job_submit\ndef nothing(job): pass\n")
        site.shell(f"rm -f {RECORDED}; slurmhooks record {RECORDED} --with script,environment", user="root")
        cluster.put("set -u\ncd ~\n" + "".join(each.shell() for each in submissions), "/home/alice/submit.sh")
        done = cluster.user("alice", "sh", "submit.sh", timeout=900)
        self.said = done.stdout + done.stderr
        site.shell("slurmhooks record --stop", user="root")
        count = f"{len(re.findall('Submitted batch job', self.said))}"
        jobs = "sacct -X -n -o JobIDRaw | sort -u | wc -l"
        # slurmctld tells slurmdbd of new jobs a little later.
        cluster.wait(lambda: int(cluster.root("sh", "-c", jobs).stdout) >= int(count) > 0)
        self.cluster, self.folder = cluster, folder
        self.markers = {each.marker for each in submissions}
        self.with_variables = {each.marker for each in submissions if each.variables}
        self.recorded = self._get(RECORDED)
        cluster.root("sh", "-ec", f"rm -f {IMPORTED}; slurmhooks import {IMPORTED}", check=True)
        cluster.root("sh", "-ec", f"slurmhooks import --print > {ASK}; sh {ASK} > /root/saved", check=True)
        self.saved = self._get("/root/saved")
        self.imported = {"there": self._get(IMPORTED)}
        for name, options in {"here": (), "assumed": ("--assume=variables",)}.items():
            self.imported[name] = self.read_here(self.saved, name, *options)
        bare = folder / "bare"
        separator = re.search(rb"JobIDRaw(.+?)JobID", self.saved.read_bytes())
        assert separator is not None
        bare.write_bytes(
            b"".join(self.saved.read_bytes().partition(separator[1] + b" scripts")[:1]) + separator[1] + b" end\n"
        )
        self.imported["without scripts"] = self.read_here(bare, "without")

    def read_here(self, saved: Path, name: str, *options: str) -> Path:
        """Return a recording of a saved output, made on this machine."""
        file = self.folder / f"{name}.recording"
        done = CliRunner().invoke(command, [str(file), "--from", str(saved), *options])
        assert done.exit_code == 0, done.output
        return file

    def _get(self, path: str) -> Path:
        file = self.folder / Path(path).name
        file.write_bytes(base64.b64decode(self.cluster.root("base64", path, check=True).stdout))
        file.chmod(0o600)
        return file


def by_marker(path: Path) -> dict[str, PlayedRequest]:
    """Return the requests of a recording by the word that only their command line has, and their component."""
    found = {}
    for request in replay(path):
        try:
            match = re.search(r"m\d+m", request.job.submit_line or "")
        except NotRecordedError:
            continue
        try:
            offset = request.job.het_job_offset or 0
        except NotRecordedError:
            offset = 0
        if match is not None:
            found[f"{match[0]}+{offset}"] = request
    return found


def value(request: PlayedRequest, name: str) -> Any:
    """Return a field as a handler sees it."""
    found = getattr(request.job, name)
    if name == "alloc_resp_port":
        return bool(found)
    return dict(found) if name == "environment" else list(found) if name == "argv" else found


def compare(drawn: Drawn) -> dict[str, Counter[str]]:
    """Compare fields and decisions, and return how many decisions are the same, or are not compared."""
    rules = []
    for number, condition in enumerate(CONDITIONS):
        rules.append(drawn.folder / f"rule_{number}.py")
        rules[-1].write_text(RULES + RULE.format(number=number, condition=condition))
    every = drawn.folder / "every.py"
    every.write_text(RULES + "".join(RULE.format(number=n, condition=c) for n, c in enumerate(CONDITIONS)))
    recorded = by_marker(drawn.recorded)
    names = [name for name, row in rows(Job).items() if not isinstance(row, Computed)] + ["argv", "environment"]
    counts: dict[str, Counter[str]] = {}
    wrong = []
    for source, path in drawn.imported.items():
        counts[source] = Counter()
        for marker, request in by_marker(path).items():
            if marker.partition("+")[0] not in drawn.markers:
                continue
            theirs = recorded[marker]
            if source == "assumed" and marker.partition("+")[0] in drawn.with_variables:
                continue  # the assumption is wrong
            assert request.decision.verdict == "accepted"
            for name in names:
                try:
                    pair = value(request, name), value(theirs, name)
                    same = pair[0] == pair[1]
                except (AttributeError, NotRecordedError):
                    continue
                counts[source]["fields"] += 1
                if not same:
                    wrong.append(f"{source} {marker} {theirs.job.submit_line!r}: {name}: {pair[0]!r}, not {pair[1]!r}")
            for rule in (*rules, every):
                ours, real = request.run(rule), theirs.run(rule)
                kind = "whole policies" if rule is every else "decisions"
                if ours.needs or real.needs:
                    counts[source][f"{kind} not compared"] += 1
                elif (ours.verdict, ours.text) == (real.verdict, real.text):
                    counts[source][f"{kind} the same"] += 1
                else:
                    wrong.append(f"{source} {marker} {theirs.job.submit_line!r}: {rule.stem}: {ours}, not {real}")
    assert not wrong, "\n".join(wrong[:60])
    return counts


@pytest.fixture(scope="module")
def accounts(cluster: Cluster) -> Cluster:
    """A cluster with a database that keeps scripts and environments."""
    if cluster.version < (23, 2) and not cluster.has_sources:
        pytest.skip("no sources")
    accounting.start(cluster, *accounting.ACCOUNTS, more=MORE)
    return cluster


def submissions(number: int) -> list[Submission]:
    """Draw submissions: always the same few, and others each time if there are many."""
    drawn = random.randrange(1 << 32) if number > SAMPLE else number
    seed = int(os.environ.get("SLURMHOOKS_SEED") or drawn)
    print(f"SLURMHOOKS_SEED={seed}")  # noqa: T201
    drawing = random.Random(seed)
    return [draw(drawing, each) for each in range(number, 2 * number)]


@pytest.mark.parametrize("number", [*moved(SAMPLE), pytest.param(ALL, marks=pytest.mark.soak)])
def test_drawn_submissions(accounts: Cluster, tmp_path: Path, number: int) -> None:
    """Each field of an imported request, and each decision about it, is that of the real request, or not compared."""
    drawn = Drawn(accounts, tmp_path, submissions(number))
    counts = compare(drawn)
    print(counts)  # noqa: T201
    assert counts["here"]["decisions the same"] > number * 10, drawn.said
    assert counts["without scripts"]["decisions the same"] > number * 2


EXAMPLES = {
    **dict.fromkeys(("constraint", "partition", "reservation"), "closed"),
    **dict.fromkeys(("gpus", "gpus-per-node", "gpus-per-socket", "gpus-per-task", "mem-per-gpu"), "1"),
    "distribution": "block",
    "exclusive": "user",
    "gres": "gpu:1",
    "gres-flags": "disable-binding",
    "no-kill": "off",
    "hint": "nomultithread",
    "licenses": "matlab:1",
    "array": "1-3",
    "begin": "now",
    "deadline": "now+1day",
    "dependency": "singleton",
    "exclude": "n1",
    "signal": "USR1@60",
    "mem": "10",
    "tmp": "1",
}
"""Values of options; of others a number."""
REFUSED = """
sbatch -p closed -o /dev/null @ --wrap true 2>&1 || echo refused
"""


@pytest.mark.moved
def test_blanks_that_slurm_refuses(accounts: Cluster) -> None:
    """In the value of an option, no word follows a blank except those in the table, which says where a value ends."""
    refused: dict[str, str] = {}
    lines = []
    for name, pattern in FOLLOWED.items():
        word = "-n" if pattern.match("x.sh") else "x.sh"
        value = f"{EXAMPLES.get(name, '2')} {word}"
        lines.append(f"echo '@{name} {word}'\n" + REFUSED.replace("@", shlex.quote(f"--{name}={value}")))
    done = accounts.user("alice", "sh", "-c", "".join(lines), timeout=600)
    for part in done.stdout.split("@")[1:]:
        option, _, said = part.partition("\n")
        refused[option] = said
    assert len(refused) == len(lines)
    accepted = {option: said for option, said in refused.items() if "refused" not in said or "Submitted" in said}
    assert not accepted, " ".join(sorted({option.split()[0] for option in accepted}))
    unknown = sorted(option for option, said in refused.items() if "unrecognized option" in said)
    assert len(unknown) < 10, unknown
