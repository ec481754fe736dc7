# SPDX-License-Identifier: GPL-2.0-or-later
"""A cluster for the tests of bounds, and a handler that says what a request can become on it."""

from pathlib import Path
from typing import Any

from slurmhooks.testing import fake_nodes, fake_partitions, fake_qos, run
from slurmhooks.workshop.testing.runner import Result

PARTITIONS: dict[str, dict[str, object]] = {
    "debug": {"flag_default": True, "max_share": 1, "total_nodes": 4},
    "whole": {"max_share": 0, "total_nodes": 1},
    "wide": {"max_share": 1, "total_nodes": 4, "min_nodes": 2, "max_nodes": 3},
    "smt": {"max_share": 1, "total_nodes": 1},
}
NODES: dict[str, dict[str, object]] = {
    f"n{number}": {
        "cpus": 8,
        "tot_sockets": 2,
        "real_memory": 4000,
        "gres": "gpu:tesla:4",
        "partitions": ["debug", "wide", "whole"] if number == 1 else ["debug", "wide"],
    }
    for number in range(1, 5)
} | {"s1": {"cpus": 16, "tot_cores": 8, "tot_sockets": 1, "threads": 2, "real_memory": 4000, "partitions": ["smt"]}}


def ran(
    tmp_path: Path,
    expression: str,
    *,
    release: str = "26.05",
    qos: dict[str, dict[str, object]] | None = None,
    **arguments: Any,
) -> Result:
    """Run a handler that refuses each request with the value of an expression about its bounds."""
    path = tmp_path / "hooks.py"
    path.write_text(
        "from slurmhooks import Reject, hook\n"
        f"@hook.job_submit\n@hook.job_modify\ndef tell(job):\n    raise Reject(str({expression}))\n"
    )
    return run(
        path,
        "job_modify" if "record" in arguments else "job_submit",
        partitions=fake_partitions(PARTITIONS, release=release),
        nodes=fake_nodes(NODES, release=release),
        qos=fake_qos(qos or {}, release=release),
        **arguments,
    )
