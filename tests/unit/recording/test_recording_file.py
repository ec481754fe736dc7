# SPDX-License-Identifier: GPL-2.0-or-later
import os
from contextlib import suppress
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from slurmhooks.recording.file import (
    FIRST_LINE,
    Frame,
    Kind,
    Reader,
    RecordingError,
    check_access,
    compressed,
    create,
    encoded,
    join,
    split,
)
from slurmhooks.recording.request import Recorded, Rows, decode_recorded, decode_rows
from slurmhooks.workshop.recorded import Contents

TEXT = st.text(st.characters(codec="utf-8", exclude_characters="\n"), max_size=8)
FRAMES = [
    (Kind.START, b"{}"),
    (Kind.REQUESTS, compressed([b"one", b"", b"three" * 100])),
    (Kind.END, b'{"reason": ""}'),
]


def written(folder: Path, data: bytes) -> int:
    """Return the descriptor of a recording with some bytes after its first line."""
    fd = create(str(folder / os.urandom(8).hex()))
    os.write(fd, FIRST_LINE + data)
    return fd


@given(st.lists(st.binary()))
def test_items_come_back(items: list[bytes]) -> None:
    """Joined items are split into the same items, even after compression."""
    assert split(join(items)) == items
    assert Frame(Kind.REQUESTS, compressed(items)).items() == items


@given(
    st.builds(
        Recorded,
        time=st.floats(0, 1e12),
        hook=TEXT,
        id=TEXT,
        hooks=TEXT,
        decided=TEXT,
        bugs=st.lists(TEXT.filter(bool)).map(tuple),
        request=st.binary(),
        answer=st.binary(),
        questions=st.lists(st.tuples(st.binary(), st.binary())).map(tuple),
        unknown=st.just(frozenset()),
    )
)
def test_a_request_comes_back(request: Recorded) -> None:
    """A request is decoded as it was encoded."""
    assert decode_recorded(request.encode()) == request


@given(st.builds(Rows, st.floats(0, 1e12), TEXT, st.integers(0, (1 << 64) - 1), st.lists(st.binary()).map(tuple)))
def test_rows_come_back(rows: Rows) -> None:
    """The rows of a table are decoded as they were encoded."""
    assert decode_rows(rows.encode()) == rows


@given(st.binary())
def test_other_bytes_are_refused(data: bytes) -> None:
    """Arbitrary bytes raise nothing but RecordingError."""
    for decode in (decode_recorded, decode_rows, split):
        with suppress(RecordingError):
            decode(data)


def test_each_truncation_leaves_whole_frames(tmp_path: Path) -> None:
    """Wherever a file is cut off, all complete frames are read, and the reader reports how much it did not read."""
    parts = [encoded(kind, content) for kind, content in FRAMES]
    whole = b"".join(parts)
    ends = [sum(map(len, parts[: count + 1])) for count in range(len(parts))]
    for size in range(len(whole) + 1):
        fd = written(tmp_path, whole[:size])
        reader = Reader(fd)
        frames = [(frame.kind, frame.content) for frame in reader.frames()]
        count = sum(end <= size for end in ends)
        assert frames == FRAMES[:count]
        assert reader.unread == size - ([0, *ends][count])
        os.close(fd)


def test_each_damage_is_noticed(tmp_path: Path) -> None:
    """If any byte changes, no wrong frame is read; damage before the last frame is an error."""
    parts = [encoded(kind, content) for kind, content in FRAMES]
    whole = b"".join(parts)
    for at in range(len(whole)):
        damaged = bytearray(whole)
        damaged[at] ^= 0x41
        fd = written(tmp_path, bytes(damaged))
        reader, frames, error = Reader(fd), [], False
        try:
            for frame in reader.frames():
                frames.append((frame.kind, frame.content))
        except RecordingError:
            error = True
        assert error or reader.unread
        assert frames == FRAMES[: len(frames)]
        if len(parts[0]) + 4 <= at < len(parts[0]) + len(parts[1]):  # the damaged size may reach beyond the end
            assert error
        os.close(fd)


def test_a_growing_file_can_be_read(tmp_path: Path) -> None:
    """A reader sees frames that were appended since its last read."""
    fd = written(tmp_path, encoded(Kind.START, b"{}"))
    reader = Reader(fd)
    assert len(list(reader.frames())) == 1
    os.write(fd, encoded(Kind.END, b"{}"))
    assert len(list(reader.frames())) == 2
    os.close(fd)


def test_what_is_no_recording_is_refused(tmp_path: Path) -> None:
    """Another file, and a frame of a later release, are refused with the reason."""
    (tmp_path / "other").write_text("hello")
    with open(tmp_path / "other", "rb") as file, pytest.raises(RecordingError, match="not a recording"):
        Reader(file.fileno())
    fd = written(tmp_path, encoded(99, b"") + encoded(Kind.END, b"{}"))  # type: ignore[arg-type]
    with pytest.raises(RecordingError, match="unknown kind 99"):
        list(Reader(fd).frames())
    os.close(fd)


@pytest.mark.parametrize("content", [b"{}", b'{"id":null}', b'{"id":"x"}', b"[" * 100_000, b"7"])
def test_what_says_nothing_of_a_user_is_refused(tmp_path: Path, content: bytes) -> None:
    """A frame about a user that is damaged is refused with its place."""
    fd = written(tmp_path, encoded(Kind.USER, content))
    with pytest.raises(RecordingError, match="the frame at byte 23 "):
        Contents(fd)
    os.close(fd)


def test_only_the_owner_may_read(tmp_path: Path) -> None:
    """A recording is created for its owner only, never over another file, and refused if others may read it."""
    path = str(tmp_path / "file")
    os.umask(os.umask(0))
    fd = create(path)
    assert os.fstat(fd).st_mode & 0o777 == 0o600
    check_access(fd, path)
    with pytest.raises(FileExistsError):
        create(path)
    os.chmod(path, 0o640)
    with pytest.raises(RecordingError, match="chmod 600"):
        check_access(fd, path)
    os.close(fd)
