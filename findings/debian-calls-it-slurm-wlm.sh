#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# On Debian and Ubuntu, `sbatch --version` says "slurm-wlm 22.05.8", as the package is called; built from its sources,
# Slurm says "slurm 22.05.8". Libraries look for the second text only: law takes Debian's Slurm for none at all, and
# slurm2sql raises an AttributeError.
# For: programs that ask for the version of Slurm, and whoever runs them on Debian or Ubuntu.
# shellcheck source=lib/plain.bash
source "$(dirname "${BASH_SOURCE[0]}")/lib/plain.bash"

pip_install law==0.1.21 slurm2sql==0.9.9
deb_unpack slurm-client=22.05.8-4+deb12u3 slurm-wlm-basic-plugins=22.05.8-4+deb12u3
libraries=$(dirname "$(find "$work/debs" -name libslurmfull.so)")
printf '%s\n' ClusterName=finding SlurmctldHost=localhost PluginDir="$libraries" >"$work/slurm.conf"
mkdir "$work/bin" "$work/upstream"
for command in sbatch sacct; do
    printf '#!/bin/sh\nSLURM_CONF=%s LD_LIBRARY_PATH=%s exec %s "$@"\n' \
        "$work/slurm.conf" "$libraries" "$work/debs/usr/bin/$command" >"$work/bin/$command"
    printf '#!/bin/sh\necho slurm 22.05.8\n' >"$work/upstream/$command"
    chmod +x "$work/bin/$command" "$work/upstream/$command"
done
versions() { # FOLDER: what the libraries make of its commands
    PATH=$1:$PATH LAW_HOME=$work "$work/venv/bin/python" - 2>/dev/null <<'PYTHON'
import law
import slurm2sql

law.contrib.load("slurm")
print("law", law.slurm.get_slurm_version(), end=", slurm2sql ")
try:
    print(slurm2sql.slurm_version())
except Exception as error:
    print(type(error).__name__)
PYTHON
}
expect "Debian's sbatch --version" "slurm-wlm 22.05.8" "$("$work/bin/sbatch" --version)"
expect "with Debian's text" "law None, slurm2sql AttributeError" "$(versions "$work/bin")"
expect "with the text of Slurm's sources" "law (22, 5, 8), slurm2sql (22, 5, 8)" "$(versions "$work/upstream")"
finish
