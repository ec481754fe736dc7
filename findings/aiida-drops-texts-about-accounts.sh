#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# If "Invalid account" stands anywhere in what sbatch prints, AiiDA's plugin for Slurm returns its exit code 131, "The
# specified account is invalid.", and drops the rest, also where the cluster has said what is wrong and what to do. With
# any other error it raises an exception with the whole text.
# For: administrators who choose the error code of a refusal; users of AiiDA, who look for another account.
# shellcheck source=lib/plain.bash
source "$(dirname "${BASH_SOURCE[0]}")/lib/plain.bash"

pip_install aiida-core==2.9.4
mkdir "$work/bin"
cat >"$work/bin/sbatch" <<'SBATCH'
#!/bin/sh
# What sbatch does when slurmctld refuses a job.
echo "sbatch: error: your project ended yesterday: renew it on the web page" >&2
echo "sbatch: error: Batch job submission failed: $MESSAGE" >&2
exit 1
SBATCH
chmod +x "$work/bin/sbatch"
cat >"$work/submit.py" <<'PYTHON'
import os

from aiida.schedulers.plugins.slurm import SlurmScheduler
from aiida.transports.plugins.local import LocalTransport

open("job.sh", "w").write("#!/bin/sh\n")
with LocalTransport(use_login_shell=False) as transport:
    scheduler = SlurmScheduler()
    scheduler.set_transport(transport)
    try:
        print(scheduler.submit_job(os.getcwd(), "job.sh"))
    except Exception as error:
        print(type(error).__name__, "with the text" if "renew it" in str(error) else "without the text")
PYTHON
submit() { # MESSAGE: what AiiDA makes of a refusal with the message of this error code
    (cd "$work" && AIIDA_PATH=$work MESSAGE=$1 PATH=$work/bin:$PATH venv/bin/python submit.py 2>log)
}
expect "a refusal with ESLURM_INVALID_ACCOUNT" \
    "ExitCode(status=131, message='The specified account is invalid.', invalidates_cache=True)" \
    "$(submit 'Invalid account or account/partition combination specified')"
expect "a refusal with ESLURM_ACCESS_DENIED" "SchedulerError with the text" "$(submit 'Access/permission denied')"
finish
