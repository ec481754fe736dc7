# SPDX-License-Identifier: GPL-2.0-or-later
"""Handlers that harm the process of a launch in which they run: it fails at once and says why, or it continues."""

import os
import re
import signal

import pytest

from tests.native.hosting import ERROR_ID, Host, Run

pytestmark = pytest.mark.slow

SITE = """
import atexit, ctypes, faulthandler, gc, locale, os, resource, signal, subprocess, sys, threading, time

def recurse(depth=0):
    return recurse(depth + 1) + 1

@hook.spank.{callback}
def hostile(spank):
    {body}

@hook.spank.{callback}
def comes_next(spank):
    log.info("fine")
"""
SCRIPT = "open sp $spank hooks.py\ncontext {context}\n{first}call sp {callback}\ncall sp {callback}"


def hostile(host: Host, body: str, callback: str = "init", context: str = "remote", returncode: int = 0) -> Run:
    """Call a handler twice."""
    host.site(SITE.format(body=body.replace("\n", "\n    "), callback=callback))
    first = "" if callback == "init" else "call sp init\n"
    script = SCRIPT.format(context=context, first=first, callback=callback)
    return host.run(script, returncode=returncode, quiet=False)


FAILS = {
    "os._exit": ("os._exit(0)", "SystemExit: os._exit(0): a handler must not end its process, which is Slurm's"),
    "os._exit, imported": ("from posix import _exit; _exit(status=3)", "SystemExit: os._exit(3)"),
    "sys.exit": ("sys.exit(0)", "SystemExit: 0"),
    "BaseException": ("raise type('Odd', (BaseException,), {})", "Odd"),
    "endless memory": (
        "resource.setrlimit(resource.RLIMIT_AS, (1 << 30, 1 << 30)); kept = []\nwhile True: kept += [bytes(1 << 20)]",
        "MemoryError",
    ),
    "endless recursion": ("recurse()", "RecursionError"),
    "a broken module": ("import this_is_no_module", "ModuleNotFoundError"),
    "a trace function that raises": ("sys.settrace(lambda *a: 1 / 0); recurse()", "ZeroDivisionError"),
    "a handler of signals that raises": (
        "signal.signal(signal.SIGUSR1, lambda *a: 1 / 0); os.kill(os.getpid(), signal.SIGUSR1); recurse()",
        "ZeroDivisionError",
    ),
}
"""Bodies of handlers that raise, with the line in the log."""


@pytest.mark.parametrize("case", FAILS)
def test_its_call_fails(host: Host, case: str) -> None:
    """The callback fails, with one line for the user and a traceback in the log under its id; the process continues."""
    body, line = FAILS[case]
    run = hostile(host, body)
    assert [result.failed for result in run.of("call")] == [True, True]
    shown = run.lines("SPANK")
    assert len(shown) == 2
    (error_id,) = ERROR_ID.findall(shown[0])
    assert any(error_id in text and line in text for text in run.lines("INFO")), run.log
    assert not run.said("fine")


CRASHES = {
    "segmentation fault": ("ctypes.string_at(0)", signal.SIGSEGV),
    "os.abort": ("os.abort()", signal.SIGABRT),
    "SIGFPE": ("os.kill(os.getpid(), signal.SIGFPE)", signal.SIGFPE),
    "a full stack": (
        "sys.setrecursionlimit(10**9)\nclass Deep:\n    def __repr__(self): return repr([self])\nrepr(Deep())",
        signal.SIGSEGV,
    ),
    "with faulthandler": ("faulthandler.enable(); ctypes.string_at(0)", signal.SIGSEGV),
}
"""Bodies of handlers that crash, with the signal."""


@pytest.mark.parametrize("case", CRASHES)
@pytest.mark.parametrize("callback", ["init", "task_init"])
def test_a_crash(host: Host, case: str, callback: str) -> None:
    """The process ends by the signal, as it would without slurmhooks, but first the log names the handler."""
    body, number = CRASHES[case]
    run = hostile(host, body, callback, returncode=-number)
    assert not [result for result in run.of("call") if result["callback"] == callback]
    assert f"spank.{callback} handler hooks:hostile: killed by signal {int(number)}: process" in run


def test_closed_descriptors(host: Host) -> None:
    """A process whose handler closes all its descriptors ends: without them it would wait forever."""
    host.site(SITE.format(body="os.closerange(0, 1024)", callback="init"))
    more = ["sh", "-c", 'exec "$@" 5<&0 6<&0 7<&0 8<&0', "sh"]
    run = host.run("open sp $spank hooks.py\ncontext remote\ncall sp init", wrapper=more, returncode=1)
    assert not run.of("call")


def test_exit_of_c_code(host: Host) -> None:
    """If C code of a handler calls exit(), the log names the handler, and its step is cancelled."""
    run = hostile(host, "ctypes.CDLL(None).exit(3)", "user_init", returncode=3)
    assert "exit() was called during spank.user_init handler hooks:hostile: process" in run


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can change its user")
def test_another_user_for_ever(host: Host) -> None:
    """If a handler changes the user of slurmstepd, it ends: it could not run its tasks, and srun would wait."""
    run = hostile(host, "os.setuid(65534)", "user_init", returncode=1)
    assert [result["callback"] for result in run.of("call")] == ["init"]
    assert "spank.user_init handler hooks:hostile has permanently changed the user of its process: process" in run


PASSES = {
    "a thread that never ends": "threading.Thread(target=lambda: [None for _ in iter(int, 1)]).start()",
    # The thread may not wait for Python before the interval is long, or the handler may never get it back.
    "a thread that keeps Python": (
        "begin = threading.Event(); loop = lambda: begin.wait() and [None for _ in iter(int, 1)]\n"
        "threading.Thread(target=loop).start(); sys.setswitchinterval(1000); begin.set()"
    ),
    "atexit": "atexit.register(time.sleep, 1000)",
    "a program left behind": (
        "subprocess.Popen(['sleep', '5'], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True)"
    ),
    "a child that returns": "os.fork()",
    "a child that raises": "os.fork() or 1 / 0",
    "a child that ends": "pid = os.fork()\nif not pid: os._exit(7)\nassert os.waitpid(pid, 0)[1] == 7 << 8",
    "much output": "os.write(2, b'x' * (20 << 20) + b'\\n')",
    "no sys.stdout": "sys.stdout = sys.stderr = sys.__stderr__ = None; print('x')",
    "gc": "gc.disable(); gc.callbacks.append(lambda *a: 1 / 0); gc.collect(); gc.set_threshold(1)",
    "a trace function": "sys.settrace(lambda *a: None); sys.setprofile(lambda *a: None)",
    "faulthandler": "faulthandler.enable()",
    "a recursion limit": "sys.setrecursionlimit(100)",
}
"""Bodies of handlers that harm nobody else."""


@pytest.mark.parametrize("case", PASSES)
def test_it_passes(host: Host, case: str) -> None:
    """Its call and later calls pass, in the same process; each handler runs once, and the process can still end."""
    run = hostile(host, PASSES[case])
    assert [result.rc for result in run.of("call")] == [0, 0], run.log
    assert len(run.said("fine")) == 2
    if "child that r" in case:
        end = "spank.init handler hooks:hostile has forked and its child came back, which ends here"
        assert len([line for line in run.lines("ERROR") if end in line]) == 2


LEFT = [
    ("signal handlers", "[signal.signal(number, lambda *a: None) for number in (2, 15, 17)]"),
    ("signal handlers", "signal.signal(signal.SIGCHLD, signal.SIG_IGN)"),
    ("a timer", "signal.alarm(1)"),
    ("the locale", "locale.setlocale(locale.LC_ALL, 'C.UTF-8')"),
    ("the effective user", "os.seteuid(65534)"),
]
PROBE = """
@hook.spank.{callback}(order={order})
def probe_{order}(spank):
    import locale, os, signal
    with open("/proc/self/status") as file:
        signals = [line.split()[1] for line in file if line[:6] in ("SigIgn", "SigCgt")]
    timer = signal.getitimer(signal.ITIMER_REAL)[0] > 0
    log.info("state", signals=signals, timer=timer, locale=locale.setlocale(locale.LC_ALL), uid=os.geteuid())
"""


@pytest.mark.parametrize(("what", "body"), LEFT)
def test_what_is_put_back(host: Host, what: str, body: str) -> None:
    """Changes that would harm Slurm later are undone after the handler, and the log says so."""
    if what == "the effective user" and os.geteuid():
        pytest.skip("only root can change its user")
    probes = PROBE.format(callback="user_init", order=1) + PROBE.format(callback="user_init", order=90)
    host.site(SITE.format(body=body, callback="user_init") + probes)
    run = host.run("open sp $spank hooks.py\ncontext remote\ncall sp init\ncall sp user_init\ncall sp user_init")
    assert {result.rc for result in run.of("call")} == {0}
    assert len(run.said("state")) == 4
    assert len(set(run.said("state"))) == 1
    line = f"spank.user_init handler hooks:hostile has changed the process, and this was put back: {what}"
    assert run.lines("INFO").count(f"slurmhooks: {line}") == 2


def test_signal_handlers_of_slurm_stay(host: Host) -> None:
    """What another thread of Slurm installs while a handler runs is not the handler's, and is not put back."""
    # A function of the host stands for one of Slurm's.
    body = "own = ctypes.CDLL(None); own.signal(signal.SIGCHLD, own.slurm_info)"
    host.site(SITE.format(body=body, callback="user_init") + PROBE.format(callback="user_init", order=90))
    run = host.run("open sp $spank hooks.py\ncontext remote\ncall sp init\ncall sp user_init")
    assert {result.rc for result in run.of("call")} == {0}
    (caught,) = re.findall(r"signals=\['\w+', '(\w+)'\]", "".join(run.said("state")))
    assert int(caught, 16) & 1 << signal.SIGCHLD - 1
    assert "put back" not in run


MASKS = """
import os

def mask():
    now = os.umask(0)
    os.umask(now)
    return oct(now)

@hook.spank.user_init
def users(spank):
    log.info("users", mask=mask())
    os.umask(0)  # stands for the umask of the job, which Slurm sets between init and user_init

@hook.spank.init
@hook.spank.task_init_privileged
@hook.spank.task_post_fork
@hook.spank.task_exit
@hook.spank.exit
def roots(spank):
    log.info("roots", callback=spank.callback, mask=mask())

@hook.spank.task_exit(order=99)
def changes(spank):
    if CHANGES:
        os.umask(0o27)
"""


@pytest.mark.parametrize("changes", [False, True])
def test_no_user_chooses_the_umask_of_root(host: Host, changes: bool) -> None:
    """Where slurmstepd itself runs handlers as root, they have the umask of slurmd; the task and its handlers do not.

    A umask that a handler has set stays, as everywhere.
    """
    host.site(f"CHANGES = {changes}{MASKS}")
    daemons = os.umask(0o26)
    try:
        calls = ["init", "user_init", "task_init_privileged", "task_post_fork", "task_exit", "exit", "user_init"]
        run = host.run("\n".join(["open sp $spank hooks.py", "context remote", *(f"call sp {name}" for name in calls)]))
    finally:
        os.umask(daemons)
    assert {result.rc for result in run.of("call")} == {0}
    masks = dict.fromkeys(("init", "task_post_fork", "task_exit", "exit"), "0o26") | {"task_init_privileged": "0o0"}
    assert sorted(run.said("roots")) == sorted(f"callback='{name}' mask='{mask}'" for name, mask in masks.items())
    assert run.said("users") == ["mask='0o26'", f"mask='{'0o27' if changes else '0o0'}'"]


def test_what_stays(host: Host) -> None:
    """A handler may change environment, folder, umask, limits and signal mask; in a task, all its changes stay."""
    stays = (
        "os.environ['LEFT'] = 'yes'; os.chdir('/'); os.umask(0o27)\n"
        "resource.setrlimit(resource.RLIMIT_CORE, (0, 0)); signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGUSR1])"
    )
    seen = """
@hook.spank.task_init
def seen(spank):
    limit = resource.getrlimit(resource.RLIMIT_CORE)
    mask = signal.pthread_sigmask(signal.SIG_BLOCK, [])
    log.info("left", env=os.environ["LEFT"], cwd=os.getcwd(), umask=os.umask(0), limit=limit, mask=len(mask))
    signal.signal(signal.SIGHUP, signal.SIG_IGN)

@hook.spank.task_init
def ignores(spank):
    log.info("ignores", hangup=signal.getsignal(signal.SIGHUP) == signal.SIG_IGN)
"""
    host.site(SITE.format(body=stays, callback="user_init") + seen)
    run = host.run("open sp $spank hooks.py\ncontext remote\ncall sp init\ncall sp user_init\ncall sp task_init")
    assert {result.rc for result in run.of("call")} == {0}
    assert run.said("left") == ["env='yes' cwd='/' umask=23 limit=(0, 0) mask=1"]
    assert run.said("ignores") == ["hangup=True"]
    assert "put back" not in run
