#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# pysqa's submit_job() returns None when sbatch refuses the job: no exception, and the reason appears nowhere in Python.
# It runs sbatch, takes a failure for "no id", and drops the exit status. Code that keeps the id for later learns of the
# refusal only when it asks for the status of None.
# For: users of pysqa and of what is built on it, such as executorlib and pyiron; administrators whose rules refuse jobs.
# shellcheck source=lib/plain.bash
source "$(dirname "${BASH_SOURCE[0]}")/lib/plain.bash"

pip_install pysqa==1.1.1
mkdir "$work/bin"
cat >"$work/bin/sbatch" <<'SBATCH'
#!/bin/sh
# What sbatch does when slurmctld refuses a job.
echo "sbatch: error: please name a project with --account" >&2
echo "sbatch: error: Batch job submission failed: Invalid account or account/partition combination specified" >&2
exit 1
SBATCH
chmod +x "$work/bin/sbatch"
seen=$(cd "$work" && PATH=$work/bin:$PATH venv/bin/python 2>stderr - <<'PYTHON'
import logging
import pysqa

logging.basicConfig(level=logging.DEBUG, filename="log")
queue = pysqa.QueueAdapter(queue_type="SLURM")
template = "#!/bin/bash\n#SBATCH --job-name={{job_name}}\n{{command}}\n"
print(repr(queue.submit_job(job_name="a", working_directory=".", command="true", cores=1, submission_template=template)))
PYTHON
)
expect "submit_job() of a refused job" None "$seen"
expect "lines of its log about the refusal" 0 "$(grep -c "name a project" "$work/log" || true)"
finish
