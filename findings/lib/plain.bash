# SPDX-License-Identifier: GPL-2.0-or-later
# shellcheck shell=bash
# Sourced by all findings: a temporary folder, packages in it, and comparisons.
set -euo pipefail

work=$(mktemp -d /var/tmp/finding.XXXXXX)
failed=0
remove_work() {
    local place
    # debootstrap leaves mounts in the folder if it is interrupted.
    while read -r place; do
        umount "$place" || true
    done < <(awk -v folder="$work/" 'index($2, folder) == 1 { print $2 }' /proc/self/mounts | sort -r)
    rm -rf --one-file-system "$work"
}
trap remove_work EXIT

pip_install() { # REQUIREMENT...: install Python packages into the folder, and print which
    python3 -m venv "$work/venv"
    "$work/venv/bin/pip" install -q --disable-pip-version-check "$@" 2>"$work/pip.log" || { tail -5 "$work/pip.log"; exit 2; }
    echo "Python packages: $*"
}
deb_unpack() { # PACKAGE=VERSION...: unpack Debian packages into the folder without installing them
    (cd "$work" && apt-get download -q=2 "$@" 2>"$work/apt.log" >/dev/null) || { tail -5 "$work/apt.log"; exit 2; }
    local package
    for package in "$work"/*.deb; do
        dpkg-deb -x "$package" "$work/debs"
    done
    echo "Debian packages: $*"
}
expect() { # WHAT EXPECTED SEEN: compare, and remember a difference
    echo "$1: $3"
    if [[ $3 != "$2" ]]; then
        echo "  CHANGED: it was: $2"
        failed=1
    fi
}
finish() { # end with 1 if anything has changed
    if ((failed == 0)); then echo "as described"; else echo "the behaviour has changed"; fi
    exit "$failed"
}
