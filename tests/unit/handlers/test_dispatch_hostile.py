# SPDX-License-Identifier: GPL-2.0-or-later
"""What handlers raise and return may have code of its own, which must not run outside of the handler."""

import textwrap
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from slurmhooks.handlers import dispatch
from slurmhooks.handlers.registry import Handler
from slurmhooks.hooks.points import HOOKS
from slurmhooks.node import children
from slurmhooks.node.model import BUG
from slurmhooks.node.model import REFUSED as REFUSED_NODE
from slurmhooks.testing import Result, run
from tests.unit.handlers.raised import RAISED

RETURNED = {
    "a list of an object": """
        class Odd:
            def __repr__(self): raise SystemExit(0)
        return [Odd()]""",
    "an object that claims to be built in": """
        class Odd:
            __module__ = "builtins"
            def __repr__(self): raise SystemExit(0)
        return Odd()""",
    "an object whose class raises": """
        class Kind(type):
            __module__ = property(lambda cls: cls.missing)
        class Odd(metaclass=Kind): pass
        return Odd()""",
    "too many digits": "return 10 ** 5000",
    "a list that is too deep": """
        value = []
        for _ in range(100_000): value = [value]
        return value""",
    "a number of another class": """
        class Odd(str):
            __class__ = int
        return Odd("x")""",
}
REFUSED = {
    "the text raises": """
        class Odd(Reject):
            text = property(lambda self: self.missing)
            def __init__(self): pass
        raise Odd()""",
    "the text is an object": """
        error = Reject("x")
        error.text = type("Odd", (), {"__str__": lambda self: sys.exit(0)})()
        raise error""",
    "the text is of a subclass": """
        class Odd(str):
            def isprintable(self): raise SystemExit(0)
        error = Reject("x")
        error.text = Odd("x")
        raise error""",
    "the code raises": """
        class Odd(Reject):
            code = property(lambda self: self.missing)
            def __init__(self): pass
        raise Odd()""",
    "the code is too large": "raise Reject('x', code=10 ** 5000)",
    "the code is an object": "raise Reject('x', code=object())",
    "the code is of a subclass": """
        class Odd(int):
            def __le__(self, other): raise SystemExit(0)
        raise Reject('x', code=Odd(5))""",
    "the code is a text of a subclass": """
        class Odd(str):
            __hash__ = str.__hash__
            def __eq__(self, other): raise SystemExit(0)
        raise Reject('x', code=Odd('ESLURM_INVALID_ACCOUNT'))""",
    "the class is hidden": """
        class Odd(Reject):
            __class__ = property(lambda self: sys.exit(0))
        raise Odd('x')""",
}
SPEC = HOOKS["job_submit"]


def made(body: str, lenient: bool = False) -> Handler:
    """Return a handler with this body."""
    source = "import sys\nfrom slurmhooks import Reject\n\ndef handler():\n"
    names: dict[str, Any] = {}
    exec(compile(source + textwrap.indent(textwrap.dedent(body).strip(), "    "), "site.py", "exec"), names)
    return Handler(names["handler"], (), SPEC, label="site:handler", path="site.py", line=4, lenient=lenient)


@pytest.mark.parametrize("body", [*RAISED.values(), *RETURNED.values()], ids=[*RAISED, *RETURNED])
def test_odd_bugs(body: str, said: SimpleNamespace) -> None:
    """Whatever a handler raises or returns is its bug: on_error decides about it, and the log has the traceback."""
    strict = dispatch.run((made(body),), {})
    lenient = dispatch.run((made(body, lenient=True),), {})
    assert not strict.passed
    assert strict.error_id is not None
    assert lenient.passed
    assert body not in RAISED.values() or any('File "site.py"' in line for line in said.records)


@pytest.mark.parametrize("lenient", [False, True])
@pytest.mark.parametrize("body", REFUSED.values(), ids=REFUSED)
def test_odd_refusals(body: str, lenient: bool) -> None:
    """Whatever text and code a refusal has, it refuses, also if bugs of the handler are ignored."""
    outcome = dispatch.run((made(body, lenient),), {})
    assert not outcome.passed
    assert outcome.error_id is None
    assert type(outcome.text) is str
    assert outcome.code is None or type(outcome.code) in (int, str)


@pytest.mark.parametrize("body", [*RAISED.values(), *RETURNED.values(), *REFUSED.values()])
def test_odd_health_checks(body: str) -> None:
    """A health check with such a bug, or such a refusal, gives a result."""
    refuses = body in REFUSED.values()
    assert children.result(made(body), {}).kind == (REFUSED_NODE if refuses else BUG)


def run_body(folder: Path, decorator: str, argument: str, body: str) -> Result:
    """Run a handler with this body as Slurm would."""
    path = folder / "site.py"
    path.write_text(
        f"import sys\nfrom slurmhooks import Reject, hook\n\n@hook.{decorator}\ndef handler({argument}):\n"
        + textwrap.indent(textwrap.dedent(body).strip(), "    ")
    )
    return run(path, decorator.partition("(")[0])


@pytest.mark.parametrize("mode", ["warn", "observe"])
@pytest.mark.parametrize("body", ["raise Reject('x', code=object())", REFUSED["the code is too large"]])
def test_odd_codes_of_rules_that_only_warn(mode: str, body: str, tmp_path: Path) -> None:
    """A handler that only warns or observes has no effect, whatever code its refusal has."""
    result = run_body(tmp_path, f'job_submit(mode="{mode}")', "job", body)
    assert result.accepted
    assert [each.accepted for each in result.observed] == [False]


@pytest.mark.parametrize("body", RETURNED.values(), ids=RETURNED)
def test_odd_priorities(body: str, tmp_path: Path) -> None:
    """What is no number does not become a priority, and no other exception leaves the call."""
    result = run_body(tmp_path, "priority", "record", body)
    assert not result.accepted
    assert not result.changes
