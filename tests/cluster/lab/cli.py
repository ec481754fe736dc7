# SPDX-License-Identifier: GPL-2.0-or-later
"""Read the command line and call the verb."""

import argparse
import functools
import os
import signal
import sys
from collections.abc import Sequence

from . import cluster, extras, install, places, possible, rootfs, source, user_namespace
from .enter import USAGE
from .enter import main as enter
from .errors import LabError
from .releases import RELEASES, find, known

ABOUT = """\
Bring up private real Slurm clusters, one machine each, of several releases at once.

A cluster's own files are in a layer over a pristine root file system. The layer remains
when the cluster goes down. "up" always rewrites /etc/slurm/slurm.conf; put your lines into
/etc/slurm/local.conf, which it includes. Other files in /etc/slurm are written only if they
are missing. Each "up" removes jobs, logs and spool files."""

EXITS = """\
environment:
  SLURMHOOKS_CLUSTER   name of this set of clusters (default: default); sets are independent
  SLURMHOOKS_MIRROR    Debian mirror to use (default: the one in this machine's apt configuration)
  XDG_CACHE_HOME       all files are in its directory slurmhooks (default: ~/.cache)

exit codes:
  0 success; 1 failure; 2 wrong use; 75 the mirror or the package index cannot be reached;
  125 the cluster is not up, or not possible here. exec and as return the command's own code, 128+N
  if signal N ended it, 126 or 127 if it could not be started."""

COMMANDS = """\
Run a command in the user's home directory, or in --cwd, with a clean environment, to which --env adds
variables. Options come before the command."""

EXAMPLE = """\
example:
  tests/cluster/run up 24.11 --nodes 2
  tests/cluster/run install 24.11
  tests/cluster/run as 24.11 alice -- srun -N2 hostname
  tests/cluster/run log 24.11 slurmctld
  tests/cluster/run down 24.11"""


@functools.cache
def parser() -> argparse.ArgumentParser:
    """Return the parser of all verbs."""
    top = argparse.ArgumentParser(
        prog="run",
        description=ABOUT,
        epilog=f"{EXITS}\n\n{EXAMPLE}",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    verbs = top.add_subparsers(dest="verb", required=True, metavar="VERB")

    def verb(name: str, about: str, count: str | None = None) -> argparse.ArgumentParser:
        command = verbs.add_parser(name, help=about, description=about[0].upper() + about[1:] + ".")
        command.add_argument("release", metavar="RELEASE", nargs=count, help=" | ".join(known()))
        return command

    command = verb("rootfs", "make the root file systems of releases in parallel, or continue to make them", "*")
    command.add_argument("--refresh-source", action="store_true", help="try again to download Slurm's source")
    command.add_argument(
        "--source",
        metavar="TREE",
        help="build Slurm from this directory or tarball; the release is called by its version",
    )
    command.add_argument(
        "--on", default="24.11", choices=RELEASES, help="with --source: on the Debian of this release (24.11)"
    )
    verbs.add_parser("possible", help="print whether this machine allows clusters: exit 0, or 125 and the reason")
    command = verb("up", "start the cluster, and wait until every node is idle")
    command.add_argument("--nodes", type=_count, metavar="N", help="number of nodes (default: unchanged, at first 1)")
    command.add_argument("--fresh", action="store_true", help="discard every change of the cluster's files")
    command.add_argument("--install", action="store_true", help="install the working tree before the daemons start")
    command.add_argument("--stopped", action="store_true", help="do not start Slurm's daemons: restart does")
    command = verb("install", "build the working tree in the cluster and enable it; the cluster may be up or down")
    command.add_argument("--force", action="store_true", help="even if the same tree is installed")
    command = verb("add", "install Debian packages only in this cluster, which may be up or down")
    command.add_argument("packages", metavar="PACKAGE", nargs="+")
    about = "unpack the packages of another release over the cluster's files, without their dependencies"
    command.add_argument("--of", metavar="RELEASE", help=about)
    command = verb("restart", "stop and start all daemons, or only some, keeping jobs")
    command.add_argument("names", metavar="slurmctld|n1...", nargs="*")
    for name, whose in (("exec", "root"), ("as", "USER (root, alice or bob)")):
        about = f"run a command as {whose}, with its streams and exit code"
        verbs.add_parser(name, help=about, description=COMMANDS, usage=USAGE[name].removeprefix("usage: "))
    command = verb(
        "put", "copy a host file ('-': stdin) into the cluster, owned by root; the cluster may be up or down"
    )
    command.add_argument("file", metavar="FILE")
    command.add_argument("path", metavar="PATH", help="absolute, inside; missing directories are created")
    command.add_argument("--mode", type=lambda text: int(text, 8), help="octal (default: FILE's own; 644 for stdin)")
    command = verb("get", "copy a file of the cluster to the host ('-': stdout); the cluster may be up or down")
    command.add_argument("path", metavar="PATH")
    command.add_argument("file", metavar="FILE")
    command = verb("log", "print a log file")
    command.add_argument("name", metavar="slurmctld|slurmd|n1...", help="slurmd: of all nodes")
    verb("status", "print which clusters are up", "?")
    command = verb("down", "end every process of the cluster; its files remain", "?")
    command.add_argument("--all", action="store_true", help="every release of this set of clusters")
    return top


def main(arguments: Sequence[str]) -> int:
    """Run the verb and return the exit code."""
    options = parser().parse_args(arguments)
    # If the caller had a stricter umask, the cluster's users could not read its files.
    os.umask(0o022)
    # So that `finally` blocks run, and nothing is left half finished.
    for number in (signal.SIGTERM, signal.SIGHUP):
        if signal.getsignal(number) is signal.SIG_DFL:  # nohup ignores SIGHUP on purpose
            signal.signal(number, _stop)
    if options.verb in ("exec", "as"):
        return enter(options.verb, [])
    user_namespace.become_root()
    if options.verb == "possible":
        possible.need()
        return 0
    if options.verb == "status":
        for name in [options.release] if options.release else known():
            sys.stdout.write(cluster.status(find(name)) + "\n")
        return 0
    if options.verb == "down":
        return _down(options.release, options.all)
    if options.verb == "rootfs":
        if options.source is not None and options.release:
            places.say("run: rootfs: name releases, or a tree with --source, not both")
            return 2
        if options.source is not None:
            source.make(options.source, find(options.on))
            return 0
        return rootfs.make_all([find(name) for name in options.release or RELEASES], options.refresh_source)
    release = find(options.release)
    match options.verb:
        case "up":
            below, into = (install.below, install.into) if options.install else (None, None)
            cluster.up(release, options.nodes, options.fresh, below, into, not options.stopped)
        case "install":
            install.install(release, options.force)
        case "add":
            extras.add(release, options.packages, find(options.of) if options.of else None)
        case "restart":
            cluster.restart(release, options.names)
        case "put":
            cluster.put(release, options.file, options.path, options.mode)
        case "get":
            cluster.get(release, options.path, options.file)
        case "log":
            sys.stdout.buffer.write(cluster.log(release, options.name))
    return 0


def _down(name: str | None, everything: bool) -> int:
    if (name is None) != everything:
        places.say("run: down: name a release, or say --all")
        return 2
    failed = False
    for each in known() if name is None else [name]:
        try:
            cluster.down(find(each))
        except LabError as error:
            if name is not None:
                raise
            places.say(f"run: down {each}: {error}")
            failed = True
    return int(failed)


def _count(text: str) -> int:
    number = int(text)
    if not 1 <= number <= 32:
        raise argparse.ArgumentTypeError("from 1 to 32")
    return number


def _stop(number: int, _frame: object) -> None:
    os.write(2, b"run: ended by a signal\n")
    raise SystemExit(128 + number)
