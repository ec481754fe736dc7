# SPDX-License-Identifier: GPL-2.0-or-later
"""As root, `slurmhooks try` runs handlers on a copy of the machine's files, which it discards."""

import contextlib
import json
import os
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

import pytest

from slurmhooks.cli.groups import OF_RECORDS
from tests.cluster.turns import moved_from

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(
        os.geteuid() != 0
        or subprocess.run(["unshare", "--mount", "--pid", "--fork", "true"], check=False).returncode != 0,
        reason="needs root and namespaces",
    ),
]
HEAD = "import os, shutil, signal, subprocess, time\nfrom slurmhooks import Reject, hook, log\n"
BODIES = {
    "files": """
    shutil.rmtree(f"{HERE}/{ID}")
    open(f"{HERE}/kept", "a").write("more")
    os.rename(f"{HERE}/kept", f"{HERE}/other")
    os.mkdir(f"{HERE}/new")
    os.chmod(f"{HERE}", 0o700)
    os.chown(f"{HERE}/other", 1, 1)
    log.info("%s", sorted(os.listdir(HERE)))
""",
    "mounts": """
    subprocess.run(["mount", "-t", "tmpfs", "-o", "mode=711", "none", HERE], check=True)
    subprocess.run(["mount", "--make-rshared", "/"], check=True)
    log.info("%o", os.stat(HERE).st_mode)
""",
    "processes": """
    subprocess.Popen(["sleep", "3311"])
    try:
        os.kill(VICTIM, signal.SIGKILL)
    except ProcessLookupError:
        log.info("not there")
""",
    "kernel": """
    for name in ("/proc/sys/kernel/hostname", "/proc/sysrq-trigger"):
        try:
            open(name, "w").close()
        except OSError as error:
            log.info(error.strerror)
    subprocess.run(["hostname", "changed"], check=True)
""",
    "sockets": """
    import socket
    end = socket.socket(socket.AF_UNIX)
    end.connect(f"{HERE}/socket")
    log.info("%s", end.recv(5))
""",
}
EXPECTED = {
    "files": "['1', 'new', 'other']",
    "mounts": "40711",
    "processes": "not there",
    "kernel": "Read-only file system",
    "sockets": "hello",
}
TRIES = {
    "spank": ("@hook.spank.job_prolog\n@hook.spank.task_init", "spank", []),
    "job_submit": ("@hook.job_submit", "job", ["-"]),
    "cli_filter": ("@hook.cli_filter.pre_submit", "options", ["sbatch"]),
    "priority": ("@hook.priority", "record", ["record.json"]),
    "job_end": ("@hook.job_end", "record", ["record.json"]),
}


@pytest.fixture
def site(tmp_path: Path) -> Path:
    """Give a folder with files, and a socket on which a greeting waits."""
    folder = tmp_path / "site"
    for job in ("1", "67108863"):
        (folder / job).mkdir(parents=True)
        (folder / job / "data").write_text("kept")
    (folder / "kept").write_text("kept")
    return folder


def state(folder: Path) -> list[tuple[str, int, int, str]]:
    """Return all that is in a folder."""
    return [
        (str(path), path.stat().st_mode, path.stat().st_uid, path.read_text() if path.is_file() else "")
        for path in sorted([folder, *folder.rglob("*")])
    ]


def tries(tmp_path: Path, verb: str, source: str, *words: str) -> subprocess.CompletedProcess[str]:
    """Run `slurmhooks try` on a hook file, in a process of its own."""
    (tmp_path / "hooks.py").write_text(source)
    (tmp_path / "record.json").write_text("{}")
    called = ["try", "record", verb] if verb in OF_RECORDS else ["try", verb]
    command = [sys.executable, "-c", "from slurmhooks.cli import main; main()", *called, "--hooks", "hooks.py"]
    return subprocess.run(
        [*command, *words, *TRIES[verb][2]], cwd=tmp_path, input="{}", capture_output=True, text=True, check=False
    )


def handler(verb: str, body: str, folder: Path) -> str:
    """Return a hook file whose handler does something to a folder."""
    decorators, argument, _ = TRIES[verb]
    head = f"{HEAD}HERE, VICTIM, ID = {str(folder)!r}, {os.getpid()}, 67108863\n"
    return f"{head}{decorators}\ndef change({argument}):{body}"


@pytest.mark.parametrize(
    ("verb", "what"), moved_from(3, [*((verb, "files") for verb in TRIES), *(("job_end", each) for each in BODIES)])
)
def test_nothing_is_changed(site: Path, tmp_path: Path, verb: str, what: str) -> None:
    """What handlers do succeeds, or fails, and is gone afterwards; a line of standard error says so."""
    before, mounts, name = state(site), Path("/proc/self/mountinfo").read_text(), socket.gethostname()
    with tempfile.TemporaryDirectory(dir="/tmp") as folder, socket.socket(socket.AF_UNIX) as listener:
        listener.bind(f"{folder}/socket")  # names of sockets are short
        listener.listen(1)
        threading.Thread(target=greet, args=[listener], daemon=True).start()
        done = tries(tmp_path, verb, handler(verb, BODIES[what], Path(folder) if what == "sockets" else site), "--json")
    assert "note: handlers run on a discarded copy" in done.stderr
    log = str(json.loads(done.stdout)).replace("\\", "")
    assert EXPECTED[what] in log, (log, done.stderr)
    assert state(site) == before
    assert (Path("/proc/self/mountinfo").read_text(), socket.gethostname()) == (mounts, name)
    left = [path for path in Path("/proc").glob("[0-9]*/cmdline") if b"sleep\x003311" in _content(path)]
    assert left == []


def greet(listener: socket.socket) -> None:
    """Greet one client, if there is one before the listener is closed."""
    with contextlib.suppress(OSError):
        connection, _ = listener.accept()
        with connection:
            connection.sendall(b"hello")


def _content(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError:
        return b""


def test_really(site: Path, tmp_path: Path) -> None:
    """With --really, handlers change the machine."""
    done = tries(tmp_path, "job_end", handler("job_end", BODIES["files"], site), "--really")
    assert (done.returncode, "note: handlers run" in done.stderr) == (0, False), done.stderr
    assert sorted(os.listdir(site)) == ["1", "new", "other"]


@pytest.mark.moved
def test_ends_are_the_same(tmp_path: Path) -> None:
    """Refusals, wrong use, findings and their JSON documents are those of a command that does not copy."""
    refusing = HEAD + "@hook.job_end\ndef h(record):\n    raise Reject('no')\n"
    assert tries(tmp_path, "job_end", refusing).returncode == 1
    assert tries(tmp_path, "spank", refusing).returncode == 2
    broken = tries(tmp_path, "job_end", "1/0\n", "--json")
    assert (broken.returncode, list(json.loads(broken.stdout))) == (1, ["findings"])
    exiting = tries(tmp_path, "job_end", HEAD + "@hook.job_end\ndef h(record):\n    os._exit(0)\n")
    assert (exiting.returncode, "a handler must not end its process" in exiting.stdout) == (1, True), exiting
    in_c = "    import ctypes\n    ctypes.CDLL(None)._exit(3)\n"
    ended = tries(tmp_path, "job_end", HEAD + f"@hook.job_end\ndef h(record):\n{in_c}")
    assert (ended.returncode, "ended the process" in ended.stderr) == (1, True), ended.stderr


def test_it_ends_with_its_parent(tmp_path: Path) -> None:
    """A killed command leaves no handler behind."""
    (tmp_path / "hooks.py").write_text(
        HEAD + "@hook.job_end\ndef h(record):\n    log.info('x')\n    time.sleep(3312)\n"
    )
    (tmp_path / "record.json").write_text("{}")
    command = "import sys; from slurmhooks.cli import main; main()"
    words = ["try", "record", "job_end", "--hooks", "hooks.py", "record.json"]
    process = subprocess.Popen([sys.executable, "-c", command, *words], cwd=tmp_path, stderr=subprocess.PIPE)
    assert process.stderr is not None
    process.stderr.readline()  # the note: the child runs
    process.send_signal(signal.SIGKILL)
    process.communicate()
    for _ in range(1000):
        children = [path for path in Path("/proc").glob("[0-9]*/cwd") if _leads_to(path, tmp_path)]
        if not children:
            return
        time.sleep(0.01)
    raise AssertionError(children)


def _leads_to(path: Path, folder: Path) -> bool:
    try:
        return b"hooks.py" in (path.parent / "cmdline").read_bytes() and path.readlink() == folder
    except OSError:
        return False
