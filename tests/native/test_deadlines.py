# SPDX-License-Identifier: GPL-2.0-or-later
"""A handler that runs inside Slurm's processes and does not return is ended at its deadline."""

import signal

import pytest

from tests.native.hosting import ERROR_ID, Host

pytestmark = pytest.mark.slow

HANGS = {
    "spins": "while True: pass",
    "sleeps": "time.sleep(1000)",
    "waits for a program": "subprocess.run(['sleep', '1000'])",
    "waits for a lock": "lock = threading.Lock(); lock.acquire(); lock.acquire()",
    "reads": "os.read(os.pipe()[0], 1)",
    "catches errors": "while True:\n    try: time.sleep(1000)\n    except Exception: pass",
}
"""Bodies of handlers that Python can interrupt."""

SITE = """
import itertools, os, subprocess, threading, time
from collections import deque

@hook.spank.{callback}(timeout=0.2, on_error={on_error!r})
def hangs(spank):
    log.info("begins")
    {body}

@hook.spank.{callback}
def comes_next(spank):
    log.info("fine")
"""
SCRIPT = "open sp $spank hooks.py\ncontext {context}\n{first}\ncall sp {callback}\ncall sp exit"


def written(host: Host, body: str, callback: str = "init", on_error: str = "fail", more: str = "") -> None:
    """Write the hook file."""
    host.site(more + SITE.format(body=body.replace("\n", "\n    "), callback=callback, on_error=on_error))


@pytest.mark.parametrize("body", HANGS.values(), ids=HANGS)
def test_a_handler_is_interrupted(each_host: Host, body: str) -> None:
    """Its callback fails: the user gets one line, the log shows where the handler was, and the process continues."""
    written(each_host, body)
    run = each_host.run(SCRIPT.format(context="remote", first="", callback="init"))
    hung, last = run.of("call")
    assert hung.failed
    assert last.rc == 0
    assert not run.said("fine")
    assert "DeadlineExceeded: spank.init handler hooks:hangs took more than 0.2 s" in run
    assert any(" in hangs" in line for line in run.lines())
    assert len({number for line in run.lines() for number in ERROR_ID.findall(line)}) == 1


def test_a_lenient_handler_lets_the_next_one_run(each_host: Host) -> None:
    """With on_error="ignore", a missed deadline makes no call fail."""
    written(each_host, HANGS["sleeps"], on_error="ignore")
    run = each_host.run(SCRIPT.format(context="remote", first="", callback="init"))
    assert [result.rc for result in run.of("call")] == [0, 0]
    assert run.said("fine") == [""]


@pytest.mark.parametrize(
    ("context", "callback"),
    [
        ("local", "local_user_init"),
        ("allocator", "init"),
        ("remote", "user_init"),
        ("remote", "task_init"),
        ("remote", "exit"),
        ("slurmd", "init"),
        ("job_script", "job_prolog"),
    ],
)
def test_each_process_has_deadlines(host: Host, context: str, callback: str) -> None:
    """Handlers are interrupted in each process that runs them."""
    written(host, HANGS["spins"], callback)
    first = "" if callback in ("init", "job_prolog") else "call sp init"
    run = host.run(SCRIPT.format(context=context, first=first, callback=callback).rpartition("\n")[0])
    assert run.of("call")[-1].failed
    assert f"spank.{callback} handler hooks:hangs took more than 0.2 s" in run


AGAIN = "import slurmhooks.handlers.deadline\nslurmhooks.handlers.deadline.AGAIN = 0.1\n"


@pytest.mark.parametrize(
    "body",
    [
        "sum(itertools.repeat(1))",
        "while True:\n    try: time.sleep(1000)\n    except BaseException: pass",
    ],
    ids=["in C", "catches all"],
)
def test_what_cannot_be_interrupted_ends_with_its_process(host: Host, body: str) -> None:
    """A handler that ignores the interruption ends with slurmstepd, after a line in the log that names it."""
    written(host, body, more=AGAIN)
    run = host.run(SCRIPT.format(context="remote", first="", callback="init"), returncode=1)
    assert not run.of("call")
    assert "spank.init handler hooks:hangs took more than 0.2 s cannot be interrupted: process" in run


def test_slurmd_is_not_ended(host: Host) -> None:
    """slurmd continues, whatever a handler does, and logs this from time to time."""
    until = "end = time.monotonic() + 2; deque(itertools.takewhile(end.__gt__, iter(time.monotonic, None)), 0)"
    written(host, until, more=AGAIN)
    run = host.run(SCRIPT.format(context="slurmd", first="", callback="init"))
    assert run.of("call")[0].failed
    assert "cannot be interrupted, and this process has to go on" in run


def test_a_hook_file_that_hangs(host: Host) -> None:
    """Loading also has a deadline: the callback fails, and names the line of the file."""
    host.site(
        "from slurmhooks.handlers import deadline\ndeadline.native.begin(0.2, 5, 'x', True, True)\nwhile True: pass"
    )
    run = host.run(SCRIPT.format(context="remote", first="", callback="init"))
    assert all(result.failed for result in run.of("call")[:1])
    assert "DeadlineExceeded: loading the hook files took more than 60 s" in run


@pytest.mark.parametrize("context", ["local", "allocator", "remote", "slurmd", "job_script"])
def test_a_hook_file_that_crashes(host: Host, context: str) -> None:
    """The log names the file before the process ends by the signal."""
    path = host.site("import ctypes\nctypes.string_at(0)")
    run = host.run(SCRIPT.format(context=context, first="", callback="init"), returncode=-signal.SIGSEGV)
    assert f"loading the hook files (last {path}): killed by signal 11: process" in run


def test_a_hook_file_that_cannot_be_interrupted(host: Host) -> None:
    """The log names the file before the process is ended."""
    path = host.site(
        "from slurmhooks.handlers import deadline\ndeadline.native.begin(0.2, 0.1, 'x', True, deadline.STEP)\n"
        "deadline.loader.begun(__file__)\nsum(__import__('itertools').repeat(1))"
    )
    run = host.run(SCRIPT.format(context="remote", first="", callback="init"), returncode=1)
    assert f"(last {path}) took more than 0.2 s cannot be interrupted: process" in run


def test_a_lua_script_that_does_not_end(host: Host) -> None:
    """The log names the script, not the hook file that was loaded before it, before the process is ended."""
    folder = host.folder / "both"
    folder.mkdir()
    (folder / "endless.lua").write_text("while true do end")
    host.site(
        "from slurmhooks.handlers import deadline\ndeadline.native.begin(0.2, 0.1, 'x', True, deadline.STEP)\n"
        "@hook.spank.init\ndef init(spank): pass",
        "both/hooks.py",
    )
    run = host.run("open sp $spank both/*\ncontext remote\ncall sp init", returncode=1)
    assert f"(last {folder}/endless.lua) took more than 0.2 s cannot be interrupted: process" in run


def test_the_signal_mask_is_the_handlers(host: Host) -> None:
    """Signals that a handler blocks stay blocked, as for the task that it prepares."""
    host.site(
        """
        import signal

        @hook.spank.init
        def init(spank):
            signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGUSR1])

        @hook.spank.exit
        def exit(spank):
            log.info("blocked", names=[each.name for each in signal.pthread_sigmask(signal.SIG_BLOCK, [])])
        """
    )
    run = host.run(SCRIPT.format(context="remote", first="", callback="init"))
    assert run.said("blocked") == ["names=['SIGUSR1']"]


def test_a_quick_handler_is_left_alone(host: Host) -> None:
    """After a handler has ended, no more signals arrive, and its time does not count for the next call."""
    host.site(
        """
        import time

        @hook.spank.init(timeout=0.1)
        def init(spank):
            pass

        @hook.spank.exit
        def exit(spank):
            time.sleep(0.3)
            log.info("fine")
        """
    )
    run = host.run(SCRIPT.format(context="remote", first="", callback="init"))
    assert [result.rc for result in run.of("call")] == [0, 0]
    assert run.said("fine") == [""]


def test_a_staging_function(host: Host) -> None:
    """The handlers of scrun have deadlines as well."""
    if not host.build.has_lua:
        pytest.skip("no headers of Lua 5.1: install liblua5.1-0-dev")
    host.site("import time\n@hook.scrun.stage_in(timeout=0.2)\ndef stage_in(container):\n    time.sleep(1000)\n")
    run = host.run("lua $lua\nstage_in id=box bundle=/b\n")
    assert run.one("stage_in").rc != 0
    assert "scrun.stage_in handler hooks:stage_in took more than 0.2 s" in run


OPTION = """
import ctypes, itertools, os, time
import slurmhooks.handlers.deadline
slurmhooks.handlers.deadline.OPTION = 0.2

def convert(text):
    {convert}
    return text

greet = hook.spank.option("greet", "NAME", usage="whom to greet", type=convert)

@greet.check
def check(name):
    {check}
    return name

@hook.spank.init
def init(spank): ...

@hook.spank.job_prolog
def prolog(spank):
    log.info("prolog", greet=greet.value)
"""
GIVEN = "open sp $spank hooks.py\ncontext {context}\ncall sp init\noption sp greet Ada\ncall sp init_post_opt"
PROLOG = "open sp $spank hooks.py\ncontext job_script\ncall sp job_prolog"
IN_PROLOG = {"SPANK__SLURM_SPANK_OPTION_python_greet": "Ada"}
TOO_LONG = "the check of --greet took more than 0.2 s"


@pytest.mark.parametrize("body", ["convert", "check"])
@pytest.mark.parametrize("context", ["local", "allocator", "remote"])
def test_an_option_is_checked_in_time(host: Host, context: str, body: str) -> None:
    """A type or a check that hangs is interrupted, and the option is refused; the process continues."""
    host.site(OPTION.format(**{"convert": "pass", "check": "pass", body: "time.sleep(1000)"}))
    run = host.run(GIVEN.format(context=context))
    assert run.one("option").failed
    assert f"DeadlineExceeded: {TOO_LONG}" in run
    assert [result.rc for result in run.of("call")] == [0, 0]


def test_an_option_is_checked_in_time_in_a_prolog(host: Host) -> None:
    """There, an option whose check hangs counts as not given, and the handlers run."""
    host.site(OPTION.format(convert="pass", check="time.sleep(1000)"))
    run = host.run(PROLOG, env=IN_PROLOG)
    assert run.one("call").rc == 0
    assert f"DeadlineExceeded: {TOO_LONG}" in run
    assert run.said("prolog") == ["greet=None"]


@pytest.mark.parametrize("context", ["local", "remote", "job_script"])
def test_a_check_that_cannot_be_interrupted_ends_with_its_process(host: Host, context: str) -> None:
    """The log names the option; in slurmstepd, the step is cancelled."""
    host.site(AGAIN + OPTION.format(convert="pass", check="sum(itertools.repeat(1))"))
    run = host.run(PROLOG if context == "job_script" else GIVEN.format(context=context), env=IN_PROLOG, returncode=1)
    assert not run.of("option")
    assert f"{TOO_LONG} cannot be interrupted: process" in run


def test_a_check_that_crashes(host: Host) -> None:
    """The log names the option before the process ends by the signal."""
    host.site(OPTION.format(convert="pass", check="ctypes.string_at(0)"))
    run = host.run(GIVEN.format(context="remote"), returncode=-signal.SIGSEGV)
    assert "the check of --greet: killed by signal 11: process" in run


def test_a_check_can_be_stopped_with_ctrl_c(host: Host) -> None:
    """SIGINT ends srun while a check runs."""
    host.site(OPTION.format(convert="pass", check="os.kill(os.getpid(), 2)"))
    before = signal.signal(signal.SIGINT, signal.default_int_handler)  # background jobs of a shell ignore it
    try:
        run = host.run(GIVEN.format(context="local"), returncode=-signal.SIGINT)
    finally:
        signal.signal(signal.SIGINT, before)
    assert not run.of("option")


def test_the_option_of_a_script_is_checked_in_time(host: Host) -> None:
    """A function of a Lua script that does not return ends with its process."""
    host.site(AGAIN + "import slurmhooks.handlers.deadline\nslurmhooks.handlers.deadline.OPTION = 0.2\n", name="a.py")
    (host.folder / "b.lua").write_text(
        "function given() while true do end end\n"
        'spank_options = {{name = "greet", arginfo = "NAME", usage = "u", has_arg = 1, val = 1, cb = "given"}}\n'
        "function slurm_spank_init() return 0 end\n"
    )
    host.config("")
    run = host.run(GIVEN.format(context="local").replace("hooks.py", "[ab].*"), returncode=1)
    assert not run.of("option")
    assert f"{TOO_LONG} cannot be interrupted: process" in run
