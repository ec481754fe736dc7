# SPDX-License-Identifier: GPL-2.0-or-later
"""Each rule decides alike about a job that is submitted to a place, and one that is moved there, on real slurmctlds."""

import json
import re
from collections.abc import Mapping, Sequence
from itertools import product
from typing import NamedTuple

import pytest

from slurmhooks.handlers.registry import SKIP
from slurmhooks.rules.catalogue import RULES
from slurmhooks.rules.lines import LINES
from tests.cluster import accounting, drawn_jobs, own_readers
from tests.cluster.conftest import Cluster
from tests.cluster.job_submit_site import DEFAULT_TOML, FOLDER, TOML, Site, shown
from tests.cluster.lab.cluster import cluster_name
from tests.cluster.test_rules_evaded import WITHOUT_SOURCES

pytestmark = [pytest.mark.moved, pytest.mark.stopped]

KINDS = {name: RULES[line.keys["rule"]] for name, line in LINES.items()} | {
    name: kind for name, kind in RULES.items() if name not in ("require", "limit", "default", "set", "copy")
}
"""The rules; those on any field by the older names of their lines."""
OF_SIZES = ("node_count", "task_count", "cpu_count", "require_gpu", "require_memory")
"""Those of them about amounts."""
KEYS = {
    **dict.fromkeys(("require_time", "require_memory", "forbid_nodelist"), ""),
    "default_time": 'value = "1:00:00"',
    "reserved_names": 'names = ["sys/*", "healthcheck"]',
    "require_account": "",
    "default_account": 'value = "out"',
    "choose_partition": 'cases = [{ to = "debug" }]',
    "default_partition": 'value = "debug"',
    "forbid": 'users = ["alice"]',
    "require_qos": 'allowed = ["normal", "q*"]',
    "default_qos": 'value = "normal"',
    "choose_qos": 'cases = [{ to = "normal" }]',
    "default_memory": 'per_cpu = "10M"',
    "time_ceiling": 'limit = 60\nunset = "refuse"',
    "memory_ceiling": "per_node = 200",
    "require_gpu_type": 'types = ["tesla"]',
    "cpus_per_gpu": "most = 2",
    "memory_per_gpu": "most = 200",
    "require_features": 'one_of = ["a"]',
    "default_features": 'value = "a"',
    "require_gpu": "",
    "node_count": "most = 1",
    "task_count": "most = 2",
    "cpu_count": "least = 2\nmost = 4",
    "array_size": "most = 3",
    "licenses": 'allowed = ["ansys"]\nmost = { ansys = 1 }',
    "interactive_limit": "nodes = 1",
    "reservation": "required = true",
    "script_content": "forbidden = ['mpirun']",
    "budget": 'command = ["/etc/slurm/broke", "{time_limit}"]\ndeadline = 0.4\ncache = 0.0\nretry = 0.0',
    "guard_updates": 'changes = ["nice", "time_limit"]',
    "notice": 'message = "closes"',
}
"""The keys of rules whose example suits neither the cluster nor the jobs."""
BROKE = '#!/bin/sh\ntest "$1" != 70\n'
JOBS = [
    "", "-t5", "-t70", "--mem=100", "--mem=300", "-t0", "-n3", "-n5", "-N2", "-N1-2", "-n2 -N1 --gpus=tesla:1 -w n1",
    "--gpus=1 -w n2", "-n4 --gpus=1 -N1 --mem=100", "--gpus=1 --mem=300 -N1", "--gpus=9 -N3", "-C a", "-C c",
    "-C a --prefer=c", "-w n1", "-x n2", "-L ansys", "-L ansys:2", "-L matlab", "-J probe", "-J sys/x",
    "--reservation=anywhere", "-D /home/alice", "-D /tmp", "-a1-3", "-a1-5", "--mail-user=a@evil.org",
    "--mail-user=alice@evil.org --mail-type=END", "--mail-user=a@example.org", "--mail-type=END", "--wrap=mpirun",
    "--qos=normal", "-A out", "-A out --qos=normal -t5 --mem=100 -n2", "--begin=now+1day", "--exclusive",
    "salloc", "salloc -N2", "salloc -N1 -t70",
]  # fmt: skip
"""The options of sbatch, or of salloc: together they break each rule, and meet it."""
REFUSING = {name for name, kind in KINDS.items() if {"job_modify", "job_submit"} <= set(kind.hooks)}
"""Rules that refuse submissions."""
NOT_SAID = {
    "require_account": "slurmctld does not say of a job whether its account was named, or the default of its user",
    "require_qos": "the same of its QOS",
}
"""Rules that let jobs be moved to where a submission may be refused, and why."""


class Scope(NamedTuple):
    """A way to confine a rule to a place; ``@`` stands for a number of the rule, ``NAME`` for its name.

    Attributes:
        keys: of the rule.
        more: other tables of slurmhooks.toml.
        move: takes a job there, from where Scope.other has taken it.
        direct: the options that submit a job there.
        other: takes a job from partition debug and account out to where the rule does not count.
    """

    keys: str
    more: str
    move: str
    direct: str
    other: str = "Partition=debug"


SHARE = '[rules.modes."rule:NAME"]\notherwise = "off"\n'
EXEMPT = '[[rules.exemptions]]\nrules = ["NAME"]\nuntil = 2099-01-01\n'
OF_ACCOUNT = 'accounts = ["a@"]\n'
FREE = ("Partition=debug", "-A a@ -p debug", "Account=a@ Partition=free")
ALL = "all"
SCOPES = {
    ALL: Scope('partitions = ["all"]', "", "Partition=all", "-p all"),
    "partition": Scope('partitions = ["p@"]', "", "Partition=p@", "-p p@"),
    "account": Scope(OF_ACCOUNT, "", "Account=a@", "-A a@"),
    "qos": Scope('qos = ["q@"]', "", "QOS=q@", "--qos=q@"),
    "exception": Scope(f'{OF_ACCOUNT}except_partitions = ["free"]', "", *FREE),
    "exemption": Scope(OF_ACCOUNT, f'{EXEMPT}partitions = ["free"]', *FREE),
    "share of a partition": Scope("", f'{SHARE}partitions = ["p@"]', "Partition=p@", "-p p@"),
    "share of an account": Scope("", f'{SHARE}accounts = ["A@"]', "Account=a@", "-A a@"),
}


class Placed(NamedTuple):
    """A rule in a scope, and its number."""

    rule: str
    scope: str
    number: int

    def filled(self, text: str) -> str:
        """Return a text of its scope."""
        return text.replace("@", str(self.number)).replace("NAME", f"r{self.number}")

    @property
    def tables(self) -> str:
        """Its tables in slurmhooks.toml."""
        scope, kind = SCOPES[self.scope], KINDS[self.rule]
        own = KEYS.get(self.rule, re.sub("^(partitions|except_groups) = .*$", "", kind.example, flags=re.MULTILINE))
        order = 10 if kind.after_refusal == SKIP else 50 if "job_modify" in kind.hooks else 90
        lines = f'[[rule]]\nname = "NAME"\nrule = "{self.rule}"\norder = {order}\n{own}\n'
        return self.filled(f"{lines}{scope.keys}\n{scope.more}\n")


PLACED = [Placed(rule, scope, number) for number, (scope, rule) in enumerate(product(SCOPES, KINDS))]
START = "Partition=debug Account=out QOS=normal"
ASK = f"""\
cd {FOLDER}
ask() {{ # name, options: print the job's id, or "refused" and its text
    name=$1; shift
    if [ "$1" = salloc ]; then
        shift
        setsid salloc -H --no-shell -J "$name" "$@" >"said.$name" 2>&1 </dev/null &
        while id=$(squeue -h -n "$name" -o %A) && [ -z "$id" ] && kill -0 $! 2>/dev/null; do sleep 0.05; done
    else
        id=$(sbatch --parsable -H -o /dev/null "$@" 2>"said.$name")
    fi
    if [ -n "$id" ]; then echo "$name $id"; else echo "$name refused: $(tr '\\n' ' ' <"said.$name")"; fi
}}
"""


def asked(site: Site, requests: Mapping[str, str]) -> dict[str, str]:
    """Submit held jobs, and return the id of each, or what its user reads."""
    lines = [f"ask {name} {options}{'' if re.search('--wrap|^salloc', options) else ' --wrap=true'}"
             for name, options in requests.items()]  # fmt: skip
    done = site.run("sh", "-c", "\n".join([ASK, *lines]))
    answers = dict(line.split(" ", 1) for line in done.stdout.splitlines())
    assert answers.keys() == requests.keys(), done.stdout + done.stderr
    return answers


def moved(site: Site, job: str, places: Sequence[Placed], more: str = "", start: str = START) -> dict[Placed, bool]:
    """Move a job to places, each time from elsewhere, by updates that change more; return whether it got to each."""
    lines = []
    for each in places:
        scope = SCOPES[each.scope]
        changes = [start, scope.other, scope.move + more]
        lines += [f"update JobId={job} {each.filled(change)}" for change in changes] + [f"show job {job}"]
    done = site.cluster.user("alice", "scontrol", "-o", input="\n".join([*lines, "exit", ""]))
    records = [shown(line[line.index("JobId=") :]) for line in done.stdout.splitlines() if " UserId=" in line]
    assert len(records) == len(places), done.stdout + done.stderr
    wanted = [each.filled(SCOPES[each.scope].move).partition("=") for each in places]
    return {each: record[key] == value for each, record, (key, _, value) in zip(places, records, wanted, strict=True)}


def left(site: Site, job: str, places: Sequence[Placed]) -> dict[Placed, bool]:
    """Let root move a job to places, and its user move it back; return whether that was possible."""
    root, alice = (
        f"scontrol update JobId={job}",
        f"setpriv --reuid=alice --regid=alice --clear-groups scontrol update JobId={job}",
    )
    lines = []
    for each in places:
        scope = SCOPES[each.scope]
        for change in (START, scope.other, scope.move):
            lines.append(f"{root} {each.filled(change)}")
        lines.append(f"{alice} {START} && echo yes || echo no")
    done = site.cluster.root("sh", "-c", "\n".join(lines))
    return dict(zip(places, (answer == "yes" for answer in done.stdout.split()), strict=True))


def broken(site: Site) -> dict[str, set[str]]:
    """Return the rules that each of JOBS breaks, by its options: all refuse it at once in a partition."""
    answers = asked(site, {f"a{number}": f"{options} -p all" for number, options in enumerate(JOBS)})
    names = {f"r{each.number}": each.rule for each in PLACED if each.scope == ALL}
    return {
        options: {names[label] for label in re.findall(r"\(rule:(\w+)\)", answers[f"a{number}"])}
        for number, options in enumerate(JOBS)
    }


def compare(site: Site, pairs: Sequence[tuple[str, Placed]], breaks: Mapping[str, set[str]]) -> list[str]:
    """Submit jobs to places, move them there, and away again; return differences between what is refused.

    A job that a rule changes and accepts counts as accepted.

    ``breaks`` has the rules that refuse a submission, by the options.
    """
    direct = {f"d{number}": f"{options} {each.filled(SCOPES[each.scope].direct)}"
              for number, (options, each) in enumerate(pairs)}  # fmt: skip
    elsewhere = {f"e{number}": options for number, options in enumerate(breaks)}
    answers = asked(site, direct | elsewhere)
    jobs = {options: answers[name] for name, options in elsewhere.items()}
    assert all(map(str.isdecimal, jobs.values())), jobs
    refused = {
        pair: text for pair, text in zip(pairs, [answers[name] for name in direct], strict=True) if not text.isdecimal()
    }
    wrong = [f"{each.rule} ({each.scope}) {options}: {text}" for (options, each), text in refused.items()
             if f"(rule:r{each.number})" not in text]  # fmt: skip
    for options, job in jobs.items():
        places = [each for given, each in pairs if given == options]
        arrived = moved(site, job, places)
        for each in places:
            case = f"{each.rule} ({each.scope}) {options}"
            if (options, each) in refused and arrived[each] and each.rule not in NOT_SAID:
                wrong.append(f"{case}: is moved, although {refused[options, each]}")
            if (options, each) not in refused and not arrived[each]:
                # A submission gets a largest number of nodes with --use-min-nodes, which no update can set.
                of_sizes = each.rule in OF_SIZES or "max_nodes" in KINDS[each.rule].own_fields
                narrow = " NumNodes=1-1" if of_sizes else ""
                if not (narrow and moved(site, job, [each], narrow)[each]):
                    wrong.append(f"{case}: is not moved")
        leaving = left(site, job, [each for each in places if (options, each) in refused and "share" in each.scope])
        wrong += [f"{each.rule} ({each.scope}) {options}: does not leave" for each, able in leaving.items() if not able]
    return wrong


PARTITIONS = [
    "debug Default=YES",
    "free",
    "all",
    *(f"p{it.number}" for it in PLACED if "p@" in SCOPES[it.scope].direct),
]
CONF = "".join(
    [
        "GresTypes=gpu,tape\nLicenses=ansys:20,matlab:10\n",
        drawn_jobs.SELECT,
        "MessageTimeout=60\n",
        *(f"PartitionName={name} Nodes=ALL State=UP DefMemPerCPU=100\n" for name in PARTITIONS),
    ]
)


def cluster_with(cluster: Cluster) -> Site:
    """Return a cluster with a partition, account and QOS for each rule."""
    site = drawn_jobs.prepared(cluster)
    accounts = ["out", *(f"a{each.number}" for each in PLACED if "a@" in SCOPES[each.scope].direct)]
    qos = [f"q{each.number}" for each in PLACED if each.scope == "qos"]
    cluster.root("scontrol", "delete", "reservation=course", check=True)  # its partition is gone
    accounting.start(
        cluster,
        f"add qos {','.join(qos)}",
        f"add account {','.join(accounts)}",
        f"add user alice Account={','.join(accounts)} DefaultAccount=out QosLevel={','.join(['normal', *qos])}"
        " DefaultQOS=normal",
        enforce="associations,qos",
        more=CONF,
    )
    cluster.put(BROKE, "/etc/slurm/broke", 0o755)
    create = "scontrol create reservation=anywhere licenses=ansys:1 flags=any_nodes users=alice starttime=now"
    cluster.root("sh", "-ec", f"{create} duration=1-0", check=True)
    site.clear()
    return site


def in_force(site: Site, placed: Sequence[Placed], more: str = "") -> None:
    """Put rules in force."""
    first = DEFAULT_TOML.replace("[rules]", '[rules]\nrefusals = "all"')
    site.cluster.put("\n".join([first, more, "[job_submit]\ntimeout = 20", *(each.tables for each in placed)]), TOML)


@pytest.fixture(scope="module")
def site(large_cluster: Cluster) -> Site:
    """A cluster in which each rule is in force in each scope."""
    accounting.need_sources(large_cluster)
    site = cluster_with(large_cluster)
    in_force(site, PLACED)
    return site


def test_moves(site: Site) -> None:
    """A job can be moved to a place exactly if it could be submitted there, whichever way a rule is confined to it.

    It can always leave the share of a rule. Each rule and scope is tried with a job that it refuses, and another one.
    """
    breaks = broken(site)
    assert set().union(*breaks.values()) == REFUSING
    _, generator = own_readers.seeded()
    pairs = []
    for each in (each for each in PLACED if each.scope != ALL):
        refused = [options for options, rules in breaks.items() if each.rule in rules]
        others = [options for options in breaks if options not in refused]
        for some in (refused, others):
            pairs += [(options, each) for options in generator.sample(some, min(len(some), 1))]
    wrong = compare(site, pairs, breaks)
    assert not wrong, "\n".join(wrong)


WAYS = {
    "sbatch": "sbatch OPTIONS --wrap=true",
    "a script": "printf '#!/bin/sh\\n#SBATCH OPTIONS\\ntrue\\n' | sbatch",
    "a test": "sbatch --test-only OPTIONS --wrap=true",
    "a named cluster": "sbatch --clusters=CLUSTER OPTIONS --wrap=true",
    "a component": "sbatch OPTIONS : OPTIONS --wrap=true",
    "scrontab": "printf '#SCRON OPTIONS\\n0 0 1 1 * true\\n' | scrontab -",
    "salloc": "salloc OPTIONS true",
    "srun": "srun OPTIONS true",
    "a test of srun": "srun --test-only OPTIONS true",
}
"""How users can submit the same job; a rule refuses all of them, so that none starts."""


def test_ways(site: Site) -> None:
    """The same job gets the same decision of each rule, whichever command sends it.

    salloc itself sends the folder in which it was started, whatever its --chdir is.
    """
    jobs = [options for options in JOBS if not re.search("salloc|--wrap|-a1|-J|--begin", options)]
    decisions = {}
    for way, command in WAYS.items():
        if way == "scrontab" and site.run("sh", "-c", "command -v scrontab").returncode != 0:
            continue
        command = command.replace("CLUSTER", cluster_name(site.cluster.release))
        lines = [f"{command} >/dev/null 2>&1 || true".replace("OPTIONS", f"{options} -p all") for options in jobs]
        site.shell("\n".join(lines))
        decisions[way] = decided(site, len(lines))
    wrong = [
        f"{way} {options}: {sorted(each ^ rules)}"
        for way, some in decisions.items()
        for options, each, rules in zip(jobs, some, decisions["sbatch"], strict=True)
        if (each ^ rules) - {"interactive_limit", *({"work_directory"} if way == "salloc" else ())}
    ]
    assert not wrong, "\n".join(wrong)


def decided(site: Site, number: int) -> list[set[str]]:
    """Return the rules that refused each of the last requests, from the decision log."""
    names = {f"rule:r{each.number}": each.rule for each in PLACED if each.scope == ALL}
    lines = json.loads(site.cluster.root("slurmhooks", "why", "--last", str(number), "--json", check=True).stdout)
    return [{names[step["handler"]] for step in each["handlers"] if step["outcome"] == "refused"} for each in lines]


def test_without_sources(large_cluster: Cluster) -> None:
    """Where slurmctld sends no jobs, users can move none into the share of a rule, and change nothing of it there.

    If a rule itself names partitions, they can move no job at all.
    """
    if large_cluster.has_sources:
        pytest.skip("slurmctld sends jobs")
    site = drawn_jobs.prepared(large_cluster)
    large_cluster.root("scontrol", "delete", "reservation=course", check=True)
    site.conf(f"JobSubmitPlugins=python\n{CONF}")
    site.cluster.put(BROKE, "/etc/slurm/broke", 0o755)
    for scope, held in (("partition", KINDS.keys() - {"quota"}), ("share of a partition", REFUSING - {"quota"})):
        placed = [each for each in PLACED if each.scope == scope and each.rule != "quota"]  # it takes jobs
        in_force(site, placed, WITHOUT_SOURCES)
        job = asked(site, {"e0": "-t5"})["e0"]
        arrived = moved(site, job, placed, start="Partition=debug")
        assert {each.rule for each in placed if not arrived[each]} == held
        assert site.run("scontrol", "update", f"JobId={job}", "Comment=x").returncode == 0
        assert site.run("scontrol", "update", f"JobId={job}", "TimeLimit=9").returncode != 0
