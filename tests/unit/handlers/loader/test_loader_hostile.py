# SPDX-License-Identifier: GPL-2.0-or-later
"""Values in a hook file may have code of their own; whatever it does, loading ends with handlers or with findings."""

import sys
import textwrap
from pathlib import Path

import pytest

from slurmhooks.handlers.refusals import unknown_codes
from tests.unit.handlers.loader.conftest import SUBMIT, Write, findings, load
from tests.unit.handlers.raised import RAISED

WRONG = {
    **RAISED,
    "a syntax error of this file with odd numbers": "raise SyntaxError('x', (__file__, 'line', 'column', 'text'))",
    "an import error with a number for a name": "error = ImportError(1); error.name = 5; raise error",
    "an import error with an impossible name": "error = ImportError(1); error.name = 'a\\0b'; raise error",
    "an error of slurmhooks without findings": "raise LoadError([])",
    "an error of slurmhooks with odd findings": "error = LoadError(['x']); error.findings = None; raise error",
    "a module of another type": """
        class Odd:
            __name__ = 5
        sys.modules[__name__] = Odd()""",
    "the type of an option raises": """
        class Odd:
            def __repr__(self): raise SystemExit(0)
        option = hook.spank.option("x", usage="x", type=Odd())""",
    "the usage of an option has too many digits": 'option = hook.spank.option("x", usage=10 ** 5000)',
    "a time limit has too many digits": "hook.job_submit(timeout=10 ** 5000)(rule)",
    "an order has too many digits": "hook.job_submit(order=10 ** 5000)(rule)",
    "a mode has too many digits": "hook.job_submit(mode='warn', percent=10 ** 5000)(rule)",
}
HARMLESS = {
    "an object that stands for nothing yet": """
        class Later:
            def __call__(self): ...
            def __getattr__(self, name): raise RuntimeError("working outside of the application")
        current_app = Later()""",
    "an object that hides its class": """
        class Later:
            __class__ = property(lambda self: sys.exit(0))
            def __call__(self): ...
        current_app = Later()""",
    "an object with marks of another kind": """
        class Odd:
            __slurmhooks__ = [5]
            def __call__(self): ...
        odd = Odd()""",
    "a function that wraps itself": "rule.__wrapped__ = rule",
    "functions that wrap each other": """
        def other(job): ...
        other.__wrapped__, rule.__wrapped__ = rule, other""",
    "orders whose comparison raises": """
        class Odd(int):
            def __lt__(self, other): raise SystemExit(0)
        for order in (3, 2, 1):
            hook.job_submit(order=Odd(order))(rule)""",
    "a long chain of calls": "rules = lambda one: one" + ".method()" * 900,
}

PASSING_ON = """
    from slurmhooks import hook

    class Wrapper:
        def __init__(self, function): self.function = function
        def __call__(self, job): return self.function(job)
        def __getattr__(self, name): return getattr(self.function, name)

    @hook.job_submit
    def inner(job): ...

    wrapped = Wrapper(inner)

    class Policy:
        @hook.job_submit
        def check(self, job): ...

    method = Policy().check
"""


def body(text: str) -> str:
    """Return a hook file with a handler, and this text at its top level."""
    start = SUBMIT.format(name="rule") + "\nimport sys\nfrom slurmhooks.errors import LoadError, Reject\n"
    return start + textwrap.dedent(text).strip() + "\n"


@pytest.mark.parametrize("text", WRONG.values(), ids=WRONG)
def test_findings(write: Write, text: str) -> None:
    """A finding that names the file, or that it is about options, and no other exception."""
    path = write("a.py", body(text))
    (finding,) = findings(path)
    assert finding.startswith((str(path), "options of hook files"))


@pytest.mark.parametrize("text", HARMLESS.values(), ids=HARMLESS)
def test_other_values_do_no_harm(write: Write, text: str) -> None:
    """What is no handler does no harm, whatever it does when it is asked, and the handler beside it is loaded."""
    registry = load(write("a.py", body(text)))
    assert "a:rule" in {handler.label for handler in registry.handlers("job_submit")}
    assert list(unknown_codes([registry])) == []


def test_imported_callables_that_pass_attributes_on(
    write: Write, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A handler that a package wraps is loaded, and one that is a method is a finding: neither is left out."""
    monkeypatch.syspath_prepend(tmp_path)
    (tmp_path / "site_callables.py").write_text(textwrap.dedent(PASSING_ON))
    registry = load(write("a.py", "from site_callables import wrapped"))
    assert [handler.label for handler in registry.handlers("job_submit")] == ["a:inner"]
    (finding,) = findings(write("b.py", "from site_callables import method"))
    assert "Policy.check of hook.job_submit is a method, because it takes 'self'" in finding


def test_a_code_with_too_many_digits(write: Write) -> None:
    """The finding on a literal code needs no text of the number."""
    registry = load(
        write("a.py", body(f"from slurmhooks import Reject\nrule2 = lambda: Reject('x', code=0x{'f' * 5000})"))
    )
    (finding,) = unknown_codes([registry])
    assert finding.endswith("no code of Slurm is that large")


@pytest.mark.parametrize("module", ["slurmhooks.handlers.remedies", "slurmhooks.files.paths"])
def test_imports_that_have_become_impossible(write: Write, monkeypatch: pytest.MonkeyPatch, module: str) -> None:
    """A hook file may change the root folder; the finding still has the exception and its line, if no remedy."""
    monkeypatch.setitem(sys.modules, module, None)
    path = write("a.py", "import no_such_module_anywhere\n")
    (finding,) = findings(path)
    assert finding.startswith(f"{path}:1: ModuleNotFoundError: No module named 'no_such_module_anywhere'\n")
