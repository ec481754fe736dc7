# SPDX-License-Identifier: GPL-2.0-or-later
import itertools
import os
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from slurmhooks import loader
from slurmhooks.errors import LoadError
from slurmhooks.loader import Source, expand
from slurmhooks.registry import Registry

Write = Callable[..., Path]
_numbers = itertools.count()


def load(*paths: Path) -> Registry:
    """Load hook files."""
    return loader.load([Source(path=str(path)) for path in paths])


def findings(*paths: Path) -> list[str]:
    """Return the findings for hook files."""
    with pytest.raises(LoadError) as caught:
        load(*paths)
    return caught.value.findings


def labels(registry: Registry, hook: str = "job_submit") -> list[str]:
    """Return the handlers of a hook."""
    return [handler.label for handler in registry.handlers(hook)]


@pytest.fixture(autouse=True)
def no_leftovers() -> Iterator[None]:
    """Remove the modules of a test from sys.modules."""
    before = set(sys.modules)
    yield
    for name in set(sys.modules) - before:
        if name.startswith(loader.PACKAGE):
            del sys.modules[name]


@pytest.fixture
def package(write: Write, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., str]:
    """Return a function that installs a module or a package under a unique name."""

    def install(source: str, **submodules: str) -> str:
        name = f"site_package_{next(_numbers)}"
        write(f"lib/{name}/__init__.py", source.replace("NAME", name))
        for submodule, text in submodules.items():
            write(f"lib/{name}/{submodule}.py", text.replace("NAME", name))
        monkeypatch.syspath_prepend(tmp_path / "lib")
        return name

    return install


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
    assert "installed package" not in finding


def test_what_is_not_a_file_is_told(tmp_path: Path) -> None:
    """A pattern that names a folder is a finding, not a traceback."""
    assert findings(tmp_path) == [f"{tmp_path}: a folder, not a file; the hook files in it are {tmp_path}/*.py"]
    os.mkfifo(tmp_path / "fifo.py")
    assert findings(tmp_path / "fifo.py") == [f"{tmp_path / 'fifo.py'}: not a file"]


# What they hold.

SUBMIT = "from slurmhooks import hook\n\n@hook.job_submit\ndef {name}(job): ...\n"


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
    ran = sys.modules[f"{loader.PACKAGE}.a"].ran
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


# Errors in hook files.


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
    assert finding.startswith(f"{path}:2: SyntaxError: expected ':'")
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


def test_a_decorator_with_a_wrong_keyword_points_at_its_line(write: Write) -> None:
    """A misspelt argument is reported with the line of the decorator."""
    path = write("a.py", "from slurmhooks import hook\n\n\n@hook.job_submit(ordr=1)\ndef f(): ...\n")
    (finding,) = findings(path)
    assert finding.startswith(f"{path}:4: TypeError: ")
    assert "ordr" in finding.split("\n")[0]


def test_an_option_given_twice_in_two_files(write: Write) -> None:
    """Slurm has one name space for options."""
    source = "from slurmhooks import hook\nhook.spank.option('x', usage='')\n"
    (finding,) = findings(write("a.py", source), write("b.py", source))
    assert "this name is given to two options" in finding


def test_a_failed_load_leaves_the_modules_of_the_last_good_one(write: Write) -> None:
    """A failed load does not change the modules of hook files in sys.modules."""
    path = write("a.py", "good = True\n" + SUBMIT.format(name="f"))
    load(path)
    module = sys.modules[f"{loader.PACKAGE}.a"]
    path.write_text("good = False\nraise ValueError\n")
    findings(path)
    assert sys.modules[f"{loader.PACKAGE}.a"] is module
    new = write("b.py", "raise ValueError")
    findings(new)
    assert f"{loader.PACKAGE}.b" not in sys.modules


def test_marks_of_a_failed_load_are_forgotten(write: Write) -> None:
    """Handlers that a broken file defined before its error are not part of the next load."""
    path = write("a.py", SUBMIT.format(name="f") + "raise ValueError\n")
    findings(path)
    assert labels(load(write("b.py", SUBMIT.format(name="g")))) == ["b:g"]


# Loading again.


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


# Installed modules.


def load_module(*names: str) -> Registry:
    """Load installed modules."""
    return loader.load([Source(module=name) for name in names])


def test_handlers_of_a_module_and_of_what_is_inside(package: Callable[..., str]) -> None:
    """A listed package has its own handlers and those of its submodules, with its name in their labels."""
    name = package(SUBMIT.format(name="own") + "import NAME.limits\n", limits=SUBMIT.format(name="inner"))
    assert labels(load_module(name)) == [f"{name}:own", f"{name}:inner"]


def test_a_package_is_loaded_again(package: Callable[..., str]) -> None:
    """A second load in one process, as for two lines of plugstack.conf, has the handlers of submodules and options.

    This also holds after a load that failed while the submodules were imported, but not for modules that were imported
    again.
    """
    option = "from slurmhooks import hook\nword = hook.spank.option('again', usage='x')\n"
    name = package(
        "import NAME.limits\nimport NAME.broken\n", limits=SUBMIT.format(name="inner") + option, broken="1 / 0"
    )
    with pytest.raises(LoadError):
        load_module(name)
    [place] = [Path(each, name) for each in sys.path if Path(each, name).exists()]
    (place / "broken.py").write_text("")
    for _ in range(3):
        registry = load_module(name)
        assert labels(registry) == [f"{name}:inner"]
        assert [option.name for option in registry.options] == ["again"]
        assert registry.notes == ()
    (place / "limits.py").write_text(SUBMIT.format(name="other"))
    os.utime(place / "limits.py", (1, 1))
    for module in (name, f"{name}.limits"):
        del sys.modules[module]
    assert labels(load_module(name)) == [f"{name}:other"]


def test_a_module_that_cannot_be_imported(package: Callable[..., str]) -> None:
    """An error in an installed module is a finding."""
    with pytest.raises(LoadError) as caught:
        load_module("no_such_module_at_all", package("1 / 0"))
    first, second = caught.value.findings
    assert first.startswith("no_such_module_at_all: ModuleNotFoundError: ")
    assert second.startswith("site_package_")


def test_an_import_does_not_register_what_it_imports(write: Write, package: Callable[..., str]) -> None:
    """Handlers of an imported module count only if they are imported by name, or if the module is listed."""
    name = package(SUBMIT.format(name="one") + SUBMIT.format(name="two"))
    whole = write("whole.py", f"import {name}\n")
    by_name = write("by_name.py", f"from {name} import two\n")
    assert labels(load(whole)) == []
    assert labels(load(by_name)) == ["by_name:two"]
    for sources in ([whole], [by_name], []):
        listed = [*(Source(path=str(path)) for path in sources), Source(module=name)]
        assert len(loader.load(listed).handlers("job_submit")) == 2


def test_a_load_again_finds_the_same(write: Write, package: Callable[..., str]) -> None:
    """A second load has the same result, although Python imports a module only once."""
    name = package(
        """
        from slurmhooks import hook

        @hook.job_submit
        def imported(job): ...

        def plain(job): ...

        def limit(minutes):
            @hook.job_submit
            def limited(job): ...
        """
    )
    path = write(
        "a.py",
        f"""
        from slurmhooks import hook
        from {name} import imported, limit, plain
        import {name}

        limit(60)
        hook.job_submit(plain)
        hook.job_submit({name}.plain)
        """,
    )
    first = labels(load(path))
    assert first == ["a:imported", "a:limit.<locals>.limited", "a:plain", "a:plain"]
    for _ in range(3):
        assert labels(load(path)) == first


@pytest.mark.parametrize("line", ["from slurmhooks_site.NAME import f", "import slurmhooks_site.NAME"])
def test_hook_files_cannot_import_each_other(write: Write, line: str) -> None:
    """In any order, and also in a second load, such an import is a finding with the remedy."""
    helper = write("m.py", SUBMIT.format(name="f"))
    before, after = write("a.py", line.replace("NAME", "m")), write("z.py", line.replace("NAME", "m"))
    load(helper)
    for order in ([before, helper], [helper, after], [after]):
        (finding,) = findings(*order)
        assert "hook files cannot import each other: put what they share into an installed package" in finding


# Handlers that would be lost.

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


def test_files_without_handlers_are_noted(write: Write, package: Callable[..., str]) -> None:
    """A hook file or package without handlers is noted: a decorator may have been forgotten."""
    with_handler = write("a.py", SUBMIT.format(name="f"))
    with_option = write("b.py", "from slurmhooks import hook\nhook.spank.option('x', usage='')\n")
    without = write("c.py", "def forgotten(job): ...\n")
    name = package("")
    sources = [*(Source(path=str(path)) for path in (with_handler, with_option, without)), Source(module=name)]
    text = "no handler and no option in it; handlers need a decorator: @hook.job_submit"
    assert loader.load(sources).notes == (f"{without}: {text}", f"{name}: {text}")
