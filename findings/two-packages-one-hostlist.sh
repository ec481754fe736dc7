#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# python-hostlist and py-hostlist both expand lists such as n[1-3], and both install a module `hostlist` and a command
# `hostlist`. One is a file and the other a folder, so pip installs both into one environment without a complaint.
# Python prefers the folder: code that is written for python-hostlist gets the other module, which has no
# expand_hostlist.
# For: programs that depend on python-hostlist, and environments into which another program brings py-hostlist.
# shellcheck source=lib/plain.bash
source "$(dirname "${BASH_SOURCE[0]}")/lib/plain.bash"

pip_install python-hostlist==2.3.0
expand() { # expand a list by the module that Python finds
    "$work/venv/bin/python" -c '
import hostlist
try:
    print(*hostlist.expand_hostlist("n[1-3]"))
except Exception as error:
    print(type(error).__name__)'
}
expect "python-hostlist alone" "n1 n2 n3" "$(expand)"
"$work/venv/bin/pip" install -q --disable-pip-version-check py-hostlist==0.0.2.dev0 2>"$work/pip.log" || { tail -5 "$work/pip.log"; exit 2; }
expect "with py-hostlist" AttributeError "$(expand)"
expect "pip check" "No broken requirements found." "$("$work/venv/bin/pip" check)"
finish
