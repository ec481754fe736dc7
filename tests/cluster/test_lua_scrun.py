# SPDX-License-Identifier: GPL-2.0-or-later
"""A site's scrun.lua after slurmhooks' own, compared with the same script in scrun alone: result and files."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import pytest

from tests.cluster.containers import ContainerLostError, User
from tests.cluster.scenes import HOOKS_D
from tests.cluster.scrun_lab import prepare
from tests.cluster.turns import moved

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.cluster.conftest import Cluster

pytestmark = pytest.mark.one_release("24.11", "26.05")

OURS = "/etc/slurm/scrun.lua"
SITE = "/etc/slurm/scrun.site.lua"
TOML = "/etc/slurm/slurmhooks.toml"
MANUAL = "zcat -f /usr/share/man/man1/scrun.1*"
STAGED = "/run/user/2001/slurm/scrun"
WAIT = "touch /etc/ready; while test ! -e /etc/go; do sleep 0.2; done"
PROGRAM = f"echo inside; id -u; echo made > /etc/made; {WAIT}; echo done"
NEVER = 124
"""The exit code of a create that may never return, as 26.05's own does after a failed stage_in."""
RACE = "run_command_waitpid_timeout"
"""In stage_out, scrun's reaping of children races with allocator_command(), with and without slurmhooks."""
ALARM = "killed by signal 14"
"""An anchor's timer may expire before scrun listens; slurmhooks keeps the anchor alive."""
LIVES = 30
"""On a busy machine the reaping usually wins, and a script may run several commands."""


@dataclass
class Outcome:
    """The result of a container's life.

    ``config`` is None if the script staged nothing; ``left`` are remaining files in the script's staging folder.
    """

    codes: dict[str, int] = field(default_factory=dict)
    output: list[str] = field(default_factory=list)
    config: Any = None
    files: list[str] = field(default_factory=list)
    left: list[str] = field(default_factory=list)


class Lab(User):
    """Alice, in a cluster with the scrun.lua of a test, which slurmhooks' own one reads if ``is_ours``."""

    def __init__(self, cluster: Cluster) -> None:
        super().__init__(cluster, "alice")
        self.stub = cluster.root("cat", OURS, check=True).stdout
        self.toml = cluster.root("cat", TOML, check=True).stdout
        self.is_ours = True

    def own(self, script: str) -> None:
        """Make scrun read a script itself."""
        self.cluster.put(script, OURS)
        self.is_ours = False

    def behind_ours(self, script: str) -> None:
        """Make slurmhooks' scrun.lua run a script."""
        self.cluster.put(self.stub, OURS)
        self.cluster.put(script, SITE)
        self.cluster.put(f'{self.toml}[scrun]\nlua = "scrun.site.lua"\n', TOML)
        self.is_ours = True

    def restore(self) -> None:
        """Restore the installed files."""
        self.cluster.put(self.stub, OURS)
        self.cluster.put(self.toml, TOML)
        self.cluster.root("rm", "-f", SITE, f"{HOOKS_D}/beside.py")

    def clean(self) -> None:
        """Let the container end, and also remove the files that scripts have staged."""
        self.sh(f"for f in ~/bundle {STAGED}/box; do touch $f/rootfs/etc/go; done", check=False)
        super().clean()
        self.sh(f"rm -rf {STAGED}")

    def live(self) -> Outcome:
        """Create, start and delete a container that ends by itself; repeat this if scrun itself fails."""
        for _ in range(LIVES):
            self.clean()
            try:
                outcome = self._live()
            except ContainerLostError:
                self.losses.append("box")
                continue
            faults = (RACE,) if self.is_ours else (RACE, ALARM)
            if not any(fault in line for fault in faults for line in outcome.output):
                return outcome
        raise AssertionError(f"no container of {LIVES} was without a fault of scrun")

    def _live(self) -> Outcome:
        outcome = Outcome()
        self.bundle("sh", "-c", PROGRAM)
        outcome.codes["create"] = self._create()
        if outcome.codes["create"] == 0 and "unable to load lua" not in self.output("box"):
            outcome.codes["start"] = self._code("start")
            ready = f"ls {STAGED}/box/rootfs/etc/ready ~/bundle/rootfs/etc/ready 2>/dev/null | head -n 1"
            self.wait(lambda: self.sh(ready).strip(), "running container")
            go = self.sh(ready).strip().replace("ready", "go")
            text = self.sh(f"cat {STAGED}/box/config.json 2>/dev/null", check=False)
            outcome.config = json.loads(text) if text else None
            self.sh(f"touch {go}")
            self.wait_output("box", "done")
            self.wait_over()
            outcome.codes["delete"] = self._code("delete")
        outcome.output = sorted(self.output("box").splitlines())
        # Leave out files that the job's node mounts, whose names contain the job's id.
        outcome.files = self.sh("cd ~/bundle && find . -path ./rootfs/var -prune -o -print | sort").splitlines()
        outcome.left = self.sh(f"find {STAGED} 2>/dev/null | sort", check=False).splitlines()
        return outcome

    def _create(self) -> int:
        """Create the container and return the exit code, or NEVER without waiting if scrun may not return."""
        self.create_in_background("box")
        failed = "false" if self.is_ours else "grep -q 'END container box staging in: [^N]' ~/box.log 2>/dev/null"
        code = f"if test -s ~/box.rc; then cat ~/box.rc; elif {failed}; then echo {NEVER}; fi"
        self.wait(lambda: self.sh(code), "end of create")
        return int(self.sh(code))

    def _code(self, verb: str) -> int:
        return int(self.sh(f"{self.scrun} {verb} box; echo $?").splitlines()[-1])


@pytest.fixture(scope="module")
def lab(cluster: Cluster) -> Iterator[Lab]:
    """A cluster with scrun, without other hooks."""
    prepare(cluster)
    new_lab = Lab(cluster)
    yield new_lab
    new_lab.restore()
    new_lab.clean()


@pytest.fixture(autouse=True)
def _restored(lab: Lab) -> Iterator[None]:
    """Restore the installed files after each test."""
    yield
    lab.restore()


def scripts_of_the_manual(lab: Lab) -> list[str]:
    """Return the scripts of the installed scrun(1), unchanged."""
    page = lab.cluster.root("sh", "-c", MANUAL, check=True).stdout
    blocks = re.findall(r"^\.nf\n(.*?)^\.fi$", page, re.MULTILINE | re.DOTALL)
    scripts = [block for block in blocks if "function slurm_scrun_stage_in" in block]
    assert scripts
    assert not any("\\" in block.replace("\\n", "").replace("\\t", "") for block in scripts), "needs troff"
    return scripts


def comparable(config: Any) -> Any:
    """Return a configuration without the parts that differ between jobs."""
    if config is not None:
        config["process"]["env"] = sorted(
            re.sub(r"=.*", "", entry) if re.match("S(LURM|CRUN)", entry) else entry
            for entry in config["process"]["env"]
        )
    return config


def with_json_module(script: str) -> str:
    """Return a script that uses scrun's JSON functions of 26.05 in the form of earlier manual pages."""
    text = script.replace("slurm.from_json(", "json.decode(").replace("slurm.to_json(", "json.encode(")
    return script if text == script else f"local json = require 'json'\n{text}"


def failure(found: Outcome) -> list[str]:
    """Return scrun's message about an error in a script, without names of files."""
    return [line.rsplit(": ", 1)[-1] for line in found.output if "stage_in/lua: " in line]


def test_the_manuals_scripts(lab: Lab) -> None:
    """The manual's scripts run unchanged with the same result as in scrun alone."""
    passed = 0
    for script in scripts_of_the_manual(lab):
        for text in dict.fromkeys((script, with_json_module(script))):
            lab.own(text)
            alone = lab.live()
            lab.behind_ours(text)
            behind = lab.live()
            if failure(alone):
                # 26.05's own to_json() fails on Lua 5.1, and create never returns; with slurmhooks it does.
                assert failure(behind) == failure(alone)
                assert behind.codes["create"] not in (0, NEVER)
                assert (behind.files, behind.config) == (alone.files, alone.config)
                continue
            passed += 1
            assert alone.codes == {"create": 0, "start": 0, "delete": 0}, alone.output
            assert "./rootfs/etc/made" in alone.files
            assert "inside" in alone.output
            assert alone.config is not None
            assert (behind.codes, behind.files, behind.left) == (alone.codes, alone.files, alone.left), behind.output
            assert behind.output == alone.output
            assert comparable(behind.config) == comparable(alone.config)
    assert passed


@pytest.mark.parametrize(
    ("script", "reason"),
    [
        ("function slurm_scrun_stage_in() end\n", "missing required function slurm_scrun_stage_out"),
        *moved(("x = = 1\n", ":1: unexpected symbol near '='"), ("error('not today')\n", ":1: not today")),
    ],
)
def test_a_broken_script(lab: Lab, script: str, reason: str) -> None:
    """After an error in a script, scrun ends before it requests a job, with the same exit code, and names the line."""
    lab.own(script)
    alone = lab.live()
    lab.behind_ours(script)
    behind = lab.live()
    assert behind.codes == alone.codes
    assert behind.codes["create"] != 0
    for outcome in (alone, behind):
        assert reason in "\n".join(outcome.output)
    assert "scrun.site.lua" in "\n".join(behind.output)
    assert not lab.sh("squeue -h -u alice").strip()


ARGUMENTS = """
local function show(name, ...)
   local parts = {}
   for index = 1, select("#", ...) do
      local value = (select(index, ...))
      parts[index] = type(value) == "table" and "table" or tostring(value)
   end
   slurm.log_error("%s(%s)", name, table.concat(parts, ", "))
end
function slurm_scrun_stage_in(...)
   show("stage_in", ...)
   local job_env = select(8, ...)
   slurm.log_error("env from 0: %s", tostring(job_env[0] ~= nil and job_env[#job_env + 1] == nil))
   slurm.log_error("set %s", tostring(slurm.set_bundle_path((select(2, ...)))))
   slurm.log_error("allocator %s %s", slurm.allocator_command("echo out; exit 3"))
   local status, output = slurm.remote_command("echo remote; exit 4")
   slurm.log_error("remote %s %s", status, tostring(output:find("remote", 1, true) ~= nil))
   slurm.log_error("minutes %s", slurm.time_str2mins("1-00:00:00"))
   return slurm.SUCCESS
end
function slurm_scrun_stage_out(...)
   show("stage_out", ...)
   -- no number: success
end
slurm.log_error("loaded %s %s", tostring(slurm.SUCCESS), tostring(slurm.ERROR))
"""


def test_what_a_script_is_given(lab: Lab) -> None:
    """Arguments, job_env from 0, and scrun's own functions with their results are the same."""
    lab.own(ARGUMENTS)
    alone = lab.live()
    lab.behind_ours(ARGUMENTS)
    behind = lab.live()

    def said(found: Outcome) -> list[str]:
        # Job ids and names of temporary folders.
        return [re.sub(r"\d{2,}|, \d+, 2001, 2001", "N", line) for line in found.output if "lua: " in line]

    assert said(behind) == said(alone)
    assert any("stage_in(box, " in line for line in said(behind))
    assert (behind.codes, behind.files) == (alone.codes, alone.files)


BESIDE = """
from slurmhooks import Reject, hook, log
@hook.scrun.stage_in
def first(container):
    log.user("python in")
    if "REFUSE" in open(container.config_file).read():
        raise Reject("not this one")
@hook.scrun.stage_out
def last(container):
    log.user("python out")
"""


@pytest.mark.each_release("24.11", "26.05")
def test_handlers_beside_a_script(lab: Lab) -> None:
    """Handlers run before the script's function, in the same process; messages of both are shown."""
    lab.behind_ours(ARGUMENTS)
    lab.cluster.put(BESIDE, f"{HOOKS_D}/beside.py")
    outcome = lab.live()
    assert set(outcome.codes.values()) == {0}, outcome.output
    text = lab.output("box")
    assert text.index("python in") < text.index("stage_in(box") < text.index("python out") < text.index("stage_out(box")
