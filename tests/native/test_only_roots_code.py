# SPDX-License-Identifier: GPL-2.0-or-later
"""Processes of root and workers run only hook files and scripts that other users cannot write."""

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.native.hosting import Host

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(os.geteuid() != 0, reason="only processes of root check whole paths"),
]

NOBODY = 65534
HOOKS = """
log.info("ran")

@hook.job_submit
def submit(job): ...

@hook.spank.init
def init(spank): ...

@hook.scrun.stage_in
def stage_in(container): ...
"""
POINTS = {
    "job_submit": ("open js $job_submit\njob_submit js", "job_submit"),
    "spank": ("open sp $spank\ncontext remote\ncall sp init", "call"),
    "spank with a GLOB": ("open sp $spank *.py\ncontext slurmd\ncall sp init", "call"),
    "scrun": ("lua $lua\nstage_in id=box bundle=/b", "stage_in"),
}
EXPOSED: dict[str, Callable[[Path], object]] = {
    "chown root": lambda folder: os.chown(folder, NOBODY, -1),
    "chmod g-w": lambda folder: folder.chmod(0o775),
    "chmod o-w": lambda folder: folder.chmod(0o757),
}


@pytest.mark.parametrize("repair", EXPOSED)
@pytest.mark.parametrize("point", POINTS)
def test_a_folder_that_others_can_write(host: Host, point: str, repair: str) -> None:
    """Hook files in a folder that others can write do not run; the call fails, and the log has the repair."""
    script, command = POINTS[point]
    host.site(HOOKS)
    run = host.run(script)
    assert (run.one(command).rc, run.said("ran")) == (0, [""])
    EXPOSED[repair](host.folder)
    run = host.run(script)
    assert run.one(command).rc != 0
    assert run.said("ran") == []
    text = f"what they put there would run: {repair} {host.folder}"
    # Without a manifest, scrun ends when it reads scrun.lua.
    assert text in str(run.one("lua")["why"]) if point == "scrun" else text in run


@pytest.mark.parametrize("point", ["job_submit", "spank"])
def test_a_lua_script_that_a_group_can_write(host: Host, point: str) -> None:
    """A Lua script that a group can write fails the call, as a hook file does: ignoring it would drop its policy."""
    path = host.folder / "policy.lua"
    path.write_text(
        "slurm = slurm or {}\nfunction slurm_job_submit() return 0 end\nfunction slurm_job_modify() return 0 end\n"
        "function slurm_spank_init() return 0 end\n"
    )
    host.config('[job_submit]\nlua = "policy.lua"\n')
    script, command = POINTS[point]
    script = script.replace("$spank", "$spank policy.lua")
    assert host.run(script).one(command).rc == 0
    path.chmod(0o664)
    run = host.run(script)
    assert run.one(command).rc != 0
    assert f"chmod g-w {path}" in run


@pytest.mark.parametrize("point", ["job_submit", "spank", "scrun"])
def test_packages_that_others_can_write(host: Host, point: str) -> None:
    """A package of a folder in the configuration does not run if any file of it could be another user's."""
    script, command = POINTS[point]
    name = f"site_of_root_{point}"
    module = host.folder / "lib" / name / "inner.py"
    module.parent.mkdir(parents=True)
    module.write_text('from slurmhooks import log\nlog.info("imported")\n')
    host.site(f"import {name}.inner\n{HOOKS}")
    host.config('[hooks]\npaths = ["hooks.py"]\npackages = ["lib"]\n[job_submit]\ntimeout = 60.0\n')
    run = host.run(script)
    assert (run.one(command).rc, run.said("imported")) == (0, [""])
    os.chown(module, NOBODY, -1)
    run = host.run(script)
    assert run.one(command).rc != 0
    assert run.said("imported") == []
    assert f"what they put there would run: chown root {module}" in run
