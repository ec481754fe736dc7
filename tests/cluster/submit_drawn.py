# SPDX-License-Identifier: GPL-2.0-or-later
"""Runs as root inside a cluster: submits and updates jobs as alice, and prints what became of each as JSON.

Standard input is a list of requests: the words of a command (submission), those of an update of its job (update), and
whether the batch script matters (script).
"""

import json
import os
import re
import subprocess
import sys

LOG = "/var/log/slurm/slurmctld.log"
FAILED = re.compile(r"error: job_(submit|modify)/lua: ")
"""What job_submit/lua logs if a script raises an error; Slurm 24.11 then accepts the request."""
JOB = re.compile(r"(?:Submitted batch job|[Jj]ob allocation) (\d+)")
CALLED = "/var/tmp/called"
"""Where programs that stand for those of a site write down how they are called."""
HOME = "/home/alice"
ENVIRONMENT = {"PATH": "/usr/bin:/bin", "HOME": HOME}


def size() -> int:
    """Return the length of slurmctld's log."""
    with open(LOG, "rb") as file:
        return file.seek(0, 2)


def failed(start: int) -> bool:
    """Tell whether a script has raised an error since the log had this length."""
    with open(LOG, "rb") as file:
        file.seek(start)
        return FAILED.search(file.read().decode(errors="replace")) is not None


def call(*words: str, user: str = "root") -> tuple[int, str]:
    """Run a command; return its exit status and its output."""
    out = {"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE, "stderr": subprocess.STDOUT}
    done = subprocess.run(words, **out, text=True, user=user, cwd=HOME, env=ENVIRONMENT)  # type: ignore[call-overload]
    return done.returncode, done.stdout


def submit(words: list[str]) -> "tuple[bool, str, str | None, subprocess.Popen[str] | None]":
    """Submit a job; return whether it was accepted, the output, the job, and the command if it waits for the job."""
    if words[0] == "sbatch":
        code, said = call(*words, user="alice")
        job = JOB.search(said)
        return code == 0, said, job and job[1], None
    null, pipe = subprocess.DEVNULL, subprocess.PIPE
    waiting = subprocess.Popen(
        words, stdin=null, stdout=null, stderr=pipe, text=True, user="alice", cwd=HOME, env=ENVIRONMENT
    )
    said = ""
    assert waiting.stderr is not None
    for line in waiting.stderr:
        said += line
        if (job := JOB.search(line)) is not None:
            return True, said, job[1], waiting
    waiting.wait()
    return False, said, None, None


def show(job: str) -> str:
    """Return what scontrol shows of a job, without its number."""
    return re.sub(rf"(?<=JobId=){job}\b|(?<=-){job}(?=\.)", "JOB", call("scontrol", "show", "job", "-o", job)[1])


def script(job: str) -> str:
    """Return the batch script of a job, without blank lines, quotes that change nothing, and the time of its making."""
    lines = call("scontrol", "write", "batch_script", job, "-")[1].splitlines()
    text = "\n".join(line for line in lines if line.strip())
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
    outcomes = []
    for request in json.load(sys.stdin):
        start = size()
        accepted, said, job, waiting = submit(request["submission"])
        outcome = {"accepted": accepted, "said": said, "failed": failed(start), "called": called()}
        if job is not None:
            outcome["job"] = show(job)
            if request["script"] and waiting is None:
                outcome["script"] = script(job)
            if request["update"]:
                start = size()
                code, said = call("scontrol", "update", f"JobId={job}", *request["update"], user="alice")
                outcome["update"] = {"accepted": code == 0, "said": said, "failed": failed(start), "job": show(job)}
            call("scancel", job)
        if waiting is not None:
            waiting.communicate()
        outcomes.append(outcome)
    json.dump(outcomes, sys.stdout)


main()
