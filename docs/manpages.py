#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Write the manual pages from the descriptions of commands, keys and hooks in the code.

Usage: docs/manpages.py FOLDER

The reference pages (generate.py) are Markdown; this program converts them to man(7), and adds the sections that only
manual pages have. The build of a wheel or an sdist runs it (tools/hatch_build.py).
"""

import re
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

PROJECT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(PROJECT))

from docs.command_line import command_line_page  # noqa: E402
from docs.generate import configuration_page, hooks_page  # noqa: E402
from slurmhooks.rules.describe import table  # noqa: E402

SPECIAL = str.maketrans({"\\": r"\e", "-": r"\-", "'": r"\(aq", "^": r"\(ha", "~": r"\(ti"})
"""Characters that roff interprets, or prints as typographic characters, which cannot be copied."""
BODY = ("meaning", "effect of a failure")
"""Titles of the column that is the text of a row; if a table has none of them, each cell is named."""

EXIT = """
# EXIT STATUS

| code | meaning |
| --- | --- |
| `0` | Fine: no finding, or `try`: accepted. |
| `1` | A finding, which standard error has; `try`: refused or failed; `replay --expect-same`: something differs. |
| `2` | Wrong use: unknown options or values; `replay` and `import`: a file cannot be used. |
"""
OUTPUT = """
# OUTPUT

Results go to standard output, findings and progress to standard error.
With `--json`, standard output has one JSON document, even with exit code 1 and with findings.
Messages about wrong use are not JSON.
`slurmhooks schema COMMAND` prints its schema.
"""
COMPLETION = """
# COMPLETION

Packages install completion for bash, zsh and fish. After `pip install`, add one line to the start of the shell:
`eval "$(_SLURMHOOKS_COMPLETE=bash_source slurmhooks)"` to ~/.bashrc,
`eval "$(_SLURMHOOKS_COMPLETE=zsh_source slurmhooks)"` to ~/.zshrc, or
`_SLURMHOOKS_COMPLETE=fish_source slurmhooks | source` to ~/.config/fish/config.fish.
"""
COMMAND_FILES = """
# FILES

| file | meaning |
| --- | --- |
| `/etc/slurm/slurmhooks.toml` | The configuration, beside slurm.conf. |
| `/etc/slurm/slurmhooks.set` | The link to the set in force. |
"""
EXAMPLE = """
# EXAMPLES

```toml
[hooks]
paths = ["hooks.d/*.py"]

[job_submit]
timeout = 5.0

[rules.modes."limits:require_account"]
mode = "warn"
note = "in force from March on; questions to help@example.org"
```

# FILES

`/etc/slurm/slurmhooks.toml`
"""
HANDLERS = """
A hook file has Python functions, each with a decorator that names the function of Slurm that calls it:

```python
from slurmhooks import Reject, hook, log

@hook.job_submit(order=10)
def require_account(job, submit_uid):
    if job.account is None:
        raise Reject("please name a project with --account", code="ESLURM_INVALID_ACCOUNT")
```

# KEYWORDS OF DECORATORS

| keyword | meaning |
| --- | --- |
| `order` | Number, 50 by default; the handler with the lowest number runs first. |
| `on_error` | The effect of a bug in the handler, or of a missed deadline. |
| `timeout` | Seconds that the handler may take. |
| `mode` | `"enforce"`, or without effect: `"warn"`, `"observe"`, `"off"`; for job_submit, job_modify, health checks. |
| `every`, `fails` | Least time between two runs; refusals in sequence that drain the node; only for health checks. |
| `contexts` | In which commands or contexts the handler runs; only for cli_filter, SPANK and health checks. |
"""


def pages() -> dict[str, str]:
    """Return the manual pages by their files below man."""
    start, *sections = re.split(r"^## (?=slurmhooks )", body_of(command_line_page()), flags=re.MULTILINE)
    bodies: dict[str, list[str]] = {}
    for section in sections:
        bodies.setdefault(section.split()[1], []).append(section)
    listed = table(("command", "meaning"), [[f"`{name}`", summary(parts[0])] for name, parts in bodies.items()])
    more = "`man slurmhooks-COMMAND` has the options of a command, such as `man slurmhooks-check`.\n"
    return {
        "man1/slurmhooks.1": page(
            "slurmhooks", 1, "Python hooks for Slurm", "`slurmhooks` [--help] [--version] COMMAND [OPTION...]",
            f"{start}\n# COMMANDS\n\n{more}\n{listed}{OUTPUT}{EXIT}{COMMAND_FILES}{COMPLETION}",
            ("slurmhooks.toml(5)", "slurmhooks-hooks(7)"),
        ),
        **{f"man1/slurmhooks-{name}.1": of_command(name, parts) for name, parts in bodies.items()},
        "man5/slurmhooks.toml.5": page(
            "slurmhooks.toml", 5, "configuration of slurmhooks", "",
            body_of(configuration_page()) + EXAMPLE, ("slurmhooks(1)", "slurmhooks-hooks(7)", "slurm.conf(5)"),
        ),
        "man7/slurmhooks-hooks.7": page(
            "slurmhooks-hooks", 7, "what handlers of slurmhooks take, and when they run", "",
            HANDLERS + "\n# HOOKS\n" + body_of(hooks_page()), ("slurmhooks(1)", "slurmhooks.toml(5)", "spank(7)"),
        ),
    }  # fmt: skip


def of_command(name: str, parts: Sequence[str]) -> str:
    """Return the page of a command, from its section of the reference and those of its own commands."""
    _, text, usage, options = re.split(r"\n\n(.*?)\n```text\n(.*?)\n```\n", parts[0], maxsplit=1, flags=re.DOTALL)
    body = "\n## ".join([text + options, *parts[1:]])
    return page(f"slurmhooks-{name}", 1, summary(parts[0]), f"`{usage}`", body, ("slurmhooks(1)",))


def summary(section: str) -> str:
    """Return the first sentence about a command, without its end."""
    return " ".join(re.split(r"\.(?=\s)", section.split("\n\n", 2)[1])[0].split()).removesuffix(".")


def body_of(text: str) -> str:
    """Return a page of the reference without its title."""
    return text.partition("\n# ")[2].partition("\n")[2]


def page(name: str, section: int, what: str, synopsis: str, body: str, related: Sequence[str]) -> str:
    """Return a manual page; its body is Markdown with headings of one and two levels."""
    lines = [
        r".\" SPDX-License-Identifier: GPL-2.0-or-later",
        r".\" Written by docs/manpages.py.",
        f'.TH {name} {section} "" slurmhooks',
        ".SH NAME",
        f"{escaped(name)} \\- {inline(what)}",
        *([".SH SYNOPSIS", inline(synopsis)] if synopsis else []),
        ".SH DESCRIPTION",
        *converted(body),
        ".SH SEE ALSO",
    ]
    for number, other in enumerate(related, 1):
        title, _, rest = other.partition("(")
        lines.append(f".BR {escaped(title)} ({rest}{',' * (number < len(related))}")
    return "\n".join(lines) + "\n"


def converted(text: str) -> Iterator[str]:
    """Yield the lines of a page from Markdown: headings, paragraphs, tables, blocks of code."""
    begins = False  # a paragraph behind a heading needs no .PP
    for part in re.split(r"(^```\w*\n.*?^```\n|^\|.*?\n(?!\|))", text, flags=re.DOTALL | re.MULTILINE):
        if part.startswith("```"):
            code = part.split("\n", 1)[1].removesuffix("```\n")
            yield from (".PP", ".RS 4", ".EX", *map(line, code.splitlines()), ".EE", ".RE")
            continue
        if part.startswith("|"):
            yield from rows(part)
            continue
        for paragraph in re.split(r"\n\n+", part.strip()):
            heading = re.fullmatch(r"(##?) (.*)", paragraph)
            if heading:
                yield f'.S{"H" if heading[1] == "#" else "S"} "{inline(heading[2])}"'
            elif paragraph:
                yield from ([] if begins else [".PP"])
                yield from (inline(row) for row in paragraph.splitlines())
            begins = bool(heading)


def rows(table: str) -> Iterator[str]:
    """Yield a table as a list, with the first column as tags."""
    titles, _, *cells = ([cell.strip() for cell in re.split(r"(?<!\\)\|", row)[1:-1]] for row in table.splitlines())
    body = next((number for number, title in enumerate(titles) if title in BODY), None)
    for row in cells:
        yield from (".TP", inline(row[0], bold=True))
        if body is not None:
            yield inline(row[body]) if row[body] else r"\&"
        named = [f"{titles[at]}: {row[at]}" for at in range(1, len(row)) if at != body and row[at]]
        if named and body is not None:
            yield inline(f"({'; '.join(named)})")
        elif named:
            yield "\n.br\n".join(map(inline, named))


def inline(text: str, *, bold: bool = False) -> str:
    """Return a line with code in bold; a first column is all bold."""
    text = re.sub(r"\[([^\]]*)\]\(([^)]*)\)", lambda link: link[1] or link[2].removeprefix("../"), text)
    parts = [escaped(part).replace(r"\e|", "|") for part in text.split("`")]
    if bold:
        return rf"\fB{''.join(parts)}\fR"
    return guarded("".join(rf"\fB{part}\fR" if at % 2 else part for at, part in enumerate(parts)))


def line(text: str) -> str:
    """Return a line of code."""
    return guarded(escaped(text))


def guarded(text: str) -> str:
    """Prevent roff from reading a line as a request."""
    return rf"\&{text}" if text.startswith((".", "'")) else text


def escaped(text: str) -> str:
    """Return a text in which no character is special to roff."""
    return text.translate(SPECIAL)


def main(folder: Path) -> None:
    """Write the pages."""
    for name, text in pages().items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
