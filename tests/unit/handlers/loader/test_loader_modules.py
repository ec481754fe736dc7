# SPDX-License-Identifier: GPL-2.0-or-later
"""Installed modules and packages are loaded like hook files, also if Python has imported them before."""

import os
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from slurmhooks.errors import LoadError
from slurmhooks.handlers import loader
from slurmhooks.handlers.loader import Source
from tests.unit.handlers.loader.conftest import SUBMIT, Write, labels, load, load_module


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


OUTSIDE = {
    "a thread": "thread = threading.Thread(target=define)\nthread.start()\nthread.join()",
    "several threads": "with ThreadPoolExecutor() as pool:\n    defined = list(pool.map(lambda _: define(), range(3)))",
    "exec": "exec(SOURCE, {})",
    "exec with a name": "exec(SOURCE, {'__name__': 'common'})",
    "runpy": "runpy.run_path(PATH)",
    "a module by its path": (
        "spec = importlib.util.spec_from_file_location('common', PATH)\n"
        "spec.loader.exec_module(importlib.util.module_from_spec(spec))"
    ),
}
"""Code that defines a handler and an option for no module."""


@pytest.mark.parametrize("code", OUTSIDE.values(), ids=OUTSIDE)
@pytest.mark.parametrize("what", ["@hook.job_submit\ndef limit(job): ...", "hook.spank.option('limit', usage='x')"])
def test_what_no_module_defines_is_told(write: Write, code: str, what: str) -> None:
    """A handler or an option that would never run or get a value does not disappear: the file is not loaded."""
    source = f"from slurmhooks import hook\n{what}\n"
    common = write("common.py", source)
    path = write(
        "a.py",
        "import importlib.util, runpy, threading\nfrom concurrent.futures import ThreadPoolExecutor\n"
        f"PATH = {str(common)!r}\nSOURCE = {source!r}\n"
        f"{SUBMIT.format(name='fine')}\ndef define():\n    exec(SOURCE, {{}})\n{code}\n",
    )
    with pytest.raises(LoadError) as caught:
        load(path)
    for finding in caught.value.findings:
        assert finding.startswith(f"{path}: ")
        assert "limit" in finding
        assert "would never run" in finding


def test_what_an_import_leaves_out_is_noted(write: Write, package: Callable[..., str]) -> None:
    """A note names each handler and option of an imported module that no source has."""
    option = "word = hook.spank.option('left_out', usage='x')\n"
    name = package(SUBMIT.format(name="one") + SUBMIT.format(name="two") + option)
    registry = load(write("a.py", SUBMIT.format(name="own") + f"from {name} import one\n"))
    assert labels(registry) == ["a:own", "a:one"]
    assert [note.partition(" is not in force")[0] for note in registry.notes] == [
        f"{name}: handler two of hook.job_submit",
        f"{name}: option left_out",
    ]
