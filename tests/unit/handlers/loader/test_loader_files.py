# SPDX-License-Identifier: GPL-2.0-or-later
"""The handlers and options of hook files are loaded in their order, and anew in each load."""

import os
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from slurmhooks.handlers import definitions, loader
from slurmhooks.handlers.loader import Source
from tests.unit.handlers.loader.conftest import SUBMIT, Write, findings, labels, load


def test_order_of_files_then_of_definition(write: Write) -> None:
    """Handlers are sorted by order=, then by file, then by definition."""
    a = write(
        "a.py",
        """
        from slurmhooks import hook

        @hook.job_submit
        def one(): ...

        @hook.job_submit(order=60)
        def last(): ...

        @hook.job_submit
        def two(): ...
        """,
    )
    b = write("b.py", SUBMIT.format(name="three") + "\n@hook.job_submit(order=-1)\ndef first(): ...\n")
    assert labels(load(a, b)) == ["b:first", "a:one", "a:two", "b:three", "a:last"]
    assert labels(load(b, a)) == ["b:first", "b:three", "a:one", "a:two", "a:last"]


def test_two_functions_of_one_name_both_run(write: Write) -> None:
    """The second definition does not hide the first: both handlers run."""
    path = write("a.py", SUBMIT.format(name="same") * 2)
    registry = load(path)
    assert labels(registry) == ["a:same", "a:same"]
    assert [handler.line for handler in registry.handlers("job_submit")] == [3, 7]


def test_the_same_stem_in_two_folders(write: Write) -> None:
    """Files with one name in two folders are both loaded, and findings have their paths."""
    a, b = (write(f"{folder}/limits.py", SUBMIT.format(name="f")) for folder in "ab")
    assert [handler.where for handler in load(a, b).handlers("job_submit")] == [f"{a}:3", f"{b}:3"]


def test_a_wrapper_around_the_mark_is_what_runs(write: Write) -> None:
    """A wrapper made by a decorator above ours with functools.wraps runs instead of the function."""
    path = write(
        "a.py",
        """
        import functools
        from slurmhooks import hook

        ran = []

        def noted(function):
            @functools.wraps(function)
            def wrapper(*args):
                ran.append("wrapper")
                function(*args)
            return wrapper

        @noted
        @hook.job_submit
        def above(job):
            ran.append(job)

        @hook.job_submit
        @noted
        def below(job):
            ran.append(job)
        """,
    )
    handlers = load(path).handlers("job_submit")
    assert [handler.label for handler in handlers] == ["a:above", "a:below"]
    for handler in handlers:
        handler.call({"job": handler.label})
    ran = sys.modules[f"{definitions.PACKAGE}.a"].ran
    assert ran == ["wrapper", "a:above", "wrapper", "a:below"]
    assert [handler.line for handler in handlers] == [14, 19]


def test_one_function_in_several_variables_runs_once(write: Write) -> None:
    """A function with several names in a module runs once."""
    assert labels(load(write("a.py", SUBMIT.format(name="f") + "g = f\n"))) == ["a:f"]


def test_nested_functions_are_handlers_too(write: Write) -> None:
    """Handlers that are defined in a loop or by a function are also loaded."""
    path = write(
        "a.py",
        """
        from slurmhooks import hook

        for limit in (1, 2):
            @hook.job_submit(order=-limit)
            def handler(job, limit=limit): ...
            handler.__defaults__ = ()
            del handler
        """,
    )
    assert "takes 'limit', which the hook does not have" in findings(path)[0]
    path.write_text(path.read_text().replace("(job, limit=limit)", "(job)"))
    assert labels(load(path)) == ["a:handler", "a:handler"]


def test_options_of_a_file(write: Write) -> None:
    """Options are loaded in the order of definition, whether or not a variable refers to them."""
    path = write(
        "a.py",
        """
        from slurmhooks import hook
        hook.spank.option("one", usage="")
        two = hook.spank.option("two", usage="")
        """,
    )
    assert [option.name for option in load(path).options] == ["one", "two"]


def test_a_hook_file_shadows_nothing(write: Write) -> None:
    """A file can have the name of a module of the standard library, or one that is not a valid module name."""
    json = write("json.py", "import json as real\nassert hasattr(real, 'dumps')\n" + SUBMIT.format(name="f"))
    odd = write("10-my limits.v2.py", SUBMIT.format(name="g"))
    assert labels(load(json, odd)) == ["json:f", "10-my limits.v2:g"]


def test_a_hook_file_knows_where_it_is(write: Write, tmp_path: Path) -> None:
    """__file__ and __name__ are set, so that a hook file can read a table beside it."""
    (tmp_path / "table").write_text("x")
    source = "from pathlib import Path\nassert (Path(__file__).parent / 'table').read_text() == 'x'\n"
    load(write("a.py", source + "assert __name__ == 'slurmhooks_site.a'\nassert __spec__.name == __name__\n"))


def test_loading_again_takes_up_the_change(write: Write) -> None:
    """Each load runs the file as it is now."""
    path = write("a.py", SUBMIT.format(name="old"))
    load(path)
    path.write_text(SUBMIT.format(name="new"))
    assert labels(load(path)) == ["a:new"]


def test_a_second_edit_within_a_second_is_seen(write: Write, monkeypatch: pytest.MonkeyPatch) -> None:
    """Python's cache, which cannot distinguish two edits of one size within a second, is not used."""
    monkeypatch.setattr(sys, "dont_write_bytecode", False)
    path = write("a.py", SUBMIT.format(name="one"))
    os.utime(path, (1000, 1000))
    assert labels(load(path)) == ["a:one"]
    path.write_text(SUBMIT.format(name="two"))
    os.utime(path, (1000, 1000))
    assert labels(load(path)) == ["a:two"]
    assert not (path.parent / "__pycache__").exists()


def test_marks_of_a_failed_load_are_forgotten(write: Write) -> None:
    """Handlers that a broken file defined before its error are not part of the next load."""
    path = write("a.py", SUBMIT.format(name="f") + "raise ValueError\n")
    findings(path)
    assert labels(load(write("b.py", SUBMIT.format(name="g")))) == ["b:g"]


def test_a_failed_load_leaves_the_modules_of_the_last_good_one(write: Write) -> None:
    """A failed load does not change the modules of hook files in sys.modules."""
    path = write("a.py", "good = True\n" + SUBMIT.format(name="f"))
    load(path)
    module = sys.modules[f"{definitions.PACKAGE}.a"]
    path.write_text("good = False\nraise ValueError\n")
    findings(path)
    assert sys.modules[f"{definitions.PACKAGE}.a"] is module
    new = write("never_loaded.py", "raise ValueError")
    findings(new)
    assert f"{definitions.PACKAGE}.never_loaded" not in sys.modules


def test_files_without_handlers_are_noted(write: Write, package: Callable[..., str]) -> None:
    """A hook file or package without handlers is noted: a decorator may have been forgotten."""
    with_handler = write("a.py", SUBMIT.format(name="f"))
    with_option = write("b.py", "from slurmhooks import hook\nhook.spank.option('x', usage='')\n")
    without = write("c.py", "def forgotten(job): ...\n")
    name = package("")
    sources = [*(Source(path=str(path)) for path in (with_handler, with_option, without)), Source(module=name)]
    text = "no handler and no option in it; handlers need a decorator: @hook.job"
    assert loader.load(sources).notes == (f"{without}: {text}", f"{name}: {text}")
