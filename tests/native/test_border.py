# SPDX-License-Identifier: GPL-2.0-or-later
"""The border between C and Python: whatever an entry point does there, Slurm gets the failure code."""

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
"""What an entry point might answer if it were broken; each of them would be success if C looked at less of it."""

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
    """Return a hook file that puts nonsense in the place of entry points."""
    return SITE.format(lambdas=", ".join(f"lambda: {answer}" for answer in ANSWERS.values())) + patches


def test_nonsense_from_job_submit(each_host: Host) -> None:
    """job_submit: refused, with a line for the user, and Slurm's struct untouched."""
    each_host.site(site("import slurmhooks.job_submit.entry as entry\nentry.job_submit = nonsense"))
    run = each_host.run("open js $job_submit\n" + "job_submit js account=a\n" * len(ANSWERS) + "balance")
    assert [result.rc for result in run.of("job_submit")] == [-1] * len(ANSWERS)
    assert all("administrators" in str(result["err_msg"]) for result in run.of("job_submit"))
    assert run.one("balance")["alive"] == 0


def test_nonsense_from_job_modify(host: Host) -> None:
    """job_modify: likewise."""
    host.site(site("import slurmhooks.job_submit.entry as entry\nentry.job_modify = nonsense"))
    run = host.run("open js $job_submit\n" + "job_modify js\n" * len(ANSWERS))
    assert [result.rc for result in run.of("job_modify")] == [-1] * len(ANSWERS)


def test_nonsense_from_fini(host: Host) -> None:
    """fini: fails."""
    host.site(site("import slurmhooks.job_submit.entry as entry\nentry.fini = nonsense"))
    run = host.run("open js $job_submit\n" + "fini js\n" * len(ANSWERS))
    assert [result.rc for result in run.of("fini")] == [-1] * len(ANSWERS)


def test_nonsense_from_init(host: Host) -> None:
    """init: fails, and slurmctld does not start."""
    host.site(site("import slurmhooks.job_submit.entry as entry\nentry.init = nonsense"))
    run = host.run(
        "open sp $spank hooks.py\ncontext slurmd\ncall sp init\nload js $job_submit\n" + "init js\n" * len(ANSWERS)
    )
    assert run.one("call").rc == 0
    assert [result.rc for result in run.of("init")] == [-1] * len(ANSWERS)


def test_nonsense_from_a_callback(host: Host) -> None:
    """SPANK's callbacks: fail with a negative code."""
    host.site(site("import slurmhooks.spank.entry as entry\nentry.callback = nonsense"))
    run = host.run("open js $job_submit\nopen sp $spank\ncontext remote\n" + "call sp user_init\n" * len(ANSWERS))
    assert [result.rc for result in run.of("call")] == [-3000] * len(ANSWERS)


def test_nonsense_from_an_option(host: Host) -> None:
    """The option callback: fails, and srun ends."""
    host.site(
        site(
            """
greet = hook.spank.option("greet", "NAME", usage="who")
import slurmhooks.spank.entry as entry
entry.option = nonsense
"""
        )
    )
    run = host.run("open sp $spank hooks.py\ncontext local\ncall sp init\n" + "option sp greet Ada\n" * len(ANSWERS))
    assert [result.rc for result in run.of("option")] == [-3000] * len(ANSWERS)


def test_nonsense_from_scrun(host: Host) -> None:
    """Both staging functions: the container is not staged."""
    host.site(site("import slurmhooks.scrun.entry as entry\nentry.stage_in = entry.stage_out = nonsense"))
    run = host.run("open js $job_submit\nlua $lua\n" + "stage_in bundle=/b\nstage_out\n" * (len(ANSWERS) // 2))
    codes = [result.rc for result in run.results if result.command in ("stage_in", "stage_out")]
    assert codes == [-1] * (len(ANSWERS) // 2 * 2)


@pytest.mark.parametrize("name", ["option", "job_submit"])
def test_an_entry_point_that_is_gone(host: Host, name: str) -> None:
    """A function that does not exist is a failure like any other."""
    host.site(
        f"""
        import slurmhooks.job_submit.entry, slurmhooks.spank.entry
        greet = hook.spank.option("greet", "NAME", usage="who")
        for module in (slurmhooks.job_submit.entry, slurmhooks.spank.entry):
            if hasattr(module, {name!r}):
                delattr(module, {name!r})
        """
    )
    run = host.run(
        """
        open js $job_submit
        open sp $spank hooks.py
        context local
        call sp init
        option sp greet Ada
        job_submit js
        """
    )
    assert (run.one("option").rc < 0) == (name == "option")
    assert (run.one("job_submit").rc < 0) == (name == "job_submit")
    assert "AttributeError" in run


def test_an_event_inside_an_event(each_host: Host) -> None:
    """A handler that makes Slurm call the plugin again gets a refusal instead of waiting for itself."""
    each_host.site(
        f"""
        import ctypes
        plugin = ctypes.CDLL({str(each_host.plugins / "job_submit_python.so")!r}, mode=1)
        depth = []

        @hook.job_submit
        def submit(job):
            depth.append(1)
            log.info("inner", rc=plugin.job_submit(None, 0, None), depth=len(depth))
        """
    )
    run = each_host.run("open js $job_submit\njob_submit js\njob_submit js")
    assert run.said("inner") == ["rc=-1 depth=1", "rc=-1 depth=2"]
    assert [result.rc for result in run.of("job_submit")] == [0, 0]
    assert "an event inside an event is refused" in run


def test_a_handler_that_breaks_the_interpreter_a_little(host: Host) -> None:
    """Modules deleted, builtins gone, the traceback module broken: still the failure code, and the process lives."""
    host.site(
        """
        import builtins, sys, traceback

        @hook.job_submit
        def submit(job):
            traceback.format_exception = None
            if job.name == "modules":
                sys.modules.clear()
            raise RuntimeError("bug")
        """
    )
    run = host.run("open js $job_submit\njob_submit js\njob_submit js name=modules\njob_submit js", quiet=False)
    assert [result.rc for result in run.of("job_submit")] == [-1, -1, -1]
    assert run.lines("ERROR")
