# SPDX-License-Identifier: GPL-2.0-or-later
"""The kit reads single options of scripts as the newest sbatch does: it computes what slurmctld receives."""

import json
import os
import time
from pathlib import Path
from typing import Any

import pytest

from slurmhooks.fields.rows import NEWEST, Computed, rows
from slurmhooks.testing import FakeJob
from slurmhooks.values import UNLIMITED
from slurmhooks.workshop.testing import sbatch
from slurmhooks.workshop.testing.job_submit import values_of
from tests.cluster.conftest import Cluster
from tests.cluster.sbatch_scripts import FILES, RELATIVE, SCRIPTS

pytestmark = pytest.mark.one_release("26.05")

FOLDER = "/var/tmp/like-sbatch"
HOOK_FILE = "/etc/slurm/hooks.d/like_sbatch.py"
SAMPLE = 16
"""One script of so many is compared in each run of the tests; `make soak` compares all."""
ARGUMENTS = ("one", "two words")
ENVIRONMENT = {"PATH": "/usr/local/bin:/usr/bin:/bin", "HOME": "/root", "SITE": "here", "LANG": "C.UTF-8"}

HOOK = f"""
import json
from slurmhooks import Reject, hook
from slurmhooks.fields.rows import Computed, rows
from slurmhooks.values import UNLIMITED

def plain(value):
    return "UNLIMITED" if value is UNLIMITED else int(value) if isinstance(value, int) else value

@hook.job_submit
def seen(job):
    fields = {{name: plain(getattr(job, name)) for name, row in rows(type(job)).items()
              if name not in job._missing and not isinstance(row, Computed)}}
    fields |= {{"argv": list(job.argv), "environment": dict(job.environment)}}
    with open("{FOLDER}/seen", "a") as file:
        file.write(json.dumps(fields) + "\\n")
    raise Reject("seen")
"""

SUBMIT = f"""
cd {FOLDER}
rm -f seen *.sh *.out
python3 -c 'import json, sys; [open(name, "w").write(text) for name, text in json.load(sys.stdin).items()]'
chmod -R a+rX . && chmod a+w .
for script in *.sh; do echo $script; done | xargs -P 4 -I@ sh -c '
    env -i {" ".join(f"{name}={value}" for name, value in ENVIRONMENT.items())} \\
        timeout 60 sbatch @ {" ".join(f'"{word}"' for word in ARGUMENTS)} >@.out 2>&1 || true'
python3 -c 'import glob, json; print(json.dumps([[json.loads(line) for line in open("seen")],
    {{name[:-4]: open(name).read() for name in glob.glob("*.out")}}]))'
"""

OWN = {
    "alloc_node",
    "alloc_sid",
    "alloc_resp_port",
    "resp_host",
    "other_port",
    "environment",
    "env_size",
    "spank_job_env",
}
"""Fields that say where sbatch ran, and the environment, which is compared by itself."""
ADDED = ("SLURM_", "OMPI_", "PRTE_", "HYDRA_", "I_MPI_", "PWD", "_", "SHLVL", "OLDPWD")
"""Variables of the shell, and those that sbatch adds."""


@pytest.fixture(scope="module")
def submitting(cluster: Cluster) -> Cluster:
    """Return a cluster whose slurmctld records and refuses each submission."""
    if cluster.version != NEWEST:
        pytest.skip("compared with the newest release")
    cluster.root("mkdir", "-p", FOLDER, check=True)
    cluster.root("chmod", "777", FOLDER, check=True)
    cluster.put(HOOK, HOOK_FILE)
    cluster.deploy()
    return cluster


def plain(value: Any) -> Any:
    """Return a value as the hook writes it."""
    return "UNLIMITED" if value is UNLIMITED else int(value) if isinstance(value, int) else value


def received(cluster: Cluster, scripts: dict[str, str]) -> dict[str, dict[str, Any] | str]:
    """Return the request that slurmctld received for each script; a text is the message of sbatch if it refused one."""
    files = {name: text.replace("@FOLDER@", FOLDER) for name, text in {**FILES, **scripts}.items()}
    done = cluster.root("sh", "-ec", SUBMIT, input=json.dumps(files), check=True, timeout=600)
    seen, said = json.loads(done.stdout)
    requests = {request["submit_line"].split()[1]: request for request in reversed(seen)}
    return {name: requests.get(name, said.get(name, "")) for name in scripts}


def computed(release: str, name: str, text: str, folder: Path) -> dict[str, Any] | str:
    """Return the request that `try` computes for a script; a text is the error."""
    here, there = str(folder), FOLDER
    try:
        fields = sbatch.submission(
            name,
            text.replace("@FOLDER@", here),
            [],
            [],
            arguments=ARGUMENTS,
            release=release,
            work_dir=there,
            environment=ENVIRONMENT,
        )
    except sbatch.SbatchError as error:
        return str(error)
    fields["script"] = fields["script"].replace(here, there)
    return {
        name: plain(value)
        for name, value in values_of(FakeJob(release=release, user_id=0, group_id=0, **fields)).items()
    }


def differences(ours: dict[str, Any] | str, theirs: dict[str, Any] | str, tolerance: float = 0) -> dict[str, Any]:
    """Return the differences, by field."""
    if isinstance(theirs, str):
        # An option that a release does not have may be that of a plugin.
        unknown = "unrecognized option" in theirs
        return {} if isinstance(ours, str) or unknown else {"sbatch refuses": theirs}
    if isinstance(ours, str):
        return {"try refuses": ours}
    known = {name for name, row in rows(FakeJob).items() if not isinstance(row, Computed)} | {"argv"}
    found = {name: (ours.get(name), theirs[name]) for name in sorted(known - OWN) if name in theirs}
    wrong = {name: pair for name, pair in found.items() if pair[0] != pair[1]}
    if "begin_time" in wrong and abs(wrong["begin_time"][0] - wrong["begin_time"][1]) <= tolerance:
        del wrong["begin_time"]
    variables = [{k: v for k, v in side["environment"].items() if not k.startswith(ADDED)} for side in (ours, theirs)]
    return wrong | ({"environment": tuple(variables)} if variables[0] != variables[1] else {})


def compare(cluster: Cluster, scripts: dict[str, str], folder: Path, tolerance: float = 0) -> None:
    """Compare all fields for each script."""
    for name, text in FILES.items():
        (folder / name).write_text(text)
    named = {f"s{number}.sh": text for number, text in enumerate(scripts.values())}
    theirs = received(cluster, named)
    wrong = {}
    for (name, text), what in zip(named.items(), scripts, strict=True):
        found = differences(computed(cluster.release, name, text, folder), theirs[name], tolerance)
        if found:
            wrong[what] = found
    assert not wrong, "\n".join(f"{what}: {found}" for what, found in wrong.items())


def test_a_sample_of_scripts(submitting: Cluster, tmp_path: Path) -> None:
    """Every field of a request is what sbatch sends."""
    plain_ones = {what: text for what, text in SCRIPTS.items() if "gres" not in what and "gpu" not in what}
    compare(submitting, dict(list(plain_ones.items())[::SAMPLE]), tmp_path)


@pytest.mark.soak
def test_all_scripts(submitting: Cluster, tmp_path: Path) -> None:
    """The same holds for each option of sbatch, and for times that depend on the clock."""
    conf = submitting.root("cat", "/etc/slurm/local.conf").stdout
    submitting.put(f"{conf}\nGresTypes=gpu,nic\nAllowSpecResourcesUsage=yes\n", "/etc/slurm/local.conf")
    try:
        submitting.restart()
        compare(submitting, SCRIPTS, tmp_path)
        zone = os.environ.get("TZ")
        os.environ["TZ"] = submitting.root("date", "+%Z").stdout.strip()
        time.tzset()
        try:
            relative = {text: f"#!/bin/sh\n#SBATCH --begin={text}\n" for text in RELATIVE}
            compare(submitting, relative, tmp_path, tolerance=600)
        finally:
            os.environ.pop("TZ") if zone is None else os.environ.update(TZ=zone)
            time.tzset()
    finally:
        submitting.put(conf, "/etc/slurm/local.conf")
        submitting.restart()
