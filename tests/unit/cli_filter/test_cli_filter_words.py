# SPDX-License-Identifier: GPL-2.0-or-later
"""The words after the options of a command line."""

import pytest

from slurmhooks.cli_filter import words


@pytest.mark.parametrize(
    ("joined", "line", "found"),
    [
        (None, "sbatch --wrap|x", ()),
        (" a.sh x", "sbatch|-n1|a.sh|x", ("a.sh", "x")),
        (" /home/me/a.sh x  y z", "sbatch|-n1|./a.sh|x  y|z", ("/home/me/a.sh", "x  y", "z")),
        (" /home/me/./a b.sh c", "sbatch|./a b.sh|c", ("/home/me/./a b.sh", "c")),
        (" sh -c echo a b", "srun|-n1|sh|-c|echo a b", ("sh", "-c", "echo a b")),
        (" echo one", "srun|echo|one|:|echo|two", ("echo", "one")),
        (" echo two", "srun|echo|one|:|echo|two", ("echo", "two")),
        (" echo ", "srun|echo|", ("echo", "")),
        (" srun --pty bash", "salloc|-n1", ("srun", "--pty", "bash")),
        (" echo echo echo", "srun|echo|echo|echo", ("echo", "echo", "echo")),
        (" /home/me/a.sh : x y", "sbatch|a.sh|:|x y", ("/home/me/a.sh", ":", "x y")),
    ],
)
def test_words_that_slurm_joins(joined: str | None, line: str, found: tuple[str, ...]) -> None:
    """Blanks within words stay; the first word may have its full path; unknown words are split at blanks."""
    assert words.split(joined, line.split("|")) == found


def test_words_of_a_component() -> None:
    """Where Slurm does not provide them, the words are those from getopt's index to the next separator."""
    line = ["srun", "-n1", "echo", "one", ":", "-n1", "-v", "echo", "two x"]
    assert words.of_component(line, 2, 0) == ("echo", "one")
    assert words.of_component(line, 3, 1) == ("echo", "two x")
    assert words.of_component(line, 9, 0) == ()


def test_the_command_line_of_this_process() -> None:
    """The list has at least the program."""
    assert words.of_process()[0]
