# SPDX-License-Identifier: GPL-2.0-or-later
"""The cluster to measure on, and the tools that it needs."""

import json
import os
import shlex
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Protocol

from tests.cluster.spank import spank_lua

HERE = Path(__file__).resolve().parent
TESTS = HERE.parent
RUN = TESTS / "cluster" / "run"
FILES = HERE / "files"
INSIDE = HERE / "inside"
PREFIX = os.environ.get("SLURMHOOKS_TEST_PREFIX", "")
PLUGIN = "/usr/local/lib/slurm/spank_python.so"
LOCAL = "/etc/slurm/local.conf"
DEPLOY = f"""
cp {LOCAL} /root/local.conf
(grep -v ^JobSubmitPlugins /root/local.conf; echo JobSubmitPlugins=python) > {LOCAL}
slurmhooks deploy 2>&1
deployed=$?
cp /root/local.conf {LOCAL}
exit $deployed
"""
PLUGSTACK = "required spank_python.so\n"
SPANK_LUA = spank_lua.PLUGIN
ABSENT = "spank-lua is absent: --spank-lua says where it is"


class BenchError(Exception):
    """A measurement is not possible; the text says why."""


class Lab(Protocol):
    """Run a verb of `tests/cluster/run` for one release and return its output."""

    def __call__(self, verb: str, /, *arguments: str, stdin: str | None = None) -> str:
        """Run the verb; raise an exception if it fails."""


class Machine:
    """One running cluster with the working tree installed."""

    def __init__(self, release: str, spank_lua: Path | None) -> None:
        self.release = release
        # A bench that was killed may have left a slurm.conf whose plugin is missing.
        self.lab("up", "--fresh", "--install")
        self.spank_lua = spank_lua is not None
        if spank_lua is not None:
            self._spank_lua(spank_lua)

    def lab(self, verb: str, *arguments: str, stdin: str | None = None) -> str:
        """Call a verb of `run`.

        Raises:
            BenchError: it failed.
        """
        env = {**os.environ, "SLURMHOOKS_CLUSTER": f"{PREFIX}bench"}
        command = [str(RUN), verb, self.release, *arguments]
        done = subprocess.run(command, env=env, input=stdin, stdout=subprocess.PIPE, text=True)
        if done.returncode:
            raise BenchError(f"'run {verb} {self.release} {shlex.join(arguments)}' failed: {done.stdout[-2000:]}")
        return str(done.stdout)

    def root(self, command: str, stdin: str | None = None) -> str:
        """Run a shell command as root; return its output."""
        return self.lab("exec", "--", "sh", "-c", command, stdin=stdin)

    def user(self, command: str) -> str:
        """Run a shell command as alice; return its output."""
        return self.lab("as", "alice", "--", "sh", "-c", command)

    def put(self, text: str, path: str) -> None:
        """Write a file."""
        self.lab("put", "-", path, stdin=text)

    def inside(self, script: str, *arguments: str, request: object = None) -> object:
        """Run a program of the folder `inside` as root; return the JSON that it prints."""
        path = f"/opt/{script}"
        self.lab("put", str(INSIDE / script), path)
        return json.loads(self.lab("exec", "--", "python3", path, *arguments, stdin=json.dumps(request)))

    def site(self, hooks: Mapping[str, str], local: str = "", plugstack: str = PLUGSTACK) -> None:
        """Replace the whole configuration, and restart the daemons."""
        self.root("cd /etc/slurm; rm -rf hooks.d/* slurmhooks.set slurmhooks.d job_submit.lua")
        for name, text in hooks.items():
            self.put(text, f"/etc/slurm/hooks.d/{name}")
        self.put(local, LOCAL)
        self.put(plugstack, "/etc/slurm/plugstack.conf")
        self.deploy()
        self.lab("restart")

    def choose(self, *, lean: bool) -> None:
        """Choose a SPANK plugin as `install --lean` does; call site() afterwards."""
        self.root(f"test -e /opt/whole.so || cp -L {PLUGIN} /opt/whole.so")
        place = "ln -sfn slurmhooks/spank_python-lean.so" if lean else "cp --remove-destination /opt/whole.so"
        self.root(f"{place} {PLUGIN}")

    def deploy(self) -> None:
        """Put the sources in force, also for a slurm.conf that does not load job_submit/python, or by another name."""
        self.root(DEPLOY)

    def times(self, rounds: int, cases: Mapping[str, tuple[str | None, str]]) -> dict[str, list[float]]:
        """Time commands of alice in turns; return milliseconds of wall time, by name.

        A case is a plugstack.conf (None: unchanged) and a command. The same index of two lists is the same round.
        """
        requests = {
            name: {"plugstack": plugstack, "user": "alice", "command": shlex.split(command)}
            for name, (plugstack, command) in cases.items()
        }
        nanoseconds = self.inside("interleave.py", request={"rounds": rounds, "cases": requests})
        assert isinstance(nanoseconds, dict)
        return {name: [value / 1e6 for value in values] for name, values in nanoseconds.items()}

    def instructions(self, command: str, times: int) -> list[int]:
        """Return the instructions that a command of alice executes each time, without those of its children."""
        if not self.root("command -v valgrind || true").strip():
            self.lab("add", "valgrind")
        # Each child that does not exec writes its own file; the first file is that of the command.
        # Slurm's env_array_merge() callocs 256 KiB. Memory from the heap takes 130,000 instructions to clear, and all
        # earlier allocations decide whether the memory comes from the heap: with the variable it is always mapped.
        output = self.user(
            f"""
            folder=$(mktemp -d)
            export MALLOC_MMAP_THRESHOLD_=65536
            for number in $(seq {times}); do
                mkdir $folder/$number
                valgrind --quiet --tool=callgrind \\
                    --callgrind-out-file=$folder/$number/%p {command} </dev/null >$folder/output 2>&1 ||
                    {{ cat $folder/output >&2; exit 1; }}
                first=$(ls $folder/$number | sort -n | head -1)
                sed -n 's/^\\(totals\\|summary\\): //p' $folder/$number/$first | tail -1
            done
            rm -r $folder
            """
        )
        return [int(line.split()[0]) for line in output.splitlines()]

    def _spank_lua(self, path: Path) -> None:
        """Install spank-lua: a library unchanged, or a folder of sources, compiled with the cluster's Lua."""
        try:
            spank_lua.install(path, lambda file, name: self.lab("put", file, name), self.root)
        except FileNotFoundError as error:
            raise BenchError(f"--spank-lua {error}") from error


def say(text: str) -> None:
    """Print progress to standard error; standard output has the table."""
    sys.stderr.write(f"bench: {text}\n")
