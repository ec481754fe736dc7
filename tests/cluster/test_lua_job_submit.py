# SPDX-License-Identifier: GPL-2.0-or-later
"""job_submit/lua and slurmhooks compared: the same scripts and the same submissions, on real slurmctlds.

Each release is brought up twice from an empty state, so that job ids agree; the output of commands, the jobs and the
logs of the scripts must be the same.
"""

import re
from pathlib import Path
from typing import NamedTuple

import pytest

from slurmhooks.fields.secrets import BESIDES
from slurmhooks.log import visible
from slurmhooks.lua import job_fields, needs
from tests.cluster.conftest import OF_SETS, Cluster
from tests.cluster.lab import places
from tests.cluster.lab.releases import known
from tests.cluster.turns import moved, moved_from

pytestmark = pytest.mark.deploys

HERE = Path(__file__).parent / "lua"
SCRIPT = "/etc/slurm/job_submit.lua"
SLURM_SOURCE = "usr/src/slurm"
TIMES = ("", "5", "1-", "1-2", "1-2:30", "1:2", "1:2:3", "90:30", "x", "UNLIMITED", "-5", "1-2:3:4", "1:2:3:4", "0:1")

SLURMS_OWN = {
    "example": "etc/job_submit.lua.example",
    "contribs": "contribs/lua/job_submit.lua",
    "license": "contribs/lua/job_submit.license.lua",
    "test7.20 pass": "testsuite/expect/test7.20_scripts/pass.lua",
    "test7.20 reject": "testsuite/expect/test7.20_scripts/reject.lua",
    "test7.23": "testsuite/expect/test7.23_scripts/min_mem.lua",
}
WHAT_ACCOUNTING_KNOWS = {"assoc_comment", "default_account", "default_qos"}
"""Also refused."""

BATCH = "sbatch --hold --parsable -o /dev/null"
PLAIN = (
    f"{BATCH} --wrap true",
    f"{BATCH} -J test7.20 --wrap true",
    f"{BATCH} -J test7.20 --comment PASS --array 1-3 --wrap true",
    f"{BATCH} -J MAINT --mem 10 -t 5 --wrap true",
    f"{BATCH} --mem 0 --wrap true",
    f"{BATCH} --mem-per-cpu 0 --wrap true",
    f"{BATCH} --mem-per-cpu 7 -n 2 --wrap true",
    f"{BATCH} -p other -A physics --comment own --wrap true",
    f"{BATCH} --gres gpu:1 --mem 5 --wrap true",
    f"{BATCH} -L lscratcha:2 --wrap true",
    f"{BATCH} -J test7.20 -n1 : -n1 --wrap true",
    "timeout 60 srun -J test7.20 --mem 5 -t 300 true",
    "timeout 60 srun --mem-per-cpu 5 -t 5 true",
    "timeout 60 srun true",
    "timeout 60 salloc -J test7.20 -t 2 --mem 5 true",
    "scontrol update JobId=1 Comment=mine",
    "scontrol update JobId=1 Comment=",
    "scontrol update JobId=1 JobName=MAINT",
    "scontrol update JobId=1 JobName=test7.20",
    "scontrol update JobId=1 MinMemoryNode=0",
    "scontrol update JobId=1 TimeLimit=7",
)
RECORDS = ("scontrol", "-J list", "-J own")
"""Parts of commands for which everything.lua reads records."""
LIST = f"sleep 1.1; scontrol update JobId=1 Comment=listed; {BATCH} -J list --wrap true"
"""Lists all jobs. job_submit/lua lists a new job only after a change of any job in a later second."""
EVERYTHING = (
    f"LUA_TEST=one,two LUA_EMPTY= {BATCH} -J read --wrap true",
    f"printf '#!/bin/sh\\ntrue\\n' > ~/script.sh; {BATCH} -J read ~/script.sh a 'b c'",
    f"{BATCH} -J read -N1-2 -n3 -c2 --mem 9 -t 1:00 --begin now+1hour --array 1-4%2 --mail-type END --nice=5"
    " --dependency singleton --contiguous --exclusive -C '' --no-requeue --signal B:USR1@30 --wrap true",
    "timeout 60 srun -J read --mem-per-cpu 3 --ntasks-per-node 1 true a b",
    "timeout 60 salloc -J read true",
    f"{BATCH} -J write --wrap true",
    f"{BATCH} -J odd --wrap true",
    "timeout 60 srun -J odd true",
    f"{BATCH} -J change --wrap true",
    f"{BATCH} -J change --mem 50 --comment users --wrap true",
    LIST,
    f"{BATCH} -J own --wrap true",
    f"{BATCH} -J own --wrap true",
    f"{BATCH} -J component -n1 : -n1 --wrap true",
    f"{BATCH} -J table --wrap true",
    f"{BATCH} -J say -t 3 --wrap true",
    f"{BATCH} -J boom --comment own --wrap true",
    *(f"{BATCH} -J {name} --wrap true" for name in ("code", "text", "none", "half", "digits", "refuse", "failure")),
    f"{BATCH} -J positive --wrap true",
    f"{BATCH} -J count --wrap true",
    f"{BATCH} -J count -n1 : -n1 --wrap true",
    f"{BATCH} -J system --wrap true",
    "scontrol update JobId=1 Comment=more",
    "scontrol update JobId=1 Comment=refuse",
    "scontrol update JobId=1 Comment=boom",
    "scontrol update JobId=1 Comment=text",
    "scontrol update JobId=1 TimeLimit=9",
    "sudo-root scontrol update JobId=1 Comment=root's",
    "sudo-root scontrol create reservation ReservationName=luaresv StartTime=now+10days Duration=30 Users=alice"
    " Nodes=n1",
    LIST,
    "sudo-root scontrol delete ReservationName=luaresv",
)
BROKEN = {
    "broken: syntax": "x = = 1\n",
    "broken: raises": "error('at load')\n",
    "broken: code": "function slurm_job_submit() end\nfunction slurm_job_modify() end\nreturn slurm.ERROR\n",
    "broken: missing": "function slurm_job_submit() return slurm.SUCCESS end\n",
}
"""Scripts that do not load; the previous one stays in force."""

OURS = re.compile(r"slurmhooks: |lua: (initialized|loading, 0 calls so far)$")
"""Lines that are not compared: ours, and those of scripts that are loaded, which a deployment does more than once."""
OF_THE_MOMENT = re.compile(
    r"(?m)^(salloc: (Job allocation \d+ has been revoked\.|Pending job allocation \d+)"
    r"|(salloc|srun): job \d+ (queued and waiting for|has been allocated) resources)\n"
)
"""Output that appears if slurmctld ends an allocation first, or if the nodes are not free yet."""
LINES = re.compile(
    r"\blua:|job_(submit|modify)/lua|_set_job_field|environment only|environment is NULL|Invalid QOS|user\(\)"
)
UNLIKE = re.compile(r"\b(\w*[Tt]ime|StdErr|Priority|AccrueTime|LastSchedEval|SuspendTime|SLUID|SubmitLine)=\S+ ?")
FOLDER = "/etc/slurm"
EPOCH = re.compile(r"\b(1[6-9]|2[0-9])\d{8}\b(\.0)?")


class Seen(NamedTuple):
    """The result of a command."""

    command: str
    code: int
    said: str
    job: str
    log: list[str]


def source_of(name: str, release: str) -> str:
    """Return a script of Slurm's package: of this release, or if its sources lack it or are missing, of another."""
    for candidate in (release, *known()):
        path = Path(places.rootfs(candidate), SLURM_SOURCE, SLURMS_OWN[name])
        if path.exists():
            return path.read_text()
    raise AssertionError(f"no root file system has {SLURMS_OWN[name]}")


def names_module(release: str) -> str:
    """Return the module with the names for everything.lua: the names of all releases, and some that do not exist."""
    by_kind = {}
    for kind in ("job_desc", "job_rec", "part", "reservation"):
        names: set[str] = set()
        for year, month in ((22, 5), (24, 11), (26, 5)):
            names |= set(job_fields.names(kind, (year, month)))
        names.discard("assoc_qos")  # Slurm's own plugin needs accounting for it
        if release.startswith("22.05"):
            names.discard("extra")  # its row says why
        if not has_sources(release):
            names -= WHAT_ACCOUNTING_KNOWS
        by_kind[kind] = sorted(names | set(BESIDES if kind == "job_desc" else ()) | {"no_such", "deadline"})
    by_kind["times"] = list(TIMES)
    by_kind["qos"] = ["normal", "no such QOS", "", "7"] if has_sources(release) else []
    rows = (f"{kind} = {{ {', '.join(repr(name) for name in names)} }}" for kind, names in by_kind.items())
    return f"return {{ {', '.join(rows)} }}\n"


class Side:
    """One of the two plugins on a release."""

    def __init__(self, cluster: Cluster, plugin: str) -> None:
        self.cluster = cluster
        self.plugin = plugin
        self.clock = 2_000_000_000
        """Modification times: Slurm's plugin loads a changed script only in another second."""
        self.logged = 0
        """The length of the log before the last change of the script, or after the last command."""

    def start(self, script: str) -> None:
        """Bring up a fresh cluster with a script."""
        cluster = self.cluster
        cluster.put(f"JobSubmitPlugins={self.plugin}\n", "/etc/slurm/local.conf")
        # Each script is loaded once, and logs once while it is loaded.
        lua = '[hooks]\npaths = []\n[job_submit]\nlua = "job_submit.lua"\n'
        cluster.put(lua, "/etc/slurm/slurmhooks.toml")
        cluster.put(names_module(cluster.release), "/etc/slurm/lua/names.lua")
        cluster.put("return 'helped'\n", "/etc/slurm/lua/helper.lua")
        cluster.put(script, SCRIPT)
        if self.plugin == "python":
            cluster.deploy()
        cluster.tool("down")
        cluster.tool("up", timeout=120.0)
        self.logged = len(OF_SETS.sub(FOLDER, cluster.log()))

    def place(self, script: str) -> None:
        """Put a script in force, with a later time than the previous one.

        A script that cannot be loaded stays out of force.
        """
        self.clock += 10
        self.logged = len(OF_SETS.sub(FOLDER, self.cluster.log()))
        self.cluster.put(script, f"{SCRIPT}.new")
        self.cluster.root("sh", "-c", f"touch -d @{self.clock} {SCRIPT}.new && mv {SCRIPT}.new {SCRIPT}", check=True)
        # job_submit/lua loads it with the next command.
        if self.plugin == "python":
            done = self.cluster.root("slurmhooks", "deploy")
            assert (done.returncode == 1) == (script in BROKEN.values()), done.stderr

    def run(self, command: str) -> Seen:
        """Run a command as alice or root; return its result."""
        if command.startswith("sudo-root "):
            done = self.cluster.root("sh", "-c", command.removeprefix("sudo-root "))
        else:
            done = self.cluster.user("alice", "sh", "-c", command)
        match = re.search(r"JobId=(\d+)|^(\d+)$", command + "\n" + done.stdout, re.MULTILINE)
        job = ""
        if match:
            number = match.group(1) or match.group(2)
            both = f"show job {number}\nwrite batch_script {number} -\n"
            job = self.cluster.root("scontrol", "--oneliner", input=both).stdout
        whole = OF_SETS.sub(FOLDER, self.cluster.log())
        log = whole[self.logged :]
        self.logged = len(whole)
        # Slurm's own plugin writes texts unchanged, slurmhooks writes one escaped record.
        records = re.split(r"\n(?=\[\d{4}-)", log.rstrip("\n"))
        lines = [
            visible(record.partition("] ")[2]) for record in records if LINES.search(record) and not OURS.search(record)
        ]
        said = OF_THE_MOMENT.sub("", OF_SETS.sub(FOLDER, done.stdout + done.stderr))
        return Seen(command, done.returncode, said, UNLIKE.sub("", job), [*map(_timeless, lines)])


def _timeless(line: str) -> str:
    # 26.05's pcall line has the address of its state, and its SLUIDs contain the time.
    return re.sub(r"lua_pcall\(0x\w+|(?<=sluid = string:)s\w+", "ANY", EPOCH.sub("TIME", line))


def everything(release: str) -> str:
    """Return a script of this project; for a build without Slurm's sources, with nothing that a deployment refuses."""
    text = (HERE / "everything.lua").read_text()
    if has_sources(release):
        return text
    for name in ("jobs", "reservations"):
        text = text.replace(f"slurm.{name}", "({})")
    text = text.replace("action(job_desc, part_list, submit_uid)", "action(job_desc, nil, submit_uid)")
    return text.partition("function slurm_job_modify")[0] + "function slurm_job_modify() return slurm.SUCCESS end\n"


def scripts(release: str) -> list[tuple[str, str, tuple[str, ...]]]:
    """Return the scripts in the order in which the test puts them in force, each with its submissions."""
    taken = [
        name for name in SLURMS_OWN if has_sources(release) or not needs.sources(source_of(name, release).encode())
    ]
    own = [(name, source_of(name, release), PLAIN) for name in taken]
    once = (f"{BATCH} -J count --wrap true",)
    broken = [(name, text, once) for name, text in BROKEN.items()]
    commands = EVERYTHING
    if not has_sources(release):
        # everything.lua reads records, which would be refused.
        commands = tuple(line for line in EVERYTHING if not any(part in line for part in RECORDS))
    return [
        ("everything", everything(release), commands),
        *broken,
        ("reload", (HERE / "reload.lua").read_text(), once),
        *own,
    ]


def has_sources(release: str) -> bool:
    """Return whether the root file system of a release has Slurm's sources, so that records can be read."""
    return Path(places.rootfs(release), SLURM_SOURCE, "META").exists()


_seen: dict[tuple[str, bool], dict[str, dict[str, list[Seen]]]] = {}


def observe(cluster: Cluster, *, of_slurm: bool) -> dict[str, dict[str, list[Seen]]]:
    """Return the results of all scripts of a release, Slurm's or ours: by script, then by plugin."""
    key = cluster.release, of_slurm
    if key not in _seen:
        results: dict[str, dict[str, list[Seen]]] = {}
        rows = [row for row in scripts(cluster.release) if (row[0] in SLURMS_OWN) == of_slurm]
        for plugin in ("lua", "python"):
            side = Side(cluster, plugin)
            side.start(rows[0][1])
            for index, (name, text, commands) in enumerate(rows):
                if index:
                    side.place(text)
                results.setdefault(name, {})[plugin] = [side.run(command) for command in commands]
        _seen[key] = results
    return _seen[key]


@pytest.fixture
def both(cluster: Cluster, script: str) -> dict[str, dict[str, list[Seen]]]:
    """Return the results of a script, and of those like it, under both plugins."""
    return observe(cluster, of_slurm=script in SLURMS_OWN)


@pytest.mark.parametrize("script", moved_from(2, ["everything", *BROKEN, "reload", *moved(*SLURMS_OWN)]))
def test_a_script_does_the_same_under_both_plugins(
    both: dict[str, dict[str, list[Seen]]], cluster: Cluster, script: str
) -> None:
    """Acceptance, the user's messages, the job and the script's log lines are the same for each command."""
    if script not in both:
        assert not has_sources(cluster.release)
        assert needs.sources(source_of(script, cluster.release).encode()), "it cannot be deployed"
        return
    for theirs, ours in zip(both[script]["lua"], both[script]["python"], strict=True):
        log = [*map(_caught_up, theirs.log, ours.log), *theirs.log[len(ours.log) :]]
        if script in BROKEN:  # it was refused when it was deployed
            log = ours.log
        assert ours.log == log, ours.command
        assert ours == theirs._replace(log=log)


_JOBS = "lua: jobs: "
"""The line of a script that lists the numbers of all jobs, as texts in order."""


def _caught_up(theirs: str, ours: str) -> str:
    """Return the line of job_submit/lua with slurmhooks' newer jobs, which job_submit/lua notices a second later."""
    if not (theirs.startswith(_JOBS) and ours.startswith(_JOBS)):
        return theirs
    old, new = (set(map(int, line.removeprefix(_JOBS).split())) for line in (theirs, ours))
    return ours if old and old <= new and min(new - old, default=0) > max(old) else theirs


HOOKS = """
from slurmhooks import Reject, hook

@hook.job_submit(order=40)
def before(job):
    job.comment = "before"

@hook.job_submit
def same_order(job):
    job.comment += ", after"
    if job.name == "refused":
        raise Reject("refused by Python")
"""
TOGETHER = """
local lpeg = require "lpeg"
local json = require "json"
calls = 0
function slurm_job_submit(job_desc)
   calls = calls + 1
   job_desc.comment = job_desc.comment .. ", lua " .. calls
   job_desc.admin_comment = json.encode(json.decode('{"a":[1]}')) .. lpeg.match(lpeg.C(lpeg.P "a"), "abc")
   if job_desc.name == "boom" then return nil .. "x" end
   return slurm.SUCCESS
end
function slurm_job_modify() return slurm.SUCCESS end
"""


def test_lua_and_python_handlers_run_together(cluster: Cluster) -> None:
    """Handlers run by order, the script first within one, and read earlier writes; C and JSON modules load."""
    cluster.put("JobSubmitPlugins=python\n", "/etc/slurm/local.conf")
    toml = '[hooks]\npaths = ["hooks.d/*.py"]\n[job_submit]\nlua = "job_submit.lua"\nlua_on_error = "reject"\n'
    cluster.put(toml, "/etc/slurm/slurmhooks.toml")
    cluster.put(HOOKS, "/etc/slurm/hooks.d/together.py")
    cluster.put(TOGETHER, SCRIPT)
    cluster.deploy()
    cluster.tool("down")
    cluster.tool("up", timeout=120.0)

    def submitted(name: str) -> str:
        done = cluster.user("alice", *BATCH.split(), "-J", name, "--wrap", "true")
        assert done.returncode == 0, done.stderr + cluster.log()
        return cluster.root("scontrol", "show", "job", "-o", done.stdout.strip()).stdout

    shown = submitted("first")
    assert "Comment=before, lua 1, after" in shown
    assert 'AdminComment={"a":[1]}a' in shown
    assert "Comment=before, lua 2, after" in submitted("second")
    # If another file changes, everything is loaded again, and the script's globals are reset.
    cluster.put(HOOKS.replace('"before"', '"changed"'), "/etc/slurm/hooks.d/together.py")
    cluster.deploy()
    assert "Comment=changed, lua 1, after" in submitted("third")
    # The script changes twice in one second: both changes take effect.
    for word in ("Lua", "LUA"):
        cluster.put(TOGETHER.replace(", lua ", f", {word} "), SCRIPT)
        cluster.deploy()
        assert f"Comment=changed, {word} 1, after" in submitted("fourth")
    refused = cluster.user("alice", *BATCH.split(), "-J", "refused", "--wrap", "true")
    assert refused.returncode != 0
    assert "refused by Python" in refused.stderr
    failed = cluster.user("alice", *BATCH.split(), "-J", "boom", "--wrap", "true")
    assert failed.returncode != 0
    where = f"{SCRIPT}:9: attempt to concatenate a nil value"
    assert where in OF_SETS.sub(FOLDER, failed.stderr)
    assert f"error: job_submit/lua: {SCRIPT}: {where}" in OF_SETS.sub(FOLDER, cluster.log())


CAUGHT = """
function slurm_job_submit(...)
   local part_list = select(2, ...)
   pcall(function() return part_list.debug end)
   return slurm.SUCCESS
end
function slurm_job_modify() return slurm.SUCCESS end
"""


def test_a_script_cannot_catch_that_the_build_lacks_records(cluster: Cluster) -> None:
    """Without Slurm's sources, a submission is refused if the script reads them, even if it catches the error."""
    cluster.put("JobSubmitPlugins=python\n", "/etc/slurm/local.conf")
    cluster.put('[job_submit]\nlua = "job_submit.lua"\nlua_on_error = "accept"\n', "/etc/slurm/slurmhooks.toml")
    cluster.put(CAUGHT, SCRIPT)
    cluster.deploy()
    cluster.tool("down")
    cluster.tool("up", timeout=120.0)
    done = cluster.user("alice", *BATCH.split(), "--wrap", "true")
    assert (done.returncode == 0) == cluster.has_sources, done.stderr + cluster.log()
