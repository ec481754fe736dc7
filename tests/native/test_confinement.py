# SPDX-License-Identifier: GPL-2.0-or-later
"""Processes that run a site's code have only the user, the rights and the limits that they should have."""

import ast
import os
import pwd
import resource
import shutil
from pathlib import Path

import pytest

from tests.native.building import PLAIN
from tests.native.conftest import built
from tests.native.hosting import Host, Run
from tests.native.test_workers import GENERATION, SUPERVISOR, WORKER
from tests.native.workers import Exchanger, below, processes, wait_for

USER = pwd.getpwnam("nobody")
GROUPS = os.getgrouplist(USER.pw_name, USER.pw_gid)
HOOKS = """
import os, resource, subprocess

def state():
    status = dict(line.split(":\\t", 1) for line in open("/proc/self/status").read().splitlines() if ":\\t" in line)
    return {
        "users": sorted(set(status["Uid"].split())),
        "groups": sorted({*status["Gid"].split(), *status["Groups"].split()}),
        "capabilities": sorted({status[name] for name in ("CapPrm", "CapEff", "CapAmb")}),
        "no_new_privs": int(status["NoNewPrivs"]),
        "oom": min(at_load_oom, int(open("/proc/self/oom_score_adj").read())),
        "home": os.environ.get("HOME"),
    }

at_load = os.getuid()
at_load_oom = int(open("/proc/self/oom_score_adj").read())

@hook.job_submit
def submit(job):
    kinds = resource.RLIMIT_DATA, resource.RLIMIT_NPROC, resource.RLIMIT_NOFILE
    limits = [resource.getrlimit(kind) for kind in kinds]
    program = subprocess.check_output([job.comment, "-u"], text=True).strip() if job.comment else ""
    log.info("state " + repr(state() | {"limits": limits, "at_load": at_load, "program": program}))
"""
pytestmark = pytest.mark.slow
needs_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root can become another user")


def run(folder: Path, settings: str, submission: str = "account=a") -> Run:
    """Submit a job to a site with these settings of ``[job_submit]``."""
    host = Host(built(PLAIN), folder)
    host.site(HOOKS)
    host.config(f"[hooks]\npaths = ['hooks.py']\n[job_submit]\ntimeout = 60.0\n{settings}")
    return host.run(f"open js $job_submit\njob_submit js {submission}")


def state_of(run: Run) -> dict[str, object]:
    """Return what the handler has logged about its process."""
    (text,) = run.said("state")
    state: dict[str, object] = ast.literal_eval(text)
    return state


def test_defaults(tmp_path: Path) -> None:
    """Handlers run as the user of slurmctld, with limits that they cannot raise, and programs give them no rights."""
    state = state_of(run(tmp_path, ""))
    assert (state["users"], state["at_load"]) == ([str(os.getuid())], os.getuid())
    assert (state["no_new_privs"], state["oom"]) == (1, 500)
    own = [resource.getrlimit(each)[1] for each in (resource.RLIMIT_NPROC, resource.RLIMIT_NOFILE)]
    processes, files = (
        wanted if hard == resource.RLIM_INFINITY else min(wanted, hard)
        for wanted, hard in zip((4096, 1024), own, strict=True)
    )
    assert state["limits"] == [(1 << 30,) * 2, (processes,) * 2, (files,) * 2]


def test_limits(tmp_path: Path) -> None:
    """The configuration sets the limits, and may allow programs to give rights."""
    settings = 'memory_limit = "512MiB"\nprocess_limit = 300\nopen_file_limit = 100\nno_new_privs = false'
    state = state_of(run(tmp_path, settings))
    assert state["limits"] == [(512 << 20,) * 2, (300,) * 2, (100,) * 2]
    assert state["no_new_privs"] == int("NoNewPrivs:\t1" in Path("/proc/self/status").read_text())


@needs_root
@pytest.mark.parametrize("no_new_privs", ["true", "false"])
def test_another_user(open_folder: Path, no_new_privs: str) -> None:
    """Hook files and handlers run as the user of the configuration, without any of root's rights.

    A setuid program gives them rights only if the configuration allows it.
    """
    program = open_folder / "id"
    shutil.copy("/usr/bin/id", program)
    program.chmod(0o4755)
    state = state_of(run(open_folder, f"user = 'nobody'\nno_new_privs = {no_new_privs}", f"comment={program}"))
    assert (state["users"], state["at_load"]) == ([str(USER.pw_uid)], USER.pw_uid)
    assert state["groups"] == sorted(map(str, {USER.pw_gid, *GROUPS}))
    assert state["capabilities"] == ["0" * 16]
    assert (state["home"], state["oom"]) == (USER.pw_dir, 500)
    assert state["program"] == (str(USER.pw_uid) if no_new_privs == "true" else "0")


@needs_root
def test_a_user_who_does_not_exist(tmp_path: Path) -> None:
    """Without the user nothing runs, requests are refused, and the log names the key."""
    refused = run(tmp_path, "user = 'somebody-else'")
    assert refused.one("job_submit").rc != 0
    assert "job_submit.user: this machine has no user 'somebody-else'" in refused
    assert refused.said("state") == []


@needs_root
def test_a_file_that_the_user_may_not_read(open_folder: Path) -> None:
    """A hook file that the user cannot read is not in force, and the log names it."""
    host = Host(built(PLAIN), open_folder)
    path = host.site(HOOKS)
    path.chmod(0o600)
    host.config("[hooks]\npaths = ['hooks.py']\n[job_submit]\nuser = 'nobody'")
    refused = host.run("open js $job_submit\njob_submit js account=a")
    assert refused.one("job_submit").rc != 0
    assert any(str(path) in line and "Permission denied" in line for line in refused.lines("ERROR"))


@needs_root
def test_processes_of_another_user_end(open_folder: Path) -> None:
    """Processes of another user miss no deadline, are replaced, and do not survive slurmctld, however it ends."""
    become = "import slurmhooks.config.sections as c, slurmhooks.processes.confinement as f"
    host = Exchanger(
        built(PLAIN),
        open_folder,
        {"load": f"{become}; f.drop_rights(c.MODELS['prep'](user='nobody'), 'prep')", "version": 1},
    )
    try:
        assert host.exchange("import os; answer = os.getuid()") == ("OK", str(USER.pw_uid)), host.log
        owners = {each.name: os.stat(f"/proc/{each.pid}").st_uid for each in below(host.pid)}
        assert owners == {SUPERVISOR: 0, GENERATION: USER.pw_uid, WORKER: USER.pw_uid}
        assert host.exchange("import time; time.sleep(1000)", deadline_ms=100)[0] == "TIMED_OUT"
        assert host.exchange("echo") == ("OK", "echo")
        host.set(version=2, load=f"{become}; f.drop_rights(c.MODELS['prep'](user='nobody'), 'prep')")
        wait_for(lambda: host.exchange("answer = version") == ("OK", "2"), "that the new files serve")
        family = {each.pid for each in below(host.pid)}
    finally:
        host.kill()
    wait_for(lambda: not family & {each.pid for each in processes()}, "the end of all processes")
