# SPDX-License-Identifier: GPL-2.0-or-later
"""No reader of the configuration takes it for an empty one while what it lies on is replaced."""

import os
import posix
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from slurmhooks.cli.bundles import contents
from slurmhooks.cli.findings import Finding, Findings
from slurmhooks.errors import ConfigError, LoadError
from slurmhooks.files import trusted
from slurmhooks.handlers.loader import Source
from slurmhooks.jobcomp import settings
from slurmhooks.node import ready
from slurmhooks.site import loading, replaced
from slurmhooks.site import sources as site
from tests.unit.site.conftest import of_config

TEXT = """
[hooks]
paths = ["*.py"]
[scrun]
lua = "x.lua"
[cli_filter]
lua = "x.lua"
[lua]
version = "5.{number}"
[job_end]
next = "next{number}"
[[health.checks]]
check = "mount"
path = "/{number}"
"""
FILES = ("slurmhooks.toml", "a.py", "b.py", "x.lua")
CALLS = ("open", "stat", "lstat", "readlink", "listdir", "read")
"""Functions that look at files; between any two of them another process may have replaced the files."""
REFUSALS = (ConfigError, LoadError, Finding, Findings)


def _names(sources: list[Source]) -> list[str]:
    return [Path(source.path).name for source in sources if source.path is not None]


def _printed(capsys: pytest.CaptureFixture[str]) -> str:
    if settings.main(["/state"]):
        raise LoadError([capsys.readouterr().out])
    return capsys.readouterr().out.split("\n")[0].removeprefix("next=")[:-1]


READERS: dict[str, tuple[Callable[[pytest.CaptureFixture[str]], object], object]] = {
    "commands": (lambda _: _names(of_config()[1]), ["a.py", "b.py"]),
    "workers": (lambda _: _names(loading.of_config(site.config_path()).sources), ["a.py", "b.py"]),
    "launches": (lambda _: _names(replaced.again(site.sources)[0]), ["a.py", "b.py"]),
    "a line of plugstack.conf": (lambda _: _names(loading.of_line([]).sources), ["a.py", "b.py"]),
    "a line with a GLOB": (lambda _: _names(loading.of_line(["policy/*.py"]).sources), ["a.py", "b.py"]),
    "cli_filter": (
        lambda _: _names(loading.of_point("cli_filter", known=False, read=lambda *_: []).sources),
        ["x.lua", "a.py", "b.py"],
    ),
    "scrun": (lambda _: Path(replaced.again(lambda: site.script_of("scrun")) or "nothing").name, "x.lua"),
    "Lua": (lambda _: (site.lua_version() or "nothing")[:2], "5."),
    "jobcomp": (_printed, "next"),
    "sections": (lambda _: (site.read_config(site.config_name()).job_end.next or "nothing")[:-1], "next"),
    "health checks": (lambda _: len(ready.of_site()[1]), 1),
    "bundles": (lambda _: sorted(contents.collect(site.config_path().parent)[0]), sorted(FILES)),
}


class Volume:
    """A folder with a configuration, in versions that replace each other as the kubelet does it."""

    def __init__(self, folder: Path, *, by_folder: bool) -> None:
        """Make the first version; the folder of the configuration itself is a link, or each file is."""
        self._folder = folder
        self._write(1)
        (folder / "..data").symlink_to("..1")
        (folder / "policy").symlink_to("..data")
        if by_folder:
            (folder / "slurmhooks.home").write_text(f"{folder}/policy\n")
        else:
            for name in FILES:
                (folder / name).symlink_to(f"..data/{name}")

    def _write(self, number: int) -> None:
        version = self._folder / f"..{number}"
        version.mkdir()
        for name in FILES:
            (version / name).write_text(TEXT.format(number=number + 2) if name == FILES[0] else "")

    def replace(self, *, half: bool) -> None:
        """Make the second version the current one, and remove the first, or all files of it but the configuration."""
        self._write(2)
        (self._folder / "..new").symlink_to("..2")
        (self._folder / "..new").rename(self._folder / "..data")
        if half:
            (self._folder / "..1" / "b.py").unlink()
        else:
            shutil.rmtree(self._folder / "..1")


@contextmanager
def before_call(number: int, folder: Path, act: Callable[[], None]) -> Iterator[Callable[[], bool]]:
    """Call ``act`` before one of the CALLS on files of a folder, counted from 0; yield whether that has happened."""
    count = -1
    with pytest.MonkeyPatch.context() as patch:

        def counting(real: Callable[..., object]) -> Callable[..., object]:
            def call(*args: object, **options: object) -> object:
                nonlocal count
                concerned = "dir_fd" in options or str(folder) in str(args[0])
                count += concerned
                if concerned and count == number:
                    with pytest.MonkeyPatch.context() as inner:
                        for name, function in originals.items():
                            for module in (os, posix):
                                inner.setattr(module, name, function)
                        act()
                return real(*args, **options)

            return call

        originals = {name: getattr(posix, name) for name in CALLS}
        for name, function in originals.items():
            for module in (os, posix):
                patch.setattr(module, name, counting(function))
        yield lambda: count >= number


@pytest.mark.parametrize("guarded", [False, True])
@pytest.mark.parametrize("half", [False, True])
@pytest.mark.parametrize("by_folder", [False, True], ids=["each file a link", "the folder a link"])
@pytest.mark.parametrize("reader", READERS)
def test_a_volume_that_is_replaced_at_any_time(
    reader: str,
    by_folder: bool,
    half: bool,
    guarded: bool,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """Whenever Kubernetes replaces a volume once, each reader gets the old content or the new one.

    Commands that make bundles may get an error instead.
    """
    if guarded:
        monkeypatch.setattr(trusted, "refuse_exposed", lambda *_args, **_options: None)
        trusted.guard()
    read, wanted = READERS[reader]
    for number in range(1000):
        folder = tmp_path / str(number)
        folder.mkdir()
        monkeypatch.setenv("SLURM_CONF", str(folder / "slurm.conf"))
        volume = Volume(folder, by_folder=by_folder)
        with before_call(number, folder, lambda: volume.replace(half=half)) as was_called:  # noqa: B023
            try:
                found = read(capsys)
            except REFUSALS:
                if reader != "bundles":
                    raise
                found = wanted
        assert found == wanted, number
        if not was_called():
            break
    assert number > 1
    assert read(capsys) == wanted
