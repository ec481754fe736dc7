# SPDX-License-Identifier: GPL-2.0-or-later
"""Requests while files change, with views that handlers keep, and with bugs of slurmhooks."""

import os
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from slurmhooks.worker import commands
from tests.native.hosting import Host
from tests.native.workers import PATIENCE, wait_for

pytestmark = pytest.mark.slow

SECOND = """
from pathlib import Path
from slurmhooks import hook, log

@hook.job_submit
def submit(job):
    log.info("ran", version=2)
    Path(__file__).with_name("second").touch()
"""
"""A hook file whose handler creates a file, which shows that it is in service."""


def another_set(folder: Path) -> None:
    """Make a set with SECOND, which comes into force when ``new.set`` is renamed."""
    place = folder / "other"
    place.mkdir()
    (place / "hooks.py").write_text(SECOND)
    (place / "slurmhooks.toml").write_text("[hooks]\npaths = ['hooks.py']\n")
    (folder / "new.set").symlink_to(place)


def test_another_set_goes_into_service(host: Host, tmp_path: Path) -> None:
    """A set that is in force goes into service soon. Until then the old one serves requests, and never after."""
    host.site(
        """
        @hook.job_submit
        def submit(job):
            log.info("ran", version=1)
        """
    )
    another_set(tmp_path)
    run = host.run(
        """
        open js $job_submit
        job_submit js
        rename $dir/new.set $dir/slurmhooks.set
        until $dir/other/second
        job_submit js
        end
        job_submit js
        """
    )
    versions = run.said("ran")
    first = versions.count("version=1")
    assert versions == ["version=1"] * first + ["version=2"] * 2
    assert first
    assert {result.rc for result in run.of("job_submit")} == {0}


def test_a_set_is_loaded_again_if_a_command_asks_for_it(host: Host, tmp_path: Path) -> None:
    """A set is loaded when it comes into force, or a command asks for it; no changed file is looked for."""
    host.site("@hook.job_submit\ndef submit(job):\n    log.info('ran', version=1)\n")
    (tmp_path / "new.py").write_text(SECOND)
    script = """
        open js $job_submit
        rename $dir/new.py $dir/hooks.py
        job_submit js
        touch $dir/changed
        await $dir/reloaded
        job_submit js
        """
    with ThreadPoolExecutor(1) as pool:
        running = pool.submit(host.run, script)
        wait_for((tmp_path / "changed").exists, "the change")
        assert commands.ask(commands.SERVE, str(tmp_path), os.getuid(), PATIENCE) == [{"generation": 2}]
        (tmp_path / "reloaded").touch()
        run = running.result()
    assert run.said("ran") == ["version=1", "version=2"]


def test_a_handler_may_close_descriptors(host: Host, tmp_path: Path) -> None:
    """A handler that closes descriptors fails only its own request; a new worker uses the current files."""
    host.site(
        """
        import os

        @hook.job_submit
        def submit(job):
            log.info("ran", version=1)
            os.closerange(int(job.name), 65536)
        """
    )
    another_set(tmp_path)
    run = host.run(
        """
        open js $job_submit
        job_submit js name=0
        job_submit js name=3
        rename $dir/new.set $dir/slurmhooks.set
        until $dir/other/second
        job_submit js name=3
        end
        """
    )
    *closed, last = run.of("job_submit")
    assert {result.rc for result in closed} == {-1}
    assert all("administrators" in str(result["err_msg"]) for result in closed)
    assert last.rc == 0
    assert run.said("ran") == ["version=1"] * len(closed) + ["version=2"]


def test_what_a_handler_kept_is_not_used_again(each_host: Host) -> None:
    """Views that a handler keeps, and their parts, stay stale; other views may be used again."""
    each_host.site(
        """
        from slurmhooks import StaleHandleError
        kept = []

        def is_over(view, use):
            try:
                use(view)
            except StaleHandleError:
                return True
            return False

        @hook.job_submit
        def submit(job):
            over = [is_over(old, lambda old: old.account) for old in kept if hasattr(type(old), "account")]
            over += [is_over(old, dict) for old in kept if not hasattr(type(old), "account")]
            log.info("over", all=all(over), count=len(over), again=any(old is job for old in kept))
            assert dict(job.environment) == {"NAME": job.name}, dict(job.environment)
            assert job.environment.get("NAME") == job.name and job.comment is None and len(job.argv) == 0
            job.comment = job.name
            job.argv = [job.name]
            job.environment["X"] = "1"
            del job.environment["X"]
            if job.name in ("both", "job"):
                kept.append(job)
            if job.name in ("both", "environment"):
                kept.append(job.environment)
            if job.name == "words":
                kept.append(job.argv)
        """
    )
    names = ["none", "both", "none", "job", "none", "environment", "none", "words", "none"]
    lines = "".join(f"job_submit js script=x name={name} environment=NAME={name}\n" for name in names)
    run = each_host.run(f"open js $job_submit\n{lines}balance")
    assert [result.rc for result in run.of("job_submit")] == [0] * len(names), run.log
    assert [result["comment"] for result in run.of("job_submit")] == names
    counts = [0, 0, 2, 2, 3, 3, 4, 4, 5]
    # argv raises when it is read, as its job does.
    assert run.said("over") == [f"all=True count={count} again=False" for count in counts]
    assert run.one("balance")["alive"] == 0


def test_an_event_that_fails_in_its_midst_is_refused(host: Host) -> None:
    """A bug in slurmhooks refuses the request, with a traceback in the log, and does not affect later requests."""
    host.site(
        """
        from slurmhooks.slurmctld import point_service

        @hook.job_submit(on_error="accept")
        def submit(job):
            if job.name == "break":
                job._struct.written["no_such_member"] = 1
            elif job.name == "message":
                point_service.log._user(object())
        """
    )
    run = host.run(
        """
        open js $job_submit
        job_submit js name=break
        job_submit js name=message
        job_submit js name=good
        balance
        """
    )
    assert [result.rc for result in run.of("job_submit")] == [-1, -1, 0]
    assert "KeyError: 'no_such_member'" in run
    assert "argument of type 'object' is not" in run
    assert run.one("balance")["alive"] == 0
