#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Each line of a crontab of scrontab is a job, but saving the crontab cancels and submits all of them, not only the lines
# that have changed, even if none has: every line gets another job id. Its job is named after the first word of the
# command, with its path, so all lines of one interpreter have one name.
# For: whoever keeps job ids of scrontab's jobs (dashboards, dependencies), counts submissions, or finds them by name.
# shellcheck source=lib/slurm.bash
source "$(dirname "${BASH_SOURCE[0]}")/lib/slurm.bash"

cluster_up 24.11 ScronParameters=enable
jobs() { inside squeue -h -S i -o '%i %j' | tr '\n' ';'; }
save() { # LINE...
    printf '%s\n' "$@" >"$root/home/alice/table"
    alice scrontab table
}
save '@daily /usr/bin/perl a.pl' '@daily /usr/bin/perl b.pl'
expect "two lines" "1 /usr/bin/perl;2 /usr/bin/perl;" "$(jobs)"
save '@daily /usr/bin/perl a.pl' '@weekly /usr/bin/perl b.pl'
expect "the second has changed" "3 /usr/bin/perl;4 /usr/bin/perl;" "$(jobs)"
save '@daily /usr/bin/perl a.pl' '@weekly /usr/bin/perl b.pl'
expect "nothing has changed" "5 /usr/bin/perl;6 /usr/bin/perl;" "$(jobs)"
finish
