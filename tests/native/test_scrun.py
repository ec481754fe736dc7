# SPDX-License-Identifier: GPL-2.0-or-later
"""scrun's staging functions, with a real Lua state and the scrun.lua of an installation."""

import pytest

from tests.native.hosting import Host
from tests.native.manifests import compile_scrun

pytestmark = pytest.mark.usefixtures("needs_lua")


def test_what_a_container_is(host: Host) -> None:
    """A container has each argument of both functions under its name."""
    host.site(
        """
        def say(container):
            names = ("id", "bundle", "orig_bundle", "root_path", "orig_root_path", "spool_dir", "config_file")
            log.info("texts", **{name: getattr(container, name) for name in names})
            log.info("numbers", job=container.job_id, user=container.user_id, group=container.group_id)
            log.info("env", env=dict(container.job_env))

        hook.scrun.stage_in(say)
        hook.scrun.stage_out(say)
        """
    )
    run = host.run("lua $lua\nstage_in id=box bundle=/b env=A=1 env=B=x=y\nstage_out")
    assert [run.one("stage_in").rc, run.one("stage_out").rc] == [0, 0]
    inside, out = run.said("texts")
    assert inside == (
        "id='box' bundle='/b' orig_bundle='/b' root_path=None orig_root_path=None spool_dir='/spool'"
        " config_file='/spool/config.json'"
    )
    assert out == (
        "id='box' bundle='/b' orig_bundle='/orig/bundle' root_path=None orig_root_path='/orig/root' spool_dir='/spool'"
        " config_file='/spool/config.json'"
    )
    assert run.said("numbers") == ["job=4711 user=2001 group=2002"] * 2
    assert run.said("env")[0] == "env={'A': '1', 'B': 'x=y'}"


def test_lines_of_the_log(host: Host) -> None:
    """Each method of log writes a line of its level; a NUL byte, which would end the line, is escaped."""
    host.site(
        """
        @hook.scrun.stage_in
        def stage_in(container):
            for level in ("error", "info", "verbose", "debug", "debug2", "debug3"):
                getattr(log, level)(f"at {level}")
            log.info("before\\0after")
            log.user("one\\ntwo")
        """
    )
    run = host.run("lua $lua\nstage_in bundle=/b")
    for level in ("ERROR", "INFO", "VERBOSE", "DEBUG", "DEBUG2", "DEBUG3"):
        assert f"slurmhooks: at {level.lower()}" in run.lines(level)
    assert "slurmhooks: before\\x00after" in run.lines("INFO")
    assert run.lines("ERROR")[-2:] == ["one", "two"]


def test_paths_are_told_to_scrun(host: Host) -> None:
    """scrun gets paths that handlers assign after all handlers have passed, and none if one refuses."""
    host.site(
        """
        @hook.scrun.stage_in
        def first(container):
            container.bundle = "/new/bundle"
            container.root_path = "/new/root"

        @hook.scrun.stage_in
        def second(container):
            assert container.bundle == "/new/bundle"
            if container.id == "bad":
                raise Reject("not this one")
        """
    )
    run = host.run("lua $lua\nstage_in id=bad bundle=/b\nstage_in id=good bundle=/b")
    refused, accepted = run.of("stage_in")
    assert (refused.rc, refused["bundle"], refused["root_path"]) == (-1, "/b", None)
    assert (accepted.rc, accepted["bundle"], accepted["root_path"]) == (0, "/new/bundle", "/new/root")
    assert "not this one" in run


def test_commands(each_host: Host) -> None:
    """scrun runs commands of handlers: lists are quoted, and status and output are returned."""
    each_host.site(
        """
        @hook.scrun.stage_in
        def stage_in(container):
            for command in (["printf", "%s", "a b"], "echo $((1 + 1)); exit 3", "exit 0", r"printf '\\377'"):
                result = container.allocator_command(command)
                log.info("result", status=result.status, output=result.output)
            log.info("result", remote=container.remote_command(["true"]).status)
        """
    )
    run = each_host.run("lua $lua\nstage_in bundle=/b")
    assert run.one("stage_in").rc == 0
    assert run.said("result") == [
        "status=0 output='a b'",
        r"status=3 output='2\n'",
        "status=0 output=''",
        r"status=0 output='\xff'",
        "remote=0",
    ]


def test_as_scruns_anchor_does(each_host: Host) -> None:
    """Staging works in a forked process in which threads call the functions, as in scrun's anchor.

    Handlers may run commands.
    """
    each_host.site(
        """
        import subprocess, threading

        @hook.scrun.stage_in
        def stage_in(container):
            output = subprocess.run(["echo", "x"], stdout=subprocess.PIPE, check=True).stdout
            log.info("staged", output=output, command=container.allocator_command("echo y").output)

        @hook.scrun.stage_out
        def stage_out(container):
            log.info("cleaned", command=container.allocator_command("echo z").output)
        """
    )
    run = each_host.run(
        """
        lua $lua
        fork
        threads 1
        stage_in bundle=/b
        end
        threads 1
        stage_out
        end
        end
        """
    )
    assert [run.one("stage_in").rc, run.one("stage_out").rc] == [0, 0]
    assert run.said("staged") == [r"output=b'x\n' command='y\n'"]
    assert run.said("cleaned") == [r"command='z\n'"]
    assert (run.one("fork")["status"], run.one("fork")["signal"]) == (0, 0)


def test_libpython_is_opened_beside_the_anchor(host: Host) -> None:
    """The anchor loads libpython before the first staging call; with a manifest scrun itself does not load it."""
    host.site("hook.scrun.stage_in(lambda container: log.info('ran'))")
    compile_scrun(host, None)
    run = host.run("lua $lua\nfork\nawait_mapped libpython\nstage_in bundle=/b\nend\nmapped libpython")
    assert run.said("ran") == [""]
    assert run.one("mapped")["found"] == 0


def test_an_alarm_before_scrun_listens(host: Host) -> None:
    """The anchor survives SIGALRM of a timer that expires before scrun handles it."""
    host.site("import os\nos.kill(os.getpid(), 14)\nhook.scrun.stage_in(lambda container: None)")
    run = host.run("lua $lua\nfork\nthreads 1\nstage_in bundle=/b\nend\nend")
    assert run.one("stage_in").rc == 0
    assert (run.one("fork")["status"], run.one("fork")["signal"]) == (0, 0)


def test_views_end_with_the_call(host: Host) -> None:
    """A container that a handler keeps raises StaleHandleError after the call."""
    host.site(
        """
        from slurmhooks import StaleHandleError
        kept = []

        @hook.scrun.stage_in
        def stage_in(container):
            kept.append(container)

        @hook.scrun.stage_out
        def stage_out(container):
            for function in (lambda: kept[0].bundle, lambda: kept[0].allocator_command("true")):
                try:
                    log.info("stale", value=function())
                except StaleHandleError:
                    log.info("stale")
        """
    )
    run = host.run("lua $lua\nstage_in bundle=/b\nstage_out")
    assert run.said("stale") == ["", ""]


def test_wrong_arguments(each_host: Host) -> None:
    """Calls with wrong arguments are Lua errors, not crashes."""
    each_host.site("hook.scrun.stage_in(lambda container: None)")
    (each_host.folder / "odd.lua").write_text(
        (each_host.folder / "scrun.lua")
        .read_text()
        .replace(
            "return slurm.SUCCESS",
            """
            for _, arguments in ipairs({{}, {"id"}, {"a", "b", "c", "d", "e"}, {"a", "b", "c", "d", 1, 2, 3, 4}}) do
                slurm.log_info("odd %s", tostring(pcall(slurm_scrun_stage_in, unpack(arguments))))
            end
            return slurm.SUCCESS
            """,
        )
    )
    run = each_host.run("lua $dir/odd.lua\nstage_in bundle=/b")
    assert [line for line in run.lines("INFO") if line.startswith("odd")] == ["odd false"] * 4
    assert run.one("stage_in").rc == 0


def test_text_that_is_not_utf8(host: Host) -> None:
    """Bytes that are not UTF-8 reach handlers and scrun unchanged."""
    host.site(
        """
        @hook.scrun.stage_in
        def stage_in(container):
            log.info("env", env=dict(container.job_env))
            container.bundle = container.bundle + "/x"
        """
    )
    run = host.run(r"""lua $lua
        stage_in bundle=/b\xff\xc3\xa4 env=A=\xfe""")
    assert run.one("stage_in")["bundle"] == "/b\udcffä/x"
    assert run.said("env") == [r"env={'A': '\xfe'}"]


def test_stage_out_during_stage_in(each_host: Host) -> None:
    """stage_out, which scrun calls from another thread, cancels stage_in and waits until its handlers have ended."""
    each_host.site(
        f"""
        import time
        from slurmhooks.scrun.cancel import requested

        @hook.scrun.stage_in
        def stage_in(container):
            open({str(each_host.folder / "inside")!r}, "w").close()
            while not requested():
                time.sleep(0.005)
            log.info("order", what="in")

        @hook.scrun.stage_out
        def stage_out(container):
            log.info("order", what="out")
        """
    )
    run = each_host.run(
        """
        lua $lua
        background
        stage_in bundle=/b
        end
        await $dir/inside
        stage_out
        join
        """
    )
    assert run.said("order") == ["what='in'", "what='out'"]
    assert run.one("stage_out").rc == 0
    assert run.one("stage_in").rc == -1
