# SPDX-License-Identifier: GPL-2.0-or-later
"""Slurm loads and unloads plugins; Python starts only when it is needed."""

from tests.native.hosting import Host
from tests.native.manifests import compile_scrun


def test_open_close_open_again(each_host: Host) -> None:
    """A plugin works again after dlclose() and dlopen(); the SPANK plugin uses the same interpreter as before."""
    each_host.site(
        """
        import sys
        count = sys.modules.setdefault("count", [])

        @hook.spank.init
        def init(spank):
            count.append(1)
            log.info("count", n=len(count))

        @hook.job_submit
        def submit(job):
            log.info("submitted")
        """
    )
    once = """
        open sp $spank hooks.py
        context remote
        call sp init
        close sp
        open js $job_submit
        job_submit js
        close js
        """
    run = each_host.run(f"{once}{once}balance")
    assert {result.rc for result in run.results if "rc" in result.values} == {0}
    assert run.said("count") == ["n=1", "n=2"]
    assert run.said("submitted") == [""] * 2
    assert run.one("balance")["alive"] == 0


def test_a_spank_plugin_given_by_bare_name(each_host: Host) -> None:
    """A plugin that plugstack.conf names without a path is loaded twice, which does not start Python, and works."""
    each_host.site("hook.spank.init(lambda spank: log.info('init'))")
    run = each_host.run(
        """
        peek $spank
        mapped libpython
        open sp $spank hooks.py
        mapped libpython
        context local
        call sp init
        mapped libpython
        close sp
        """
    )
    assert run.one("peek")["type"] == "spank"
    assert [result["found"] for result in run.of("mapped")] == [0, 0, 1]
    assert run.one("call").rc == 0
    assert run.said("init") == [""]


def test_reading_scrun_lua_starts_no_python(each_host: Host) -> None:
    """With a manifest, Python does not start when scrun reads scrun.lua, which is before it forks its anchor."""
    compile_scrun(each_host, None)
    run = each_host.run(
        """
        lua $lua
        mapped libpython
        """
    )
    assert run.one("lua")["why"] is None
    assert run.one("mapped")["found"] == 0


def test_all_stubs_share_one_interpreter(each_host: Host) -> None:
    """Handlers of SPANK and scrun in one process share their modules."""
    each_host.site(
        """
        import sys

        @hook.spank.init
        def init(spank):
            log.info("interpreter", id=id(sys.modules))

        @hook.scrun.stage_in
        def stage_in(container):
            log.info("interpreter", id=id(sys.modules))
        """
    )
    run = each_host.run(
        """
        open sp $spank hooks.py
        context local
        call sp init
        lua $lua
        stage_in bundle=/b
        """
    )
    assert [run.one(name).rc for name in ("call", "stage_in")] == [0, 0]
    said = run.said("interpreter")
    assert len(said) == 2
    assert len(set(said)) == 1


def test_two_lines_of_plugstack(host: Host) -> None:
    """Two lines of plugstack.conf with the same plugin have their own handlers and arguments."""
    host.site("hook.spank.init(lambda spank: log.info('one', args=spank.args))", "one.py")
    host.site("hook.spank.init(lambda spank: log.info('two', args=spank.args))", "two.py")
    run = host.run(
        """
        open first $spank one.py a
        open second $spank two.py b c
        context local
        call first init
        call second init
        """
    )
    assert run.said("one") == ["args=('a',)"]
    assert run.said("two") == ["args=('b', 'c')"]


def test_slurmctld_starts_no_python(each_host: Host) -> None:
    """slurmctld itself does not load libpython: workers answer requests."""
    each_host.site("hook.job_submit(lambda job: log.info('ran'))")
    run = each_host.run("open js $job_submit\njob_submit js\nmapped libpython")
    assert run.said("ran") == [""]
    assert run.one("mapped")["found"] == 0


def test_closing_runs_fini(host: Host) -> None:
    """Unloading the plugin runs the fini handlers in each worker; their failures are only logged."""
    host.site(
        """
        hook.job_submit.init(lambda: log.info("init"))
        hook.job_submit(lambda job: None)

        @hook.job_submit.fini
        def fini():
            log.info("fini")
            raise Reject("not yet")
        """
    )
    run = host.run(
        """
        open js $job_submit
        job_submit js
        close js
        """
    )
    assert [run.said("init"), run.said("fini")] == [[""], [""]]
    assert [result.rc for result in run.results] == [0, 0, 0]
    assert "not yet" in run
