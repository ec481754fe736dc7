# SPDX-License-Identifier: GPL-2.0-or-later
"""What the pages name exists, and the pages have the form that readers and tools expect."""

import os
import re
from pathlib import Path
from typing import Any

import click
import pytest

from docs.command_line import commands
from slurmhooks import cli
from slurmhooks.config import model as config
from slurmhooks.hooks.points import COMMANDS, CONTEXTS, HOOKS
from slurmhooks.job_submit import constants
from slurmhooks.job_submit.whole import WholeJob
from slurmhooks.rules import catalogue
from slurmhooks.testing import FakeContainer, FakeJob, FakeOptions, FakeRecord, FakeSpank
from tests.project.docs_pages import DOCS, EXAMPLES, PAGES, PROJECT, TEXT, reference

SOURCES = "\n".join(
    path.read_text()
    for folder in ("slurmhooks", "native", "tests/bench", "tests/cluster")
    for path in (PROJECT / folder).rglob("*")
    if path.suffix in (".py", ".c", ".h")
)


def test_pages_are_in_a_toctree() -> None:
    """Every page can be reached from the first one."""
    listed = [
        line.strip()
        for text in (PAGES["index"], (DOCS / "reference" / "index.md").read_text())
        for block in re.findall(r"```\{toctree\}\n(.*?)```", text, re.DOTALL)
        for line in block.splitlines()
        if line.strip() and not line.startswith(":")
    ]
    assert sorted(listed) == sorted([*(PAGES.keys() - {"index"}), "reference/index", *reference()])


def test_links_lead_somewhere() -> None:
    """Every link to a page or to a heading has its target; forges and MyST create the same anchors for headings."""
    pages = {**PAGES, **{f"reference/{name}": text for name, text in reference().items()}}
    for source, text in pages.items():
        for page, anchor in re.findall(r"\]\((?!https?:)(?:([^)#]*)\.md)?(?:#([\w-]+))?\)", text):
            target = os.path.normpath(os.path.join(os.path.dirname(source), page)) if page else source
            assert target in pages, f"{source}: {page}"
            headings = re.findall(r"^#+ (.*)$", pages[target], re.MULTILINE)
            slugs = {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}
            assert not anchor or anchor in slugs, f"{source}: {page}#{anchor}"


def test_links_have_a_text() -> None:
    """A link without a text has the title of its target in Sphinx, but cannot be seen on a forge."""
    assert [name for name, text in PAGES.items() if "[](" in text] == []


def test_has_one_sentence_a_line() -> None:
    """A line of prose ends where a sentence ends, so that a diff shows what has changed."""
    for name, text in PAGES.items():
        prose = re.sub(r"```.*?```", "", text, flags=re.DOTALL)
        for line in prose.splitlines():
            if not line.startswith("|"):
                assert not re.search(r"[a-z`)]\. [A-Z]", line), f"{name}: {line}"


def test_tables_are_whole() -> None:
    """Each row of a table has as many cells as its head; Sphinx would drop additional cells."""
    for name, text in {**PAGES, **reference()}.items():
        for block in re.findall(r"(?:^\|.*\n)+", text, re.MULTILINE):
            rows_ = [re.sub(r"\\\||`[^`]*`", "", line).count("|") for line in block.splitlines()]
            assert len(set(rows_)) == 1, f"{name}: {block}"


def test_named_hooks_exist() -> None:
    """Every ``hook.NAME`` in the pages can be written in a hook file."""
    named = set(re.findall(r"\bhook\.((?:spank|scrun|cli_filter|job_submit|job_modify)\b(?:\.\w+)?)", TEXT))
    assert named
    assert named - {"spank", "scrun", "cli_filter", "spank.option"} <= HOOKS.keys()


def test_named_contexts_exist() -> None:
    """Every context that an example or a page names is one of Slurm's."""
    examples = "".join(path.read_text() for path in EXAMPLES.glob("*.py"))
    for asked in re.findall(r"contexts=(\[[^]]*\]|\"\w+\")", TEXT + examples):
        assert set(re.findall(r"\"(\w+)\"", asked)) <= {*CONTEXTS, *COMMANDS}


def test_named_codes_exist() -> None:
    """Every error code in pages and examples is one that Slurm has, as far as our own sources know it."""
    names = set(re.findall(r"\b(ES(?:LURM|PANK)_[A-Z_]*[A-Z])\b", TEXT))
    assert names
    for name in names:
        assert name in SOURCES or getattr(constants, name), name


def test_named_attributes_exist() -> None:
    """Every attribute of job, record, spank and container that a page names exists."""
    kinds: dict[str, Any] = {
        "job": FakeJob(),
        "record": FakeRecord(),
        "spank": FakeSpank(),
        "container": FakeContainer(),
        "options": FakeOptions(),
    }
    for view, name in set(re.findall(r"(?<![\w/.])(job|record|spank|container|options)\.([a-z_]+)\b", TEXT)):
        if name in ("h", "md", "py", "sh"):  # a file
            continue
        known = dir(type(kinds[view])) + dir(kinds[view]) + list(getattr(kinds[view], "OTHERS", ()))
        known += [*getattr(kinds[view], "TEXTS", ()), *getattr(kinds[view], "NUMBERS", ())]
        known += dir(WholeJob) if view == "job" else []
        assert name in known, f"{view}.{name}"


def test_shown_configuration_is_valid() -> None:
    """Every slurmhooks.toml in the pages is valid: the model refuses unknown keys."""
    import tomllib

    shown = [block for text in PAGES.values() for block in re.findall(r"```toml\n(.*?)```", text, re.DOTALL)]
    assert shown
    for block in shown:
        catalogue.of_config(Path("slurmhooks.toml"), config.Config.model_validate(tomllib.loads(block)))


def test_shown_commands_exist() -> None:
    """Every ``slurmhooks VERB --option`` in the pages exists."""
    context = click.Context(cli.main)
    blocks = "".join(re.findall(r"```(?:sh|console)\n(.*?)```", TEXT, re.DOTALL))
    spans = "\n".join(re.findall(r"`([^`\n]+)`", TEXT))
    known = dict(commands())
    shown = re.findall(r"(?:^|/|[#$] )slurmhooks (\w+)([^\n&]*)", f"{blocks}\n{spans}", re.MULTILINE)
    assert {verb for verb, _ in shown} >= set(cli.main.list_commands(context))
    for verb, rest in shown:
        line = f"{verb}{rest}".split(" -- ")[0]
        command = known[max((name for name in known if f"{line} ".startswith(f"{name} ")), key=len)]
        options = {name for option in command.params for name in option.opts}
        assert set(re.findall(r"--[a-z-]+", line)) <= options | {"--help"}, line


def test_processes_are_listed() -> None:
    """The page on running a cluster shows all processes of slurmctld's plugins, by the names that ps prints."""
    names = set(re.findall(r'(?:process\.name\(|parent, )"(slurmhooks-\w+)"', SOURCES))
    assert len(names) > 5
    assert [name for name in sorted(names) if f" {name[:15]} " not in PAGES["operating"]] == []


def test_named_environment_variables_exist() -> None:
    """Every variable of ours or of Slurm's configuration that the pages name is read somewhere."""
    for name in set(re.findall(r"\b(SLURMHOOKS_\w+|SLURM_CONF)\b", TEXT)):
        assert name in SOURCES, name


def test_names_files_that_exist() -> None:
    """Every file of the project that the pages name exists."""
    names = re.findall(r"(?:\{literalinclude\} \.\./|`)((?:contrib|tests|slurmhooks|native)/[\w./]+\.\w+)", TEXT)
    assert names
    assert [name for name in names if not (PROJECT / name).exists()] == []


@pytest.mark.parametrize("page", ["security.md", "reliability.md"])
def test_named_tests_exist(page: str) -> None:
    """Every test that the page names for a rule or a fault exists, in the file named with it if there is one."""
    text = (DOCS / page).read_text()
    sources = {str(path.relative_to(PROJECT)): path.read_text() for path in (PROJECT / "tests").glob("**/test_*.py")}
    tests = set(re.findall(r"\b(test_\w+)`", text)) - {Path(name).stem for name in sources}
    assert [name for name in sorted(tests) if not any(f"def {name}(" in source for source in sources.values())] == []
    # "`FILE::TEST`, `::TEST`" and "`TEST` in `FILE`"
    pairs = [(re.findall(r"[^`:]+\.py", text[: match.end()])[-1], match[1]) for match in re.finditer(r"::(\w+)`", text)]
    pairs += [(file, name) for name, file in re.findall(r"`(test_\w+)` in `([\w/]+\.py)`", text)]
    assert pairs
    assert [(file, name) for file, name in pairs if f"def {name}(" not in sources[file]] == []
