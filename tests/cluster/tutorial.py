# SPDX-License-Identifier: GPL-2.0-or-later
"""Plays a page of the documentation on a cluster: installs its files, runs its commands, and compares their output.

``python -m tests.cluster.tutorial RELEASE PAGE [HEADING...]`` plays a page, or the parts below some headings,
and writes the output of this run into it.
"""

import base64
import os
import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tests.cluster.conftest import Cluster

FENCE = re.compile(r"^```(\{code-block\} \w+\n:caption: (?P<path>\S+)\n\n|console\n)(?P<text>.*?)^```\n", re.M | re.S)
PROMPT = re.compile(r"^(?:# |(?P<user>\w+)\$ )(?P<command>.*)$")
RESTART = "systemctl restart slurmctld slurmd"
"""What a site's administrator types; clusters of the lab have no systemd, and a verb of their own."""
FOLLOWS = ("slurmhooks why", "grep")
"""Commands that show what happens after the answer."""
VARIES = [
    (r"\b\d{4}-\d\d-\d\d[ T]\d\d:\d\d:\d\d(\.\d+)?(\+\d\d:\d\d)?", "TIME"),
    (r"\b([0-9a-f]{12}|[0-9a-f]{16})\b", "ID"),
    (r"\b\d+ (us|bytes)\b", r"N \1"),
    (r"\b(generation|batch job|line) \d+", r"\1 N"),
    (r"\b\d+\.\d+\.\d+(?:-\d+(?:\+deb\w+)?)?\b", "RELEASE"),
    (r"\berror [0-9a-f]{8}\b", "error ID"),
    (r"/usr/\S+/slurm(-wlm)?/", "PLUGINS/"),
]
"""Patterns of what differs from run to run, and what stands for it."""
WAITS = r"srun: (job \d+ (queued|has been)|Required node not available)"
DROPPED = rf" +$|^(replaying|Setting up the build|Compiling|{WAITS}).*\n"
"""What is not shown: it differs from run to run or says how far a command is."""


@dataclass
class Command:
    """A command of a page, for a shell of root by default, and what the page shows of its output."""

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


def parts(page: str) -> dict[str, str]:
    """Return the parts of a page below its headings of the second level, by heading."""
    return {part.partition("\n")[0]: part for part in re.split(r"^## ", page, flags=re.M)[1:]}


def plain(output: str) -> str:
    """Return an output in which all varying parts are replaced."""
    for pattern, stand_in in ((DROPPED, ""), *VARIES):
        output = re.sub(pattern, stand_in, output, flags=re.M)
    return output.strip()


def written(page: str, outputs: Callable[[str, str], str], install: Callable[[str, str], None]) -> str:
    """Return a page with the output of its commands."""

    def block(match: re.Match[str]) -> str:
        if match["path"]:
            install(match["path"], match["text"])
            return match[0]
        lines = []
        for command in steps(match[0]):
            assert isinstance(command, Command)
            prompt = "# " if command.user == "root" else f"{command.user}$ "
            shown = re.sub(DROPPED, "", outputs(command.user, command.text), flags=re.M).rstrip()
            lines += [prompt + command.text, *([shown] if shown else [])]
        return "```console\n" + "\n".join(lines) + "\n```\n"

    return FENCE.sub(block, page)


@dataclass(frozen=True)
class Laptop:
    """The machine of commands after ``laptop$``, and of files without a folder: it has no Slurm."""

    cluster: "Cluster"
    folder: Path

    def run(self, command: str) -> str:
        """Return the output of a command; of scp, copy files from or to the home directory of root."""
        copy = re.fullmatch(r"scp (?P<to>\S+) root@cluster:|scp root@cluster:(?P<back>\S+) \.", command)
        if copy is None:
            environment = {
                "PATH": f"{Path(sys.executable).parent}:/usr/bin:/bin",
                "HOME": str(self.folder),
                "LANG": "C.UTF-8",
            }
            words = ["sh", "-c", f"exec 2>&1; {command}"]
            done = subprocess.run(
                words, cwd=self.folder, env=environment, stdout=subprocess.PIPE, stdin=subprocess.DEVNULL, check=False
            )
            return done.stdout.decode()
        if copy["to"]:
            self.cluster.put(self.folder / copy["to"], f"/root/{copy['to']}")
        else:
            data = self.cluster.root("base64", f"/root/{copy['back']}", check=True).stdout
            (self.folder / copy["back"]).write_bytes(base64.b64decode(data))
        return ""


def play(cluster: "Cluster", page: str, laptop: Laptop | None = None) -> None:
    """Install the files of a page, run its commands, and compare what they print.

    Raises:
        AssertionError: a command prints something else than the page shows.
    """
    cluster.deploys = False  # the page says what to deploy
    for step in steps(page):
        if isinstance(step, File) and laptop is not None and not os.path.isabs(step.path):
            (laptop.folder / step.path).write_text(step.text)
        elif isinstance(step, File):
            cluster.put(step.text, step.path)
        elif step.text == RESTART:
            cluster.restart()
        else:
            expected = plain("\n".join(step.output))
            said = plain(laptop.run(step.text) if laptop and step.user == "laptop" else run(cluster, step))
            if step.text.startswith(FOLLOWS):
                cluster.wait(lambda: plain(run(cluster, step)) == expected or None, 20, what=f"{step.text}: {expected}")  # noqa: B023
            else:
                assert said == expected, f"{step.text}\nprinted:\n{said}\nthe page has:\n{expected}"


def run(cluster: "Cluster", step: Command) -> str:
    """Return the output of a command."""
    words = ("sh", "-c", f"exec 2>&1; {step.text}")
    return (cluster.root(*words) if step.user == "root" else cluster.user(step.user, *words)).stdout


def main(release: str, name: str, *headings: str) -> None:
    """Play a page on a running cluster, and write the output of the commands into it."""
    import time

    tool = Path(__file__).with_name("run")
    page = Path(name)

    def outputs(user: str, command: str) -> str:
        time.sleep(2)  # handlers observe, and metrics are written, after the answer
        if command == RESTART:
            subprocess.run([tool, "restart", release], check=True)
            return ""
        who = ["exec", release] if user == "root" else ["as", release, user]
        done = subprocess.run(
            [tool, *who, "--", "sh", "-c", f"exec 2>&1; {command}"], stdout=subprocess.PIPE, text=True, check=False
        )
        return done.stdout

    def install(path: str, text: str) -> None:
        subprocess.run([tool, "put", release, "-", path], input=text, text=True, check=True)

    text = page.read_text()
    for part in [parts(text)[heading] for heading in headings] or [text]:
        text = text.replace(part, written(part, outputs, install))
    page.write_text(text)


if __name__ == "__main__":
    main(*sys.argv[1:])
