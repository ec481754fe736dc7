# SPDX-License-Identifier: GPL-2.0-or-later
"""What `slurmhooks adopt` compares with: Slurm's own Lua plugin, in a process that is not slurmctld."""

import json
from pathlib import Path
from typing import Any

import pytest

from slurmhooks.lua import job_fields
from tests.cluster.conftest import Cluster

pytestmark = pytest.mark.moved

HERE = Path(__file__).parent
SCRIPT = "/etc/slurm/adopt/job_submit.lua"
NOT_READ = {"default_account", "default_qos", "assoc_comment", "assoc_qos", "argv", "spank_job_env", "cron_job"}
"""Fields that need accounting, or are no texts and numbers."""


@pytest.fixture
def outcomes(cluster: Cluster) -> list[dict[str, Any]]:
    """Return what came of a trial with a script that reads and writes all fields."""
    release = cluster.version[:2]
    fields = set(job_fields.names("job_desc", release)) - {"site_factor"}
    rows = job_fields.names("job_desc", release)
    readable = {name for name in fields if rows[name].facts["lua"].reads(release)}
    writable = job_fields.writable(release) & fields - {"pn_min_memory"}
    texts = {
        name for name in writable if type(job_fields.names("job_desc", release)[name]).__name__ in ("Text", "Gres")
    }
    lists = {"READ": readable - NOT_READ, "NUMBERS": writable - texts, "TEXTS": texts}
    first = " ".join(
        f"{name} = {{ {', '.join(repr(field) for field in sorted(names))} }}" for name, names in lists.items()
    )
    cluster.put(f"{first} {(HERE / 'lua' / 'adopt.lua').read_text()}", SCRIPT)
    return tried(cluster)


def tried(cluster: Cluster) -> list[dict[str, Any]]:
    """Try the script; see adopt_trial.py."""
    cluster.put((HERE / "adopt_trial.py").read_text(), "/root/adopt_trial.py")
    release = "{}.{:02}".format(*cluster.version)
    words = ("/opt/slurmhooks/bin/python", "/root/adopt_trial.py", SCRIPT, release)
    result: list[dict[str, Any]] = json.loads(cluster.root(*words, check=True).stdout)
    return result


def test_slurms_own_plugin_answers_the_same(outcomes: list[dict[str, Any]], cluster: Cluster) -> None:
    """Fields, writes, codes, messages, log lines and errors are the same in job_submit_lua.so; slurmctld lives on."""
    tried, own = outcomes
    assert own["examples"] == []
    assert own["different"] == 0
    assert "Slurm's own job_submit/lua" in own["plugin"]
    assert own["requests"] == tried["requests"] == 500
    assert own["same"] + sum(own["not_compared"].values()) == 500
    # Only requests with licenses may start a program, and get that far; an update has a job, which a trial has not.
    assert set(own["not_compared"]) == {"os.execute", "job_rec"}
    assert own["same"] > 300
    assert tried["refused"]
    assert tried["errors"]
    assert cluster.root("scontrol", "ping").returncode == 0


def test_odd_keys_and_values(cluster: Cluster) -> None:
    """Keys and values of any type are refused with the same message, or have the same effect, in Slurm's own plugin."""
    cluster.put((HERE / "lua" / "odd.lua").read_text(), SCRIPT)
    of_slurmhooks, own = tried(cluster)
    assert own["examples"] == []
    assert (own["different"], own["same"]) == (0, own["requests"])
    assert of_slurmhooks["errors"]
