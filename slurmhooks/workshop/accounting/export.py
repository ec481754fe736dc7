# SPDX-License-Identifier: GPL-2.0-or-later
"""The shell script that prints what accounting knows of jobs; it needs sacct, and nothing of slurmhooks.

Users write what they like into names, comments and command lines. So the columns are separated by a word that is drawn
anew for each script, and the first and the last column are numbers: a record ends with the line of its last column.
"""

from __future__ import annotations

import secrets
import shlex
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import date

FIRST, LAST = "JobIDRaw", "UID"
COLUMNS = (
    *(FIRST, "JobID", "User", "GID", "Submit", "State", "Account", "Partition", "QOS", "JobName", "Comment"),
    *("WorkDir", "TimelimitRaw", "Constraints", "Reservation", "WCKey", "SubmitLine", LAST),
)
"""The columns, which sacct has in all releases."""
SCRIPTS, VARIABLES, END = "scripts", "variables", "end"
"""What follows a line with the separator and this word, and for what is kept the jobs as JobIDRaw:JobID."""
AT_ONCE = 100
"""Number of jobs whose scripts are asked for at once."""
_SCRIPT = """\
#!/bin/sh
# Prints what accounting knows of the jobs from {first} until {last}, for 'slurmhooks import --from'.
# Only root, SlurmUser and operators see the jobs of all users.
set -eu
export LC_ALL=C SLURM_TIME_FORMAT=%s
separator={separator}
sacct --version
jobs() {{
    for days in {days}; do
        sacct {users} --allocations --duplicates --parsable2 --starttime="${{days%..*}}" --endtime="${{days#*..}}" "$@"
    done
}}
jobs --delimiter="$separator" --format={columns}
"""
_KEPT = """\
flags=$(scontrol show config | sed -n 's/^AccountingStoreFlags *= *//p')
for kept in {scripts} {variables}; do
    case $kept,$flags in
    {scripts},*job_script*) option=--batch-script ;;
    {variables},*job_env*) option=--env-vars ;;
    *) continue ;;
    esac
    # One task stands for a whole array.
    jobs --noheader --delimiter=' ' --format=JobID,JobIDRaw |
        awk '{{ job = $1; sub(/[_+].*/, "", job); if (!(job in seen)) {{ seen[job]; print $NF ":" job }} }}' |
        xargs -r -n {at_once} |
        while read -r ids; do
            printf '%s %s %s\\n' "$separator" "$kept" "$ids"
            sacct {users} --allocations --jobs="$(echo "$ids" | sed 's/:[0-9]*//g; s/ /,/g')" "$option" </dev/null
        done
done
"""
_END = """\
printf '%s {end}\\n' "$separator"
"""


def script(days: Sequence[tuple[date, date]], *, users: Sequence[str] = (), kept: bool = True) -> str:
    """Return the script.

    ``days`` are times from which and until which jobs are asked for, each pair by one call of sacct; ``users`` are
    names or ids, by default all. ``kept``: also print scripts and environments where AccountingStoreFlags keeps them.
    """
    parts = _SCRIPT + (_KEPT if kept else "") + _END
    return parts.format(
        first=days[0][0],
        last=days[-1][1],
        separator=shlex.quote(f"<{secrets.token_hex(8)}>"),
        days=" ".join(f"{start}..{end}" for start, end in days),
        users=f"--user={shlex.quote(','.join(users))}" if users else "--allusers",
        columns=",".join(COLUMNS),
        scripts=SCRIPTS,
        variables=VARIABLES,
        at_once=AT_ONCE,
        end=END,
    )
