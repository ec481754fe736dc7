# SPDX-License-Identifier: GPL-2.0-or-later
"""A bug is reported in the same way whatever a handler has done to its process before."""

import os
import subprocess
import textwrap
from pathlib import Path

import pytest

from tests.native.hosting import ERROR_ID, Host, Run

pytestmark = pytest.mark.slow

NAMESPACE = ["unshare", *([] if os.geteuid() == 0 else ["--user", "--map-root-user"]), "--mount"]

STATES = {
    "normal": "        pass",
    "chroot": """
        os.chroot(EMPTY)
        os.chdir("/")""",
    "pivot_root": """
        os.chroot("/")
        check(libc.mount(EMPTY, EMPTY, None, BIND, None))
        check(libc.syscall(PIVOT_ROOT, EMPTY, EMPTY + b"/old"))
        os.chdir("/")
        check(libc.umount2(b"/old", DETACH))""",
    "setns": """
        check(libc.setns(namespace(), NEWNS))
        os.chdir("/")""",
    "no_python": """
        for folder in {os.path.dirname(os.__file__), *FOLDERS}:
            check(libc.mount(b"none", folder.encode(), b"tmpfs", 0, None))""",
    "no_usr": """
        for folder in (b"/usr", b"/etc"):
            check(libc.mount(b"none", folder, b"tmpfs", 0, None))""",
    "no_proc": """
        check(libc.mount(b"none", b"/proc", b"tmpfs", 0, None))""",
    "no_descriptors": """
        free = os.dup(0)
        os.close(free)
        resource.setrlimit(resource.RLIMIT_NOFILE, (free, resource.getrlimit(resource.RLIMIT_NOFILE)[1]))""",
    # What stays free is contiguous: handlers need some memory to have a bug at all.
    "no_memory": """
        reserve = [bytes(100_000) for _ in range(3)]
        with open("/proc/self/statm") as file:
            pages = int(file.read().split()[0])
        resource.setrlimit(resource.RLIMIT_AS, (pages * 4096, resource.RLIM_INFINITY))
        size = 1 << 20
        while size >= 4096:
            try:
                while True:
                    hog.append(bytes(size))
            except MemoryError:
                size //= 2
        reserve.clear()""",
}
"""How a handler enters each state, from which there is no way back."""

BUGS = {
    "exception": "1 / 0",
    "item": "spank.jobb_id",
    "name": "no_such_name",
    "late_import": "import slurmhooks_no_such_module",
    "variable": "spank.env['X'] = 'y' * 200000",
    "type": "spank.env['X'] = 1",
    "program": "subprocess.run(['/no/such/program'])",
    "file": "open('/no/such/file')",
    "leaves": "raise SystemExit(3)",
    "interrupted": "raise KeyboardInterrupt",
    "recursion": "return bug_recursion(spank)",
    "memory": "bytearray(1 << 60)",
    "syntax": "exec('a b')",
    "mute": "raise Mute",
    "group": "raise ExceptionGroup('several', [ValueError('a')])",
    "result": "return 0",
    "refusal": "raise Reject('refused inside', code='ESPANK_BAD_ARG')",
    "wrong_code": "raise Reject('refused inside', code='ESPANK_BAD_ARGG')",
    "handled": "try:\n        1 / 0\n    except ZeroDivisionError:\n        open('/no/such/file')",
}
KEEPS_ALL = """
    for size in (65536, 4096, *range(512, 0, -16)):
        try:
            while True:
                hog.append(bytes(size))
        except MemoryError:
            pass
    bytearray(1 << 60)
"""
REFUSALS = ("refusal", "wrong_code")
OTHERWISE = {
    "no_descriptors": ["program", "file", "handled"],  # the exception names the cause of this state
    # Become a MemoryError, or what CPython's compiler makes of it.
    "no_memory": ["variable", "program", "recursion", "syntax"],
}
"""Bugs that raise something else in a state; they are reported, but the reports differ."""

SITE = """
import ctypes, os, resource, signal, subprocess, sys

BIND, DETACH, NEWNS = 4096, 2, 0x20000
PIVOT_ROOT = {{"x86_64": 155, "aarch64": 41}}[os.uname().machine]
EMPTY = {empty!r}
FOLDERS = {folders!r}
libc = ctypes.CDLL(None, use_errno=True)
libc.mount.argtypes = [ctypes.c_char_p] * 3 + [ctypes.c_ulong, ctypes.c_char_p]
hog = []
modules = set()
bugs = iter({names!r})

class Mute(Exception):
    def __str__(self):
        raise RuntimeError("no text")

def check(result):
    if result:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))

@hook.spank.init
def enter(spank):
    change()
    modules.update(sys.modules)

{functions}

@hook.spank.init_post_opt(on_error={on_error!r})
def next_bug(spank):
    name = next(bugs, None)
    if name is not None:
        return globals()["bug_" + name](spank)
    hog.clear()
    # What slurmhooks prepares for tasks after this call may need more memory.
    resource.setrlimit(resource.RLIMIT_AS, (resource.RLIM_INFINITY,) * 2)
    log.info("imported", names=sorted(set(sys.modules) - modules))

@hook.spank.init_post_opt(order=60)
def later(spank):
    log.info("later")

@hook.job_submit
def submit(job):
    if job.account == "change":
        change()
        modules.update(sys.modules)
    elif job.account == "imported":
        log.info("imported", names=sorted(set(sys.modules) - modules))
    else:
        return globals()["bug_" + job.account](job)

@hook.spank.exit(timeout=0.2, on_error={on_error!r})
def endless(spank):
    while True:
        pass

def change():
{state}
"""


def play(host: Host, state: str, context: str, on_error: str, bugs: list[str]) -> Run:
    """Enter a state, and raise all bugs in it."""
    write_site(host, state, on_error, bugs)
    calls = "call sp init_post_opt\n" * (len(bugs) + 1)
    run = host.run(f"open sp $spank hooks.py\ncontext {context}\ncall sp init\n{calls}call sp exit", wrapper=NAMESPACE)
    assert run.of("call")[0].rc == 0, "\n".join(run.lines())
    return run


def write_site(host: Host, state: str, on_error: str, bugs: list[str]) -> None:
    """Write the hook file; see :func:`play`."""
    empty = host.folder / "empty"
    (empty / "old").mkdir(parents=True, exist_ok=True)
    functions = (
        "\n".join(f"def bug_{name}(spank):\n    {body}\n" for name, body in (BUGS | {"keeps_all": KEEPS_ALL}).items())
        + OTHER_NAMESPACE
    )
    text = SITE.format(
        empty=str(empty).encode(),
        folders=[str(host.plugins), str(host.folder.parent)],
        names=bugs,
        state=textwrap.indent(textwrap.dedent(STATES[state]), "    "),
        functions=functions,
        on_error=on_error,
    )
    host.site(text)


OTHER_NAMESPACE = """
def namespace():
    # A child makes a namespace in which nothing but an empty root is left.
    ready, go = os.pipe()
    child = os.fork()
    if not child:
        try:
            check(libc.unshare(NEWNS))
            check(libc.mount(b"none", EMPTY, b"tmpfs", 0, None))
            os.mkdir(EMPTY + b"/old")
            check(libc.syscall(PIVOT_ROOT, EMPTY, EMPTY + b"/old"))
            os.chdir("/")
            check(libc.umount2(b"/old", DETACH))
            os.write(go, b"1")
            signal.pause()
        finally:
            os._exit(0)
    os.read(ready, 1)
    fd = os.open(f"/proc/{child}/ns/mnt", os.O_RDONLY)
    os.kill(child, 9)
    os.waitpid(child, 0)
    return fd
"""


def report(run: Run, folder: Path) -> list[str]:
    """Return all lines of the log, with ids and the folder of the site masked."""
    return [ERROR_ID.sub("error ID", f"{level} {text}").replace(str(folder), "FOLDER") for level, text in run.log]


def check(run: Run, bugs: list[str], on_error: str) -> None:
    """Assert that each bug was reported under an id, and had its effect, and that nothing was imported meanwhile."""
    _, *calls, fine, deadline = run.of("call")
    for bug, result in zip(bugs, calls, strict=True):
        assert result.failed == (bug in REFUSALS or on_error == "fail"), (bug, run.lines())
    assert fine.rc == 0, "\n".join(run.lines()[-30:])
    assert run.said("imported") == ["names=[]"]
    assert deadline.failed == (on_error == "fail")
    reported = [bug for bug in bugs if bug not in REFUSALS]
    lines = [line for line in run.lines("SPANK") if ERROR_ID.search(line)]
    assert len(lines) == len(reported) + 1  # the deadline
    for line in lines:
        (error_id,) = ERROR_ID.findall(line)
        assert any(f"error {error_id}: Traceback" in each or "HandlerError" in each for each in run.lines())


@pytest.fixture(scope="module", autouse=True)
def _namespaces() -> None:
    """Skip where no mount namespace can be made."""
    able = subprocess.run([*NAMESPACE, "true"], capture_output=True, text=True, check=False)
    if able.returncode:
        pytest.skip(f"no mount namespace: {able.stderr}")


_normal: dict[tuple[object, ...], list[str]] = {}


@pytest.mark.parametrize(
    ("state", "context", "on_error"),
    [
        *((state, "remote", on_error) for state in STATES for on_error in ("fail", "ignore") if state != "normal"),
        # srun also writes to the system's log.
        *((state, "local", "fail") for state in ("chroot", "no_descriptors", "no_memory")),
    ],
)
def test_a_bug_is_reported_as_always(host: Host, state: str, context: str, on_error: str) -> None:
    """Log, message to the user and effect of each bug are those of a process that no handler has changed.

    And a report imports nothing.
    """
    others = OTHERWISE.get(state, [])
    bugs = [bug for bug in BUGS if bug not in others]
    key = (context, on_error, *bugs)
    if key not in _normal:
        run = play(host, "normal", context, on_error, bugs)
        check(run, bugs, on_error)
        _normal[key] = report(run, host.folder)
    run = play(host, state, context, on_error, bugs)
    check(run, bugs, on_error)
    assert report(run, host.folder) == _normal[key]
    if others:
        check(play(host, state, context, on_error, others), others, on_error)


@pytest.mark.parametrize("on_error", ["fail", "ignore"])
def test_a_handler_that_keeps_all_memory(host: Host, on_error: str) -> None:
    """A bug is reported even if the handler has used up all memory and still refers to it."""
    check(play(host, "no_memory", "remote", on_error, ["keeps_all"]), ["keeps_all"], on_error)


WORKERS_BUGS = [bug for bug in BUGS if bug not in ("variable", "type", "refusal", "recursion")]


@pytest.mark.parametrize("state", ["chroot", "no_python", "no_usr", "no_descriptors"])
def test_a_worker_reports_a_bug_as_always(host: Host, state: str) -> None:
    """The same holds for workers of slurmctld."""
    bugs = [bug for bug in WORKERS_BUGS if bug not in OTHERWISE.get(state, [])]

    def submit(state: str) -> tuple[list[tuple[int, str]], list[str]]:
        write_site(host, state, "fail", [])
        calls = "\n".join(f"job_submit js account={word}" for word in ("change", *bugs, "imported"))
        run = host.run(f"open js $job_submit\n{calls}", wrapper=NAMESPACE, quiet=False)
        assert run.of("job_submit")[0].rc == 0, run.lines()
        assert run.said("imported") == ["names=[]"], run.lines()
        # Where the folder is hidden, the supervisor sees that the set is lost, and tries to load what is in force then.
        tried = {error for line in run.lines() if "not go into service" in line for error in ERROR_ID.findall(line)}
        run.log = [(level, text) for level, text in run.log if not tried.intersection(ERROR_ID.findall(text))]
        answers = [(each.rc, ERROR_ID.sub("error ID", str(each["err_msg"]))) for each in run.of("job_submit")[1:-1]]
        assert {rc for rc, _ in answers} == {-1, 2002}  # bugs, and refusals whose text or code is a bug
        return answers, sorted(line for line in report(run, host.folder) if "error ID" in line)

    assert submit(state) == submit("normal")
