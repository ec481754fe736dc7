# SPDX-License-Identifier: GPL-2.0-or-later
"""A bug in a site's handler: the request fails, the user gets one line, the log the rest, the daemon lives on."""

import re

import pytest

from tests.native.hosting import ERROR_ID, Host, Run

BUGS = {
    "ValueError": 'raise ValueError("the secret")',
    "SystemExit": "import sys; sys.exit(0)",
    "KeyboardInterrupt": "raise KeyboardInterrupt",
    "GeneratorExit": "raise GeneratorExit",
    "MemoryError": "bytearray(1 << 60)",
    "RecursionError": "return bug_RecursionError(view)",
    "HandlerError": "return 0",
    "SyntaxError": 'compile("1 +", "x", "exec")',
    "UnicodeEncodeError": 'raise UnicodeEncodeError("ascii", "\\udcff", 0, 1, "x")',
    "ExceptionGroup": 'raise ExceptionGroup("group", [ValueError("a")])',
    "Nasty": "raise Nasty",
    "AssertionError": 'assert False, "\\udcff"',
}
"""Bodies of a handler, by the name of the exception that each comes to."""

SITE = """
bugs = iter({names!r})

class Nasty(Exception):
    def __str__(self):
        raise RuntimeError("no text either")

{functions}

def next_bug(view):
    name = next(bugs, None)
    if name is not None:
        return globals()["bug_" + name](view)
    log.info("fine")

{marks}
"""


def write_site(host: Host, marks: str) -> None:
    """Write a site whose handler does one bug after the other, and then none."""
    functions = "\n".join(f"def bug_{name}(view):\n    {body}\n" for name, body in BUGS.items())
    host.site(SITE.format(names=list(BUGS), functions=functions, marks=marks))


def check_log(run: Run, user_lines: list[str], records: list[str]) -> None:
    """Hold what users read against what the log has: one line each, the same id, and a traceback of the site's code."""
    assert len(user_lines) == len(BUGS)
    for name, line in zip(BUGS, user_lines, strict=True):
        (error_id,) = ERROR_ID.findall(line)
        assert "\n" not in line
        assert name not in line
        assert "secret" not in line
        traceback = [record for record in records if f"error {error_id}" in record]
        assert re.search(rf"hooks\.py:\d+\) raised {name}", traceback[0])
        if name != "HandlerError":  # what a handler returns, no line of its own is to blame for
            assert any(re.search(rf'File ".*hooks\.py", line \d+, in bug_{name}', record) for record in traceback)
        assert any(name in record for record in traceback[1:])
    assert run.said("fine") == [""]


def test_job_submit(each_host: Host) -> None:
    """slurmctld: the job is refused, sbatch prints one line, and the next job is served."""
    write_site(each_host, "@hook.job_submit\ndef submit(job):\n    return next_bug(job)")
    calls = "job_submit js account=a\n" * (len(BUGS) + 1)
    run = each_host.run(f"open js $job_submit\n{calls}\nbalance")
    *failed, fine = run.of("job_submit")
    assert {result.rc for result in failed} == {-1}
    assert fine.rc == 0
    check_log(run, [str(result["err_msg"]) for result in failed], run.lines("ERROR"))
    assert run.one("balance")["alive"] == 0


def test_job_modify(host: Host) -> None:
    """slurmctld, an update: likewise; what a release without err_msg cannot show the user, the log has."""
    write_site(host, "@hook.job_modify\ndef modify(job):\n    return next_bug(job)")
    calls = "job_modify js account=a\n" * (len(BUGS) + 1)
    run = host.run(f"open js $job_submit\n{calls}\nbalance")
    *failed, fine = run.of("job_modify")
    assert {result.rc for result in failed} == {-1}
    assert fine.rc == 0
    assert run.one("balance")["alive"] == 0


@pytest.mark.parametrize(("context", "record"), [("remote", "INFO"), ("local", "SYSLOG"), ("slurmd", "ERROR")])
def test_spank(each_host: Host, context: str, record: str) -> None:
    """slurmstepd, srun, slurmd: the callback fails with a negative code; tracebacks stay off users' terminals."""
    write_site(each_host, "@hook.spank.init\ndef init(spank):\n    return next_bug(spank)")
    calls = "call sp init\n" * (len(BUGS) + 1)
    run = each_host.run(f"open sp $spank hooks.py\ncontext {context}\n{calls}")
    *failed, fine = run.of("call")
    assert {result.rc for result in failed} == {each_host.sign * 3000}
    assert fine.rc == 0
    check_log(run, [line for line in run.lines("SPANK") if "failed" in line], run.lines(record))
    if record != "ERROR":
        assert not run.lines("ERROR")


def test_scrun(each_host: Host) -> None:
    """scrun: the container is not staged, and Lua's stack is as it was."""
    write_site(each_host, "@hook.scrun.stage_in\ndef stage_in(container):\n    return next_bug(container)")
    calls = "stage_in bundle=/b env=A=1\n" * (len(BUGS) + 1)
    run = each_host.run(f"lua $lua\n{calls}")
    *failed, fine = run.of("stage_in")
    assert {result.rc for result in failed} == {-1}
    assert fine.rc == 0
    assert {result["lua_top"] for result in run.of("stage_in")} == {0}
    check_log(run, run.lines("ERROR"), run.lines("SYSLOG"))


def test_an_option_check(host: Host) -> None:
    """A bug in an option's check ends srun with one line; a refusal shows the check's own text."""
    host.site(
        """
        count = hook.spank.option("count", "N", usage="a number")

        @count.check
        def check(value):
            raise {"exit": SystemExit, "bug": RuntimeError}[value]
        """
    )
    run = host.run(
        """
        open sp $spank hooks.py
        context local
        call sp init
        option sp count exit
        option sp count bug
        option sp count other
        """
    )
    assert all(result.failed for result in run.of("option"))
    assert len([line for line in run.lines("SPANK") if ERROR_ID.search(line)]) == 3


def test_endless_recursion_through_c(host: Host) -> None:
    """Recursion that goes through C code ends in an exception, not in a crash of slurmctld."""
    host.site(
        """
        class Deep:
            def __repr__(self):
                return repr([self])

        @hook.job_submit
        def submit(job):
            repr(Deep())
        """
    )
    run = host.run("open js $job_submit\njob_submit js\njob_submit js")
    assert [result.rc for result in run.of("job_submit")] == [-1, -1]
    assert "RecursionError" in run


def test_a_handler_that_closes_stderr_and_prints(host: Host) -> None:
    """What a handler does to sys.stdout and sys.stderr does not make its event fail, nor the next one."""
    host.site(
        """
        import sys

        @hook.job_submit
        def submit(job):
            print("printed", file=sys.stderr)
            sys.stderr = sys.stdout = None
            print("nowhere")
            log.info("passed")
        """
    )
    run = host.run("open js $job_submit\njob_submit js\njob_submit js", quiet=False)
    first, second = run.of("job_submit")
    assert first.rc == 0
    assert second.rc in (0, -1)
    assert run.said("passed")
