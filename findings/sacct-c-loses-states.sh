#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# jobcomp/filetxt writes a line of NAME=VALUE words for each job, and `sacct --completion` reads it back by splitting at
# blanks. The name of a job may have blanks, and then sacct shows only its first word and loses the field after it,
# which is the state: a job "my job" that has completed has no state. AllocNodes is 4294967294 for both jobs here.
# For: sites without slurmdbd that report from jobcomp/filetxt, and users who name their jobs.
# shellcheck source=lib/slurm.bash
source "$(dirname "${BASH_SOURCE[0]}")/lib/slurm.bash"

recorded() { [[ $(wc -l <"$root/tmp/jobcomp.txt") == 2 ]]; }
for release in 22.05 24.11; do
    cluster_up "$release" JobCompType=jobcomp/filetxt JobCompLoc=/tmp/jobcomp.txt
    alice sbatch -Q -J my-job -o /dev/null --wrap true
    alice sbatch -Q -J 'my job' -o /dev/null --wrap true
    wait_for "the records of both jobs" recorded
    expect "$release, the file" "Name=my job JobState=COMPLETED" \
        "$(sed -n 's/.*\(Name=my job JobState=[A-Z]*\).*/\1/p' "$root/tmp/jobcomp.txt")"
    expect "$release, sacct -c" "my-job|COMPLETED|4294967294 my||4294967294 " \
        "$(inside sacct -c -n -P -o jobname,state,allocnodes 2>/dev/null | LC_ALL=C sort | tr '\n' ' ')"
    cluster_down
done
finish
