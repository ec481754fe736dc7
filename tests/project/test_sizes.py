# SPDX-License-Identifier: GPL-2.0-or-later
"""The tree pays for what it adds by what it deletes."""

from tests.project.sizes import PAGE, limits, measured, rows


def test_nothing_is_larger_than_agreed() -> None:
    """No room has more lines, and nobody has more to learn, than the table of the page says."""
    most = limits()
    assert [
        f"{name}: {number:,}, and {PAGE.name} allows {most[name]:,}: delete what it makes unnecessary, or add the row"
        f" '| {name} | +{number - most[name]:,} | who needs it |' to its table"
        for name, number in measured().items()
        if number > most[name]
    ] == []


def test_the_table_is_about_what_is_measured() -> None:
    """Each number of the table limits something, once, and each raise says who needs it."""
    names = [name for name, raises, _, _ in rows() if not raises]
    assert sorted(names) == sorted(measured())
    assert [name for name, raises, _, who in rows() if raises and (name not in names or not who)] == []
