# SPDX-License-Identifier: GPL-2.0-or-later
"""Arguments of a line of plugstack.conf that C reads itself, with and without a hook manifest."""

import pytest

from tests.native.hosting import Host
from tests.native.manifests import compile_manifest


@pytest.mark.parametrize("argument", ["init_failure_mode=job", "init_failure_mode=node"])
def test_init_failure_mode(host: Host, argument: str) -> None:
    """Handlers do not see the argument; slurmd of a release without this choice logs that it is ignored."""
    host.site("hook.spank.init(lambda spank: log.info('args', args=spank.args))")
    for context in ("slurmd", "remote", "local"):
        run = host.run(f"open sp $spank {argument} hooks.py more\ncontext {context}\ncall sp init")
        assert run.one("call").rc == 0
        assert len(run.said("args")) == 1
        assert "more" in run.said("args")[0]
        assert "init_failure" not in run.said("args")[0]
        old = host.build.slurm < 0x190500
        assert ("init_failure_mode is ignored: it takes Slurm 25.05 or later" in run) == (old and context == "slurmd")


def test_a_wrong_init_failure_mode(host: Host) -> None:
    """A wrong value is logged with the possible values, and the line loads: plugstack.conf is not what was deployed."""
    host.site("")
    run = host.run("open sp $spank init_failure_mode=jobs hooks.py\ncontext local\ncall sp init")
    assert not run.one("call").failed
    assert "init_failure_mode=jobs: it can be init_failure_mode=node or init_failure_mode=job" in run


GONE = "_SLURM_SPANK_OPTION_python_"
NOTED = "has the option of the job in"


@pytest.mark.parametrize("effect", ["", "missing_options=log", "missing_options=refuse", "missing_options=x"])
@pytest.mark.parametrize("with_manifest", [True, False], ids=["manifest", "none"])
def test_options_that_a_node_lacks(host: Host, with_manifest: bool, effect: str) -> None:
    """slurmstepd logs each option of the job that no line has, or refuses the tasks, also if that is misspelt."""
    host.site('here = hook.spank.option("is-here", "X", usage="x", contexts="local")')
    host.site('other = hook.spank.option("other", usage="x")', name="other.py")
    lines = [f"{effect} hooks.py", "other.py"]
    if with_manifest:
        compile_manifest(host, args=tuple(lines[0].split()))
    long, forged = "x" * 76, "a\x1b[2Jb"
    names = ("is_here", "gone_1", "other", "gone2", long, forged, "", "ABC")
    env = " ".join(f"env={GONE}{name}=x" for name in names)
    phases = ("init", "init_post_opt", "task_init_privileged")
    calls = "\n".join(f"call {line} {phase}" for phase in phases for line in ("a", "b"))
    opened = f"open a $spank {lines[0]}\nopen b $spank {lines[1]}"
    run = host.run(f"{opened}\ncontext remote\njob {env} env=OTHER=1\n{calls}")
    noted = [line.split(GONE)[1].split(":")[0] for line in run.lines("INFO") if NOTED in line]
    assert sorted(noted) == ["ABC", "gone2", "gone_1"]
    refused = run.of("call")[4]
    assert refused.failed == (effect in ("missing_options=refuse", "missing_options=x"))
    assert ("this node does not have the option gone_1 of the job" in run) == refused.failed
    local = host.run(f"open a $spank {lines[0]}\ncontext local\ncall a init\ncall a init_post_opt")
    assert NOTED not in local


def test_a_wrong_effect_of_missing_options(host: Host) -> None:
    """A wrong value is logged with the possible values, and the line loads; test_options_that_a_node_lacks goes on."""
    host.site("")
    run = host.run("open sp $spank missing_options=drop hooks.py\ncontext local\ncall sp init")
    assert not run.one("call").failed
    assert "missing_options=drop: it can be missing_options=log or missing_options=refuse" in run
