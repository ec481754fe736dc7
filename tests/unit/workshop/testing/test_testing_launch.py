# SPDX-License-Identifier: GPL-2.0-or-later
"""A launch of the testing kit has Slurm's processes, with what each of them sees."""

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from slurmhooks.testing import FakeOptions, FakeSpank, launch, run
from slurmhooks.workshop.testing.watching import coverage
from tests.cluster.turns import moved_from

pytestmark = pytest.mark.slow

STATE = """
import functools, os

class Box:
    value = None

box, seen, plain = Box(), [], None

@functools.lru_cache
def once():
    return []

def default(cache={}):
    return cache

def remember(word):
    global plain
    plain = (plain or "") + word
    Box.value = (Box.value or "") + word
    box.inner = getattr(box, "inner", "") + word
    seen.append(word)
    once().append(word)
    default()["words"] = default().get("words", "") + word
    os.environ["WORDS"] = os.environ.get("WORDS", "") + word
    os.umask(0o777)

def recall():
    cached, found = "".join(once()), "".join(seen)
    words = {plain or "", Box.value or "", getattr(box, "inner", ""), found, cached, default().get("words", "")}
    words.add(os.environ.get("WORDS", ""))
    assert len(words) == 1, words
    return words.pop()
"""
LETTERS = {
    "init": "i",
    "init_post_opt": "o",
    "local_user_init": "l",
    "job_prolog": "p",
    "user_init": "u",
    "task_init_privileged": "c",
    "task_init": "t",
    "task_post_fork": "k",
    "task_exit": "x",
    "exit": "e",
    "job_epilog": "g",
}
CALLBACKS = tuple(LETTERS)


def test_state_of_processes(hooks: Callable[[str], Path]) -> None:
    """A process sees what its own earlier handlers have set, and a task what slurmstepd has set before the fork."""
    path = hooks(
        STATE
        + f"LETTERS = {LETTERS}\n"
        + "".join(f"@hook.spank.{name}\n" for name in CALLBACKS)
        + "def handler(spank):\n"
        + "    log.info('%s %s %s', spank.context, spank.callback, recall())\n"
        + "    remember(LETTERS[spank.callback])\n"
    )
    mask = os.umask(0o22)
    result = launch(path, tasks=2)
    assert result.accepted, result
    assert [line.removeprefix("info: ").rstrip() for line in result.log] == [
        "local init",
        "local init_post_opt i",
        "job_script job_prolog",
        "local local_user_init io",
        "remote init",
        "remote init_post_opt i",
        "remote user_init io",
        "remote task_init_privileged iou",
        "remote task_init_privileged iou",
        "remote task_post_fork iou",
        "remote task_post_fork iouk",
        "remote task_init iouc",
        "remote task_init iouc",
        "remote task_exit ioukk",
        "remote task_exit ioukkx",
        "remote exit ioukkxx",
        "local exit iol",
        "job_script job_epilog",
    ]
    assert (os.umask(mask), "WORDS" in os.environ) == (0o22, False)


def test_ids_of_tasks_are_those_of_processes(hooks: Callable[[str], Path]) -> None:
    """task_pid is the task's process in all callbacks, which task_post_fork finds alive."""
    path = hooks(
        """
import os

@hook.spank.task_init_privileged
@hook.spank.task_init
def task(spank):
    assert spank.task_pid == os.getpid() != os.getppid()

@hook.spank.task_post_fork
def step(spank):
    os.kill(spank.task_pid, 0)
    assert spank.job_pid_to_global_id(spank.task_pid) == spank.task_global_id
"""
    )
    result = launch(path, tasks=3)
    assert (result.accepted, len(result.tasks)) == (True, 3), result
    given = launch(hooks("@hook.spank.task_exit\ndef h(spank): log.info(spank.task_pid)\n"), items={"task_pid": 7})
    assert given.log == ["info: 7"]


AFTERWARDS = {
    **dict.fromkeys(("local_user_init", "exit"), "job_script"),
    **dict.fromkeys(("user_init", "task_post_fork", "task_exit"), "job_script local"),
    **dict.fromkeys(("task_init_privileged", "task_init"), "job_script local remote"),
    "job_prolog": "job_script local",
    "job_epilog": "local remote",
}
"""The contexts whose last handlers run after a handler of a callback has ended its process."""


@pytest.mark.parametrize("callback", moved_from(2, CALLBACKS))
@pytest.mark.parametrize(
    ("what", "how"),
    [("__import__('ctypes').CDLL(None)._exit(3)", "with 3"), ("os.kill(os.getpid(), 9)", "by signal 9")],
)
def test_an_ended_process_is_a_failure(hooks: Callable[[str], Path], callback: str, what: str, how: str) -> None:
    """A handler that ends its process fails the launch there, and the other processes go on to their ends."""
    others = "@hook.spank.exit\n@hook.spank.job_epilog\ndef last(spank): log.info(spank.context)\n"
    result = launch(hooks(f"import os\n{others}@hook.spank.{callback}(order=1)\ndef h(spank): {what}\n"))
    assert not result.accepted
    assert result.failed is not None
    assert result.failed.endswith(f" {callback}")
    assert result.text == f"a handler of {callback} ({result.failed.split()[0]}) ended its process {how}"
    assert " ".join(sorted(line.removeprefix("info: ") for line in result.log)) == AFTERWARDS.get(callback, "")


BACK = """
import os
from slurmhooks import hook

@hook.spank.task_init(on_error="ignore")
def first(spank):
    {}

@hook.spank.task_init
def second(spank):
    spank.env["SECOND"] = "1"
"""


@pytest.mark.parametrize("call", ["os._exit(0)", "os.execv('/bin/true', ['true'])", "os.execvp('true', ['true'])"])
def test_an_exit_in_python_is_a_bug(hooks: Callable[[str], Path], call: str) -> None:
    """The process goes on after it, as in Slurm, and no program is run."""
    result = launch(hooks(BACK.format(call)))
    assert result.accepted
    assert result.tasks[0].changes == {"SECOND": "1"}
    assert f"SystemExit: {call.split('(')[0][:8]}" in result.errors[0].text


def test_a_child_that_comes_back_ends(hooks: Callable[[str], Path], capfd: pytest.CaptureFixture[str]) -> None:
    """It answers for nobody, as in Slurm: the handler's own process does."""
    wait = "child = os.fork()\n    if child: raise OSError(os.waitpid(child, 0)[1])"
    result = launch(hooks(BACK.format(wait)))
    assert result.accepted
    assert "OSError: 256" in result.errors[0].text
    assert "its child came back" in capfd.readouterr().err


def test_coverage_of_all_processes(hooks: Callable[[str], Path]) -> None:
    """Handlers that ran or refused in another process are covered."""
    launch(hooks("@hook.spank.task_init\ndef refusing(spank): raise Reject('no')\n"))
    assert coverage.handlers["spank.task_init", "hooks:refusing"].refused


def test_mistakes_of_the_test_are_errors(hooks: Callable[[str], Path]) -> None:
    """An option that does not exist is an error in the test's own process."""
    with pytest.raises(ValueError, match="no option 'x'"):
        launch(hooks("@hook.spank.task_init\ndef h(spank): pass\n"), options={"x": True})


def test_environments(hooks: Callable[[str], Path]) -> None:
    """Each process has Slurm's variables; changes have only what handlers did."""
    path = hooks(
        """
@hook.spank.job_prolog
@hook.spank.job_epilog
def script(spank):
    names = ("SLURM_JOB_ID", "SLURM_JOB_UID", "SLURM_JOB_RESTART_COUNT", "SLURM_SCRIPT_CONTEXT")
    log.info("%s %s", [spank.env[name] for name in names], [name for name in ("PATH", "A") if name in spank.env])

@hook.spank.local_user_init
@hook.spank.user_init
@hook.spank.task_init
def handler(spank):
    log.info("%s %s", spank.env["SLURM_JOB_ID"], spank.env.get("SLURM_PROCID"))
    spank.env[spank.callback] = "x"
    if spank.context == "remote":
        spank.env.pop("A", None)
"""
    )
    result = launch(path, env={"A": "a", "PATH": "/bin"}, items={"job_id": 7, "job_uid": 0})
    assert result.log == [
        "info: ['7', '0', '0', 'prolog_slurmd'] []",
        "info: 7 None",
        "info: 7 None",
        "info: 7 0",
        "info: ['7', '0', '0', 'epilog_slurmd'] []",
    ]
    assert result.tasks[0].changes == {"A": None, "local_user_init": "x", "task_init": "x", "user_init": "x"}
    alone = hooks("@hook.spank.job_prolog\ndef h(spank): log.info(spank.env['SLURM_JOB_GID'])\n")
    assert run(alone, "spank.job_prolog").log == ["info: 1000"]
    assert not run(alone, "spank.job_prolog", spank=FakeSpank("job_script", env={})).accepted


def test_what_users_see(hooks: Callable[[str], Path]) -> None:
    """Texts of log.user in callbacks whose output srun does not show are no user messages."""
    path = hooks(
        "".join(f"@hook.spank.{name}\n" for name in CALLBACKS)
        + "def handler(spank): log.user(f'{spank.context} {spank.callback}')\n"
    )
    assert launch(path).user_messages == [
        "local init",
        "local init_post_opt",
        "local local_user_init",
        "remote user_init",
        "remote task_init_privileged",
        "remote task_post_fork",
        "remote task_init",
        "remote task_exit",
        "local exit",
    ]


def test_an_empty_argument_counts_as_omitted(hooks: Callable[[str], Path]) -> None:
    """As in srun, if the argument is optional."""
    path = hooks(
        "option = hook.spank.option('o', 'O', usage='', optional=True)\n"
        "@hook.spank.init_post_opt\ndef h(spank): log.info('%r', option.value)\n"
    )
    for text in (True, "", "(null)"):
        assert launch(path, options={"o": text}).log[0] == "info: True"
    assert launch(path, options={"o": "x"}).log[0] == "info: 'x'"


def test_state_of_the_job(hooks: Callable[[str], Path]) -> None:
    """``spank.state`` goes from the prolog to steps and epilog, and tasks see what init_post_opt has left."""
    path = hooks("""
@hook.spank.job_prolog
def prolog(spank):
    spank.state["folder"] = ["a", 1]

@hook.spank.init_post_opt(contexts="remote")
def step(spank):
    spank.state["step"] = spank.state["folder"][1] + 1

@hook.spank.task_init
def task(spank):
    log.info("task %s", dict(spank.state))

@hook.spank.job_epilog
def epilog(spank):
    log.info("epilog %s", dict(spank.state))
""")
    result = launch(path)
    assert result.accepted, result
    assert [line.removeprefix("info: ").rstrip() for line in result.log] == [
        "task {'folder': ('a', 1), 'step': 2}",
        "epilog {'folder': ('a', 1), 'step': 2}",
    ]


@pytest.mark.parametrize("callback", ["job_prolog", "job_epilog"])
def test_state_needs_prolog_and_epilog(hooks: Callable[[str], Path], callback: str) -> None:
    """Without a handler of both, the kit refuses a write as Slurm's processes do."""
    path = hooks(f'@hook.spank.{callback}\ndef alone(spank):\n    spank.state["x"] = 1\n')
    result = launch(path)
    assert not result.accepted
    assert "needs a handler of job_" in str(result)


def test_folders_and_home(hooks: Callable[[str], Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Only srun and tasks have the user's folder, only srun their HOME; what a check has made of it there travels."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", "/home/alice")
    path = hooks("""
import os

data = hook.spank.option("data", "FOLDER", usage="")
data.check(os.path.abspath)

def at(spank):
    log.info("%s %s %s %s", spank.callback, os.getcwd(), os.environ["HOME"], data.value)

@hook.spank.init_post_opt
def a(spank): at(spank)

@hook.spank.job_prolog
def b(spank): at(spank)

@hook.spank.task_init_privileged
def c(spank): at(spank); os.chdir("/usr")

@hook.spank.task_init
def d(spank): at(spank)

@hook.spank.exit
def e(spank): at(spank)
""")
    lines = [line.removeprefix("info: ") for line in launch(path, options={"data": "x"}).log]
    ours, theirs = f"{tmp_path} /home/alice {tmp_path}/x", f"/ /root {tmp_path}/x"
    assert lines == [
        *(f"init_post_opt {ours}", f"job_prolog {theirs}", f"init_post_opt {theirs}"),
        *(f"task_init_privileged {tmp_path} /root {tmp_path}/x", f"task_init /usr /root {tmp_path}/x"),
        *(f"exit {theirs}", f"exit {ours}"),
    ]
    lines = launch(path, srun=FakeOptions("srun", work_dir="/var")).log
    assert [line for line in lines if "task_init_p" in line] == ["info: task_init_privileged /var /root None"]
