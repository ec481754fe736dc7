# SPDX-License-Identifier: GPL-2.0-or-later
"""Rules on any field in slurmctld: what jobs get and users read, at submissions and updates, by conditions and maps."""

import json
import re
from collections.abc import Iterator

import pytest

from slurmhooks.rules.typed import READABLE, ROWS, is_never_unset
from tests.cluster.conftest import Cluster
from tests.cluster.job_submit_site import TOML, Site
from tests.cluster.turns import moved_from
from tests.unit.rules.test_rules_fields import usual

pytestmark = pytest.mark.stopped

MAP = "/etc/slurm/comments.csv"
RULES = """\
[[rule]]
rule = "default"
field = "comment"
map = "comments.csv"
value = "of nobody"

[[rule]]
rule = "set"
field = "requeue"
where = { name = "keep*" }
value = false

[[rule]]
rule = "copy"
field = "admin_comment"
source = "comment"
updates = "ignore"

[[rule]]
rule = "limit"
field = "nice"
most = 100
unless = [{ where = { comment = "late*" } }]

[[rule]]
rule = "forbid"
field = "dependency"
any = [{ min_nodes = 2 }, { interactive = true }]

[[rule]]
rule = "forbid"
field = "features"
forbidden = ["gone"]
since = 2001-01-01

[[rule]]
rule = "set"
field = "dependency"
separator = ","
value = "singleton"
where = { name = "single" }

[[rule]]
rule = "set"
name = "moved"
field = "nice"
value = 50
partitions = ["other"]

[[rule]]
rule = "set"
name = "short"
field = "time_limit"
value = "0:20:00"
partitions = ["other"]

[[rule]]
rule = "forbid"
name = "parts"
field = ["req_nodes", "dependency", "mail_user", "licenses"]
forbidden = ["n2", "singleton", "*@bad.example", "afterok:2", "afterany:*", "lic:*"]
where = { name = "parts" }
"""
OF_UPDATES = """
[[rule]]
rule = "require"
field = "name"
allowed = ["run*"]
updates = "only"
"""
CASES = """
[[rules.cases]]
options = "-J one"
user = "alice"
outcome = "accepted"
changes = { comment = "of alice" }

[[rules.cases]]
options = "--nice=101"
outcome = "refused"
rule = "limit_nice"
"""
ALWAYS_NAMED = frozenset({
    "alloc_node", "alloc_resp_port", "alloc_sid", "argc", "argv", "bitflags", "default_partition", "env_size",
    "group_id", "group_name", "groups", "interactive", "min_cpus", "name", "origin", "origin_cluster", "other_port",
    "user_id", "user_name", "work_dir",
})  # fmt: skip
"""Fields in which each request has a value of its own."""
TEXTS_OF_UPDATES = (23, 2)
"""The first release in which scontrol shows why a plugin refuses an update."""
OUT = "-o /dev/null --hold --parsable --wrap=true"


def defaults(release: tuple[int, int]) -> str:
    """Return rules that would fill in each field that a release has and can leave unset, of jobs named plain."""
    return '[rules.defaults]\nupdates = "ignore"\n' + "".join(
        f'[[rule]]\nrule = "default"\nname = "d_{name}"\nfield = "{name}"\nmode = "warn"\nvalue = {usual(row)[0]}\n'
        'where = { name = "plain" }\n'
        for name, row in ROWS.items()
        if row.writable and row.facts.get("secret") is None and row.member(release, row.members) is not None
        if not is_never_unset(name) and name not in ALWAYS_NAMED
    )


def against(release: tuple[int, int]) -> str:
    """Return rules that forbid jobs named plain each field that a release has."""
    names = (name for name in READABLE if not ROWS[name].members or ROWS[name].member(release, ROWS[name].members))
    return '[rules]\nrefusals = "all"\n[rules.defaults]\nupdates = "ignore"\n' + "".join(
        f'[[rule]]\nrule = "forbid"\nname = "no_{name}"\nfield = "{name}"\nwhere = {{ name = "plain" }}\n'
        for name in names
        if name not in ALWAYS_NAMED
    )


@pytest.fixture(scope="module")
def site(cluster: Cluster) -> Iterator[Site]:
    """A cluster with these rules."""
    site = Site(cluster)
    site.clear()
    site.conf("JobSubmitPlugins=python\n")
    cluster.put("user,comment\nalice,of alice\n", MAP)
    cluster.put(rules(site), TOML)
    yield site
    cluster.root("rm", "-f", MAP)


def rules(site: Site) -> str:
    """Return the rules of all other tests."""
    if site.cluster.has_sources:
        return RULES + OF_UPDATES
    return f'[rules.defaults]\nupdates = "ignore"\ndefault_partition = "debug"\n{RULES}'


def submit(site: Site, options: str, user: str = "alice") -> str:
    """Return what the user reads and scontrol shows of a job."""
    show = 'case "$id" in *[!0-9]*|"") ;; *) scontrol show job -o $id;; esac'
    return site.run("sh", "-c", f"exec 2>&1; id=$(sbatch {OUT} {options} 2>~/err); cat ~/err; {show}", user=user).stdout


def test_what_commands_always_send_is_no_value(site: Site) -> None:
    """A rule against any field refuses no job whose user names nothing, and one for it fills it in, on each release."""
    site.cluster.put(against(site.release), TOML)
    try:
        assert "Submitted batch job" in (said := site.said("sbatch", "-J", "plain", "--wrap=true")), said
        assert "salloc: Granted" in (said := site.said("salloc", "-J", "plain", "true")), said
        assert "ok" in (said := site.said("srun", "-J", "plain", "echo", "ok")), said
        said = site.said("srun", "-J", "plain", "true", ":", "-J", "plain", "true")
        assert set(re.findall(r"rule:(\w+)", said)) == {"no_het_job_offset", "no_pack_job_offset"}, said
        assert "no_wait_all_nodes" in (said := submit(site, "-J plain --wait-all-nodes=1")), said
        assert "no_comment" in (said := submit(site, "-J plain --comment=x")), said
        site.cluster.put(defaults(site.release), TOML)
        assert "Submitted batch job" in (said := site.said("sbatch", "-J", "plain", "--wrap=true")), said
        (tried,) = json.loads(site.run("slurmhooks", "why", "--last", "1", "--json", user="root").stdout)
        assert [each["handler"] for each in tried["handlers"] if not each.get("changes")] == []
    finally:
        site.cluster.put(rules(site), TOML)


def job_id(text: str) -> str:
    """Return the id of a job that scontrol shows."""
    return text.partition("JobId=")[2].partition(" ")[0]


def test_submissions(site: Site) -> None:
    """A field gets its value by map, condition or copy; a number, an option or a value is refused."""
    said = submit(site, "-J one")
    assert " Comment=of alice " in f"{said} ".replace("\n", " ")
    assert "AdminComment=of alice" in said
    assert "Comment=of nobody" in submit(site, "-J two", user="bob")
    assert "Comment=mine" in submit(site, "-J three --comment=mine")
    assert "Requeue=0" in submit(site, "-J keep4 --requeue")
    assert "Requeue=1" in submit(site, "-J five --requeue")
    assert "--nice: at most 100; the job would have 101 (rule:limit_nice)" in submit(site, "--nice=101")
    assert "JobId=" in submit(site, "--nice=101 --comment=later")
    assert "do not use --dependency (rule:forbid_dependency)" in submit(site, "-N2 -d singleton")
    assert "JobId=" in submit(site, "-N1 -d singleton")
    assert "--constraint gone is not allowed (rule:forbid_features)" in submit(site, "-C gone")


def test_cases(site: Site) -> None:
    """Rules of which a case ends in another way are not put in force; with those in force, jobs end as cases say."""
    site.cluster.put(rules(site) + CASES, TOML)
    site.cluster.deploy()
    assert "2 of 2 are as expected" in site.said("slurmhooks", "check", "--cases", user="root")
    site.cluster.put((rules(site) + CASES).replace("most = 100", "most = 101"), TOML)
    assert "number 2 (sbatch --nice=101" in site.cluster.refusal()
    assert "(rule:limit_nice)" in submit(site, "--nice=101")
    assert "Comment=of alice" in submit(site, "-J one")
    site.cluster.put(rules(site), TOML)


@pytest.mark.parametrize(
    "options",
    moved_from(
        3,
        [
            "-w n1,n2",
            "-w 'n[1-2]'",
            "-d after:1,singleton",
            "-d 'after:1?singleton'",
            "-d afterok:1:2",
            "-d 7",
            "-d 4294967298",
            "--mail-user=b@bad.example,a@x.example",
            "-L other,lic=2",
            "-L lic",
            f"-L {'other,' * 300}lic",
        ],
    ),
)
def test_each_part_of_a_list_counts(site: Site, options: str) -> None:
    """A value that is forbidden is so beside others, and in Slurm's other notations of a list."""
    assert "(rule:parts)" in (said := submit(site, f"-J parts {options}")), said
    assert "(rule:" not in (said := submit(site, f"-J others {options}")), said
    assert "JobId=" in submit(site, "-J parts -w n1 --mail-user=a@x.example")


def test_lists_that_no_rule_reads_are_refused(site: Site) -> None:
    """slurmctld refuses lists that are too long to be read."""
    job = job_id(submit(site, "-J run"))
    for name in ("Features", "Prefer", "MailUser", "WCKey", "Gres", "ClusterFeatures"):
        said = site.run("scontrol", "update", f"JobId={job}", f"{name}={','.join(['x'] * 600)}").stderr
        assert "too long" in said, (name, said)
    assert "too long" in submit(site, f"--network={','.join(['x'] * 600)}")


def test_what_is_added_is_no_alternative(site: Site) -> None:
    """A dependency that a rule adds must be fulfilled: beside a question mark, slurmctld makes alternatives of all."""
    first = job_id(submit(site, "-J first"))
    said = submit(site, f"-J other -d 'afterok:{first}?afterany:{first},after:{first}'")
    taken = f"Dependency=afterok:{first}(unfulfilled)?afterany:{first}(unfulfilled)?"
    # Later releases refuse a list with both signs.
    assert (taken if site.release < (25, 11) else "Job dependency problem") in said, said
    assert "(rule:set_dependency)" in (said := submit(site, f"-J single -d 'afterok:{first}?after:{first}'")), said
    assert "singleton" in (said := submit(site, f"-J single -d afterok:{first}")), said


def test_functions_in_lists_of_nodes(site: Site) -> None:
    """Where slurmctld takes feature{ib} for nodes, no rule about nodes is evaded by it."""
    site.cluster.root("sh", "-ec", "scontrol update nodename=n[1-2] availablefeatures=ib activefeatures=ib", check=True)
    assert "(rule:parts)" in (said := submit(site, "-J parts -w 'n1,feature{ib}'")), said
    site.cluster.put(f'{rules(site)}[[rule]]\nrule = "limit"\nfield = "nodes"\nmost = 1\n', TOML)
    try:
        assert "at most 1 node in " in (said := submit(site, "-w 'feature{ib}'")), said
        said = submit(site, "-N1 -w 'feature{ib}'")
        assert "NumNodes=1" in said or (site.release < (23, 2) and "Invalid node name" in said), said
    finally:
        site.cluster.put(rules(site), TOML)


def test_preferred_features_count(site: Site) -> None:
    """Slurm tries the features of --prefer before those of --constraint, so a rule on features is about both."""
    assert "gone is not allowed (rule:forbid_features)" in (said := submit(site, "--prefer=gone")), said


@pytest.mark.parametrize(
    ("options", "update", "refused"),
    moved_from(
        2,
        [
            ("-t30", "Partition=other TimeMin=99", "change TimeMin in another update"),
            ("-t30", "Partition=other Dependency=afterok:99999", "change Dependency in another update"),
            ("-t60 --time-min=30", "Partition=other", "TimeLimit cannot be 00:20:00 beside this TimeMin"),
            ("", "Partition=other TimeLimit=UNLIMITED", "change TimeLimit in another update"),
            ("", "Partition=other TimeLimit=25", ""),
            ("-t30", "Partition=other", ""),
            ("-t30", "Partition=other Comment=x JobName=run9 TimeLimit=25", ""),
        ],
    ),
)
def test_no_job_is_moved_without_what_is_set(site: Site, options: str, update: str, refused: str) -> None:
    """slurmctld keeps a move when it refuses the rest of an update, so rules refuse what it might refuse."""
    if not site.cluster.has_sources:
        pytest.skip(f"NOT TESTED ON {site.cluster.release}: slurmctld sends no jobs to this build")
    job = job_id(submit(site, f"-J run {options}"))
    said = site.run("sh", "-c", f"exec 2>&1; scontrol update JobId={job} {update}; scontrol show job -o {job}").stdout
    assert ("Partition=debug" if refused else "Partition=other") in said, said
    assert ("Nice=0" if refused else "Nice=50") in said, said
    assert refused in said or site.release < TEXTS_OF_UPDATES, said


def test_updates(site: Site) -> None:
    """The same holds after an update, and a rule of updates alone lets submissions pass."""
    if not site.cluster.has_sources:
        pytest.skip(f"NOT TESTED ON {site.cluster.release}: slurmctld sends no jobs to this build")
    job = job_id(submit(site, "-J other --nice=1"))
    update = f"exec 2>&1; scontrol update JobId={job}"
    refused = {
        "Nice=101": "Nice: at most 100; the job would have 101",
        "Features=gone": "Features gone is not allowed",
        "JobName=that": "give a value with JobName: run*",
        "Requeue=1 Nice=102": "Nice: at most 100",
    }
    for change, text in refused.items():
        said = site.run("sh", "-c", f"{update} {change}", user="alice").stdout
        assert (text if site.release >= TEXTS_OF_UPDATES else "denied") in said, (change, said)
    changes = {"JobName=run7": "JobName=run7", "Comment=new": "Comment=new", "JobName=run8 Requeue=1": "Requeue=1"}
    for change, shown in changes.items():
        said = site.run("sh", "-c", f"{update} {change}; scontrol show job -o {job}", user="alice").stdout
        assert shown in said, said
    kept = job_id(submit(site, "-J keep5"))
    said = site.run(
        "sh", "-c", f"scontrol update JobId={kept} Requeue=1; scontrol show job -o {kept}", user="alice"
    ).stdout
    assert "Requeue=0" in said, said
