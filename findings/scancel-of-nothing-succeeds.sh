#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Commands of Slurm disagree about a job that does not exist. scancel ends with 0 and says nothing; squeue ends with 1
# for one id, but with 0 and no line for a list of two; scontrol always ends with 1. For a user who does not exist,
# squeue writes an error and ends with 0. `squeue --json` of one id ends with 0 in 22.05, and with 1 later. So a program
# that waits for the end of its jobs by the exit code finds an error for one job and none for two.
# For: programs that poll or cancel jobs.
# shellcheck source=lib/slurm.bash
source "$(dirname "${BASH_SOURCE[0]}")/lib/slurm.bash"

declare -A JSON=([22.05]=0 [24.11]=1)
code() { # COMMAND...: its exit code, and whether it has written anything
    local code=0 text
    text=$(inside "$@" 2>&1) || code=$?
    echo "$code${text:+ and a text}"
}
for release in 22.05 24.11; do
    cluster_up "$release"
    expect "$release, scancel 98" 0 "$(code scancel 98)"
    expect "$release, squeue -j 98" "1 and a text" "$(code squeue -h -j 98)"
    expect "$release, squeue -j 98,99" 0 "$(code squeue -h -j 98,99)"
    expect "$release, scontrol show job 98" "1 and a text" "$(code scontrol show job 98)"
    expect "$release, squeue -u nobody-here" "0 and a text" "$(code squeue -h -u nobody-here)"
    expect "$release, squeue --json -j 98" "${JSON[$release]} and a text" "$(code squeue --json -j 98)"
    cluster_down
done
finish
