# SPDX-License-Identifier: GPL-2.0-or-later
"""The scenes that `make demo` plays and test_first_light.py checks: real commands and their expected output."""

import re
import subprocess
from collections.abc import Callable
from dataclasses import dataclass

HOOKS = "contrib/first_light/hooks.py"
BROKEN = "tests/cluster/broken_hooks.py"
HOOKS_D = "/etc/slurm/hooks.d"
BUNDLE_MAKER = "tests/cluster/make_bundle.py"
BUNDLE_PATH = "/opt/make_bundle.py"

SCRUN = "scrun --root=/run/user/2001/scrun"
CREATE = f"env SCRUN_ACCOUNT=physics {SCRUN} create"
CREATE_VERBOSELY = CREATE.replace(" create", " -v create")
DELETE_BUG = f"timeout 25 {SCRUN} delete bug || timeout 25 {SCRUN} delete bug"
"""Twice, because an anchor that is just ending after a refusal sends no answer to the first (1 in 25 on 24.11)."""
LAST_SCRUN_JOB = "scontrol --oneliner show jobs | grep JobName=scrun | tail -n 1 | tr ' ' '\\n'"
LOST = "srun: Check SLURM_JOB_ID environment variable. Expired or invalid job"
"""The output of a container that scrun has lost, as sometimes happens on a busy machine."""
IS_LOST = f"! grep -q slurmhooks out.txt || grep -q '{LOST}' out.txt"
"""Nothing was staged, or nothing ran. Of refused containers, created one after the other, scrun loses one in ten, with
a scrun.lua as with Python."""
CLEAR = f"echo Slurm lost the container: again; for name in demo bug; do timeout 25 {SCRUN} delete --force $name; done"
TRIES = 3
CONTAINER_SAYS = "echo inside the container; cat /etc/staged"

Run = Callable[[str, str], "subprocess.CompletedProcess[str]"]
"""Runs a shell command as a user; its output has both streams."""


@dataclass(frozen=True)
class Step:
    """One command of a scene.

    ``{name}`` in the command is replaced by what an earlier step has captured: group 1 of the first of the patterns in
    ``wants``, which must match the output in any order.
    """

    command: str
    wants: tuple[str, ...] = ()
    fails: bool = False
    hides: tuple[str, ...] = ()
    captures: str = ""
    user: str = "alice"


@dataclass(frozen=True)
class Scene:
    """Commands that show one feature.

    ``container``: it uses a container, and is played again if scrun loses that.
    """

    name: str
    shows: str
    steps: tuple[Step, ...]
    since: str = ""
    container: bool = False


SCRUN_SINCE = "24.05"
ID = r"\(error ([0-9a-f]{8})\); please tell your administrators"
IN_LOG = "grep -h 'error {id}' /var/log/slurm/*.log | cut -c1-200"


def scenes(release: str) -> tuple[Scene, ...]:
    """Return the scenes for a release."""
    logged = release < "23.02"
    # A build with public headers does not know the job, and lets users change nothing that the handler looks at.
    refusal = "a job may take at most 60 minutes|only administrators may change time_limit"
    # Before 23.02 a refused update cannot show a text to the user: it is in slurmctld's log.
    modify = Step("scontrol update jobid={job} timelimit=120", () if logged else (refusal,), fails=True)
    return (
        Scene(
            "refuse",
            "A handler of hook.job refuses a job without an account, in its own words.",
            (
                Step(
                    "sbatch --output=/dev/null --wrap 'sleep 60'",
                    ("please name a project with --account", "Invalid account"),
                    fails=True,
                ),
            ),
        ),
        Scene(
            "accept",
            "With an account the job is accepted: the handler sets time limit and comment, and informs the user.",
            (
                Step(
                    "sbatch --account=physics --hold --output=/dev/null --wrap 'sleep 60'",
                    (r"Submitted batch job (\d+)", "no --time given: limited to 60 minutes"),
                    captures="job",
                ),
                Step(
                    "scontrol show job {job} | grep -E -o '(TimeLimit|Comment)=.*'",
                    ("TimeLimit=01:00:00", "Comment=project physics"),
                ),
            ),
        ),
        Scene(
            "modify",
            "The same handler sees updates: users cannot extend a job past the limit, administrators can.",
            (
                Step(
                    "sbatch --account=physics --hold --output=/dev/null --wrap 'sleep 60'",
                    (r"Submitted batch job (\d+)",),
                    captures="job",
                ),
                modify,
                Step(f"grep -E -o '({refusal}).*' /var/log/slurm/slurmctld.log", (refusal,), user="root")
                if logged
                else Step("scontrol show job {job} | grep -o 'TimeLimit=.*'", ("TimeLimit=01:00:00",)),
                Step("scontrol update jobid={job} timelimit=120", user="root"),
                Step("scontrol show job {job} | grep -o 'TimeLimit=.*'", ("TimeLimit=02:00:00",)),
                Step("scancel {job}"),
            ),
        ),
        Scene(
            "option",
            "srun, sbatch and salloc have a new option; its value reaches a handler in slurmstepd, for each task.",
            (
                Step("srun --help | grep -A1 -e --greet", (r"--greet=NAME", "who to greet")),
                Step(
                    "srun --account=physics --time=5 --ntasks=2 --greet=Ada sh -c 'echo $HELLO' | sort",
                    ("hello Ada, task 0 of job", "hello Ada, task 1 of job"),
                ),
                Step("srun --account=physics --time=5 sh -c 'echo [$HELLO]'", (r"\[\]",)),
            ),
        ),
        Scene(
            "option-batch",
            "The same option from a batch script: the batch step and its srun both see it.",
            (
                Step(
                    "sbatch --wait --account=physics --time=5 --greet=Bob --output=hello.txt"
                    " --wrap 'echo batch: $HELLO; srun sh -c \"echo step: \\$HELLO\"'; cat hello.txt",
                    ("batch: hello Bob", "step: hello Bob"),
                ),
            ),
        ),
        Scene(
            "check",
            "A value that the option's check refuses ends the command before anything is submitted.",
            (
                Step("scontrol --oneliner show jobs | wc -l", (r"(\d+)",), captures="before"),
                Step("srun --account=physics --greet=42 true", ("'42' is not a name",), fails=True),
                Step("sbatch --account=physics --greet=42 --wrap true", ("'42' is not a name",), fails=True),
                Step("scontrol --oneliner show jobs | wc -l", ("{before}",)),
            ),
        ),
        Scene(
            "scrun",
            "scrun runs an OCI container as a Slurm job; Python stages it in and out.",
            (
                Step(
                    f"{BUNDLE_PATH} bundle /bin/sh -c '{CONTAINER_SAYS}; sleep 2'; ls bundle", ("config.json", "rootfs")
                ),
                Step(
                    f"timeout -k 1 30 {CREATE} --bundle $PWD/bundle demo > out.txt 2>&1; {SCRUN} state demo",
                    ('"id": "demo"', r"staged-2001-demo"),
                ),
                Step(f"timeout 25 {SCRUN} start demo; squeue --noheader --format '%j %u %T'", ("scrun alice",)),
                Step(
                    f"for i in $(seq 300); do {SCRUN} state demo | grep -q stopped && break; sleep 0.1; done;"
                    f" {SCRUN} state demo | grep status; cat out.txt",
                    ("stopped", "inside the container", r"by slurmhooks, for job (\d+)"),
                ),
                Step(f"timeout 25 {SCRUN} delete demo; ls -d /tmp/staged-* 2>&1", ("No such file",), fails=True),
                Step(
                    f"for i in $(seq 300); do {LAST_SCRUN_JOB} | grep -q =COMPLETED && break; sleep 0.1; done;"
                    f" {LAST_SCRUN_JOB} | grep -E '^(JobName|JobState|Comment)='",
                    ("JobState=COMPLETED", "Comment=project"),
                ),
            ),
            SCRUN_SINCE,
            container=True,
        ),
        Scene(
            "bug-job_submit",
            "A bug in job_submit: the user sees one line with an id, the traceback with that id is in slurmctld's log.",
            (
                Step(
                    "sbatch --account=physics --job-name=bug --wrap true",
                    (ID, "job_submit handler broken:bug_in_job_submit failed"),
                    fails=True,
                    hides=("Traceback",),
                    captures="id",
                ),
                Step(IN_LOG, ("Traceback", "KeyError", "broken.py"), user="root"),
                Step("sbatch --account=physics --output=/dev/null --wrap true", ("Submitted batch job",)),
            ),
        ),
        Scene(
            "bug-spank",
            "A bug in task_init: the task does not start, the node stays up.",
            (
                Step(
                    "srun --account=physics --time=5 --bug=task_init true",
                    (ID, "spank.task_init handler broken:bug_in_task_init failed"),
                    fails=True,
                    hides=("Traceback", "ZeroDivisionError"),
                    captures="id",
                ),
                Step(IN_LOG, ("Traceback", "ZeroDivisionError", "broken.py"), user="root"),
                Step("srun --account=physics --time=5 echo alive", ("alive",)),
            ),
        ),
        Scene(
            "bug-scrun",
            "A bug in stage_in: the container does not start, scrun's user sees one line.",
            (
                Step(f"{BUNDLE_PATH} bundle /bin/true"),
                # Faults of Slurm: scrun exits with 0 on 24.11, and on 26.05 it does not return, so there is a time
                # limit.
                Step(
                    f"timeout -k 1 30 {CREATE} --bundle $PWD/bundle bug > out.txt 2>&1; cat out.txt",
                    (ID, "scrun.stage_in handler broken:bug_in_stage_in failed"),
                    hides=("Traceback", "disk on fire"),
                    captures="id",
                ),
                Step(f"timeout 25 {SCRUN} state bug | grep status; {DELETE_BUG}", ("stopped",)),
                Step(
                    f"timeout -k 1 30 {CREATE_VERBOSELY} --bundle $PWD/bundle bug > out.txt 2>&1;"
                    " for i in $(seq 300); do grep -q RuntimeError: out.txt && break; sleep 0.1; done;"
                    f" grep -E 'Traceback|RuntimeError' out.txt; {DELETE_BUG}",
                    ("Traceback", "RuntimeError: disk on fire"),
                ),
            ),
            SCRUN_SINCE,
            container=True,
        ),
    )


def play(scene: Scene, run: Run, show: Callable[[Step, str, str], None]) -> list[str]:
    """Run the commands of a scene, and repeat them if scrun has lost its container.

    Returns:
        the failures; empty if there is none.
    """
    wrong = _attempt(scene, run, show)
    for _ in range(TRIES - 1):
        if not (wrong and scene.container and run("alice", IS_LOST).returncode == 0):
            break
        show(Step(CLEAR), CLEAR, run("alice", CLEAR).stdout)
        wrong = _attempt(scene, run, show)
    return wrong


def _attempt(scene: Scene, run: Run, show: Callable[[Step, str, str], None]) -> list[str]:
    captured: dict[str, str] = {}
    wrong = []

    def fill(text: str) -> str:
        for name, value in captured.items():
            text = text.replace(f"{{{name}}}", value)
        return text

    for step in scene.steps:
        command = fill(step.command)
        done = run(step.user, command)
        show(step, command, done.stdout)
        what = f"{scene.name}: {command!r}"
        if step.fails != (done.returncode != 0):
            wrong.append(f"{what}: exit code {done.returncode}")
        for pattern in map(fill, step.wants):
            match = re.search(pattern, done.stdout)
            if match is None:
                wrong.append(f"{what}: no {pattern!r} in the output")
            elif step.captures and step.captures not in captured and match.groups():
                captured[step.captures] = match.group(1)
        wrong += [f"{what}: {pattern!r} in the output" for pattern in step.hides if re.search(pattern, done.stdout)]
        if wrong:
            wrong.append(f"its output was:\n{done.stdout}")
            break
    return wrong
