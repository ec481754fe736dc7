#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# `sbatch --mail-user=a@x.example,b@y.example` reaches MailProg as one word, with the comma in it. Two programs that are
# both called mailx differ: bsd-mailx sends to both addresses, s-nail takes the word for one address, says that it has
# an invalid byte, and sends nothing. slurmctld's log has the error; the user, who waits for the mail, reads nothing.
# For: administrators who choose MailProg, or replace bsd-mailx by s-nail in an upgrade of the distribution.
# shellcheck source=lib/plain.bash
source "$(dirname "${BASH_SOURCE[0]}")/lib/plain.bash"

deb_unpack s-nail=14.9.24-2 bsd-mailx=8.1.2-0.20220412cvs-1 libbsd0=0.11.7-2 liblockfile1=1.17-1+b1
cat >"$work/sendmail" <<SENDMAIL
#!/bin/sh
# Stands for the server: notes the recipients that it gets, as words or in the header.
{ echo "\$*" | grep -o '[a-z@.,]*example'; sed -n 's/^To: //p'; } | sort -u >"$work/sent"
SENDMAIL
chmod +x "$work/sendmail"
echo "set sendmail=$work/sendmail" >"$work/mailrc"
mail() { # PROGRAM RECIPIENTS: what the server gets, or the exit code, if slurmctld starts this MailProg
    local options=()
    [[ $1 == bsd-mailx ]] || options=(-S "mta=$work/sendmail")
    rm -f "$work/sent"
    LD_LIBRARY_PATH=$(find "$work/debs" -name 'libbsd.so.0' -printf '%h') HOME=$work MAILRC=$work/mailrc \
        "$work/debs/usr/bin/$1" "${options[@]}" -s "Slurm Job_id=12 Name=x Ended" "$2" </dev/null >/dev/null 2>&1 ||
        echo "exit code $?"
    [[ ! -e $work/sent ]] || cat "$work/sent"
}
for program in bsd-mailx s-nail; do
    expect "$program, one recipient" a@x.example "$(mail "$program" a@x.example)"
done
expect "bsd-mailx, two" a@x.example,b@y.example "$(mail bsd-mailx a@x.example,b@y.example)"
expect "s-nail, two" "exit code 4" "$(mail s-nail a@x.example,b@y.example)"
finish
