# SPDX-License-Identifier: GPL-2.0-or-later
"""Programs that read texts with Slurm's own functions, or let slurmctld read them; and random texts for them."""

import os
import random
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tests.cluster.conftest import Cluster

LIBRARY = "$(dirname $(find /usr/lib /usr/local/lib -name libslurmfull.so 2>/dev/null | head -n1))"
"""The folder of Slurm's library with all functions, found in the cluster."""


def seeded() -> tuple[int, random.Random]:
    """Return a new seed, or SLURMHOOKS_SEED, which repeats a run, and random numbers from it; tests print the seed."""
    seed = int(os.environ.get("SLURMHOOKS_SEED") or random.SystemRandom().getrandbits(32))
    sys.stdout.write(f"SLURMHOOKS_SEED={seed}\n")
    return seed, random.Random(seed)


def drawn(generator: random.Random, pieces: Sequence[str], number: int, longest: int = 7) -> list[str]:
    """Return texts, each made of up to so many random pieces; the empty text is one of them."""
    return ["", *("".join(generator.choices(pieces, k=generator.randint(1, longest))) for _ in range(number - 1))]


def build(cluster: "Cluster", name: str, flags: str = "") -> str:
    """Compile a program of the folder ``notations`` with more flags, and return its path in the cluster."""
    path = f"/var/tmp/{name}"
    cluster.put((Path(__file__).parent / "notations" / f"{name}.c").read_text(), f"{path}.c")
    flags = f"{flags} -L{LIBRARY} -lslurmfull -Wl,-rpath,{LIBRARY}"
    cluster.root("sh", "-ec", f"cc -o {path} {path}.c {flags}", check=True)
    return path


def ask(cluster: "Cluster", path: str, kind: str, texts: Sequence[str]) -> list[str]:
    """Let a program read texts of a kind, and return its line for each."""
    output = cluster.root(path, kind, input="\n".join(texts) + "\n", check=True, timeout=300).stdout
    lines = output.split("\n")[:-1]
    assert len(lines) == len(texts), (len(lines), len(texts))
    return lines
