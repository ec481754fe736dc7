# SPDX-License-Identifier: GPL-2.0-or-later
"""Pages of reports in a real browser: on a screen, on a telephone and on paper."""

import os
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from slurmhooks.cli.decisions import Decision, Step, keys_of
from slurmhooks.cli.names import plain
from slurmhooks.cli.pages import of_decisions, of_replay
from slurmhooks.cli.tally import Tally
from tests.unit.cli.pages import browser
from tests.unit.cli.pages.test_pages import HOSTILE, decisions, replayed

PHONE, DESK = 390, 1280
PICTURES = os.environ.get("SLURMHOOKS_PICTURES")
"""A folder for pictures of the pages, for people to look at."""
CHARTS = """[...document.querySelectorAll(".chart")].map(chart => {
  let next = chart.nextElementSibling;
  while (next && !next.classList.contains("table")) next = next.nextElementSibling;
  const above = chart.getBoundingClientRect(), below = next && next.getBoundingClientRect();
  return [above.height > 20, !!below && below.height > 20 && below.top >= above.bottom];
})"""
TOO_WIDE = "document.documentElement.scrollWidth - document.documentElement.clientWidth"
COLORS = """(() => {
  const style = getComputedStyle(document.body);
  const light = color => color.match(/\\d+/g).slice(0, 3).reduce((sum, part) => sum + Number(part), 0) / 3;
  return [light(style.backgroundColor), light(style.color)];
})()"""


@pytest.fixture(scope="module")
def tab(tmp_path_factory: pytest.TempPathFactory) -> Iterator[browser.Browser]:
    """A browser, which the tests of this file share."""
    program = browser.path()
    if program is None:
        pytest.skip("NO BROWSER: install chromium to look at pages of reports in it")
    with browser.Browser(program, tmp_path_factory.mktemp("browser")) as made:
        yield made


@pytest.fixture(scope="module")
def pages(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Pages: a month of decisions, a replay, and both with names as users may choose them."""
    month, odd = Tally(), Tally()
    for number in range(120):
        step = Step(handler=f"limits:rule{number % 5}", outcome="refused", text="too long", microseconds=number)
        time = datetime(2027, 5, 1, tzinfo=UTC) + timedelta(hours=6 * number)
        month.add(keys_of(
            Decision(
                event="decision", verdict="refused", hooks="a" if number < 60 else "b", name="job", time=time,
                hook="job_submit", user=f"user{number % 9}", account=f"account{number % 4}", handlers=[step],
            )
        ))  # fmt: skip
    for text in HOSTILE:
        for decision in decisions(text, text, text):
            odd.add(keys_of(decision))
    folder = tmp_path_factory.mktemp("pages")
    made = {
        "decisions": of_decisions.page(month.report(10, plain)),
        "odd-decisions": of_decisions.page(odd.report(10, plain)),
        "replay": of_replay.page(replayed("physics")),
        "odd-replay": of_replay.page(replayed("".join(HOSTILE))),
    }
    for name, page in made.items():
        page.write(folder / f"{name}.html")
    return {name: folder / f"{name}.html" for name in made}


@pytest.mark.parametrize("name", ["decisions", "odd-decisions", "replay", "odd-replay"])
def test_in_a_browser(tab: browser.Browser, pages: dict[str, Path], name: str) -> None:
    """A page loads nothing, has no errors, fits a telephone and a desk, light and dark; tables are beneath charts."""
    for width in (PHONE, DESK):
        for dark in (False, True):
            tab.requests.clear()
            tab.complaints.clear()
            tab.show(pages[name], width, dark=dark)
            assert tab.value(TOO_WIDE) == 0, (width, dark)
            charts = tab.value(CHARTS)
            assert charts
            assert all(each == [True, True] for each in charts), (width, dark, charts)
            page, text = tab.value(COLORS)
            assert (page < 80 < 180 < text) if dark else (text < 80 < 180 < page)
            if PICTURES:
                (Path(PICTURES) / f"{name}-{width}-{'dark' if dark else 'light'}.png").write_bytes(tab.picture())
            assert tab.requests == [pages[name].as_uri()]
            assert tab.complaints == []


def test_on_paper(tab: browser.Browser, pages: dict[str, Path]) -> None:
    """A page can be printed, also from a dark screen, and is then dark on white."""
    tab.show(pages["decisions"], DESK, dark=True)
    paper = tab.paper()
    assert paper.startswith(b"%PDF")
    if PICTURES:
        (Path(PICTURES) / "decisions.pdf").write_bytes(paper)
    tab.call("Emulation.setEmulatedMedia", media="print", features=[{"name": "prefers-color-scheme", "value": "dark"}])
    page, text = tab.value(COLORS)
    assert text < 80 < 180 < page
    tab.call("Emulation.setEmulatedMedia", media="screen")


def test_the_browser_would_complain(tab: browser.Browser, pages: dict[str, Path], tmp_path: Path) -> None:
    """What is too wide, is loaded, or runs in a page, is noticed; the page itself forbids to load and to run."""
    bad = '<img src="http://192.0.2.1/x"><script>document.title = "ran"</script><div class="wide">x</div>'
    html = pages["replay"].read_text(encoding="utf-8")
    html = html.replace("</main>", f"{bad}</main>").replace("</style>", ".wide { width: 900px; }</style>")
    (tmp_path / "bad.html").write_text(html, encoding="utf-8")
    tab.requests.clear()
    tab.complaints.clear()
    tab.show(tmp_path / "bad.html", PHONE, dark=False)
    assert tab.value(TOO_WIDE) > 0
    assert any("192.0.2.1" in address for address in tab.requests)
    assert sum("Content Security Policy" in complaint for complaint in tab.complaints) >= 2, tab.complaints
    assert tab.value("document.title") != "ran"
