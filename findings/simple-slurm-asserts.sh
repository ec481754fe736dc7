#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# simple-slurm tests by `assert` whether sbatch accepted a job. A refusal is an AssertionError without a text, and under
# `python -O`, which removes assertions, an IndexError from the reading of the job's number. In both cases the reason is
# only on standard error, where sbatch has written it: whoever catches the exception and logs it has nothing to show.
# For: authors of programs that submit with simple-slurm, and those who support their users.
# shellcheck source=lib/plain.bash
source "$(dirname "${BASH_SOURCE[0]}")/lib/plain.bash"

pip_install simple-slurm==0.3.6
mkdir "$work/bin"
printf '#!/bin/sh\necho "sbatch: error: please name a project with --account" >&2\nexit 1\n' >"$work/bin/sbatch"
chmod +x "$work/bin/sbatch"
cat >"$work/submit.py" <<'PYTHON'
from simple_slurm import Slurm

try:
    Slurm(job_name="a").sbatch("true")
except Exception as error:
    print(f"{type(error).__name__}: {error}")
PYTHON
expect "a refused job" "AssertionError: None" "$(PATH=$work/bin:$PATH "$work/venv/bin/python" "$work/submit.py" 2>/dev/null)"
expect "the same with python -O" "IndexError: list index out of range" \
    "$(PATH=$work/bin:$PATH "$work/venv/bin/python" -O "$work/submit.py" 2>/dev/null)"
finish
