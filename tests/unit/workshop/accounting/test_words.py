# SPDX-License-Identifier: GPL-2.0-or-later
"""Command lines without quotes are read as far as they are certain."""

import random

import pytest

from slurmhooks.cli_filter.command_options import ALIASES, NAMES
from slurmhooks.workshop.accounting.words import FOLLOWED, read
from slurmhooks.workshop.testing.options import command_lines

PIECES = (
    "a",
    "-n",
    "2",
    "-p long",
    "run.sh",
    "--mem=5",
    "x y",
    "",
    "-t",
    "-vN3",
    ":",
    "--",
    "--job-name",
    "what?",
    "[1-2]",
)


def given(text: str, **columns: str) -> tuple[dict[str, str | None], set[str], list[str] | None]:
    """Return what a line certainly gives, what it may give, and its rest."""
    line = read(text, columns)
    return {each.name: each.text for each in line.given}, line.possible, line.rest


@pytest.mark.parametrize(
    ("text", "columns", "sure", "possible", "rest"),
    [
        ("sbatch -p long -t 10 a.sh b c", {}, {"partition": "long", "time": "10"}, set(), ["a.sh", "b", "c"]),
        ("/usr/bin/sbatch --mem=4G a.sh -n 5", {}, {"mem": "4G"}, set(), ["a.sh", "-n", "5"]),
        ("sbatch -J a b.sh", {}, {"job-name": "a"}, {"job-name"}, None),
        ("sbatch -J a b.sh", {"JobName": "a"}, {"job-name": "a"}, set(), ["b.sh"]),
        ("sbatch -J a b c.sh", {"JobName": "a b"}, {"job-name": "a b"}, set(), ["c.sh"]),
        ("sbatch -J a b c.sh", {"JobName": "changed"}, {"job-name": "a"}, {"job-name"}, None),
        ("sbatch -A Phys -n 2 c.sh", {"Account": "phys"}, {"account": "Phys", "ntasks": "2"}, set(), ["c.sh"]),
        ("sbatch --wrap echo -n 3", {}, {"wrap": "echo"}, {"wrap", "ntasks"}, None),
        ("sbatch -n 4 --wrap=true", {}, {"ntasks": "4", "wrap": "true"}, set(), []),
        ("sbatch -o x -p b c.sh", {}, {"output": "x"}, {"output", "partition"}, None),
        ("sbatch -a 1-3 -n 2 c.sh", {}, {"array": "1-3", "ntasks": "2"}, set(), ["c.sh"]),
        ("sbatch -a 1, 3 c.sh", {}, {"array": "1,"}, {"array"}, None),
        ("sbatch --mail-type=END -p b c.sh", {}, {"mail-type": "END"}, {"mail-type", "partition"}, None),
        ("sbatch --mail-type END, FAIL c.sh", {}, {"mail-type": "END,"}, {"mail-type"}, None),
        ("sbatch --of-a-plugin x -n 2 c.sh", {}, {}, {"ntasks"}, None),
        ("sbatch -J x?y", {}, {"job-name": "x?y"}, {"job-name"}, []),
        ("", {}, {}, set(), None),
        ("python submit.py -n 2", {}, {}, set(), None),
    ],
)
def test_lines(
    text: str, columns: dict[str, str], sure: dict[str, str | None], possible: set[str], rest: list[str] | None
) -> None:
    """A value ends where the next word cannot belong to it, or where it is what the job got."""
    assert given(text, **columns) == (sure, possible, rest)


def test_plain_words() -> None:
    """With the assumption, a value ends before a word like an option; before another word it may go on."""
    line = read("sbatch --mail-type=END -o x -p b c.sh", {}, plain=True)
    assert [(each.name, each.text) for each in line.given] == [
        ("mail-type", "END"),
        ("output", "x"),
        ("partition", "b"),
    ]
    assert (line.possible, line.rest) == (set(), ["c.sh"])
    assert read("sbatch -p b -o x c.sh", {}, plain=True).possible == {"output"}


@pytest.mark.parametrize(
    "text", ["sbatch -n 1 : -n 2 a.sh", "salloc -n 1 : -n 2 true", "srun -n 1 a : b", "sbatch -J a : -n 2 b.sh"]
)
def test_components(text: str) -> None:
    """A line that may be that of a heterogeneous job is marked."""
    assert read(text, {}).components


def is_accepted(name: str, text: str) -> bool:
    """Tell whether Slurm may accept the blanks in the value of an option."""
    return all(not word or name not in FOLLOWED or FOLLOWED[name].match(word) for word in text.split(" ")[1:])


@pytest.mark.slow
def test_what_was_typed_is_certain_or_possible() -> None:
    """However words contain blanks: what sbatch reads of the words is certain, or possible; nothing else is certain."""
    drawing = random.Random(3)
    names = {ALIASES.get(name, name) for name in NAMES["sbatch"]}
    compared = 0
    for _ in range(20_000):
        typed = [drawing.choice(PIECES) for _ in range(drawing.randint(0, 6))]
        for place, option in enumerate(drawing.sample(sorted(names), 2)):
            has_arg = command_lines.takes("sbatch", option)
            value = drawing.choice(("3", "a", "a b", "x -p y", "1 2"))
            typed.insert(place, f"--{option}" if has_arg == command_lines.NONE else f"--{option}={value}")
        try:
            theirs = command_lines.read("sbatch", typed, ())
        except command_lines.CommandLineError:
            continue
        if not all(is_accepted(each.name, each.text or "") for each in theirs.given):
            continue
        compared += 1
        line = read(" ".join(["sbatch", *typed]), {})
        if line.components:
            continue
        ours = {each.name: each.text for each in line.given if each.name not in line.possible}
        real = {each.name: each.text for each in theirs.given}
        assert {name: real.get(name, "missing") for name in ours} == ours, typed
        assert set(real) <= set(ours) | line.possible, typed
    assert compared > 3000
