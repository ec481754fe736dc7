# SPDX-License-Identifier: GPL-2.0-or-later
"""Logs that several processes append to stay small."""

import multiprocessing
import random
from pathlib import Path

import pytest

from slurmhooks.files.bounded import bound

MOST = 2000


def write_lines(path: str, name: str, count: int) -> None:
    """Append numbered lines, with the file open all the time."""
    with open(path, "ab", 0) as file:
        for number in range(count):
            file.write(f"{name} {number}\n".encode())


def bound_often(path: str, times: int) -> None:
    """Bound the log again and again."""
    for _ in range(times):
        bound(Path(path), MOST)


@pytest.mark.parametrize("seed", range(5))
def test_a_log_has_at_most_its_size(tmp_path: Path, seed: int) -> None:
    """Whatever is appended, the log is small afterwards, and the file beside it has the lines right before."""
    draw = random.Random(seed)
    log, written = tmp_path / "log", b""
    with log.open("ab", 0) as file:
        for number in range(60):
            lines = b"".join(b"%d %d %s\n" % (number, i, b"x" * draw.randrange(90)) for i in range(draw.randrange(40)))
            file.write(lines)
            written += lines
            size = log.stat().st_size
            bound(log, MOST)
            assert log.stat().st_size == (size if size <= MOST else 0)
    former = (tmp_path / "log.1").read_bytes()
    assert MOST - MOST // 4 - 100 <= len(former) <= MOST
    assert written.endswith(b"\n" + former + log.read_bytes())


def test_what_programs_print_pushes_out_no_error(tmp_path: Path) -> None:
    """The last lines of slurmhooks are there, however much handlers print, with and without line feeds."""
    log = tmp_path / "log"
    errors = [b"[2026-11-30T13:20:00] error: slurmhooks: error %08x: a line\n" % number for number in range(6)]
    for number, line in enumerate(errors):
        with log.open("ab") as file:
            file.write(line + (b"x" * 99 + b"\n" * (number % 2)) * (MOST // 33))
        bound(log, MOST)
        assert (tmp_path / "log.1").stat().st_size <= MOST
    former = (tmp_path / "log.1").read_bytes()
    assert [line for line in former.splitlines(keepends=True) if line.startswith(b"[2")] == errors


@pytest.mark.slow
def test_many_write_and_many_bound(tmp_path: Path) -> None:
    """Writers, which are not told, go on to write whole lines, in order; both files are small in the end."""
    log = tmp_path / "log"
    log.touch()
    context = multiprocessing.get_context("spawn")
    writers = [context.Process(target=write_lines, args=(str(log), name, 3000)) for name in "ab"]
    bounders = [context.Process(target=bound_often, args=(str(log), 3000)) for _ in range(2)]
    for each in (*writers, *bounders):
        each.start()
    for each in (*writers, *bounders):
        each.join()
        assert each.exitcode == 0
    bound(log, MOST)
    former = (tmp_path / "log.1").read_text()
    assert max(len(former), log.stat().st_size) <= MOST
    for text in (former, log.read_text()):
        for name in "ab":
            numbers = [int(line.split()[1]) for line in text.splitlines() if line.startswith(name)]
            assert numbers == sorted(numbers)
    assert {path.name for path in tmp_path.iterdir()} == {"log", "log.1"}


def test_what_cannot_be_kept_is_only_emptied(tmp_path: Path) -> None:
    """A log without a place for its lines, such as on a full disk, becomes small all the same; none is no error."""
    bound(tmp_path / "absent", MOST)
    log = tmp_path / "log"
    log.write_bytes(b"x\n" * MOST)
    (tmp_path / "log.1" / "in the way").mkdir(parents=True)
    bound(log, MOST)
    assert log.read_bytes() == b""
