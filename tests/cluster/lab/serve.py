# SPDX-License-Identifier: GPL-2.0-or-later
"""Run verbs for one caller until it ends, each in a fork: starting Python for each would take ten times as long."""

import functools
import json
import os
import select
import socket
import sys
from collections.abc import Sequence
from pathlib import Path

from . import cli, cluster, commands, daemons, enter, install, namespace, places, user_namespace, warm
from .entry import main
from .errors import LabError
from .releases import find

__all__ = ["cli", "serve", "serve_commands", "serve_inside"]  # imported here, so that the forks need not do it


def serve() -> int:
    """Answer requests until standard input ends.

    Each request is a line of JSON on standard input: the ``arguments`` of `run`, its whole ``environment``, and the
    files for its standard ``streams``. The answers on standard output are the process id at once, and later the exit
    code.
    """
    for line in sys.stdin:
        request = json.loads(line)
        child = namespace.fork(functools.partial(_run, **request), sys.stderr.write)
        _answer(child)
        _answer(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
    return 0


def _answer(number: int) -> None:
    sys.stdout.write(f"{number}\n")
    sys.stdout.flush()


def _run(arguments: list[str], environment: dict[str, str], streams: list[str]) -> int:
    namespace.die_with_parent()
    os.environ.clear()
    os.environ.update(environment)
    for number, flags in enumerate((os.O_RDONLY, os.O_WRONLY, os.O_WRONLY)):
        descriptor = os.open(streams[number], flags)
        os.dup2(descriptor, number)
        os.close(descriptor)
    try:
        return main(arguments)
    except SystemExit as error:  # raised by argparse, or by a signal handler
        return error.code if isinstance(error.code, int) else 1
    finally:
        sys.stdout.flush()
        sys.stderr.flush()


def serve_inside(release: str) -> int:
    """Run `exec`, `as`, `log`, and `put` of standard input, in one cluster, which this process enters once.

    Standard input is a socket. Each request has four descriptors: a file with the arguments of `run` and the limit in
    seconds, as JSON, and the standard streams of the command. The answer is the exit code, or "late".
    """
    keeper = places.need_keeper(find(release).name)
    user_namespace.become_root()
    namespace.join(keeper.pid)
    os.setgroups(commands.account("root")[4])
    with socket.socket(fileno=0) as connection:
        while True:
            request, files, _, _ = socket.recv_fds(connection, 1, 4)
            if not request:
                return 0
            connection.send(str(_run_inside(*files)).encode())
            for descriptor in files:
                os.close(descriptor)


def serve_commands(release: str, build: str) -> int:
    """Run commands of slurmhooks in all clusters of a release that have a build as their layer; see warm.py.

    This process enters none of them: it has the files that are below those of the clusters.
    """
    text = Path(warm.__file__).read_text(encoding="utf-8")
    user_namespace.become_root()
    namespace.private_mounts()
    os.chdir(os.path.dirname(places.rootfs(release)))
    namespace.mount("overlay", release, "overlay", 0, f"lowerdir={os.path.relpath(build)}:{release},userxattr")
    os.chroot(release)
    os.chdir("/")
    os.umask(0o022)
    _, _, home, shell, groups = commands.account("root")
    os.setgroups(groups)
    words = [f"{install.BIN}/python", "-P", "-c", text, install.LINK, f"{install.BIN}/slurmhooks"]
    namespaces = sum(namespace.KINDS.values())
    os.execve(words[0], [*words, str(namespaces)], commands.environment("root", home, shell, {}))


def _run_inside(request: int, *streams: int) -> int | str:
    with open(request, "rb", closefd=False) as file:
        arguments, limit = json.load(file)
    try:
        if arguments[0] in ("exec", "as"):
            return _run_command(enter.read(arguments[0], arguments[1:]), streams, limit)
        return _copy(arguments, *streams)
    except LabError as error:
        os.write(streams[2], f"run: {arguments[0]}: {error}\n".encode(errors="replace"))
        return error.code


def _run_command(command: enter.Command, streams: Sequence[int], limit: float) -> int | str:
    child = commands.start_command(command.user, command.words, command.env, command.directory, streams)
    if isinstance(child, int):
        return child
    handle = os.pidfd_open(child.pid)
    late = not select.select([handle], [], [], limit)[0]
    os.close(handle)
    if late:
        child.kill()
    code = commands.exit_code(child)
    return "late" if late else code


def _copy(arguments: list[str], stdin: int, stdout: int, _stderr: int) -> int:
    """Print a log, or write a file, without a fork: tests do this thousands of times."""
    options = cli.parser().parse_args(arguments)
    if options.verb == "log":
        with open(stdout, "wb", closefd=False) as out:
            out.write(daemons.read_log(daemons.LOGS, find(options.release), options.name))
    else:
        with open(stdin, "rb", closefd=False) as file:
            cluster.write(options.path, file.read(), 0o644 if options.mode is None else options.mode, (0, 0))
    return 0
