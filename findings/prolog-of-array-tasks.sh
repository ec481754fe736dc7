#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Prolog and Epilog of a node do not know that a job is a task of an array: no SLURM_ARRAY_* variable is set there, while
# PrologSlurmctld, on the controller, and the job itself have them. SLURM_JOB_ID is the task's own id, so a folder that
# is named after SLURM_ARRAY_JOB_ID, as in the job's script, cannot be made or removed there without asking slurmctld.
# For: authors of prologs that make scratch folders.
# shellcheck source=lib/slurm.bash
source "$(dirname "${BASH_SOURCE[0]}")/lib/slurm.bash"

for release in 22.05 24.11; do
    root_of "$release"
    for where in prolog epilog controller; do
        site_file "$where" "env | grep ^SLURM_ARRAY_JOB_ID= >>/tmp/$where" 'exit 0'
    done
    cluster_up "$release" Prolog=/etc/slurm/prolog Epilog=/etc/slurm/epilog PrologSlurmctld=/etc/slurm/controller
    # shellcheck disable=SC2016 # the inner shell expands
    inside sh -c 'for where in prolog epilog controller script; do install -m 666 /dev/null /tmp/$where; done'
    alice sbatch -Q -W --array=1-2 -o /dev/null --wrap 'env | grep ^SLURM_ARRAY_JOB_ID= >>/tmp/script'
    wait_for "the epilog" states 'idle idle'
    for where in prolog epilog; do
        expect "$release, lines from $where" 0 "$(inside sh -c "wc -l </tmp/$where")"
    done
    for where in controller script; do
        expect "$release, lines from $where" 2 "$(inside sh -c "wc -l </tmp/$where")"
    done
    cluster_down
done
finish
