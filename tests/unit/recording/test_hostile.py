# SPDX-License-Identifier: GPL-2.0-or-later
"""Files that claim to be recordings are refused with an error, in little time."""

import json
import os
import zlib
from pathlib import Path
from typing import Any

import pytest

from slurmhooks.recording.file import FIRST_LINE, MAX_FRAME, Frame, Kind, RecordingError, encoded
from slurmhooks.workshop.recorded import END, START, Contents
from slurmhooks.workshop.testing.tables import tables_of

WRONG = [(Kind.START, key) for key in START] + [(Kind.END, key) for key in END]


@pytest.mark.parametrize(("kind", "key"), WRONG)
def test_values_of_a_wrong_type(tmp_path: Path, kind: Kind, key: str) -> None:
    """What a recording says about itself has the types that its readers rely on, or it is refused."""
    given: dict[str, Any] = {key: {"a": 1}}
    path = tmp_path / "recording"
    frames = encoded(Kind.TABLES, tables_of("24.11").text.encode()) + encoded(kind, json.dumps(given).encode())
    path.write_bytes(FIRST_LINE + frames)
    fd = os.open(path, os.O_RDONLY)
    try:
        with pytest.raises(RecordingError, match=f"has '{key}' of a wrong type"):
            Contents(fd)
    finally:
        os.close(fd)


def test_items_that_take_no_room() -> None:
    """A small frame does not expand to millions of items."""
    content = zlib.compress(bytes(MAX_FRAME // 16))
    with pytest.raises(RecordingError, match="more items than"):
        Frame(Kind.REQUESTS, content).items()
