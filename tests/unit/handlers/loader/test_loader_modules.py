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
