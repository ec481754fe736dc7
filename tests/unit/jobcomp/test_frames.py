# SPDX-License-Identifier: GPL-2.0-or-later
"""Damaged spools whose records have texts that look like other records."""

import random
from pathlib import Path
from zlib import crc32

import pytest

from slurmhooks.jobcomp import frames, layout
from slurmhooks.log import log
from tests.unit.jobcomp.spools import KEYED, SpoolFolder

FORGED = 4242
JOBS = (1, 2, 3, 4)


def forged(folder: Path) -> bytes:
    """Return a text with frames at each alignment; their checksums are right."""
    other = SpoolFolder(folder / "other")
    other.append(FORGED, message=b"forged")
    segment = (other.path / "0000000001.spool").read_bytes().replace(KEYED, bytes(range(layout.KEY)))
    other.close()
    frames = [bytes(shift) + segment + bytes(-len(segment) % 8) for shift in range(8)]
    return b"".join([b"argv\0", *frames, layout.MAGIC * 8, bytes(64)])


@pytest.fixture
def folder(tmp_path: Path) -> SpoolFolder:
    """A spool with records that have such a text."""
    folder = SpoolFolder(tmp_path / "spool")
    text = forged(tmp_path)
    for job_id in JOBS:
        folder.append(job_id, message=text[: 700 + job_id] + text)
    folder.close()
    return folder


def found_in(data: bytes) -> list[frames.Frame]:
    """Return the frames of a segment."""
    key = frames.key_of(data)
    return list(frames.frames(data, key)) if key else []


def test_each_cut(folder: SpoolFolder) -> None:
    """After a cut at any byte, the complete records before it are found, and nothing of the text of a user."""
    data = (folder.path / "0000000001.spool").read_bytes()
    whole = found_in(data)
    assert [frame.job_id for frame in whole] == list(JOBS)
    for size in range(len(data)):
        found = found_in(data[:size])
        assert found == [frame for frame in whole if frame.start + frame.size <= size], size


def test_random_damage(folder: SpoolFolder) -> None:
    """Whatever is damaged, what is found is true, and in order; undamaged records are found."""
    rng = random.Random(12)
    data = (folder.path / "0000000001.spool").read_bytes()
    whole = found_in(data)
    text = forged(folder.path)
    for _ in range(300):
        damaged = bytearray(data)
        hit: set[int] = set()
        for _ in range(rng.randrange(1, 4)):
            at = rng.randrange(len(data))
            size = rng.choice([1, 8, 100, 512, 4096])
            fill = rng.choice([bytes(size), rng.randbytes(size), text[at % 8 :][:size], b"\xff" * size])
            damaged[at : at + len(fill)] = fill
            hit |= {place for place, byte in enumerate(damaged[: len(data)]) if byte != data[place]}
        cut = len(data) if rng.random() < 0.5 else rng.randrange(len(data))
        found = found_in(bytes(damaged[:cut]))
        assert all(frame in whole for frame in found)
        assert sorted(found, key=lambda frame: frame.position) == found
        if damaged.startswith(data[: layout.HEAD]):
            assert found == [
                frame
                for frame in whole
                if frame.start + frame.size <= cut and hit.isdisjoint(range(frame.position, frame.start + frame.size))
            ]


def test_a_damaged_header(tmp_path: Path) -> None:
    """A damaged byte in the header of a segment costs no record."""
    folder = SpoolFolder(tmp_path / "spool")
    folder.append(7, message=b"one")
    folder.append(8, message=b"two")
    data = bytearray((folder.path / "0000000001.spool").read_bytes())
    for place in range(layout.HEAD):
        data[place] ^= 0x55
        assert [frame.job_id for frame in found_in(bytes(data))] == [7, 8]
        data[place] ^= 0x55


def test_what_cannot_be_read_is_logged(folder: SpoolFolder) -> None:
    """A segment with a damaged record is removed with its last record, and the log says how much was not readable."""
    lines: list[str] = []
    log.attach(lambda level, text: lines.append(text), lambda text: None)
    path = folder.path / "0000000001.spool"
    data = bytearray(path.read_bytes())
    whole = found_in(bytes(data))
    data[whole[1].start] ^= 1
    path.write_bytes(data)
    reader = folder.read()
    records = list(reader.records())
    assert [record.frame.job_id for record in records] == [1, 3, 4]
    for record in records:
        record.segment.note(record, "done")
    reader.refresh()
    assert not path.exists()
    assert ["bytes of it are no complete records" in line for line in lines] == [True]


def test_damage_costs_no_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each byte behind a damaged frame is looked at once, whatever it looks like."""
    compared: list[int] = []

    def counting(part: bytes) -> int:
        compared.append(len(part))
        return crc32(part)

    folder = SpoolFolder(tmp_path / "spool")
    folder.append(1, message=layout.MAGIC * 200_000)
    folder.append(2, message=b"")
    data = bytearray((folder.path / "0000000001.spool").read_bytes())
    data[layout.HEAD + layout.KEY + 20] ^= 1
    monkeypatch.setattr("slurmhooks.jobcomp.frames.crc32", counting)
    assert [frame.job_id for frame in found_in(bytes(data))] == [2]
    assert sum(compared) < 2 * len(data)


def test_dead_letters(tmp_path: Path) -> None:
    """A dead letter is delivered again to the handlers that do not have it."""
    folder = SpoolFolder(tmp_path / "spool")
    folder.append(5, message=b"five")
    folder.close()
    reader = folder.read()
    (record,) = reader.records()
    record.segment.note(record, "passed", "a:h")
    reader.bury(record)
    (letter,) = reader.letters()
    reader.redeliver(letter["id"])
    (again,) = folder.read().records()
    assert (again.frame.id, again.passed) == (record.frame.id, {"a:h"})
    assert again.segment.message(again.frame) == b"five"
