#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# signac-flow submits an operation once more while its job is suspended, configuring or requeued. `project.py submit` asks
# squeue for the states of the user's jobs and knows some of them, such as PD and R; all others become "registered",
# which counts as less than submitted. So where nodes have to boot, or a partition suspends jobs for others
# (PreemptMode=SUSPEND, GANG), a second `submit` gives two jobs that work on the same data at the same time.
# For: users of signac-flow, and of scripts that run `submit` from cron; administrators who see the same job twice.
# shellcheck source=lib/plain.bash
source "$(dirname "${BASH_SOURCE[0]}")/lib/plain.bash"

pip_install signac-flow==0.29.1 signac==2.4.1
mkdir "$work/bin"
cat >"$work/bin/sbatch" <<'SBATCH'
#!/bin/sh
# Accepts a job as sbatch does, and notes its name.
[ "$1" != --version ] || exec echo "slurm 24.11.5"
sed -n 's/^#SBATCH --job-name="\(.*\)"$/\1/p' "$@" >>names
echo "Submitted batch job $(wc -l <names)"
SBATCH
cat >"$work/bin/squeue" <<'SQUEUE'
#!/bin/sh
# What squeue prints with -h --format=%2t%100j if each submitted job is in one state.
[ ! -e names ] || while read -r name; do printf '%-2s%-100s\n' "$STATE" "$name"; done <names
SQUEUE
chmod +x "$work"/bin/*
cat >"$work/project.py" <<'PYTHON'
import flow
import signac


class Site(flow.environment.DefaultSlurmEnvironment):
    """A cluster with Slurm."""

    template = "slurm.sh"


class Project(flow.FlowProject):
    """A project with one operation, which is not done yet."""


@Project.post(lambda job: False)
@Project.operation
def simulate(job):
    """Work on the data of one job."""


if __name__ == "__main__":
    signac.init_project().open_job({"a": 1}).init()
    Project().main()
PYTHON
jobs() { # STATE: how many jobs there are after two times `submit`, the second one while the first job has this state
    rm -rf "$work/project" && mkdir "$work/project"
    (cd "$work/project" && for _ in 1 2; do
        STATE=$1 PATH=$work/bin:$work/venv/bin:$PATH python ../project.py submit >>log 2>&1 || { tail -5 log >&2; exit 2; }
    done && wc -l <names)
}
for known in "PD pending" "R running"; do
    expect "jobs after a second submit, the first one ${known#* }" 1 "$(jobs "${known% *}")"
done
for unknown in "CF configuring" "S suspended" "RQ requeued"; do
    expect "jobs after a second submit, the first one ${unknown#* }" 2 "$(jobs "${unknown% *}")"
done
finish
