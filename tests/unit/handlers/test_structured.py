# SPDX-License-Identifier: GPL-2.0-or-later
"""Run in processes of their own: both libraries keep their configuration for good."""

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]

START = """
import sys
from slurmhooks.handlers.loader import Source, load
from slurmhooks.log import LEVELS, log

log.attach(lambda level, line: print(LEVELS[level], line), print, lambda line: print("admin", line))
registry = load([Source(path=sys.argv[1])])
[handler] = registry.handlers("job_submit")
handler.call({})
"""


def lines(folder: Path, hooks: str) -> list[str]:
    """Load a hook file, call its only handler, and return the lines in Slurm's log."""
    file = folder / "hooks.py"
    file.write_text(f"from slurmhooks import hook\n{hooks}")
    command = [sys.executable, "-c", START, str(file)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    assert done.stderr == ""
    return done.stdout.splitlines()


@pytest.mark.slow
@pytest.mark.parametrize(
    ("method", "expected"),
    [
        ("debug", "debug slurmhooks: routed job=7 to='gpu'"),
        ("info", "info slurmhooks: routed job=7 to='gpu'"),
        ("warning", "info slurmhooks: warning: routed job=7 to='gpu'"),
        ("error", "error slurmhooks: routed job=7 to='gpu'"),
        ("critical", "error slurmhooks: routed job=7 to='gpu'"),
    ],
)
def test_structlog(tmp_path: Path, method: str, expected: str) -> None:
    """Events of structlog are in Slurm's log with their values and at Slurm's level."""
    hooks = f"""
import structlog
logger = structlog.get_logger()
@hook.job_submit
def say():
    logger.bind(job=7).{method}("routed", to="gpu")
"""
    assert lines(tmp_path, hooks) == [expected]


@pytest.mark.parametrize(
    ("method", "expected"),
    [
        ("debug", "debug slurmhooks: site: job 7"),
        ("info", "info slurmhooks: site: job 7"),
        ("warning", "info slurmhooks: site: warning: job 7"),
        ("error", "error slurmhooks: site: job 7"),
    ],
)
def test_logging(tmp_path: Path, method: str, expected: str) -> None:
    """Records of logging are in Slurm's log with the name of the logger."""
    hooks = f"""
import logging
logger = logging.getLogger("site")
@hook.job_submit
def say():
    logger.{method}("job %d", 7)
"""
    assert lines(tmp_path, hooks) == [expected]


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        ("'n=%d', 'x'", "n=%d ('x',)"),
        ("'%s and %s', 1", "%s and %s (1,)"),
        ("'%s', Repulsive()", "%s <tuple>"),
        ("Repulsive()", "<Repulsive>"),
    ],
)
def test_a_record_that_cannot_be_formatted(tmp_path: Path, arguments: str, expected: str) -> None:
    """A wrong format does not fail the handler: the log has the format and the arguments."""
    hooks = f"""
import logging
class Repulsive:
    def __repr__(self):
        raise RuntimeError
@hook.job_submit
def say():
    logging.getLogger("site").error({arguments})
"""
    assert lines(tmp_path, hooks) == [f"error slurmhooks: site: {expected}"]


@pytest.mark.parametrize("get", ["structlog.get_logger()", "logging.getLogger('site')"])
def test_tracebacks_are_for_administrators(tmp_path: Path, get: str) -> None:
    """The traceback of a logged exception is for administrators only; its text is an error line."""
    hooks = f"""
import logging, structlog
@hook.job_submit
def say():
    try:
        1 / 0
    except ZeroDivisionError:
        {get}.exception("no quotient")
"""
    first, *others = lines(tmp_path, hooks)
    assert first.startswith("error slurmhooks: ")
    assert first.endswith("no quotient")
    assert others[0] == "admin slurmhooks: | Traceback (most recent call last):"
    assert others[-1] == "admin slurmhooks: | ZeroDivisionError: division by zero"


def test_a_site_configures_them_itself(tmp_path: Path) -> None:
    """A configuration by the site is not changed."""
    hooks = """
import logging, structlog
structlog.configure(processors=[lambda logger, method, event: "mine " + event["event"]])
class Mine(logging.Handler):
    def emit(self, record):
        print("mine", record.getMessage())
logging.root.addHandler(Mine())
@hook.job_submit
def say():
    structlog.get_logger().info("one")
    logging.getLogger("site").error("two")
"""
    assert lines(tmp_path, hooks) == ["mine one", "mine two"]


def test_neither_is_imported_for_it(tmp_path: Path) -> None:
    """Neither module is imported if the site does not use it."""
    hooks = """
import sys
@hook.job_submit
def say():
    print({"structlog", "logging", "slurmhooks.handlers.structured"} & set(sys.modules))
"""
    assert lines(tmp_path, hooks) == ["set()"]


@pytest.mark.parametrize("get", ["structlog.get_logger()", "logging.getLogger('site')"])
def test_no_line_of_an_exception_looks_like_a_record(tmp_path: Path, get: str) -> None:
    """Each line of an exception that is logged is marked, so that its text cannot forge a record."""
    hooks = f"""
import logging, structlog
@hook.job_submit
def say():
    try:
        raise ValueError("x\\nslurmhooks: accepted")
    except ValueError:
        {get}.exception("failed for %s" if "logging" in {get!r} else "failed", *["a\\nb"] * ("logging" in {get!r}))
"""
    first, *others = lines(tmp_path, hooks)
    assert "\n" not in first
    assert "admin slurmhooks: | slurmhooks: accepted" in others
    assert all(line.startswith("admin slurmhooks: | ") for line in others)
