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
    assert Config().job_submit.no_new_privs


def test_what_a_file_says(write: Write) -> None:
    """All tables are read; omitted keys have their defaults."""
    path = write("slurmhooks.toml", '[hooks]\npaths = ["a.py", "d/*.py"]\nmodules = ["m"]\n[log]\nlevel = "info"\n')
    config = read(path)
    assert config.hooks.paths == ("a.py", "d/*.py")
    assert config.hooks.modules == ("m",)
    assert config.log.level == "info"
    assert config.job_submit.no_new_privs


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
        no_new_privs = "yes"

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
        "job_submit.no_new_privs",
        "log.level",
        "pam",
    }
    assert all(finding.startswith(f"{path}: ") for finding in errors)
    assert f"{path}: hooks.path: unknown key; nearest: paths" in errors
    assert any("'error', 'info', 'verbose'" in finding for finding in errors)


@pytest.mark.parametrize("table", ["job_submit", "site_factor", "prep", "jobcomp"])
def test_a_key_that_has_ended(write: Write, table: str) -> None:
    """A file of 1.0.0 stays accepted if it has a key that has no effect any more; elsewhere the key is unknown."""
    path = write("slurmhooks.toml", f"[{table}]\nreload = false\nworkers = 2\n")
    assert getattr(read(path), table).workers == 2
    assert sources.located_config(path)[1] == read(path)
    assert config.ended(path) == [f"{path}: {table}.reload: has no effect any more: remove it"]
    path = write("slurmhooks.toml", '[metrics]\nsockets = "/run/s"\ntextfiles = "/t"\n')
    assert read(path).metrics.textfiles == "/t"
    assert config.ended(path) == [
        f"{path}: metrics.sockets: has no effect any more: let node_exporter read 'textfiles'"
    ]
    assert "hooks.reload: unknown key" in findings(write("slurmhooks.toml", "[hooks]\nreload = false\n"))[0]


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
            '[rule]\nrule = "time_ceiling"\n',
            "write its name in two brackets, as in [[rule]]",
        ),
        ("hooks = 5\n", "must be a table, not 5"),
        ('[job_submit]\nno_new_privs = "yes"\n', "must be true or false, not 'yes'"),
        (
            '[[rules]]\nrule = "time_ceiling"\n',
            "must be one table, with single brackets; rules are a list of tables, each [[rule]]",
        ),
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


@pytest.mark.parametrize(
    ("text", "now"),
    [
        ("[[policies]]\nrule = 5\n[[policies]]", "[[rule]]"),
        ('[policy]\nrefusals = "many"', '[rules], and a table of it for a handler [rules.modes."LABEL"]'),
        ("[policy_defaults]\nx = 1", "[rules.defaults]"),
        ("[[policy_exemptions]]", "[[rules.exemptions]]"),
        ("[priority]", "[site_factor]"),
        ("[job_end]", "[jobcomp]"),
        ("[health]\n[[health.checks]]", "[node]"),
    ],
)
def test_tables_of_the_first_release(write: Write, text: str, now: str) -> None:
    """A table that has another name now gets one error, which says the name, in daemons and launches."""
    path = write("slurmhooks.toml", text + "\n")
    name = text.strip("[").partition("]")[0]
    assert findings(path) == [f"{path}: {name}: is called {now} now"]
    with pytest.raises(ConfigError):
        sources.located_config(path)


@pytest.mark.parametrize("value", ["1", '"true"', "0"])
def test_nothing_is_converted_silently(write: Write, value: str) -> None:
    """A number or a text is not accepted as a boolean."""
    assert len(findings(write("slurmhooks.toml", f"[job_submit]\nno_new_privs = {value}\n"))) == 1


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
        ('[rules.modes."a\\u0000:b"]\nmode = "off"', "rules.modes.a\0:b"),
        ('[[rule]]\nrule = "time_ceiling"\nname = "\\U00000000"', "rule.0.name"),
        (f"[job_submit]\nworkers = 0x{'f' * 5000}", "job_submit.workers"),
        (f"[[rule]]\nrule = 'time_ceiling'\nlimit = 0x{'f' * 16}", "rule.0.limit"),
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
    with pytest.raises(ConfigError):
        sources.located_config(path)


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
