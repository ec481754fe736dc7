# SPDX-License-Identifier: GPL-2.0-or-later
"""Start, stop and watch Slurm's daemons. All of this runs inside the cluster."""

import contextlib
import os
import shutil
import signal
import subprocess
import time
from collections.abc import Sequence

from .errors import LabError
from .namespace import PATH
from .releases import FIRST_FROM_SOURCE, USERS, Release, version

LOGS = "/var/log/slurm"
STATE = "/var/lib/slurm/slurmctld"
SPOOL = "/var/spool/slurm"
DEFAULTS = "/etc/default/slurmd"
START_LOG = f"{LOGS}/start.log"
READY_STATES = {"idle", "mixed", "allocated", "completing", "reserved"}
START_SECONDS = 60.0
STOP_SECONDS = 15.0
GRACE_SECONDS = 30.0
ASK_SECONDS = 1.0
ENVIRONMENT = {"PATH": PATH, "LANG": "C.UTF-8", "HOME": "/root", "USER": "root", "LOGNAME": "root"}


def clear() -> None:
    """Remove jobs, logs and spool files of an earlier run."""
    for directory in (STATE, SPOOL, LOGS):
        shutil.rmtree(directory, ignore_errors=True)


def _slurm_user() -> str:
    """Return SlurmUser, which local.conf may change: slurmctld refuses a folder of another user."""
    with contextlib.suppress(FileNotFoundError), open("/etc/slurm/local.conf", encoding="utf-8") as file:
        for line in file:
            name, _, value = line.strip().partition("=")
            if name == "SlurmUser":
                return value
    return "slurm"


def prepare(release: Release, nodes: int) -> None:
    """Create the directories that daemons and jobs expect."""
    slurm = _uid("slurm")
    for directory in (STATE, LOGS):
        _directory(directory, *slurm, 0o755)
    for node in range(1, nodes + 1):
        _directory(f"{SPOOL}/n{node}", 0, 0, 0o755)
    # slurmd (26.05) refuses a directory that does not belong to root; slurmctld has one of its own.
    _directory("/run/slurm", 0, 0, 0o755)
    _directory("/run/slurmctld", *_uid(_slurm_user()), 0o755)
    _directory("/run/user", 0, 0, 0o755)
    _directory("/usr/local/lib/slurm", 0, 0, 0o755)
    for uid in USERS.values():
        _directory(f"/run/user/{uid}", uid, uid, 0o700)
    if release.auth == "munge":
        munge = _uid("munge")
        for directory, mode in (("/run/munge", 0o755), ("/var/log/munge", 0o700), ("/var/lib/munge", 0o711)):
            _directory(directory, *munge, mode)


def authenticate(release: Release) -> None:
    """Start the daemon by which Slurm's daemons and commands know each other, if the release needs one."""
    if release.auth == "munge" and not _running("/run/munge/munged.pid"):
        _launch(
            ["setpriv", "--reuid=munge", "--regid=munge", "--init-groups", "munged"], "/var/log/munge/munged.log", 0
        )


def start(release: Release, nodes: int) -> None:
    """Start the daemons that do not run, and wait until every node is ready.

    Raises:
        LabError: a daemon did not start; the text ends with its errors.
    """
    daemons = {"slurmctld": ("/run/slurmctld.pid", f"{LOGS}/slurmctld.log", ["slurmctld"])}
    # When slurmd before 24.11 becomes a daemon, it loses the threads that serve clients' requests for auth/slurm.
    slurmd = (
        ["setsid", "--fork", "slurmd", "-D"] if FIRST_FROM_SOURCE <= version(release.name) < (24, 11) else ["slurmd"]
    )
    for name in (f"n{node}" for node in range(1, nodes + 1)):
        daemons[name] = (f"/run/slurmd-{name}.pid", f"{LOGS}/slurmd-{name}.log", [*slurmd, "-N", name])
    seen = {log: os.path.getsize(log) if os.path.exists(log) else 0 for _, log, _ in daemons.values()}
    authenticate(release)
    began = time.monotonic()
    for pid_file, log, command in daemons.values():
        if not _running(pid_file):
            _launch(command, log, seen[log])
            # A slurmd that cannot reach slurmctld tries again only after a second.
            while command == ["slurmctld"] and not _listening(release.ctld_port):
                if "fatal:" in _since(log, seen[log]):
                    # Each slurmd would wait for slurmctld.
                    raise LabError(f"slurmctld ended:\n{_problems(log, seen[log])}")
                if time.monotonic() > began + GRACE_SECONDS:
                    break
                time.sleep(0.02)
            # Two slurmds that start at the same time remove each other's socket for auth/slurm, and one ends.
            while release.auth != "munge" and not _running(pid_file) and "fatal:" not in _since(log, seen[log]):
                if time.monotonic() > began + GRACE_SECONDS:
                    break
                time.sleep(0.02)
    states: list[str] = []
    while time.monotonic() < began + START_SECONDS:
        for name, (pid_file, log, command) in daemons.items():
            # Each forks before it writes its pid, so a missing pid file means nothing at first.
            late = time.monotonic() > began + GRACE_SECONDS
            if not _running(pid_file) and (late or "fatal:" in _since(log, seen[log])):
                raise LabError(f"{command[0]} ({name}) {_fate(command)}:\n{_problems(log, seen[log])}")
        states = node_states(ASK_SECONDS)
        # If slurmctld went on, it considers nodes ready whose slurmd has just been started.
        started = all(_running(pid_file) for pid_file, _, _ in daemons.values())
        if started and len(states) == nodes and READY_STATES.issuperset(states):
            return
        # A slurmctld that goes on with nodes asks them after three seconds, and each sinfo costs as much as a job.
        time.sleep(min(max((time.monotonic() - began) / 4, 0.05), 0.25))
    shown = " ".join(states) or "no answer from slurmctld"
    text = "\n".join(_problems(log, seen[log]) for _, log, _ in daemons.values())
    raise LabError(f"after {START_SECONDS:.0f} s not every node is ready ({shown}):\n{text}")


def stop(names: Sequence[str] = ()) -> None:
    """Ask slurmd and slurmctld, or only those named, to end, and wait until they have.

    Raises:
        LabError: a name is not of a daemon that runs.
    """
    files = [f"/run/{name}" for name in os.listdir("/run") if name.startswith(("slurmd-", "slurmctld"))]
    if names:
        wanted = {f"/run/{name}.pid" if name == "slurmctld" else f"/run/slurmd-{name}.pid": name for name in names}
        if missing := [name for path, name in wanted.items() if path not in files]:
            raise LabError(f"{', '.join(missing)}: no such daemon runs; name slurmctld or nodes, such as n1")
        files = list(wanted)
    pids = [pid for pid in map(_pid, (path for path in files if path.endswith(".pid"))) if pid]
    for number in (signal.SIGTERM, signal.SIGKILL):
        for pid in pids:
            _signal(pid, number)
        deadline = time.monotonic() + STOP_SECONDS
        while pids and time.monotonic() < deadline:
            pids = [pid for pid in pids if os.path.exists(f"/proc/{pid}")]
            time.sleep(0.01)
    for path in files:
        if os.path.exists(path) and path.endswith(".pid"):
            os.unlink(path)


def node_states(seconds: float = 5) -> list[str]:
    """Return the state of each node that has a slurmd, from sinfo; an empty list if slurmctld does not answer in time.

    Further nodes of a cloud start later, if at all; and there may be 10,000.
    """
    done = subprocess.run(
        ["timeout", str(seconds), "sinfo", "-h", "-N", "-n", "n[1-999]", "-p", "debug", "-o", "%T"],
        capture_output=True, text=True, env=ENVIRONMENT,
    )  # fmt: skip
    return done.stdout.split() if done.returncode == 0 else []


def read_log(directory: str, release: Release, name: str) -> bytes:
    """Return a log file: `slurmctld`, `slurmd` (of all nodes) or a node's name.

    Raises:
        LabError: there is no such file.
    """
    logs = sorted(os.listdir(directory)) if os.path.isdir(directory) else []
    wanted = {"slurmctld": ["slurmctld.log"], "slurmd": [n for n in logs if n.startswith("slurmd-")]}
    files = [file for file in wanted.get(name, [f"slurmd-{name}.log"]) if file in logs]
    if not files:
        raise LabError(f"no log of {name!r} in cluster {release.name}: there are {', '.join(logs) or 'none'}")
    text = b""
    for file in files:
        with open(os.path.join(directory, file), "rb") as stream:
            text += stream.read()
    return text


def _launch(command: Sequence[str], log: str, seen: int) -> None:
    # A file, not the caller's pipe, which a daemon would hold open forever.
    with open(START_LOG, "ab") as said:
        where = said.tell()
        done = subprocess.run(
            command, stdin=subprocess.DEVNULL, stdout=said, stderr=said, env=_environment(), start_new_session=True
        )
    if done.returncode != 0:
        text = (_since(START_LOG, where) + _since(log, seen)).strip()
        raise LabError(f"{' '.join(command)} ended with {done.returncode}:\n{_indented(text.splitlines())}")


def _environment() -> dict[str, str]:
    """Return the environment of the daemons: lines NAME=VALUE of DEFAULTS, which systemd reads elsewhere, come last."""
    environment = {**ENVIRONMENT}
    if os.path.exists(DEFAULTS):
        with open(DEFAULTS, encoding="utf-8") as file:
            for line in file:
                name, separator, value = line.rstrip("\n").partition("=")
                if separator and not name.startswith("#"):
                    environment[name] = value
    return environment


def _running(pid_file: str) -> bool:
    pid = _pid(pid_file)
    return pid != 0 and os.path.exists(f"/proc/{pid}")


def _listening(port: int) -> bool:
    suffix = f":{port:04X}"
    for name in ("tcp", "tcp6"):
        # Looked up through pid 1, because this process is in the cluster's network, but has no entry in its /proc.
        with open(f"/proc/1/net/{name}", encoding="ascii") as file:
            rows = (line.split() for line in file)
            if any(row[1].endswith(suffix) and row[3] == "0A" for row in rows):
                return True
    return False


def _pid(pid_file: str) -> int:
    try:
        with open(pid_file, encoding="ascii") as file:
            return int(file.read())
    except (OSError, ValueError):
        return 0


def _fate(command: Sequence[str]) -> str:
    """Return whether a daemon that wrote no pid has ended or hangs, and where."""
    done = subprocess.run(["pgrep", "-xf", " ".join(command)], capture_output=True, text=True, env=ENVIRONMENT)
    hanging = []
    for pid in done.stdout.split():
        with contextlib.suppress(OSError), open(f"/proc/{pid}/wchan", encoding="ascii") as file:
            hanging.append(f"process {pid} waits in {file.read()}")
    return f"wrote no pid ({', '.join(hanging)})" if hanging else "ended"


def _signal(pid: int, number: int) -> None:
    # This process is in the host's pid namespace, where os.kill would look up the number.
    subprocess.run(["kill", f"-{number}", str(pid)], stderr=subprocess.DEVNULL, env=ENVIRONMENT)


def _problems(path: str, offset: int) -> str:
    lines = _since(path, offset).splitlines()
    bad = [line for line in lines if "error:" in line or "fatal:" in line]
    return _indented(bad or lines) or f"    ({path} says nothing)"


def _indented(lines: Sequence[str]) -> str:
    return "\n".join(f"    {line}" for line in lines[-20:])


def _since(path: str, offset: int) -> str:
    try:
        with open(path, encoding="utf-8", errors="replace") as file:
            file.seek(offset)
            return file.read()
    except OSError:
        return ""


def _directory(path: str, uid: int, gid: int, mode: int) -> None:
    os.makedirs(path, exist_ok=True)
    os.chown(path, uid, gid)
    os.chmod(path, mode)


def _uid(user: str) -> tuple[int, int]:
    with open("/etc/passwd", encoding="utf-8") as file:
        for line in file:
            fields = line.split(":")
            if fields[0] == user:
                return int(fields[2]), int(fields[3])
    raise LabError(f"the root file system has no user {user}: remove it and run rootfs again")
