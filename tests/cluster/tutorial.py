# SPDX-License-Identifier: GPL-2.0-or-later
"""Plays a page of the documentation on a cluster: its files are installed, its commands run, their output compared.

``python -m tests.cluster.tutorial RELEASE PAGE`` plays a page and writes the output of this run into it.
"""

import re
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

FENCE = re.compile(r"^```(\{code-block\} \w+\n:caption: (?P<path>\S+)\n\n|console\n)(?P<text>.*?)^```\n", re.M | re.S)
PROMPT = re.compile(r"^(?:# |(?P<user>\w+)\$ )(?P<command>.*)$")
VARIES = [
    (r"\b\d{4}-\d\d-\d\d[ T]\d\d:\d\d:\d\d(\.\d+)?(\+\d\d:\d\d)?", "TIME"),
    (r"\b[0-9a-f]{12}\b", "ID"),
    (r"\b\d+ (us|bytes)\b", r"N \1"),
    (r"\b(generation|batch job) \d+", r"\1 N"),
    (r"\b\d\d\.\d\d\.\d+\b", "RELEASE"),
    (r"^replaying.*\n", ""),
]
"""Patterns of what differs from run to run, and what stands for it."""


@dataclass
class Command:
    """A command of a page.

    Attributes:
        user: who runs it; root by default.
        text: for a shell.
        output: what the page shows of it.
    """

    text: str
    user: str = "root"
    output: list[str] = field(default_factory=list)


@dataclass(frozen=True)
class File:
    """A file of a page."""

    path: str
    text: str


def steps(page: str) -> Iterator[Command | File]:
    """Return the files and commands of a page, in order."""
    for match in FENCE.finditer(page):
        if match["path"]:
            yield File(match["path"], match["text"])
            continue
        command = None
        for line in match["text"].splitlines():
            prompt = PROMPT.match(line)
            if prompt:
                if command is not None:
                    yield command
                command = Command(prompt["command"], prompt["user"] or "root")
            else:
                assert command is not None, f"output without a command: {line}"
                command.output.append(line)
        if command is not None:
            yield command


def plain(output: str) -> str:
    """Return an output with what varies replaced."""
    for pattern, stand_in in VARIES:
        output = re.sub(pattern, stand_in, output, flags=re.M)
    return output.strip()


def written(page: str, outputs: Callable[[str, str], str], install: Callable[[str, str], None]) -> str:
    """Return a page with the output of its commands.

    Args:
        page: the page.
        outputs: runs a command as a user, and returns its output.
        install: writes a file.
    """

    def block(match: re.Match[str]) -> str:
        if match["path"]:
            install(match["path"], match["text"])
            return match[0]
        lines = []
        for command in steps(match[0]):
            assert isinstance(command, Command)
            prompt = "# " if command.user == "root" else f"{command.user}$ "
            shown = re.sub(VARIES[-1][0], "", outputs(command.user, command.text), flags=re.M).rstrip()
            lines += [prompt + command.text, *([shown] if shown else [])]
        return "```console\n" + "\n".join(lines) + "\n```\n"

    return FENCE.sub(block, page)


def main(release: str, name: str) -> None:
    """Play a page on a running cluster, and write what the commands say."""
    import subprocess
    import time

    tool = Path(__file__).with_name("run")
    page = Path(name)

    def outputs(user: str, command: str) -> str:
        time.sleep(2)  # handlers observe, and metrics are written, after the answer
        who = ["exec", release] if user == "root" else ["as", release, user]
        done = subprocess.run(
            [tool, *who, "--", "sh", "-c", f"exec 2>&1; {command}"], stdout=subprocess.PIPE, text=True, check=False
        )
        return done.stdout

    def install(path: str, text: str) -> None:
        subprocess.run([tool, "put", release, "-", path], input=text, text=True, check=True)

    page.write_text(written(page.read_text(), outputs, install))


if __name__ == "__main__":
    main(*sys.argv[1:])
