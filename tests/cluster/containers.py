# SPDX-License-Identifier: GPL-2.0-or-later
"""Users who run containers with scrun, and tests that continue after scrun itself has lost a container.

While the anchor of a container starts, two of its threads race: one requests the job, the other accepts the connection
of `scrun create`. If the job exists when the connection is registered, scrun considers the container created, although
stage_in has not ended (anchor.c:_on_startup_con). If stage_in has not begun, scrun then cancels the job, because its
container is no longer being created (alloc.c:check_allocation); otherwise the container runs before it is staged. This
happens with every scrun.lua, more often on a busy machine. scrun's log proves it: "created successfully" is before "END
container NAME staging in". On a busy machine an anchor also closes a connection whose other end still waits to send its
request, and that command of scrun ends with CUT. A container that is lost in another way fails the test.
"""

from __future__ import annotations

import json
import re
import textwrap
from typing import TYPE_CHECKING

from tests.cluster.scenes import BUNDLE_PATH, HOOKS_D

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from tests.cluster.conftest import Cluster

UIDS = {"alice": 2001, "bob": 2002}
HOOK = f"{HOOKS_D}/life.py"
TRACE = "/tmp/life-{user}"
CREATE_SECONDS = 60
"""Seconds that `scrun create` may take. Without slurmhooks, 26.05's never returns after a failed stage_in."""
CALL_SECONDS = 90.0
NOTICE_SECONDS = 60.0
"""Seconds until several busy processes have noticed an event."""
ENDS = 50
"""Tenths of a second for an anchor to end by itself between tests."""
TRIES = 6
"""How often a test or a container is tried if scrun loses it."""
CREATED = "created successfully"
STAGED = "END container"
CUT = "Unexpected missing socket error"
"""What a command of scrun prints if its anchor has closed their connection."""

PRELUDE = f"""
import json, os, time
from slurmhooks import Reject, hook, log
from slurmhooks.scrun import Staging, StagingError, copy_tree, remove_tree
def trace(container, what):
    with open({TRACE.format(user="%s")!r} % {{2001: "alice", 2002: "bob"}}[container.user_id], "a") as file:
        file.write(container.id + " " + what + "\\n")
"""


class ContainerLostError(Exception):
    """Raised when scrun itself has lost a container of this test."""


class User:
    """A user who runs containers; scrun keeps their state in ``root``, and has lost ``losses`` in this test."""

    def __init__(self, cluster: Cluster, name: str) -> None:
        self.cluster = cluster
        self.name = name
        self.root = f"/run/user/{UIDS[name]}/scrun"
        self.scrun = f"timeout -k 1 {CREATE_SECONDS} scrun --root={self.root}"
        self.losses: list[str] = []

    def sh(self, command: str, check: bool = True, timeout: float = CALL_SECONDS, env: Mapping[str, str] = {}) -> str:
        """Run a shell command; return its output from both streams."""
        done = self.cluster.user(self.name, "sh", "-c", f"exec 2>&1; {command}", timeout=timeout, env=env)
        assert not check or done.returncode == 0, f"{command}: exit {done.returncode}\n{done.stdout}"
        return done.stdout

    def bundle(self, *command: str, path: str = "bundle") -> str:
        """Make a bundle that runs a command, and return its path."""
        self.cluster.user(self.name, BUNDLE_PATH, path, *command, check=True)
        return f"/home/{self.name}/{path}"

    def create_command(
        self, name: str, bundle: str = "~/bundle", options: str = "", seconds: int = CREATE_SECONDS
    ) -> str:
        """Return the command that creates a container; scrun's log goes to NAME.log, its other output to NAME.out."""
        scrun = f"env SCRUN_FILE_DEBUG=debug timeout -k 1 {seconds} scrun --root={self.root} --log=$HOME/{name}.log"
        return f"rm -f ~/{name}.log; {scrun} {options} create --bundle {bundle} {name} > ~/{name}.out 2>&1"

    def create(self, name: str, bundle: str = "~/bundle", options: str = "", **env: str) -> tuple[int, str]:
        """Create a container; return the exit code (124: timeout) and the output of scrun and of the container so far.

        Raises:
            ContainerLostError: scrun has lost it.
        """
        command = f"{self.create_command(name, bundle, options)}; echo $?; cat ~/{name}.out"
        code, _, output = self.sh(command, env=env).partition("\n")
        self.check()
        return int(code), output

    def create_in_background(self, name: str, seconds: int = CREATE_SECONDS, **env: str) -> None:
        """Start to create a container; its exit code is written to NAME.rc."""
        # Not a background job: in a shell without a terminal these ignore SIGINT.
        command = f"{self.create_command(name, seconds=seconds)}; echo $? > ~/{name}.rc"
        self.sh(f"rm -f ~/{name}.rc; setsid env --default-signal=INT sh -c '{command}' > /dev/null 2>&1 &", env=env)

    def lost(self) -> list[str]:
        """Return the containers that scrun considered created before they were staged in."""
        events = f"grep -HoE '{CREATED}|{STAGED} .* staging in' ~/*.log 2>/dev/null; true"
        first: dict[str, str] = {}
        for line in self.sh(events).splitlines():
            path, _, event = line.partition(":")
            first.setdefault(path, event)
        return [path.rpartition("/")[2].removesuffix(".log") for path, event in first.items() if event == CREATED]

    def check(self) -> None:
        """Check that scrun has lost no container.

        Raises:
            ContainerLostError: scrun has lost a container.
        """
        if lost := self.lost():
            raise ContainerLostError(f"Slurm {self.cluster.release}: scrun itself has lost {', '.join(lost)}")

    def wait(self, predicate: Callable[[], object], what: str, timeout: float = NOTICE_SECONDS) -> None:
        """Wait until something is true, or a container is lost.

        Raises:
            ContainerLostError: scrun has lost a container.
            AssertionError: it did not become true in time.
        """

        def true_or_lost() -> object:
            value = predicate()
            if not value:
                self.check()
            return value

        self.cluster.wait(true_or_lost, timeout, what)

    def output(self, name: str) -> str:
        """Return the output of scrun and of the container so far."""
        return self.sh(f"cat ~/{name}.out", check=False)

    def wait_output(self, name: str, text: str) -> None:
        """Wait until scrun or the container has written a text."""
        self.wait(lambda: text in self.output(name), f"{text!r} in the output of {name}")

    def exit_code(self, name: str) -> int:
        """Wait for the end of a create in the background and return its exit code."""
        seen = f"cat ~/{name}.rc"
        self.cluster.wait(lambda: self.sh(seen, check=False).strip().isdigit(), NOTICE_SECONDS, "end of create")
        return int(self.sh(seen))

    def status(self, name: str) -> str:
        """Return the status from `scrun state`; "unknown" if it does not know the container."""
        output = self.sh(f"{self.scrun} state {name}", check=False)
        try:
            return str(json.loads(output[output.index("{") :])["status"])
        except ValueError:
            return "unknown"

    def wait_status(self, name: str, *wanted: str) -> None:
        """Wait until `scrun state` shows one of these statuses."""
        self.wait(lambda: self.status(name) in wanted, f"status {wanted} of {name}")

    def wait_over(self) -> None:
        """Wait until scrun has removed the folders of all containers, with the sockets of their anchors."""
        self.wait(lambda: not self.sh(f"ls -A {self.root}"), "end of the containers")

    def start(self, name: str) -> None:
        """Start a container."""
        self.sh(f"{self.scrun} start {name}")

    def delete(self, name: str) -> None:
        """Delete the only container, which ends by itself.

        Wait for its anchor first: while it ends, it may accept the connection and send no answer, or a wrong one.
        """
        self.wait_over()
        self.sh(f"{self.scrun} delete {name}")

    def trace(self) -> list[str]:
        """Return the lines that the hooks have written."""
        return self.sh(f"cat {TRACE.format(user=self.name)} 2>/dev/null", check=False).splitlines()

    def wait_trace(self, line: str) -> None:
        """Wait until the hooks have written a line."""
        self.wait(lambda: line in self.trace(), f"trace {line!r}")

    def kept(self, name: str) -> str:
        """Return the name of a container that scrun has not lost: this one, or a replacement."""
        tried = name
        for number in range(1, TRIES):
            if tried not in self.lost():
                break
            self.excuse(tried)
            tried = f"{name}-{number}"
            self.sh(self.create_command(tried))
        return tried

    def excuse(self, name: str) -> None:
        """Count a container that scrun has lost, and remove it, so that the test can continue.

        Its anchor may wait for ever, and is ended.
        """
        self.losses.append(name)
        self.sh(f"{self.scrun} delete --force {name}; pkill -KILL -f '^: {name}$'; rm ~/{name}.log", check=False)

    def job(self, name: str = "scrun") -> dict[str, str]:
        """Return the fields that scontrol shows for the user's last job of that name."""
        jobs = self.sh("scontrol --oneliner show jobs").splitlines()
        mine = [job for job in jobs if f"UserId={self.name}(" in job and f"JobName={name} " in job]
        return dict(re.findall(r"(\S+?)=(\S*)", mine[-1]))

    def wait_job_over(self) -> None:
        """Wait until the last container's job has ended."""
        states = {"COMPLETED", "CANCELLED", "FAILED", "TIMEOUT"}
        self.wait(lambda: self.job()["JobState"] in states, "end of the job")

    def anchors(self) -> str:
        """Return the anchor processes of the user, with their processor time."""
        return self.sh(f"ps -u {self.name} -o pid=,time=,args= | grep -E ' : |scrun' | grep -v grep", check=False)

    def expect_nothing_left(self) -> None:
        """Wait until no anchor runs and scrun's own folder is empty."""
        self.wait(lambda: not self.anchors(), f"end of the anchors: {self.anchors()}")
        assert self.sh(f"ls -A {self.root}") == ""
        assert self.sh("ls -d /tmp/staged-* /scratch/*/* 2>/dev/null; true") == ""

    def clean(self) -> None:
        """End the remaining containers and jobs of this user, and remove their files."""
        anchors = f"pgrep -u {self.name} -f '^: |scrun'"
        # An anchor without its folder has finished its work, although some anchors of 24.11 do not end.
        working = f"{anchors} > /dev/null && ls -A {self.root} | grep -q ."
        wait = f"for i in $(seq {ENDS}); do {working} || break; sleep 0.1; done"
        self.sh(f"scancel -u {self.name}; chmod -R u+w ~/bundle* /tmp/staged-{self.name}-* 2>/dev/null", check=False)
        self.cluster.root("sh", "-c", f"{wait}; for p in $({anchors}); do kill -9 $p; done")
        self.sh(
            f"rm -rf ~/bundle* ~/*.out ~/*.rc ~/*.log {TRACE.format(user=self.name)} /tmp/staged-{self.name}-*"
            f" {self.root}/* /scratch/{self.name}*; mkdir -p -m 700 {self.root}"
        )


def install(cluster: Cluster, hooks: str) -> None:
    """Make these the site's only hooks; scrun reads them for each container."""
    cluster.put(PRELUDE + textwrap.dedent(hooks), HOOK)


def call_again_if_lost(test: Callable[[], object], users: Sequence[User]) -> None:
    """Call a test, and repeat it from a clean state while scrun itself loses one of its containers.

    Raises:
        Exception: that of the test, if no container was lost, or one was lost each time.
    """
    for left in reversed(range(TRIES)):
        try:
            test()
            return
        except Exception as error:
            lost = [(user, name) for user in users for name in user.lost()]
            if not lost and CUT in str(error):
                lost = [(users[0], CUT)]
            if not (lost and left):
                for user in users:
                    error.add_note(user.sh("tail -n 100 ~/*.log 2>/dev/null; true"))
                raise
        for user, name in lost:
            user.losses.append(name)
        for user in users:
            user.clean()
