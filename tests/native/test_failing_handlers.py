# SPDX-License-Identifier: GPL-2.0-or-later
"""A bug in a handler fails its call: the user gets one line, the log gets the traceback, the process continues."""

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
"""Bodies of handlers, by the name of the exception that each raises."""

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
    """Write a hook file whose handler has another bug in each call, and none in the last call."""
    functions = "\n".join(f"def bug_{name}(view):\n    {body}\n" for name, body in BUGS.items())
    host.site(SITE.format(names=list(BUGS), functions=functions, marks=marks))


def check_log(run: Run, user_lines: list[str], records: list[str]) -> None:
    """Assert that each bug has one line for the user, and a traceback with the same id in the log."""
    assert len(user_lines) == len(BUGS)
    for name, line in zip(BUGS, user_lines, strict=True):
        (error_id,) = ERROR_ID.findall(line)
        assert "\n" not in line
        assert name not in line
        assert "secret" not in line
        traceback = [record for record in records if f"error {error_id}" in record]
        assert re.search(rf"hooks\.py:\d+\) raised {name}", traceback[0])
        if name != "HandlerError":  # a wrong return value has no line in the traceback
            assert any(re.search(rf'File ".*hooks\.py", line \d+, in bug_{name}', record) for record in traceback)
        assert any(name in record for record in traceback[1:])
    assert run.said("fine") == [""]


def test_job_submit(each_host: Host) -> None:
    """A submission is refused, its user gets one line, and the next submission is served."""
    write_site(each_host, "@hook.job_submit\ndef submit(job):\n    return next_bug(job)")
    calls = "job_submit js account=a\n" * (len(BUGS) + 1)
    run = each_host.run(f"open js $job_submit\n{calls}\nbalance")
    *failed, fine = run.of("job_submit")
    assert {result.rc for result in failed} == {-1}
    assert fine.rc == 0
    check_log(run, [str(result["err_msg"]) for result in failed], run.lines("ERROR"))
    assert run.one("balance")["alive"] == 0


def test_job_modify(host: Host) -> None:
    """An update is refused, and the next update is served."""
    write_site(host, "@hook.job_modify\ndef modify(job):\n    return next_bug(job)")
    calls = "job_modify js account=a\n" * (len(BUGS) + 1)
    run = host.run(f"open js $job_submit\n{calls}\nbalance")
    *failed, fine = run.of("job_modify")
    assert {result.rc for result in failed} == {-1}
    assert fine.rc == 0
    assert run.one("balance")["alive"] == 0


@pytest.mark.parametrize(("context", "record"), [("remote", "INFO"), ("local", "SYSLOG"), ("slurmd", "ERROR")])
def test_spank(each_host: Host, context: str, record: str) -> None:
    """A callback of SPANK fails; users do not see the traceback."""
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
    """The container is not staged, and the Lua stack is unchanged."""
    write_site(each_host, "@hook.scrun.stage_in\ndef stage_in(container):\n    return next_bug(container)")
    calls = "stage_in bundle=/b env=A=1\n" * (len(BUGS) + 1)
    run = each_host.run(f"lua $lua\n{calls}")
    *failed, fine = run.of("stage_in")
    assert {result.rc for result in failed} == {-1}
    assert fine.rc == 0
    assert {result["lua_top"] for result in run.of("stage_in")} == {0}
    check_log(run, run.lines("ERROR"), run.lines("SYSLOG"))


def test_an_option_check(host: Host) -> None:
    """A bug in the check of an option fails the option with one line that has an id."""
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
    """Infinite recursion through C code raises RecursionError, and does not crash the worker."""
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
    """A handler may replace sys.stdout and sys.stderr: its call passes, and the next one is answered."""
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
