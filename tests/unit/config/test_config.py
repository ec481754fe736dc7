# SPDX-License-Identifier: GPL-2.0-or-later
from collections.abc import Callable
from pathlib import Path

import pydantic
import pytest

from slurmhooks.config import model as config
from slurmhooks.config.model import Config, read
from slurmhooks.errors import ConfigError
from slurmhooks.site import sources

Write = Callable[..., Path]


def findings(path: Path) -> list[str]:
    """Return the findings for a file."""
    with pytest.raises(ConfigError) as caught:
        read(path)
    return caught.value.findings


def test_no_file_is_an_empty_one(tmp_path: Path) -> None:
    """Without a file, all keys have their defaults, and there are no hooks."""
    assert read(tmp_path / "gone.toml") == Config()
    assert Config().hooks.paths == ()
    assert Config().job_submit.reload


def test_what_a_file_says(write: Write) -> None:
    """All tables are read; omitted keys have their defaults."""
    path = write("slurmhooks.toml", '[hooks]\npaths = ["a.py", "d/*.py"]\nmodules = ["m"]\n[log]\nlevel = "info"\n')
    config = read(path)
    assert config.hooks.paths == ("a.py", "d/*.py")
    assert config.hooks.modules == ("m",)
    assert config.log.level == "info"
    assert config.job_submit.reload


def test_every_error_names_file_and_key(write: Write) -> None:
    """All errors are reported at once, each with file and key: unknown tables and keys, wrong types, invalid values."""
    path = write(
        "slurmhooks.toml",
        """
        mystery = 1

        [hooks]
        path = ["a.py"]
        paths = ["a.py", 5]
        modules = "m"

        [job_submit]
        reload = "yes"

        [log]
        level = "loud"

        [pam]
        """,
    )
    errors = findings(path)
    assert {finding.split(": ")[1] for finding in errors} == {
        "mystery",
        "hooks.path",
        "hooks.paths.1",
        "hooks.modules",
        "job_submit.reload",
        "log.level",
        "pam",
    }
    assert all(finding.startswith(f"{path}: ") for finding in errors)
    assert f"{path}: hooks.path: unknown key; nearest: paths" in errors
    assert any("'error', 'info', 'verbose'" in finding for finding in errors)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('[hooks]\npaths = "hooks.d/*.py"\n', "must be a list of texts, as in [\"hooks.d/*.py\"], not 'hooks.d/*.py'"),
        ("[hooks]\nmodules = 5\n", 'must be a list of texts, as in ["..."], not 5'),
        ("[hooks]\npaths = [5]\n", "must be a text, not 5"),
        ('[hooks]\nmodules = [""]\n', "must be a text that is not empty, not ''"),
        ("[hook]\n", "hook: unknown key; nearest: hooks"),
        ("[hooks]\ntimeout = 5\n", "hooks.timeout: unknown key"),
        ("[job_submit]\ntimeuot = 5\n", "job_submit.timeuot: unknown key; nearest: timeout"),
        (
            '[policies]\nrule = "time_ceiling"\n',
            "write its name in two brackets, as in [[policies]]",
        ),
        ("hooks = 5\n", "must be a table, not 5"),
        ('[job_submit]\nreload = "yes"\n', "must be true or false, not 'yes'"),
        ('[job_submit]\nlua_order = "x"\n', "must be a number, not 'x'"),
        ('[log]\nlevel = "loud"\n', "must be 'error', 'info', 'verbose', 'debug', 'debug2' or 'debug3', not 'loud'"),
    ],
)
def test_errors_speak_of_toml(write: Write, text: str, message: str) -> None:
    """Messages use the terms of TOML, and show the value."""
    (finding,) = findings(write("slurmhooks.toml", text))
    assert finding.endswith(f": {message}")


def test_an_editors_byte_order_mark(write: Write) -> None:
    """A byte order mark at the start, which some editors write, is ignored."""
    assert read(write("slurmhooks.toml", '\ufeff[hooks]\npaths = ["a.py"]\n')).hooks.paths == ("a.py",)


@pytest.mark.parametrize("value", ["1", '"true"', "0"])
def test_nothing_is_converted_silently(write: Write, value: str) -> None:
    """A number or a text is not accepted as a boolean."""
    assert len(findings(write("slurmhooks.toml", f"[job_submit]\nreload = {value}\n"))) == 1


def test_what_is_not_toml_has_its_line(write: Write) -> None:
    """A syntax error names file, line and column."""
    path = write("slurmhooks.toml", "[hooks]\npaths = [\n  oops\n")
    (finding,) = findings(path)
    assert finding.startswith(f"{path}: not TOML: ")
    assert "line 3" in finding


def test_what_is_nested_too_deeply_is_told(write: Write) -> None:
    """A file that is nested too deeply is an error with its name."""
    path = write("slurmhooks.toml", f"x = {'[' * 5000}")
    (finding,) = findings(path)
    assert finding.startswith(f"{path}: not TOML: ")


@pytest.mark.parametrize(
    ("text", "place"),
    [
        ('[hooks]\npaths = ["a.py", "b\\u0000/*.py"]', "hooks.paths.1"),
        ('[job_submit]\nuser = "slurm\\u0000"', "job_submit.user"),
        ('[policy."a\\u0000:b"]\nmode = "off"', "policy.a\0:b"),
        ('[[policies]]\nrule = "time_ceiling"\nname = "\\U00000000"', "policies.0.name"),
        (f"[job_submit]\nworkers = 0x{'f' * 5000}", "job_submit.workers"),
        (f"[[policies]]\nrule = 'time_ceiling'\nlimit = 0x{'f' * 16}", "policies.0.limit"),
        (f"[job_submit]\nworkers = {'9' * 5000}", "not TOML"),
        (f"[{'.'.join('a' * 5000)}]", ".".join("a" * 21)),
        (f"hooks.paths.{'.'.join('a' * 30)} = 1", f"hooks.paths.{'.'.join('a' * 19)}"),
        (f"hooks.paths = {'[' * 30}{']' * 30}", f"hooks.paths.{'.'.join('0' * 19)}"),
        (f"hooks.paths = {'[' * 5000}{']' * 5000}", "not TOML"),
    ],
)
def test_impossible_values(write: Write, text: str, place: str) -> None:
    """NUL bytes, numbers with too many digits and what is nested too deeply are findings, in daemons and launches."""
    path = write("slurmhooks.toml", text + "\n")
    (finding,) = findings(path)
    assert finding.startswith(f"{path}: {place}: ")
    if not place.startswith("policies"):  # which launches do not read
        with pytest.raises(ConfigError):
            sources.values(str(path))


def test_what_is_not_utf8_is_told(tmp_path: Path) -> None:
    """A file in another encoding is a finding, not a traceback."""
    path = tmp_path / "slurmhooks.toml"
    path.write_bytes(b'[hooks]\npaths = ["gr\xfc\xdfe.py"]\n')
    (finding,) = findings(path)
    assert finding.startswith(f"{path}: 'utf-8' codec can't decode byte 0xfc")


def test_what_cannot_be_read_is_told(tmp_path: Path) -> None:
    """A folder of this name and an unreadable file are findings; only a missing file counts as empty."""
    (finding,) = findings(tmp_path)
    assert finding.startswith(f"{tmp_path}: ")


def test_a_configuration_does_not_change() -> None:
    """A configuration cannot be changed after it was checked."""
    with pytest.raises(pydantic.ValidationError):
        Config().log.level = "info"


def test_every_key_is_described() -> None:
    """Every key has a description, from which the reference is generated."""
    for name, section in config.sections().items():
        assert f"``[{name}]``" in (section.__doc__ or "")
        for key, row in section.model_fields.items():
            assert row.description, f"{name}.{key}"
