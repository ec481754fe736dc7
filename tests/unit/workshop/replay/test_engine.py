# SPDX-License-Identifier: GPL-2.0-or-later
"""What counts as the same decision."""

import pytest

from slurmhooks.workshop.replay.engine import without_ids


@pytest.mark.parametrize(
    ("text", "same"),
    [
        ("name a time (limits:check)\nSee https://a.example", "name a time\nSee https://a.example"),
        ("name a time [limits:check]\nname a QOS [limits:Qos.check]", "name a time\nname a QOS"),
        ("(limits:check)", ""),
        ("ask (https://a.example)", "ask (https://a.example)"),
        ("at most 2 (in all)", "at most 2 (in all)"),
        ("failed (error 0123abcd)", "failed (error ...)"),
    ],
)
def test_labels_do_not_count(text: str, same: str) -> None:
    """Texts that differ only in labels, in either form that recordings have, or in ids of errors are the same."""
    assert without_ids(text) == same
