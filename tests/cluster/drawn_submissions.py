# SPDX-License-Identifier: GPL-2.0-or-later
"""Draws submissions whose options come from the command line, the script and variables, with values of many words."""

from __future__ import annotations

import shlex
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import random

OPTIONS = (
    *(
        ("-t", "10"),
        ("--time=1:00:00",),
        ("-t", "0:30"),
        ("--time-min=2",),
        ("-N", "2"),
        ("-N1-2",),
        ("-n", "3"),
        ("-c2",),
    ),
    *(("--mem=100",), ("--mem-per-cpu=50",), ("-p", "closed"), ("--partition=closed,debug",), ("-A", "physics")),
    *(("--account", "maths"), ("-q", "low"), ("--qos=normal",), ("--nice=5",), ("-a", "1-3"), ("--array=1,3%1",)),
    *(
        ("-J", "my job"),
        ("--job-name=plain",),
        ("-J", "a -p b -t 3"),
        ("-J", "what?"),
        ("-J", "grün"),
        ("-J", "new\nline"),
    ),
    *(("--comment", "two words"), ("--comment=x -N 2",), ("--comment", "one"), ("--extra", "e f")),
    *(
        ("-o", "out file.txt"),
        ("-o", "/tmp/x.txt"),
        ("-e", "%j.err"),
        ("-i", "none"),
        ("-D", "/tmp"),
        ("--chdir=/var/tmp",),
    ),
    *(("--mail-type", "END, FAIL"), ("--mail-type=ALL",), ("--mail-user=alice@example.org",)),
    *(
        ("--exclusive",),
        ("--exclusive=user",),
        ("-s",),
        ("-x", "n2"),
        ("-w", "n1"),
        ("--nodelist=n[1-2]",),
        ("--contiguous",),
    ),
    *(
        ("--requeue",),
        ("--no-requeue",),
        ("--signal=B:USR1@60",),
        ("--tmp=1",),
        ("-m", "block:cyclic"),
        ("-m", "plane=2"),
    ),
    *(("--switches=1@10",), ("--ntasks-per-node=2",), ("-O",), ("-k",), ("--no-kill=off",), ("--open-mode=append",)),
    *(
        ("-v",),
        ("-Q",),
        ("--parsable",),
        ("--profile=task",),
        ("--spread-job",),
        ("--use-min-nodes",),
        ("--mincpus=2",),
    ),
    *(("--threads-per-core=1",), ("--hint=nomultithread",), ("--hint=compute_bound",), ("--acctg-freq=30",)),
    *(("--wait-all-nodes=1",), ("--delay-boot=5",), ("--cpu-freq=high",), ("--ntasks-per-core=1",), ("-B", "1:1:1")),
    *(("--export=NONE",), ("--export", "ALL,SITE=a b"), ("--export=HOME",), ("--kill-on-invalid-dep=yes",), ("-vQ",)),
    *(
        ("--deadline=now+3days",),
        ("--sockets-per-node=1",),
        ("--mem", "2G"),
        ("-n2",),
        ("--priority=7",),
        ("--stepmgr",),
    ),
)
"""Options as words of a command line."""
VARIABLES = (
    *(("SBATCH_TIMELIMIT", "7"), ("SBATCH_ACCOUNT", "physics"), ("SBATCH_PARTITION", "closed"), ("SBATCH_QOS", "low")),
    *(
        ("SBATCH_JOB_NAME", "of variables"),
        ("SBATCH_EXCLUSIVE", ""),
        ("SBATCH_REQUEUE", "1"),
        ("SBATCH_OVERCOMMIT", "no"),
    ),
    *(
        ("SBATCH_MEM_PER_NODE", "200"),
        ("SBATCH_NO_KILL", "set"),
        ("SBATCH_OUTPUT", "/tmp/env.txt"),
        ("SBATCH_EXPORT", "NONE"),
    ),
    *(("SITE", "two\nlines"), ("SITE", "SBATCH"), ("SBATCH_WCKEY", "k"), ("SBATCH_HINT", "nomultithread")),
)
INTERACTIVE = (
    *(
        ("-t", "10"),
        ("-n", "2"),
        ("-A", "physics"),
        ("--mem=100",),
        ("-p", "debug"),
        ("--comment", "a b"),
        ("-q", "low"),
    ),
    *(("-J", "my job"), ("--nice=5",), ("--exclusive",), ("-w", "n1"), ("-x", "n2"), ("-N", "1"), ("--contiguous",)),
)
"""Options of srun and salloc, with which a job starts at once."""
ARGUMENTS = ("", "one", "two words", "-t 5", "--mem=7")


@dataclass
class Submission:
    """One command.

    ``marker`` is a word of the command line that no other has.
    """

    marker: str
    words: list[str]
    script: str = ""
    variables: dict[str, str] = field(default_factory=dict)

    def shell(self) -> str:
        """Return the lines of a shell script that submit it."""
        made = f"printf %s {shlex.quote(self.script)} > {self.marker}.sh\n" if self.script else ""
        given = " ".join(f"{name}={shlex.quote(value)}" for name, value in self.variables.items())
        # srun and salloc may wait for nodes; what they have asked for is in accounting all the same.
        seconds = 60 if self.words[0] == "sbatch" else 5
        return f"{made}env {given} timeout {seconds} {shlex.join(self.words)} </dev/null || true\n"


def draw(random: random.Random, number: int) -> Submission:
    """Draw a submission."""
    marker = f"m{number}m"
    if random.random() < 0.06:
        options = [word for words in random.sample(INTERACTIVE, random.randint(0, 3)) for word in words]
        if random.random() < 0.5:
            return Submission(marker, ["srun", *options, "true", marker, *random.sample(ARGUMENTS, 1)])
        return Submission(marker, ["salloc", *options, "true", marker])
    line = [word for words in random.sample(OPTIONS, random.randint(0, 4)) for word in words]
    variables = dict(random.sample(VARIABLES, random.choice((0, 0, 1, 2))))
    if random.random() < 0.15:
        wrap = random.choice(("true", "echo -t 5", "srun -n 2 x", "a  b"))
        words = ["--wrap", f"{wrap} {marker}"] if random.random() < 0.5 else [f"--wrap={wrap} {marker}"]
        return Submission(marker, ["sbatch", *(words + line if random.random() < 0.5 else line + words)], "", variables)
    lines = []
    for option in random.sample(OPTIONS, random.choice((0, 1, 2, 3))):
        lines.append("#SBATCH " + " ".join(f'"{word}"' if set(word) & set(" \n?") else word for word in option))
    if random.random() < 0.06:
        lines += ["#SBATCH hetjob", "#SBATCH -n 2"]
    end = random.choice(("\n", "", "\n# naïve?\n"))
    script = "\n".join(["#!/bin/sh", *(each for each in lines if "\n" not in each), "true"]) + end
    path = random.choice(("", "./", "/home/alice/"))
    arguments = random.sample(ARGUMENTS, random.choice((0, 0, 1, 2)))
    return Submission(marker, ["sbatch", *line, f"{path}{marker}.sh", *arguments], script, variables)
