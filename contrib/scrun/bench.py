#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Compare how slurmhooks copies root file systems with ``rsync -a``, on any file system.

Usage: bench.py FOLDER [--files N] [--gigabytes G] [--rounds R] [--json]

FOLDER is on the file system to measure and needs about 5 GiB of free space with the default sizes. The ways to copy
run in turns, so that other load slows all of them. The output has their medians, and the ratios to rsync's.
"""

import argparse
import json
import os
import shutil
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

from slurmhooks.scrun import copy_tree, remove_tree

MIB = 1 << 20
FEW = 8


def small_files(top: Path, count: int) -> None:
    """Make a tree like a root file system: mostly small files, a hundred in each folder."""
    for number in range(count):
        folder = top / f"usr{number // 1000}" / f"lib{number // 100 % 10}"
        if number % 100 == 0:
            folder.mkdir(parents=True)
        size = (300, 900, 2000, 4000, 12000)[number % 5] if number % 50 else 100_000
        (folder / f"file {number}").write_bytes(os.urandom(size))


def few_files(top: Path, gigabytes: float) -> None:
    """Make a few large files."""
    top.mkdir(parents=True)
    for number in range(FEW):
        with open(top / f"big{number}", "wb") as file:
            for _ in range(int(gigabytes * 1024 / FEW / 16)):
                file.write(os.urandom(16 * MIB))


def rsync(source: Path, target: Path) -> None:
    """Copy as the scrun.lua of the manual does."""
    subprocess.run(["rsync", "-a", "--", f"{source}/", f"{target}/"], check=True)


WAYS: dict[str, Callable[[Path, Path], object]] = {
    "rsync -a": rsync,
    "copy_tree": copy_tree,
    "copy_tree, 1 worker": lambda source, target: copy_tree(source, target, workers=1),
    "copy_tree, hard links": lambda source, target: copy_tree(source, target, hard_links=True),
}


def processor_seconds() -> float:
    """Return the processor time of this process and of its children that have ended."""
    times = os.times()
    return times.user + times.system + times.children_user + times.children_system


def measure(source: Path, rounds: int) -> dict[str, list[tuple[float, float]]]:
    """Return the seconds of each way and round, and the processor seconds, on which other load has little effect."""
    target = source.with_name("target")
    seconds: dict[str, list[tuple[float, float]]] = {name: [] for name in WAYS}
    for _ in range(rounds):
        for name, way in WAYS.items():
            remove_tree(target)
            subprocess.run(["sync", "-f", source], check=True)  # stay on this file system
            start, used = time.perf_counter(), processor_seconds()
            way(source, target)
            seconds[name].append((time.perf_counter() - start, processor_seconds() - used))
    remove_tree(target)
    return seconds


def medians(seconds: dict[str, list[tuple[float, float]]]) -> dict[str, tuple[float, float]]:
    """Return the median of each way."""
    return {
        name: (statistics.median(wall for wall, _ in times), statistics.median(used for _, used in times))
        for name, times in seconds.items()
    }


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--files", type=int, default=10_000)
    parser.add_argument("--gigabytes", type=float, default=2.0)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    if shutil.which("rsync") is None:
        sys.exit("bench.py: rsync is not installed")
    place = options.folder / f"slurmhooks-bench-{os.getpid()}"
    results = {}
    try:
        small_files(place / "small", options.files)
        results[f"{options.files} small files"] = medians(measure(place / "small", options.rounds))
        remove_tree(place / "small")
        few_files(place / "big", options.gigabytes)
        results[f"{options.gigabytes:g} GiB in {FEW} files"] = medians(measure(place / "big", options.rounds))
    finally:
        remove_tree(place)
    if options.json:
        sys.stdout.write(json.dumps(results, indent=2) + "\n")
        return
    for what, ways in results.items():
        sys.stdout.write(f"{what}\n")
        base = ways["rsync -a"][0]
        for name, (wall, used) in ways.items():
            sys.stdout.write(
                f"  {name:24} {wall:8.3f} s  {base / wall:6.2f} times rsync's speed  {used:7.3f} s of processor\n"
            )


if __name__ == "__main__":
    main()
