# SPDX-License-Identifier: GPL-2.0-or-later
"""Slurm gets the failure code whatever an entry point in Python returns or raises."""

import pytest

from tests.native.hosting import Host

ANSWERS = {
    "none": "None",
    "number": "0",
    "short": "(0, None)",
    "long": "(0, None, 0, 0)",
    "list": "[0, None, 0]",
    "text rc": "('0', None, 0)",
    "float rc": "(0.0, None, 0)",
    "no rc": "(None, None, 0)",
    "large rc": "(1 << 32, None, 0)",
    "huge rc": "(1 << 99, None, 0)",
    "text message": "(0, 'text', 0)",
    "NUL in message": "(0, b'a\\0b', 0)",
    "huge detail": "(0, None, 1 << 99)",
    "evil repr": "Evil()",
    "evil index": "(Evil(), None, 0)",
    "raises": "1 / 0",
    "exits": "exit(0)",
}
"""Invalid results of an entry point. Each of them could be read as success if C checked less."""

pytestmark = pytest.mark.slow

SITE = """
import builtins, sys

class Evil:
    def __repr__(self):
        raise RuntimeError
    def __index__(self):
        raise SystemExit(0)

def exit(code):
    raise SystemExit(code)

answers = iter([{lambdas}])

def nonsense(*arguments):
    return next(answers)()
"""


def site(patches: str) -> str:
    """Return a hook file whose patches replace entry points by a function that returns invalid results."""
    return SITE.format(lambdas=", ".join(f"lambda: {answer}" for answer in ANSWERS.values())) + patches


WORKER_ANSWERS = {
    "nothing": "None",
    "no bytes": "(0, None, 0)",
    "no message": "b''",
    "rubbish": "b'rubbish!' * 100",
    "the request": "request",
    "raises": "1 / 0",
    "exits": "exit(0)",
    "ends": "os._exit(0)",
}
"""Invalid answers of a worker."""


@pytest.mark.parametrize("call", ["job_submit", "job_modify"])
def test_nonsense_from_a_worker(each_host: Host, call: str) -> None:
    """The request is refused with one line for the user, and not changed; the next request is answered."""
    each_host.site(
        f"""
        import os, sys
        from slurmhooks.job_submit import service

        def exit(code):
            sys.exit(code)

        handle = service.Service.handle
        answers = {{{", ".join(f"{name!r}: lambda request: {code}" for name, code in WORKER_ANSWERS.items())}}}

        def nonsense(self, request, query):
            for name, answer in answers.items():
                if name.encode() in request:
                    return answer(request)
            return handle(self, request, query)

        service.Service.handle = nonsense

        @hook.job_submit
        @hook.job_modify
        def change(job):
            job.comment = "changed"
        """
    )
    calls = [f'{call} js account=a name="{name}"\n{call} js account=a\n' for name in WORKER_ANSWERS]
    run = each_host.run(f"open js $job_submit\n{''.join(calls)}balance")
    broken, fine = run.of(call)[::2], run.of(call)[1::2]
    assert [(result.rc, result["comment"]) for result in broken] == [(-1, None)] * len(WORKER_ANSWERS)
    assert [(result.rc, result["comment"]) for result in fine] == [(0, "changed")] * len(WORKER_ANSWERS)
    # 22.05 does not show messages about an update to users.
    assert call == "job_modify" or all("administrators" in str(result["err_msg"]) for result in broken)
    assert run.one("balance")["alive"] == 0


def test_nonsense_from_a_callback(host: Host) -> None:
    """A callback of SPANK fails with a negative code."""
    host.site(site("import slurmhooks.entry.spank as entry\nentry.callback = nonsense"))
    # Load the hooks before the entry point for SPANK is called, since they replace it.
    loading = "lua $lua\nstage_in bundle=/b\nopen sp $spank hooks.py\ncontext remote\n"
    run = host.run(loading + "call sp user_init\n" * len(ANSWERS))
    assert [result.rc for result in run.of("call")] == [-3000] * len(ANSWERS)


def test_nonsense_from_an_option(host: Host) -> None:
    """An option callback fails, so that srun ends."""
    host.site(
        site(
            """
greet = hook.spank.option("greet", "NAME", usage="who")
import slurmhooks.entry.spank as entry
entry.option = nonsense
"""
        )
    )
    run = host.run("open sp $spank hooks.py\ncontext local\ncall sp init\n" + "option sp greet Ada\n" * len(ANSWERS))
    assert [result.rc for result in run.of("option")] == [-3000] * len(ANSWERS)


def test_nonsense_from_scrun(host: Host) -> None:
    """Both staging functions fail, so that the container is not staged."""
    host.site(site("import slurmhooks.entry.scrun as entry\nentry.stage_in = entry.stage_out = nonsense"))
    loading = "open sp $spank hooks.py\ncontext remote\ncall sp init\nlua $lua\n"
    run = host.run(loading + "stage_in bundle=/b\nstage_out\n" * (len(ANSWERS) // 2))
    codes = [result.rc for result in run.results if result.command in ("stage_in", "stage_out")]
    assert codes == [-1] * (len(ANSWERS) // 2 * 2)


def test_an_entry_point_that_is_gone(host: Host) -> None:
    """An entry point that does not exist is a failure like any other."""
    host.site(
        """
        import slurmhooks.entry.spank
        greet = hook.spank.option("greet", "NAME", usage="who")
        del slurmhooks.entry.spank.option
        """
    )
    run = host.run("open sp $spank hooks.py\ncontext local\ncall sp init\noption sp greet Ada\ncall sp init_post_opt")
    assert run.one("option").rc < 0
    assert [call.rc for call in run.of("call")] == [0, 0]
    assert "AttributeError" in run


def test_an_event_inside_an_event(each_host: Host) -> None:
    """A handler that makes Slurm call the plugin gets a failure, instead of a deadlock."""
    each_host.site(
        f"""
        import ctypes
        plugin = ctypes.CDLL({str(each_host.plugins / "spank_python.so")!r}, mode=1)

        @hook.spank.user_init
        def user_init(spank):
            log.info("inner", rc=plugin.slurm_spank_task_init(None, 0, None))
        """
    )
    run = each_host.run("open sp $spank hooks.py\ncontext remote\ncall sp user_init\ncall sp user_init")
    assert run.said("inner") == ["rc=-3000"] * 2
    assert [result.rc for result in run.of("call")] == [0, 0]
    assert "an event inside an event is refused" in run


def test_a_handler_that_breaks_the_interpreter_a_little(host: Host) -> None:
    """A handler that deletes modules and breaks the traceback module fails as others do, and the process continues."""
    host.site(
        """
        import sys, traceback

        def bug(view):
            traceback.format_exception = None
            if view.bundle if hasattr(view, "bundle") else view.name == "modules":
                sys.modules.clear()
            raise RuntimeError("bug")

        hook.job_submit(bug)
        hook.scrun.stage_in(bug)
        """
    )
    run = host.run(
        """
        open js $job_submit
        job_submit js
        job_submit js name=modules
        job_submit js
        lua $lua
        stage_in
        stage_in bundle=/b
        stage_in
        """,
        quiet=False,
    )
    assert [result.rc for result in run.of("job_submit")] == [-1, -1, -1]
    assert [result.rc for result in run.of("stage_in")] == [-1, -1, -1]
    assert run.lines("ERROR")
