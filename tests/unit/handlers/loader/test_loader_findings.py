# SPDX-License-Identifier: GPL-2.0-or-later
"""One load reports all that is wrong with hook files, with file, line and remedy."""

import os
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from slurmhooks.errors import LoadError
from slurmhooks.handlers import loader
from slurmhooks.handlers.loader import Source, expand
from tests.unit.handlers.loader.conftest import SUBMIT, Write, findings, load, load_module


def test_a_missing_file_is_told_with_all_other_findings(write: Write, tmp_path: Path) -> None:
    """A file name that does not exist is a finding, and does not hide other findings."""
    write("a.py", "1 / 0\n")
    sources = expand(["gone.py", "a.py"], str(tmp_path))
    with pytest.raises(LoadError) as caught:
        loader.load(sources)
    first, second = caught.value.findings
    assert first == f"{tmp_path / 'gone.py'}: no such hook file"
    assert second.startswith(f"{tmp_path / 'a.py'}:1: ZeroDivisionError")


@pytest.mark.parametrize("line", ["import beside", "import packed.inner", "from . import beside"])
def test_what_is_beside_cannot_be_imported(write: Write, line: str) -> None:
    """The finding on an import of a file in the same folder says where to put shared code."""
    write("beside.py", "")
    write("packed/__init__.py", "")
    (finding,) = findings(write("a.py", line))
    assert "hook files cannot import each other: put what they share into an installed package" in finding
    (finding,) = findings(write("b.py", "import no_such_module_anywhere"))
    assert "each other" not in finding


def test_what_is_not_a_file_is_told(tmp_path: Path) -> None:
    """A pattern that names a folder is a finding, not a traceback."""
    assert findings(tmp_path) == [f"{tmp_path}: a folder, not a file; the hook files in it are {tmp_path}/*.py"]
    os.mkfifo(tmp_path / "fifo.py")
    assert findings(tmp_path / "fifo.py") == [f"{tmp_path / 'fifo.py'}: not a file"]


@pytest.mark.parametrize("line", ["from slurmhooks_site.NAME import f", "import slurmhooks_site.NAME"])
def test_hook_files_cannot_import_each_other(write: Write, line: str) -> None:
    """In any order, and also in a second load, such an import is a finding with the remedy."""
    helper = write("m.py", SUBMIT.format(name="f"))
    before, after = write("a.py", line.replace("NAME", "m")), write("z.py", line.replace("NAME", "m"))
    load(helper)
    for order in ([before, helper], [helper, after], [after]):
        (finding,) = findings(*order)
        assert "hook files cannot import each other: put what they share into an installed package" in finding


def test_every_error_of_every_file_at_once(write: Write) -> None:
    """One load reports all errors with file and line: syntax, exceptions, invalid handlers and invalid options."""
    syntax = write("syntax.py", "x = 1\ndef broken(:\n    pass\n")
    raises = write("raises.py", "def deep():\n    return {}['x']\n\ndeep()\n")
    wrong = write(
        "wrong.py",
        """
        from slurmhooks import hook

        @hook.job_submit
        def one(jbo): ...

        @hook.spank.exit(on_error="accept", contexts=["job_script"])
        def two(): ...

        hook.spank.option("a=b", usage="")
        hook.spank.option("c", usage="", contexts="mars")
        """,
    )
    good = write("good.py", SUBMIT.format(name="f"))
    errors = findings(syntax, raises, good, wrong)
    assert [finding.split(": ")[0] for finding in errors] == [
        f"{syntax}:2",
        f"{raises}:2",
        f"{wrong}:4",
        f"{wrong}:7",
        f"{wrong}:7",
        f"{wrong}:10",
        f"{wrong}:11",
    ]


def test_a_syntax_error_shows_the_line_and_nothing_of_ours(write: Write) -> None:
    """The finding has the line and the caret, but no frames of slurmhooks or importlib."""
    path = write("a.py", "x = 1\nif x\n    pass\n")
    (finding,) = findings(path)
    assert finding.startswith(f"{path}:2: SyntaxError: expected ':'\n")
    assert "\n        if x\n" in finding
    assert "loader.py" not in finding
    assert "importlib" not in finding


def test_a_traceback_begins_in_the_file(write: Write) -> None:
    """The finding for an exception has the traceback from the file on."""
    path = write("a.py", "import os\n\nos.stat('/no/such/file')\n")
    (finding,) = findings(path)
    first, *rest = finding.split("\n")
    assert first == f"{path}:3: FileNotFoundError: [Errno 2] No such file or directory: '/no/such/file'"
    assert rest[:2] == ["    Traceback (most recent call last):", f'      File "{path}", line 3, in <module>']


def test_a_broken_import_points_at_the_import(write: Write, package: Callable[..., str]) -> None:
    """The finding has the line of the import in the hook file."""
    name = package("x = 1\n1 / 0\n")
    path = write("a.py", f"\nimport {name}\n")
    (finding,) = findings(path)
    assert finding.startswith(f"{path}:2: ZeroDivisionError")
    assert f"{name}/__init__.py" in finding


@pytest.mark.parametrize("source", ["raise SystemExit(3)", "raise KeyboardInterrupt", "import sys; sys.exit()"])
def test_a_file_cannot_end_the_daemon(write: Write, source: str) -> None:
    """Any exception that a file raises while it is loaded is a finding."""
    path = write("a.py", source)
    assert findings(path)[0].startswith(f"{path}:1: ")


@pytest.mark.parametrize(
    ("line", "text"),
    [
        ("@hook.job_submit(ordr=1)", "TypeError: hook.job_submit has no argument 'ordr'; it has: order, "),
        ("@hook.job_submit(timeout='5s')", "TypeError: hook.job_submit: timeout takes seconds, not '5s'"),
        ("@hook.job_sumbit", "AttributeError: hook has no 'job_sumbit'; it has: "),
        ("@hook.every", "TypeError: hook.every takes a period, "),
        ("@hook.spank.option('greet').check", "TypeError: hook.spank.option('greet') needs usage=, "),
        ("@hook.spank.option('greet', usage='').check", "TypeError: hook.spank.option('greet'): a check takes one "),
    ],
)
def test_a_misused_decorator_is_one_line(write: Write, line: str, text: str) -> None:
    """The finding has the line of the file and what is wrong, without a traceback through slurmhooks."""
    path = write("a.py", f"from slurmhooks import hook\n\n\n{line}\ndef f(): ...\n")
    (finding,) = findings(path)
    assert finding.startswith(f"{path}:4: {text}")
    assert "\n" not in finding


def test_a_misused_decorator_in_a_function_has_a_traceback(write: Write) -> None:
    """If a function of the file uses the decorator, the traceback shows who called it."""
    path = write(
        "a.py",
        """
        from slurmhooks import hook

        def add(order):
            hook.job_submit(order=order)

        add("first")
        """,
    )
    (finding,) = findings(path)
    assert 'add("first")' in finding


def test_an_option_given_twice_in_two_files(write: Write) -> None:
    """Slurm has one name space for options."""
    source = "from slurmhooks import hook\nhook.spank.option('x', usage='')\n"
    (finding,) = findings(write("a.py", source), write("b.py", source))
    assert "this name is given to two options, also at " in finding


PLAIN = """
from slurmhooks import hook

def plain(function):
    def wrapper(*args):
        return function(*args)
    return wrapper
"""


def test_a_plain_wrapper_above_the_mark_is_refused(write: Write, package: Callable[..., str]) -> None:
    """A wrapper made without functools.wraps would not run, so this is a finding."""
    path = write("a.py", PLAIN + "\n@plain\n@hook.job_submit\ndef limited(job): ...\n")
    (finding,) = findings(path)
    assert finding.startswith(f"{path}:9: hook.job_submit marks the function limited, but the name stands for ")
    assert finding.endswith("put @hook.job_submit above all other decorators, or use functools.wraps in them")
    both = PLAIN + "\n@hook.job_modify\n@plain\n@hook.job_submit\ndef limited(job): ...\n"
    assert any("marks the function limited" in finding for finding in findings(write("b.py", both)))
    assert "would not run" in findings(write("c.py", SUBMIT.format(name="f") + "f = None\n"))[0]
    with pytest.raises(LoadError, match="marks the function f, but"):
        load_module(package("from NAME.inner import *\n", inner=SUBMIT.format(name="f") + "f = print\n"))


def test_required_handlers(write: Write) -> None:
    """A load without a required handler is refused; the finding names it and the existing handlers."""
    path = write("a.py", SUBMIT.format(name="f"))
    assert len(loader.load([Source(path=str(path))], ["a:f"]).all_handlers()) == 1
    with pytest.raises(LoadError) as caught:
        loader.load([Source(path=str(path))], ["a:f", "limits:account"])
    (finding,) = caught.value.findings
    assert finding.startswith("limits:account: [hooks] require of slurmhooks.toml names this handler, and no hook file")
    assert finding.endswith("they have: a:f")


MISTAKES = {
    "@hook\ndef f(job): ...": "hook is not a decorator: name a hook, as in @hook.job_submit",
    "@hook.spank\ndef f(spank): ...": "hook.spank is not a decorator: name a hook, as in @hook.spank.init",
    "@hook.cli_filter()\ndef f(options): ...": "hook.cli_filter is not a decorator: name a hook, as in",
    "@hook.job_submit(10)\ndef f(job): ...": "not 10; its arguments have names, as in @hook.job_submit(order=10)",
    "@hook.job_submit(prio=1)\ndef f(job): ...": "no argument 'prio'; it has: order, on_error, contexts, timeout,",
    "@hook.node.health_check(fail=1)\ndef f(node): ...": "no argument 'fail'; it has: order, on_error, contexts,",
    "class A:\n    @hook.job_submit\n    def f(self, job): ...": "is a method, because it takes 'self': move it out",
    "class A:\n    @classmethod\n    @hook.job_submit\n    def f(cls, job): ...": "is a method, because it takes 'cls'",
    "@hook.job_submit\nclass A: ...": "a.py: handler a:A of hook.job_submit must be a function written in Python",
    "del hook\n@hook.job_submit\ndef f(job): ...": "; the file needs the line: from slurmhooks import hook",
    "raise Reject('no')": "name 'Reject' is not defined; the file needs the line: from slurmhooks import Reject",
    "from slurmhooks import Reject\nraise Reject('no')": "Reject: no; only a handler can refuse, when Slurm calls it",
    "from slurmhooks import reject": "; it has: UNLIMITED, DeadlineExceeded, Reject,",
    "import slurmhooks\nslurmhooks.spank_init": "; hook files begin with: from slurmhooks import hook",
    "from slurmhooks import hooks\nhooks.job_submit": "; hook files begin with: from slurmhooks import hook",
    "import no_such_module_anywhere": f"; install it where slurmhooks is ({sys.prefix}), or put it into a folder of",
    "import sys\nsys.exit()": "; a hook file must not exit",
}


@pytest.mark.parametrize("text", MISTAKES)
def test_what_to_do_about_common_mistakes(write: Write, text: str) -> None:
    """The first line of the finding says what to do."""
    (finding,) = findings(write("a.py", f"from slurmhooks import hook\n{text}\n"))
    assert MISTAKES[text] in finding.partition("\n")[0]
