# SPDX-License-Identifier: GPL-2.0-or-later
"""What runs around the handlers of every request, in C: views that are used again, threads, changed files, garbage."""

from pathlib import Path

import pytest

from tests.native.hosting import Host

MANY = 5000


def test_no_garbage_is_collected_during_events(host: Host) -> None:
    """A collection would run under slurmctld's locks: what an event makes is gone with it, what lives on is frozen."""
    host.site(
        """
        import gc

        @hook.job_submit
        def submit(job, submit_uid):
            if job.name == "count":
                runs = sum(generation["collections"] for generation in gc.get_stats())
                log.info("collections", runs=runs, frozen=gc.get_freeze_count() > 1000)
            if job.environment.get("A") == "1" and job.time_limit is None:
                job.time_limit = 60
                job.nice = 5
                job.comment = "x"
                job.environment["NEW"] = "1"
                job.argv = [*job.argv, "more"]
                log.user("hello")
            if job.account == "refuse":
                raise Reject("no")

        @hook.job_modify(on_error="accept")
        def modify(job, modify_uid):
            job.comment = "x"
        """
    )
    each = "script=x argv=run environment=A=1"
    block = f"job_submit js account=a {each}\njob_submit js account=refuse {each}\njob_modify js\n"
    count = "job_submit js name=count\n"
    run = host.run(f"open js $job_submit\nrepeat 10\n{block}end\n{count}repeat {MANY}\n{block}end\n{count}")
    first, last = run.said("collections")
    assert first == last
    assert "frozen=True" in first


@pytest.mark.parametrize("reload", [True, False])
def test_changed_files_count_at_the_next_event(host: Host, tmp_path: Path, reload: bool) -> None:
    """A hook file that is replaced is in force at the next call, and nothing of the old one stays; unless told not."""
    host.site(
        """
        import sys, weakref

        @hook.job_submit
        def submit(job):
            log.info("ran", version=1)

        sys.first = weakref.ref(submit)
        """
    )
    (tmp_path / "new.py").write_text(
        "import sys\nfrom slurmhooks import hook, log\n\n@hook.job_submit\ndef submit(job):\n"
        "    log.info('ran', version=2, first=sys.first())\n"
    )
    host.config(f"[hooks]\npaths = ['hooks.py']\n[job_submit]\nreload = {str(reload).lower()}\n")
    run = host.run(
        """
        open js $job_submit
        job_submit js
        job_submit js
        rename $dir/new.py $dir/hooks.py
        job_submit js
        job_submit js
        """
    )
    after = "version=2 first=None" if reload else "version=1"
    assert run.said("ran") == ["version=1", "version=1", after, after]


def test_a_handler_may_close_descriptors(host: Host, tmp_path: Path) -> None:
    """Nothing of ours depends on one: the next call runs, and still takes up what changed."""
    host.site(
        """
        import os

        @hook.job_submit
        def submit(job):
            for name in os.listdir("/proc/self/fd"):
                try:
                    if os.readlink(f"/proc/self/fd/{name}").startswith("anon_inode:"):
                        os.close(int(name))
                except FileNotFoundError:
                    pass
            log.info("ran", version=1)
        """
    )
    (tmp_path / "new.py").write_text(
        "from slurmhooks import hook, log\n\n@hook.job_submit\ndef submit(job): log.info('ran', version=2)\n"
    )
    run = host.run(
        """
        open js $job_submit
        job_submit js
        job_submit js
        rename $dir/new.py $dir/hooks.py
        job_submit js
        """
    )
    assert [result.rc for result in run.of("job_submit")] == [0, 0, 0], run.log
    assert run.said("ran") == ["version=1", "version=1", "version=2"]


def test_what_a_handler_kept_is_not_used_again(each_host: Host) -> None:
    """Views that nobody kept serve later requests; one that somebody kept stays over for good, its parts likewise."""
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
    kept = [0, 0, 2, 2, 3, 3, 4, 4, 5]
    # Words are read when they are asked, so they are over as their job is.
    assert run.said("over") == [f"all=True count={count} again=False" for count in kept]
    assert run.one("balance")["alive"] == 0


def test_a_thread_stays_known_until_it_ends(each_host: Host) -> None:
    """What a handler leaves in its thread's variables is there in the thread's next call, and freed with the thread."""
    each_host.site(
        """
        import threading
        local = threading.local()

        class Left:
            def __del__(self):
                log.info("freed")

        @hook.job_submit
        def submit(job):
            log.info("seen", left=hasattr(local, "left"))
            local.left = getattr(local, "left", None) or Left()
        """
    )
    run = each_host.run(
        """
        open js $job_submit
        threads 1
        job_submit js
        job_submit js
        end
        threads 2
        job_submit js
        end
        job_submit js
        """
    )
    assert run.said("seen") == ["left=False", "left=True", "left=False", "left=False", "left=False"]
    assert len(run.said("freed")) == 3


def test_an_event_that_fails_in_its_midst_is_refused(host: Host) -> None:
    """What goes wrong in slurmhooks itself refuses the request, with a traceback in the log, and harms no later one."""
    host.site(
        """
        from slurmhooks.job_submit import entry

        @hook.job_submit(on_error="accept")
        def submit(job):
            if job.name == "break":
                job._replace({"no_such_member": 1})
            elif job.name == "message":
                entry._messages.append(object())
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
    assert "expected str instance, object found" in run
    assert run.one("balance")["alive"] == 0
