# SPDX-License-Identifier: GPL-2.0-or-later
"""Charts as SVG inside a page, made by pygal, which is optional: without it the page has only tables."""

from __future__ import annotations

import sys
from functools import cache
from math import ceil
from typing import TYPE_CHECKING, Any

from slurmhooks.cli.pages.markup import Html
from slurmhooks.log import visible

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

MISSING = f"there are no charts, because pygal is not installed: {sys.executable} -m pip install pygal"
WIDTH = 460
"""Width of a chart in its own units; text has 13 of them, so that a telephone shows it large enough."""
BAR = 30
"""Height of a bar, in the same units."""
LONGEST = 24
"""Maximum number of characters of a label; the table below the chart has the whole name."""


@cache
def library() -> Any:
    """Return pygal; None if it is not installed."""
    before = list(sys.meta_path)
    try:
        import pygal
    except ImportError:
        return None
    # It adds a finder of modules in the form that Python 3.12 no longer calls, and 3.11 warns of.
    sys.meta_path[:] = [finder for finder in sys.meta_path if finder in before]
    return pygal


def available() -> bool:
    """Tell whether charts can be made."""
    return library() is not None


def bars(
    number: int, names: Sequence[str], series: Mapping[str, Sequence[float]], unit: str = "", *, stacked: bool = True
) -> Html:
    """Return a chart with a row for each name.

    Args:
        number: distinguishes the charts of a page.
        names: of the rows, from top to bottom.
        series: their values, by title.
        unit: of the values.
        stacked: whether the values of a row are parts of a whole; otherwise each has its own bar.
    """
    if not available() or not names:
        return Html("")
    pygal = library()
    kind = pygal.HorizontalStackedBar if stacked else pygal.HorizontalBar
    height = BAR if stacked else round(BAR * 0.7 * len(series))
    chart = kind(height=90 + height * len(names), **_settings(series, unit))
    chart.x_labels = [_short(name) for name in reversed(names)]
    chart.y_labels = ticks(_largest(series, stacked=stacked))
    for title, values in series.items():
        chart.add(title, list(reversed(values)))
    return _drawn(number, chart)


def columns(number: int, names: Sequence[str], series: Mapping[str, Sequence[float]]) -> Html:
    """Return a chart with a column for each name, such as a day; see :func:`bars`."""
    if not available() or not names:
        return Html("")
    pygal = library()
    chart = pygal.StackedBar(height=300, x_label_rotation=45, show_minor_x_labels=False, **_settings(series, ""))
    chart.x_labels = [_short(name) for name in names]
    every = max(1, -(-len(names) // 10))
    chart.x_labels_major = [_short(name) for name in names[::every]]
    chart.y_labels = ticks(_largest(series, stacked=True))
    for title, values in series.items():
        chart.add(title, list(values))
    return _drawn(number, chart)


def ticks(largest: float) -> list[int]:
    """Return the numbers at an axis, up to the first one that is not below the largest value; at most six."""
    steps = (digit * 10**power for power in range(20) for digit in (1, 2, 5))
    step = next(step for step in steps if step * 5 >= largest)
    return list(range(0, max(1, ceil(largest / step)) * step + 1, step))


def _largest(series: Mapping[str, Sequence[float]], *, stacked: bool) -> float:
    rows = zip(*series.values(), strict=True)
    return max(float(sum(row) if stacked else max(row)) for row in rows)


def _short(name: str) -> str:
    shown = visible(name)
    return shown if len(shown) <= LONGEST else f"{shown[: LONGEST - 1]}…"


def _settings(series: Mapping[str, Sequence[float]], unit: str) -> dict[str, Any]:
    colors = tuple(f"var(--series-{place})" for place in range(1, 6))
    style = library().style.Style(
        background="transparent",
        plot_background="transparent",
        foreground="var(--text)",
        foreground_strong="var(--text)",
        foreground_subtle="var(--line)",
        guide_stroke_color="var(--line)",
        major_guide_stroke_color="var(--line)",
        opacity="1",
        opacity_hover="1",
        colors=colors,
        font_family="system-ui, sans-serif",
        label_font_size=13,
        major_label_font_size=13,
        legend_font_size=13,
    )
    return {
        "style": style,
        "js": (),
        "width": WIDTH,
        "disable_xml_declaration": True,
        "show_legend": len(series) > 1,
        "legend_at_bottom": True,
        "legend_at_bottom_columns": 2,
        "legend_box_size": 11,
        "truncate_legend": -1,
        "truncate_label": -1,
        "margin": 8,
        "margin_right": 26,
        "spacing": 8,
        "show_y_guides": True,
        "zero": 0,
        "include_x_axis": True,
        "value_formatter": lambda value: f"{value:,.0f}{unit}".replace(",", "\u202f"),
    }


def _drawn(number: int, chart: Any) -> Html:
    """Return the SVG of a chart without scripts and comments; the comments name the day and addresses."""
    chart.uuid = str(number)  # otherwise a random one
    chart.add_xml_filter(_without_scripts)
    return Html(chart.render(is_unicode=True))


def _without_scripts(root: Any) -> Any:
    for parent in root.iter():
        for child in list(parent):
            if not isinstance(child.tag, str) or child.tag.rpartition("}")[2] == "script":
                parent.remove(child)
    return root
