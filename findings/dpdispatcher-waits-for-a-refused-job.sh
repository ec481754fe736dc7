#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# dpdispatcher submits a job for ever that Slurm refuses because of accounting. It takes the message "Job violates
# accounting/QOS policy" for a queue that is full, and tries again at each check, by default every 30 seconds, without a
# word. But Slurm has the same message for what never changes, such as a time limit above that of a QOS with DenyOnLimit.
# For: users of dpdispatcher, and of dpgen and other packages that submit with it; administrators whose limits or rules
# refuse with ESLURM_ACCOUNTING_POLICY.
# shellcheck source=lib/plain.bash
source "$(dirname "${BASH_SOURCE[0]}")/lib/plain.bash"

pip_install dpdispatcher==1.1.0
mkdir -p "$work"/{bin,local/task,remote}
cat >"$work/bin/sbatch" <<'SBATCH'
#!/bin/sh
# What sbatch does when slurmctld refuses a job, with the message of a code.
echo >>"$CALLS"
echo "sbatch: error: ask for less than a day" >&2
echo "sbatch: error: Batch job submission failed: $MESSAGE" >&2
exit 1
SBATCH
chmod +x "$work/bin/sbatch"
cat >"$work/submit.py" <<'PYTHON'
from dpdispatcher import Machine, Resources, Submission, Task

machine = Machine.load_from_dict(
    {"batch_type": "Slurm", "context_type": "LocalContext", "local_root": "local", "remote_root": "remote"}
)
resources = Resources(number_node=1, cpu_per_node=1, gpu_per_node=0, queue_name="debug", group_size=1)
task = Task(command="true", task_work_path="task", forward_files=[], backward_files=[])
Submission(work_base=".", machine=machine, resources=resources, task_list=[task]).run_submission(check_interval=1)
PYTHON
submit() { # MESSAGE: submit until the program ends, or sbatch was called five times; what it has written is in output
    local program
    rm -f "$work/calls"
    (cd "$work" && HOME=$work MESSAGE=$1 CALLS=$work/calls PATH=$work/bin:$work/venv/bin:$PATH exec python submit.py >output 2>&1) &
    program=$!
    while kill -0 "$program" 2>/dev/null; do
        if [[ -e $work/calls && $(wc -l <"$work/calls") -ge 5 ]]; then
            kill "$program"
            echo "submits again and again"
            break
        fi
        sleep 0.2
    done
    wait "$program" 2>/dev/null || true
}
told() { if grep -rq "ask for less" "$work/output" "$work"/*.log; then echo yes; else echo no; fi; }
expect "a refusal with another message" "" "$(submit "Invalid account or account/partition combination specified")"
expect "whether its reason can be read" yes "$(told)"
expect "a refusal because of accounting" "submits again and again" \
    "$(submit "Job violates accounting/QOS policy (job submit limit, user's size and/or time limits)")"
expect "whether its reason can be read" no "$(told)"
finish
