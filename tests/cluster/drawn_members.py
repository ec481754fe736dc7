# SPDX-License-Identifier: GPL-2.0-or-later
"""Random members of job descriptions, as programs send them by libslurm or slurmrestd, and no command does."""

import random
import shlex
from collections.abc import Sequence

from tests.cluster import drawn_jobs

INFINITE, INFINITE16, PER_CPU = 0xFFFFFFFF, 0xFFFF, 1 << 63
PLAIN_FLAGS = (4, 9, 14, 15, 19, 23, 25, 26, 27, 31, 38, 39, 40, 43, 44, 47)
"""Bits of bitflags, also of those that only slurmctld sets, but no SPREAD_JOB."""
SPREADS = 1 << 8
MEMBERS: dict[str, Sequence[object]] = {
    "min_nodes": (1, 1, 2, 3),
    "max_nodes": (1, 2, 3, 0, INFINITE),
    "num_tasks": (1, 2, 4, 6),
    "min_cpus": (1, 2, 4, 9),
    "max_cpus": (1, 4, 8),
    "cpus_per_task": (1, 2, 3),
    "pn_min_cpus": (1, 2, 3),
    "pn_min_memory": (200, 0, PER_CPU | 50, PER_CPU | 150, PER_CPU | 450, PER_CPU),
    "ntasks_per_node": (1, 2, 3),
    "ntasks_per_socket": (1, 2, INFINITE16),
    "ntasks_per_core": (1, 2, INFINITE16),
    "ntasks_per_tres": (1, 2),
    "sockets_per_node": (1, 2),
    "cores_per_socket": (1, 2),
    "threads_per_core": (1, 2),
    "core_spec": (0, 1, 0x8001),
    "shared": (0, 1, 2, 3, 4),
    "overcommit": (0, 1),
    "contiguous": (0, 1),
    "time_limit": (5, 30, 0, INFINITE),
    "time_min": (2, INFINITE),
    "task_dist": (1, 2, 3, 5),
    "plane_size": (1, 2),
    "req_switch": (1, INFINITE),
    "partition": ("gpu", "whole", "wide", "smt", "debug,gpu", "old", "both", "bare"),
    "reservation": ("course", "course,"),
    "features": ("a", "c", "a*2", "[a*1&c*1]", "b|c"),
    "prefer": ("a", "c*1"),
    "licenses": ("ansys:2", "ansys,ansys=1", "matlab:1"),
    "req_nodes": ("n1", "n[1-2]", "n3"),
    "exc_nodes": ("n1", "n3"),
    "tres_per_job": ("gres/gpu:1", "gres/gpu:3", "gres/gpu:tesla:2,gres/gpu:kepler:1", "gres/gpu"),
    "tres_per_node": ("gres/gpu:1", "gres/gpu:tesla:1", "gres/gpu:1,gres/gpu:2", "gres/tape:2", "gres/gpu:0"),
    "tres_per_socket": ("gres/gpu:1",),
    "tres_per_task": ("gres/gpu:1", "cpu:2", "cpu=3,gres/gpu:1", "license/ansys:1"),
    "cpus_per_tres": ("gres/gpu:2", "gres/tape:2", "gres/gpu:tesla:1"),
    "mem_per_tres": ("gres/gpu:100", "gres/tape:50"),
    "bitflags": (),
}
"""The members, with values that Slurm may accept."""
PLACES = ("bitflags", "ntasks_per_node", "ntasks_per_socket", "ntasks_per_core", "task_dist", "shared")
"""Those that say how tasks lie on nodes."""


def members(generator: random.Random, release: tuple[int, int]) -> str:
    """Return random members as arguments of the program describe; Slurm refuses some of these combinations."""
    drawn = {
        name: generator.choice(MEMBERS[name] or (_flags(generator),))
        for name in generator.sample(list(MEMBERS), generator.randint(1, 6))
    }
    if drawn_jobs.UNSTEADY[0] <= release < drawn_jobs.UNSTEADY[1]:
        drawn = {name: value for name, value in drawn.items() if name not in PLACES} or {"num_tasks": 2}
    if release < (23, 11):
        # slurmctld computes neither tasks nor GPUs from it, as newer ones do: the least of the bounds is too large.
        drawn.pop("ntasks_per_tres", None)
        drawn = {name: str(value).replace("gres/", "gres:") for name, value in drawn.items()}
    return " ".join(shlex.quote(f"{name}={value}") for name, value in drawn.items())


def _flags(generator: random.Random) -> int:
    bits = generator.sample(PLAIN_FLAGS, generator.randint(1, 3))
    return sum(1 << bit for bit in bits) | generator.choice([0, SPREADS])
