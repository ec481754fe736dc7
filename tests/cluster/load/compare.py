# SPDX-License-Identifier: GPL-2.0-or-later
"""Compare what clients, policy and slurmctld say about each job of fire.py; the result is one line of JSON."""

import json
import re
import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import Any

FOLDER = Path("/var/lib/slurm/load")
LOG = Path("/var/log/slurm/slurmctld.log")
SUBMITTED = re.compile(r"_slurm_rpc_submit_batch_job: JobId=(\d+) ")


def kind(number: int) -> str:
    """Return the policy's decision about a job."""
    if number % 100 == 7:
        return "bug"
    return "refuse" if number % 10 else "accept"


def classify(number: int, error: int, text: str) -> str:
    """Return slurmctld's answer, as the user sees it."""
    if not error:
        return "accepted"
    if re.search(rf"the policy refuses {number}\b", text):
        return "refused by the policy"
    if "the policy refuses" in text:
        return "answer to another job"
    if re.search(r"job_submit handler policy:policy failed \(error [0-9a-f]{8}\)", text):
        return "refused for the bug"
    if re.search(r"the job_submit hooks did not answer \(error [0-9a-f]{8}\)", text):
        return "refused without an answer of the hooks"
    return f"error {error}: {re.sub(r'[0-9]+', 'N', text)[:120]}"


def main(total: int) -> None:
    """Print the comparison."""
    answers: Counter[str] = Counter()
    wrong: list[str] = []
    taken: dict[int, int] = {}
    doubtful: set[int] = set()
    answered = bytearray(total + 1)
    for path in FOLDER.glob("client-*"):
        for line in path.open():
            first, error, job_id, text = line.split(" ", 3)
            number, answer = int(first), classify(int(first), int(error), text)
            answered[number] += 1
            answers[f"{kind(number)}: {answer}"] += 1
            if answer == "accepted":
                taken[int(job_id)] = number
                if kind(number) != "accept":
                    wrong.append(line)
            elif answer == "answer to another job" or (answer == "refused by the policy") > (kind(number) == "refuse"):
                wrong.append(line)
            elif answer.startswith("error"):
                doubtful.add(number)
    seen = bytearray(total + 1)
    versions = set()
    for line in (FOLDER / "seen").open():
        number, version = map(int, line.split())
        seen[number] = 1
        versions.add(version)
    # slurmctld's view: ids of accepted jobs, and each job as it was when it ended, or as it is now.
    created = {int(found[1]) for line in LOG.open(errors="replace") if (found := SUBMITTED.search(line))}
    jobs: dict[int, tuple[str, str]] = {}
    queue = subprocess.run(["squeue", "-h", "-o", "%A %j %k"], capture_output=True, text=True, check=True).stdout
    for line in (*(FOLDER / "ended").open(), *queue.splitlines()):
        job_id, name, comment = line.rstrip("\n").split(" ", 2)
        jobs[int(job_id)] = (name, comment)
    result: dict[str, Any] = {
        "jobs": total,
        "answers": dict(sorted(answers.items())),
        "without exactly one answer": sum(count != 1 for count in answered[1:]),
        "wrong": wrong[:20],
        "accepted without the policy": [n for n in taken.values() if not seen[n]][:20],
        "seen by the policy": sum(seen),
        "versions of the policy": len(versions),
        "accepted": len(taken),
        "created by slurmctld": len(created),
        "accepted, but not created": sorted(set(taken) - created)[:20],
        # slurmctld may create a job and be replaced before it can answer.
        "created, and the client had an error": len(
            {job for job in created - set(taken) if job in jobs and int(jobs[job][0]) in doubtful}
        ),
        "created, and the client knows nothing": sorted(
            job for job in created - set(taken) if job not in jobs or int(jobs[job][0]) not in doubtful
        )[:20],
        "neither ended nor there": sorted(created - set(jobs))[:20],
        "without the comment of the policy": [
            f"{job} {name} {comment}"
            for job, (name, comment) in jobs.items()
            if comment != f"the policy accepts {name}" or kind(int(name)) != "accept"
        ][:20],
    }
    print(json.dumps(result))  # noqa: T201


if __name__ == "__main__":
    main(int(sys.argv[1]))
