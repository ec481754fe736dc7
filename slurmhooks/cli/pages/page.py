# SPDX-License-Identifier: GPL-2.0-or-later
"""The page itself: its style, its sections, and the file that it is written to."""

from __future__ import annotations

import errno
import os
import stat
from typing import TYPE_CHECKING, Literal

from slurmhooks._version import __version__
from slurmhooks.cli import output
from slurmhooks.cli.pages import charts
from slurmhooks.cli.pages.markup import Html, element, joined, number, text
from slurmhooks.files import durable

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

POLICY = "default-src 'none'; style-src 'unsafe-inline'"
"""Browsers load nothing for the page, and run nothing in it."""
STYLE = """
:root { color-scheme: light dark; --page: #ffffff; --card: #f5f6f8; --text: #1c2430; --muted: #586374; --line: #d5dae1;
  --series-1: #2f6fb5; --series-2: #c2571a; --series-3: #7a8797; --series-4: #7d4fa3; --series-5: #2e8b6f; }
@media (prefers-color-scheme: dark) { :root { --page: #14181e; --card: #1e242d; --text: #e4e8ee; --muted: #9aa6b5;
  --line: #3a4350; --series-1: #6ea8e6; --series-2: #ef9556; --series-3: #8f9bab; --series-4: #b78be0;
  --series-5: #5fc3a2; } }
* { box-sizing: border-box; }
body { margin: 0 auto; padding: 1.5rem 1rem 3rem; max-width: 60rem; background: var(--page); color: var(--text);
  font: 1rem/1.5 system-ui, sans-serif; }
h1 { font-size: 1.7rem; line-height: 1.2; margin: 0 0 .3rem; }
h2 { font-size: 1.25rem; margin: 2.2rem 0 .5rem; padding-top: .8rem; border-top: 1px solid var(--line); }
h3 { font-size: 1.05rem; margin: 1.4rem 0 .3rem; overflow-wrap: anywhere; }
p { margin: .4rem 0; overflow-wrap: anywhere; }
.about, .note, footer { color: var(--muted); }
footer { margin-top: 2.5rem; font-size: .85rem; }
ul { margin: .4rem 0; padding-left: 1.2rem; overflow-wrap: anywhere; }
dl { display: grid; grid-template-columns: repeat(auto-fit, minmax(8.5rem, 1fr)); gap: .6rem; margin: 1.2rem 0; }
dl > div { display: flex; flex-direction: column-reverse; justify-content: flex-end; padding: .6rem .8rem;
  background: var(--card); border-radius: .4rem; }
dt { color: var(--muted); font-size: .85rem; line-height: 1.3; }
dd { margin: 0; font-size: 1.5rem; font-weight: 600; line-height: 1.3; font-variant-numeric: tabular-nums; }
.chart { max-width: 35rem; margin: .5rem 0; }
.chart svg { display: block; width: 100%; height: auto; }
.table { overflow-x: auto; margin: .6rem 0 1rem; }
table { border-collapse: collapse; min-width: 100%; font-size: .92rem; }
caption { text-align: left; color: var(--muted); padding-bottom: .2rem; }
th, td { padding: .3rem .7rem .3rem 0; text-align: left; vertical-align: top; border-bottom: 1px solid var(--line); }
td { overflow-wrap: break-word; max-width: 24rem; }
th { font-weight: 600; }
.short { white-space: nowrap; }
.number { text-align: right; white-space: nowrap; min-width: 0; font-variant-numeric: tabular-nums; }
pre { overflow-x: auto; padding: .7rem; background: var(--card); border-radius: .4rem; font-size: .82rem; }
@media print { :root { color-scheme: light; --page: #fff; --card: #fff; --text: #000; --muted: #333; --line: #999;
    --series-1: #2f6fb5; --series-2: #c2571a; --series-3: #7a8797; --series-4: #7d4fa3; --series-5: #2e8b6f; }
  body { max-width: none; padding: 0; font-size: 10pt; }
  dl > div { border: 1px solid var(--line); }
  h2, h3 { break-after: avoid; } tr, .chart, dl > div { break-inside: avoid; } .table { overflow: visible; }
  pre { white-space: pre-wrap; } }
"""


class Page:
    """A page that grows from top to bottom."""

    def __init__(self, title: str, about: str) -> None:
        """Begin with a title, and a line on what the page shows."""
        self._title = title
        self._parts: list[Html] = [element("h1", title), element("p", about, class_="about")]
        self._charts = 0
        if not charts.available():
            self.note(f"This page has only tables: {charts.MISSING}.")

    def add(self, *parts: object) -> None:
        """Add HTML, or texts."""
        self._parts.extend(map(text, parts))

    def section(self, title: str, explanation: str = "") -> None:
        """Begin a section."""
        self.add(element("h2", title))
        if explanation:
            self.add(element("p", explanation))

    def note(self, words: str) -> None:
        """Add a remark."""
        self.add(element("p", words, class_="note"))

    def figures(self, values: Mapping[str, int]) -> None:
        """Add the most important numbers, by what they count."""
        self.add(
            element(
                "dl",
                *(element("div", element("dt", name), element("dd", number(value))) for name, value in values.items()),
            )
        )

    def chart(
        self,
        kind: Literal["bars", "columns"],
        names: Sequence[str],
        series: Mapping[str, Sequence[float]],
        unit: str = "",
        *,
        stacked: bool = True,
    ) -> None:
        """Add a chart, if charts can be made; series without any value are left out."""
        used = {title: values for title, values in series.items() if any(values)}
        if not used:
            return
        self._charts += 1
        if kind == "columns":
            drawn = charts.columns(self._charts, names, used)
        else:
            drawn = charts.bars(self._charts, names, used, unit, stacked=stacked)
        if drawn:
            self.add(element("div", drawn, class_="chart"))

    def html(self) -> str:
        """Return the page."""
        head = joined(
            [
                element("meta", charset="utf-8"),
                element("meta", http_equiv="Content-Security-Policy", content=POLICY),
                element("meta", name="viewport", content="width=device-width, initial-scale=1"),
                element("meta", name="referrer", content="no-referrer"),
                element("title", self._title),
                element("style", Html(STYLE)),
            ]
        )
        footer = element("footer", f"Made by slurmhooks {__version__}. Bars are measured by the tables below them.")
        body = element("body", element("main", *self._parts), footer)
        return f'<!DOCTYPE html>\n<html lang="en"><head>{head}</head>{body}</html>\n'

    def write(self, path: Path) -> None:
        """Write the page, and a note if charts are missing.

        Only its owner can read the file, because it shows what users do. A file that exists is replaced, whoever owns
        it; a device such as a terminal is written to.

        Raises:
            OSError: it cannot be written, or is a link, which another user may have put there.
        """
        data = self.html().encode("utf-8", "backslashreplace")
        try:
            kind = stat.S_IFMT(os.lstat(path).st_mode)
        except FileNotFoundError:
            kind = stat.S_IFREG
        if kind == stat.S_IFREG:
            durable.write(path, data)
        elif kind == stat.S_IFCHR:
            with open(os.open(path, os.O_WRONLY | os.O_NOFOLLOW | os.O_NOCTTY | os.O_CLOEXEC), "wb") as stream:
                stream.write(data)
        else:
            raise OSError(errno.EEXIST, "it is a link, or no file: name another file", str(path))
        if not charts.available():
            output.note(charts.MISSING)
