#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Some texts that look like mistakes are time limits: `sbatch -t -1` is UNLIMITED, `-t 1-` is a day, and `-t 90:61` is 92
# minutes, because seconds above 59 carry, and what is left is rounded up. All are accepted without a word, so a script
# that computes the limit as "hours left minus one" gets an unlimited job where it has an error.
# For: authors of programs that compute --time, and of rules that read it.
# shellcheck source=lib/slurm.bash
source "$(dirname "${BASH_SOURCE[0]}")/lib/slurm.bash"

for release in 22.05 24.11; do
    cluster_up "$release"
    for pair in '-1=UNLIMITED' '1-=1-00:00:00' '90:61=1:32:00' '1-1=1-01:00:00'; do
        job=$(alice sbatch --parsable -H -t "${pair%%=*}" --wrap true)
        expect "$release, sbatch -t ${pair%%=*}" "${pair#*=}" "$(inside squeue -h -j "$job" -o %l)"
    done
    cluster_down
done
finish
