# SPDX-License-Identifier: GPL-2.0-or-later
"""Calls that leave the process: programs, shells, files, the network, the user database."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from slurmhooks.workshop.adopt.values import FOR_QUOTES, Level, Remark, Use

if TYPE_CHECKING:
    from slurmhooks.workshop.adopt.context import Arguments, Following
    from slurmhooks.workshop.adopt.tree import Call

MODULES = {"posix", "socket", "ssl", "luasql", "lfs", "http", "copas", "lua-http", "cURL", "cqueues", "redis", "ldap"}
"""Modules whose functions are told apart; all others count as unknown."""
SHELLS = {"os.execute", "io.popen"}
STARTS = {
    *("exec", "execp", "execx", "popen", "popen_pipeline", "spawn", "fork", "unistd.exec", "unistd.execp"),
    *("unistd.fork", "system"),
}
"""Functions of posix that start processes."""
WAITS = {"sleep", "nanosleep", "wait", "unistd.sleep", "time.nanosleep", "sys.wait.wait"}
USERS = {
    *("getpasswd", "getgroup", "getpwuid", "getpwnam", "getgrgid", "getgrnam", "pwd.getpwuid", "pwd.getpwnam"),
    *("grp.getgrgid", "grp.getgrnam", "getgrouplist"),
}
"""Functions of posix that ask the user database."""
READS = {"io.open", "io.lines", "io.input", "dofile", "loadfile"}
RELATIVE = re.compile(r"(?:^|\s)(\.{1,2}/\S*)")
"""Finds words of a command that are relative paths."""
OF_POSIX = {
    *("stat", "access", "dir", "files", "glob", "open", "readlink", "sys.stat.stat", "unistd.access", "dirent.dir"),
    *("dirent.files", "glob.glob", "fcntl.open", "mkdir", "chmod", "chown", "unlink"),
}
"""Functions of posix that use the file system."""
NETWORK = {"socket", "ssl", "luasql", "http", "copas", "lua-http", "cURL", "cqueues", "redis", "ldap"}

LOCKED = "slurmctld holds its locks until it ends: no other request is answered, and no job is scheduled"
ASIDE = "slurmhooks runs the script outside slurmctld with a deadline, but each request still waits for it"
TABLES = {
    "sacctmgr": "job_desc.default_account, assoc_qos and the like, or the tables associations and qos in Python",
    "sinfo": "part_list, or the tables partitions and nodes in Python",
    "squeue": "slurm.jobs, or the table jobs in Python",
    "scontrol": "part_list, slurm.reservations and slurm.jobs",
    "sacct": "slurm.jobs for jobs that slurmctld knows",
    "id": "job_desc.user_name and group_id, or job.groups in Python",
    "getent": "job_desc.user_name, or job.groups in Python",
    "groups": "job.groups in Python",
    "date": "os.date() and os.time()",
    "hostname": "slurm.CLUSTER_NAME",
    "whoami": "nothing: it is always SlurmUser",
    "sleep": "nothing: a wait holds up everybody",
    "logger": "slurm.log_info()",
    "echo": "io.open() in a hook that runs after the answer, or slurm.log_info()",
}
"""What scripts can use instead of some programs."""


def check(flow: Following, expression: Call, name: str, arguments: Arguments) -> bool:
    """Report a call that leaves the process; tell whether it is one."""
    leaves = _leaves(flow, name, expression.line, arguments)
    if leaves:
        flow.uses[Use("system", name, expression.line)] = None
        start = arguments[0][1].start if arguments else ""
        names = [start] if name in READS else RELATIVE.findall(start) if name in SHELLS else []
        if names and names[0] and not names[0].startswith("/"):
            flow.uses[Use("relative", names[0], expression.line)] = None
    return leaves


def _leaves(flow: Following, name: str, line: int, arguments: Arguments) -> bool:
    root, _, rest = name.partition(".")
    if name in SHELLS or (root == "posix" and rest in STARTS):
        _program(flow, name, line, arguments)
        _command(flow, name, line, arguments)
        return True
    if root == "posix" and rest in WAITS:
        _remark(flow, line, "program", f"waits with {name}()", "a rule that needs no wait")
        return True
    if name == "os.exit":
        why = "it ends slurmctld" if flow.family == "job_submit" else "it ends the process at once"
        flow.remark(Remark(line, "exit", "danger", "calls os.exit()", why, "return slurm.ERROR"))
        return True
    if root in NETWORK:
        _remark(flow, line, "network", f"uses the network or a database with {name}()", "a file that a timer refreshes")
        return True
    if name in READS or (root == "posix" and rest in OF_POSIX) or root == "lfs":
        _file(flow, name, line, arguments)
        return True
    if root == "posix" and rest in USERS:
        if flow.family == "job_submit" and flow.in_call:
            why = f"{LOCKED}; with LDAP or SSSD that is a question to another machine"
            flow.remark(
                Remark(
                    line, "lookup", "note", f"asks the user database with {name}()", why,
                    "job_desc.user_name, or job.groups in Python",
                )
            )  # fmt: skip
        return True
    return False


def _program(flow: Following, name: str, line: int, arguments: Arguments) -> None:
    program = program_of(arguments)
    what = f"starts {'the program ' + program if program else 'a program'} with {name}()"
    instead = TABLES.get(program, "a table of slurmctld, or a file that a timer refreshes")
    _remark(flow, line, "program", what, instead)


def _remark(flow: Following, line: int, kind: str, what: str, instead: str) -> None:
    level: Level = "danger"
    if flow.family == "cli_filter":
        level, why = "note", "it runs as the user in each sbatch, salloc and srun, which wait for it"
    elif flow.family == "spank":
        level, why = "note", "each launch waits for it; on a node it runs as root, in tasks as the user"
    elif flow.in_call:
        why = f"{LOCKED}; {ASIDE}"
    else:
        level, why = "warning", "it runs whenever the script is loaded, in slurmctld or in a worker of slurmhooks"
    flow.remark(Remark(line, kind, level, what, why, instead))


def _file(flow: Following, name: str, line: int, arguments: Arguments) -> None:
    if flow.family != "job_submit" or not flow.in_call:
        return
    writes = len(arguments) > 1 and str(arguments[1][1].constant or "")[:1] in ("w", "a")
    what = f"{'writes' if writes else 'reads'} a file in each call with {name}()"
    why = f"{LOCKED}; a file server that does not answer stops the cluster"
    instead = "read it once at the top of the script; slurmhooks deploy reads it again"
    if writes:
        instead = "slurm.log_info(), or the decision log of slurmhooks"
    flow.remark(Remark(line, "file", "warning", what, why, instead))


def _command(flow: Following, name: str, line: int, arguments: Arguments) -> None:
    """Report text of a user in a command."""
    if flow.family == "cli_filter":  # the command runs as that user
        return
    for _, value in arguments:
        users = value.users.lstrip(FOR_QUOTES)
        if users and users not in flow.clean:
            flow.remark(
                Remark(
                    line, "injection", "danger", f"passes {users} to a shell with {name}()",
                    "the user who chooses that text runs commands as "
                    + ("SlurmUser on the controller" if flow.family == "job_submit" else "root on nodes"),
                    "check it first, such as with text:match('^[%w_.-]+$'), and never put it into quotes only",
                )
            )  # fmt: skip
            return


def program_of(arguments: Arguments) -> str:
    """Return the name of the program that a command starts; empty if the script computes it."""
    text = arguments[0][1].start if arguments else ""
    words = [word for word in text.replace("|", " ").split() if "=" not in word]
    return words[0].strip("'\"").rpartition("/")[2] if words else ""
