# SPDX-License-Identifier: GPL-2.0-or-later
"""``slurmhooks check`` notes names that nothing defines."""

import textwrap
from pathlib import Path

import pytest

from slurmhooks.cli.checks import undefined
from slurmhooks.handlers import loader
from tests.unit.cli.conftest import Site

ROOT = Path(__file__).parents[3]


def notes(folder: Path, text: str) -> list[str]:
    """Return the notes about a hook file, without its path."""
    file = folder / "site.py"
    file.write_text("from slurmhooks import hook\n" + textwrap.dedent(text))
    registry = loader.load([loader.Source(path=str(file))])
    return [note.removeprefix(f"{file}:") for note in undefined.names(registry.all_handlers())]


WRONG = [
    ("if job.name:\n        jobb.comment = 'x'", "5: nothing defines jobb; nearest: job; "),
    ("return [misspelt for each in job.argv]", "4: nothing defines misspelt; "),
    ("def inner():\n        return LIMITS\n    return inner()", "5: nothing defines LIMITS; nearest: LIMIT; "),
    ("class A:\n        b = nowhere if job.name else 1", "5: nothing defines nowhere; "),
    ("try:\n        gone_()\n    except ValueError:\n        pass", "5: nothing defines gone_; "),
]


@pytest.mark.parametrize(("body", "note"), WRONG)
def test_a_name_that_nothing_defines(tmp_path: Path, body: str, note: str) -> None:
    """Each is noted with its line and the nearest names, wherever it is used."""
    found = notes(tmp_path, f"@hook.job_submit\ndef check(job):\n    {body}\nLIMIT = 5\n")
    assert len(found) == 1
    assert found[0].startswith(note)


FINE = [
    "return later(job)\ndef later(job):\n    return None",
    "global made\n    made = 1\ndef other():\n    return made",
    "return __file__, __name__, __doc__, __builtins__, print",
    "import os.path\n    return os.path.sep",
    "x: Unknown = 1\n    return None",
    "class A:\n        one = 1\n        two = one\n        def me(self):\n            return __class__",
    "try:\n        return unicode\n    except (NameError, ValueError):\n        return None",
    "if False:\n        return never",
    "return [a for a in job.argv if (b := a)] and b",
    "match job.name:\n        case str(some):\n            return some",
    "try:\n        import tomllib2 as t\n    except ImportError as error:\n        t = str(error)\n    return t",
    "return (lambda a, *b, **c: (a, b, c))(1)",
    "return sep, join('a')\nfrom os.path import *",
    "return made\nglobals()['made'] = 1",
    "return T\nfrom typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    from x import T",
    "return [made, i]\nfor i in range(3):\n    with open('/dev/null') as made:\n        pass",
]


@pytest.mark.parametrize("body", FINE)
def test_no_false_alarm(tmp_path: Path, body: str) -> None:
    """What Python defines in any way, or what may be expected to be undefined, is not noted."""
    assert notes(tmp_path, f"@hook.job_submit\ndef check(job):\n    {body}\n") == []


@pytest.mark.parametrize("text", [None, "def (", "# coding: no such coding"])
def test_a_file_that_has_changed_meanwhile(tmp_path: Path, text: str | None) -> None:
    """A file that was removed or damaged after it had been loaded is not an error here: the next check has it."""
    file = tmp_path / "site.py"
    file.write_text("from slurmhooks import hook\n@hook.job_submit\ndef check(job):\n    misspelt\n")
    handlers = loader.load([loader.Source(path=str(file))]).all_handlers()
    assert len(undefined.names(handlers)) == 1
    if text is None:
        file.unlink()
    else:
        file.write_text(text)
    assert undefined.names(handlers) == []


@pytest.mark.parametrize("file", sorted((ROOT / "contrib").rglob("*.py")), ids=lambda file: file.stem)
def test_all_examples(file: Path) -> None:
    """No hook file of ours has a note."""
    text = file.read_text()
    if "from slurmhooks import" in text and "hook." in text:
        try:
            registry = loader.load([loader.Source(path=str(file))])
        except Exception:  # noqa: BLE001 - it needs packages or a site
            pytest.skip("does not load here")
        assert undefined.names(registry.all_handlers()) == []


def test_the_command(site: Site) -> None:
    """`check` prints the notes, and ends with 0, because the line may never run."""
    lines = ("from slurmhooks import hook", "@hook.job_submit", "def check(job):", "    if job.name:", "        jobb()")
    (site.hooks / "typo.py").write_text("\n".join(lines))
    result = site.check()
    assert result.exit_code == 0, result.output
    assert f"note: {site.hooks}/typo.py:5: nothing defines jobb; nearest: job" in result.output
