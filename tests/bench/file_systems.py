#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Compare staging with ``rsync -a`` on several file systems: ext4, XFS and Btrfs in loop devices, and tmpfs.

Usage: file_systems.py [--files N] [--gigabytes G] [--rounds R] [--json] [KIND...]

The mounts are private, so they end with this process. Needs root, rsync, and the mkfs of each kind (Debian: e2fsprogs,
xfsprogs, btrfs-progs); kinds without one are reported and skipped. A row has a name, the seconds, the ratio to rsync's
seconds, the largest accepted ratio (1 for copies, a third for hard links and reflinks), the ratio of processor time,
which is more reliable on a busy machine, and the seconds of each round. Needs about 6 GiB of disk, and of memory for
tmpfs: with less than 8 GiB of memory, only half as much is copied there.
"""

import argparse
import contextlib
import importlib.util
import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

PROJECT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(PROJECT))

from tests.cluster.lab import namespace  # noqa: E402

KINDS = {
    "ext4": ["mkfs.ext4", "-q", "-F"],
    "xfs": ["mkfs.xfs", "-q", "-m", "reflink=1"],
    "btrfs": ["mkfs.btrfs", "-q"],
    "tmpfs": [],
}
REFLINKS = ("xfs", "btrfs")
BASE = "rsync -a"
AS_FAST, THREE_TIMES = 1.0, 1 / 3

MEMORY_FACTOR = 4
"""Source, target, and as much for everything else."""

Row = dict[str, str | float | bool | list[float]]


def measuring() -> ModuleType:
    """Import contrib's comparison of the ways to copy, which sites run on their own file systems."""
    spec = importlib.util.spec_from_file_location("staging_ways", PROJECT / "contrib" / "scrun" / "bench.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def missing(kind: str) -> str | None:
    """Return why this kind of file system cannot be created here, or None."""
    if os.geteuid() != 0:
        return "mounting needs root"
    if shutil.which("rsync") is None:
        return "rsync is not installed"
    command = KINDS[kind]
    if command and shutil.which(command[0]) is None:
        return f"{command[0]} is not installed"
    return None


@contextlib.contextmanager
def mounted(kind: str, gigabytes: float) -> Iterator[Path]:
    """Mount a new file system, in an image file or in memory, and yield its path.

    Raises:
        subprocess.CalledProcessError: it cannot be made or mounted here; its output says why.
    """
    with tempfile.TemporaryDirectory(prefix="slurmhooks-bench-", dir="/var/tmp") as folder:
        size = int((2 * gigabytes + 1.5) * 1024)
        image, place = Path(folder, "image"), Path(folder, "place")
        place.mkdir()
        command = ["mount", "-t", "tmpfs", "-o", f"size={size}m", "none", str(place)]
        if KINDS[kind]:
            with open(image, "wb") as file:
                file.truncate(size << 20)
            subprocess.run([*KINDS[kind], str(image)], check=True, capture_output=True)
            command = ["mount", "-o", "loop,noatime", str(image), str(place)]
        subprocess.run(command, check=True, capture_output=True)
        try:
            yield place
        finally:
            # Unmounted lazily, because threads may still be copying after an interrupt.
            subprocess.run(["umount", "--lazy", str(place)], check=True)


def fitting(kind: str, gigabytes: float) -> float:
    """Return how many gigabytes to copy: fewer if memory is short."""
    if kind != "tmpfs":
        return gigabytes
    with open("/proc/meminfo") as file:
        available = next(int(line.split()[1]) for line in file if line.startswith("MemAvailable:")) / (1 << 20)
    return gigabytes if available >= MEMORY_FACTOR * gigabytes else gigabytes / 2


def goal(kind: str, way: str, big: bool) -> float:
    """Return the largest accepted ratio to rsync's time."""
    return THREE_TIMES if "hard links" in way or (big and kind in REFLINKS) else AS_FAST


def rows(kind: str, files: int, gigabytes: float, rounds: int) -> Iterator[Row]:
    """Measure on one file system, and yield a row for each way to copy."""
    ways = measuring()
    with mounted(kind, gigabytes) as place:
        for big in (False, True):
            source = place / "source"
            if big:
                ways.few_files(source, gigabytes)
            else:
                ways.small_files(source, files)
            what = f"{gigabytes:g} GiB in {ways.FEW} files" if big else f"{files} small files"
            times = ways.measure(source, rounds)
            medians = ways.medians(times)
            base, base_used = medians[BASE]
            for way, (seconds, used) in medians.items():
                if way == BASE or "1 worker" in way:
                    continue
                ratio, wanted = seconds / base, goal(kind, way, big)
                name = f"staging, {kind}, {what}: {way}"
                yield {"name": name, "value": seconds, "unit": "s", "base": base, "ratio": ratio, "goal": wanted,
                       "met": ratio <= wanted, "processor_ratio": used / base_used,
                       "values": [wall for wall, _ in times[way]],
                       "base_values": [wall for wall, _ in times[BASE]]}  # fmt: skip
            shutil.rmtree(source)


def main() -> int:
    """Measure and print; 1 if a goal is missed."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("kinds", nargs="*", metavar="KIND", help="by default all")
    parser.add_argument("--files", type=int, default=10_000)
    parser.add_argument("--gigabytes", type=float, default=2.0)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--json", action="store_true", help="a JSON object a line")
    options = parser.parse_args()
    unknown = set(options.kinds) - set(KINDS)
    if unknown:
        parser.error(f"no file system {', '.join(sorted(unknown))}: {', '.join(KINDS)}")
    if os.geteuid() == 0:
        namespace.private_mounts()
    good = True
    for kind in options.kinds or KINDS:
        why = missing(kind)
        try:
            if why is None:
                for row in rows(kind, options.files, fitting(kind, options.gigabytes), options.rounds):
                    good = good and bool(row["met"])
                    show(row, options.json)
        except subprocess.CalledProcessError as error:
            why = f"{' '.join(error.cmd)}: {error.stderr.decode(errors='replace').strip()}"
        if why is not None:
            sys.stderr.write(f"staging, {kind}: not measured: {why}\n")
    return 0 if good else 1


def show(row: Row, as_json: bool) -> None:
    """Print a row."""
    if as_json:
        sys.stdout.write(json.dumps(row) + "\n")
    else:
        verdict = "" if row["met"] else "  MISSED"
        sys.stdout.write(
            f"{row['name']:68} {row['value']:8.3f} s  {row['ratio']:5.2f} of rsync's {row['base']:7.3f} s,"
            f" goal {row['goal']:.2f}; processor {row['processor_ratio']:.2f}{verdict}\n"
        )
    sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(main())
