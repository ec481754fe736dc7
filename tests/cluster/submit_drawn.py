# SPDX-License-Identifier: GPL-2.0-or-later
"""Runs as root inside a cluster: submits and updates jobs as alice, and prints what became of each as JSON.

Standard input is a list of requests: the words of a command (submission), those of an update of its job (update), and
whether the batch script matters (script).
To start a command takes ten times the processor time of what it asks slurmctld for, so each is started once.
"""

import json
import os
import pwd
import re
import signal
import subprocess
import sys

LOG = "/var/log/slurm/slurmctld.log"
FAILED = re.compile(rb"error: job_(submit|modify)/lua: ")
"""What job_submit/lua logs if a script raises an error; Slurm 24.11 then accepts the request."""
JOB = re.compile(r"(?:Submitted batch job|[Jj]ob allocation) (\d+)")
REFUSED = re.compile(rb"^\d+: | for job \d+$", re.MULTILINE)
"""How scontrol begins or ends the line about an update that is refused; what plugins say of others is an error, too."""
CALLED = "/var/tmp/called"
"""Where programs that stand for those of a site write down how they are called."""
AGAIN = "/var/tmp/again.so"
"""What a command is started with to run again and again."""
END = b"\1\n"
PROMPT = b"scontrol: "
ALICE = pwd.getpwnam("alice")
ENVIRONMENT = {"PATH": "/usr/bin:/bin", "HOME": ALICE.pw_dir}


class Process:
    """A process that answers lines."""

    def __init__(self, words: list[str], errors: int, **environment: str) -> None:
        pipe, env = subprocess.PIPE, ENVIRONMENT | environment
        process = subprocess.Popen(words, stdin=pipe, stdout=pipe, stderr=errors, env=env)
        assert process.stdin is not None
        assert process.stdout is not None
        self._stdin, self.stdout = process.stdin, process.stdout

    def send(self, line: str) -> None:
        """Send a line."""
        self._stdin.write(line.encode() + b"\n")
        self._stdin.flush()


class Command(Process):
    """A command that submits, which runs as often as it is called with what one start of it has loaded."""

    def __init__(self, name: str) -> None:
        super().__init__([name], subprocess.STDOUT, LD_PRELOAD=AGAIN)
        self._name = name

    def submit(self, *options: str) -> tuple[str, str | None]:
        """Submit a job; return the output, and the job if it was accepted."""
        self.send("\t".join([self._name, *options]))
        child = int(self.stdout.readline())
        said, job = "", None
        while not (line := self.stdout.readline()).endswith(END):
            assert line, said
            if job is None or self._name == "sbatch":
                said += line.decode(errors="replace")
                job = JOB.search(said)
                if job is not None and self._name == "salloc":
                    # It would wait for the job, which is held.
                    os.kill(child, signal.SIGKILL)
        return said, job and job[1]


class Scontrol(Process):
    """A scontrol that reads commands."""

    def __init__(self) -> None:
        self._errors = os.memfd_create("errors")
        # With its buffer, a pipe would not have the prompt.
        super().__init__(["stdbuf", "-o0", "scontrol", "--oneliner"], self._errors)
        self._answer()

    def _answer(self) -> bytes:
        answer = b""
        while not answer.endswith(PROMPT):
            part = os.read(self.stdout.fileno(), 65536)
            assert part, answer
            answer += part
        return answer.removesuffix(PROMPT)

    def call(self, *words: str) -> tuple[bool, str]:
        """Run a command; return whether no job was refused, and what scontrol wrote."""
        start = os.fstat(self._errors).st_size
        line = " ".join(words)
        self.send(line)
        # With readline, it repeats the command.
        answer = self._answer().removeprefix(line.encode() + b"\n")
        errors = os.pread(self._errors, 65536, start)
        return REFUSED.search(errors) is None, (answer + errors).decode(errors="replace")


def failed(log: int) -> bool:
    """Tell whether a script has raised an error since the last call."""
    return FAILED.search(os.read(log, 1 << 20)) is not None


def script(text: str) -> str:
    """Return a batch script without blank lines, quotes that change nothing, and the time of its making."""
    text = "\n".join(line for line in text.splitlines() if line.strip())
    return re.sub(r"\d{10}", "TIME", re.sub(r'"([\w/]+)"', r"\1", text))


def called() -> str:
    """Return the calls of programs, and forget them."""
    with open(CALLED, "r+") as file:
        calls = file.read()
        file.truncate(0)
    return calls


def main() -> None:
    """Send all requests, and print the outcomes."""
    with open(CALLED, "w") as file:
        os.fchmod(file.fileno(), 0o666)
    # Before it becomes alice, who must not read it.
    log = os.open(LOG, os.O_RDONLY)
    os.lseek(log, 0, os.SEEK_END)
    root = Scontrol()
    os.initgroups("alice", ALICE.pw_gid)
    os.setgid(ALICE.pw_gid)
    os.setuid(ALICE.pw_uid)
    os.chdir(ALICE.pw_dir)
    alice = Scontrol()
    commands = {name: Command(name) for name in ("sbatch", "salloc")}

    def show(job: str) -> str:
        # Without its number.
        return re.sub(rf"(?<=JobId=){job}\b|(?<=-){job}(?=\.)", "JOB", root.call("show", "job", job)[1])

    outcomes = []
    for request in json.load(sys.stdin):
        name, *options = request["submission"]
        said, job = commands[name].submit(*options)
        outcome = {"accepted": job is not None, "said": said, "failed": failed(log), "called": called()}
        if job is not None:
            outcome["job"] = show(job)
            if request["script"] and name == "sbatch":
                outcome["script"] = script(root.call("write", "batch_script", job, "-")[1])
            if request["update"]:
                accepted, said = alice.call("update", f"JobId={job}", *request["update"])
                outcome["update"] = {"accepted": accepted, "said": said, "failed": failed(log), "job": show(job)}
        outcomes.append(outcome)
    subprocess.run(["scancel", "--user=alice"], env=ENVIRONMENT, check=True)
    json.dump(outcomes, sys.stdout)


main()
