# SPDX-License-Identifier: GPL-2.0-or-later
import glob
import os
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from slurmhooks.errors import LoadError
from slurmhooks.files import paths
from slurmhooks.handlers import loader
from slurmhooks.handlers.loader import expand

Write = Callable[..., Path]


def test_globs_are_sorted_within_each_pattern(write: Write, tmp_path: Path) -> None:
    """Patterns keep their order, the files of a pattern are sorted, and a file counts only the first time."""
    for name in ("d/b.py", "d/a.py", "d/c.txt", "z.py"):
        write(name, "")
    (tmp_path / "none").mkdir()
    files = [source.path for source in expand(["z.py", "d/*.py", "d/b.py", "none/*.py"], str(tmp_path))]
    assert files == [str(tmp_path / name) for name in ("z.py", "d/a.py", "d/b.py")]


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    st.lists(st.text("ab.py", min_size=1, max_size=6).filter(lambda name: name.strip(".")), max_size=8, unique=True),
    st.text("ab.py*?[]", min_size=1, max_size=7).filter(lambda pattern: pattern != "**"),
)
def test_patterns_mean_what_they_mean_in_the_shell(tmp_path: Path, names: list[str], pattern: str) -> None:
    """All patterns match the same files as Python's glob, also those that are expanded without it."""
    folder = tmp_path / "_".join(name.encode().hex() for name in names)
    folder.mkdir(exist_ok=True)
    for name in names:
        (folder / name).touch()
    full = str(folder / pattern)
    names = paths.matches(full)
    assert names == (sorted(glob.glob(full)) if glob.has_magic(full) else [full])


def test_relative_and_absolute_names(write: Write, tmp_path: Path) -> None:
    """Relative names are relative to the folder of the configuration, whatever the current folder is."""
    write("a.py", "")
    (source,) = expand(["a.py"], str(tmp_path))
    (absolute,) = expand([str(tmp_path / "a.py")], "/etc/slurm")
    assert source.path == absolute.path == str(tmp_path / "a.py")


def test_one_file_under_two_names_is_one(write: Write, tmp_path: Path) -> None:
    """A link to a file that is loaded anyway does not load it twice."""
    (tmp_path / "link.py").symlink_to(write("a.py", ""))
    assert [source.path for source in expand(["*.py"], str(tmp_path))] == [str(tmp_path / "a.py")]


@pytest.mark.parametrize("pattern", ["linked/a.py", "linked/*.py", "d/../d/a.py", "./d//*.py", "d/./a.py", "link.py"])
def test_files_have_the_names_without_links_and_detours(write: Write, tmp_path: Path, pattern: str) -> None:
    """A file has its real path, whatever the pattern is."""
    (tmp_path / "link.py").symlink_to(write("d/a.py", ""))
    (tmp_path / "linked").symlink_to("d")
    assert [source.path for source in expand([pattern], str(tmp_path))] == [os.path.realpath(tmp_path / "d/a.py")]


# Folders that cannot be listed.


def unlisted(path: Path) -> str:
    """Replace a folder by a link to itself, as root can list every folder."""
    path.rename(path.with_name("before"))
    path.symlink_to(path.name)
    return "Too many levels of symbolic links"


def nowhere(path: Path) -> str:
    """Replace a folder by a link to a missing one."""
    path.rename(path.with_name("before"))
    path.symlink_to(path.with_name("not_mounted"))
    return "a symbolic link on the way leads nowhere"


def a_file(path: Path) -> str:
    """Replace a folder by a file."""
    path.rename(path.with_name("before"))
    path.write_text("")
    return "Not a directory"


@pytest.mark.parametrize("pattern", ["d/*.py", "d/*/?.py", "d/in/[a-z].py", "d/?n/*.py"])
@pytest.mark.parametrize("spoil", [unlisted, nowhere, a_file])
def test_a_folder_that_cannot_be_listed_is_an_error(
    write: Write, tmp_path: Path, pattern: str, spoil: Callable[[Path], str]
) -> None:
    """A folder that cannot be listed is an error."""
    write("d/in/a.py", "")
    write("d/a.py", "")
    assert len(expand([pattern], str(tmp_path))) == 1
    reason = spoil(tmp_path / "d")
    with pytest.raises(LoadError) as caught:
        expand([pattern, pattern], str(tmp_path))
    assert len(caught.value.findings) == 2
    assert reason in caught.value.findings[0]


@pytest.mark.parametrize("pattern", ["d/*.py", "d/*/?.py", "d/in/[a-z].py", "d/?n/*.py", "d/in/a*/*.py", "d/*/in/a.py"])
def test_a_folder_that_does_not_exist_is_an_error(tmp_path: Path, pattern: str) -> None:
    """The folder of a glob must exist, as it may be on a file system that is not mounted yet; it may be empty."""
    folder = tmp_path / ("d/in" if pattern.startswith("d/in") else "d")
    with pytest.raises(LoadError, match=f"^{folder}: does not exist; hook files are expected in it: create it, even"):
        expand([pattern], str(tmp_path))
    folder.mkdir(parents=True)
    assert expand([pattern], str(tmp_path)) == []


def test_folders_that_a_glob_has_found_may_lack_anything(write: Write, tmp_path: Path) -> None:
    """Only the folder before the first sign of a glob must exist: the others may differ from each other."""
    write("d/one/hooks.d/a.py", "")
    write("d/two/other", "")
    for pattern in ("d/*/hooks.d/*.py", "d/*/hooks.d/a.py"):
        assert [source.path for source in expand([pattern], str(tmp_path))] == [str(tmp_path / "d/one/hooks.d/a.py")]


def test_a_folder_that_a_glob_finds_but_cannot_list(write: Write, tmp_path: Path) -> None:
    """A dangling link that a glob matches as a folder is an error; a file is not."""
    write("of/a/x.py", "")
    write("of/README", "")
    for pattern in ("of/*/*.py", "of/*/x.py"):
        assert len(expand([pattern], str(tmp_path))) == 1
    (tmp_path / "of/b").symlink_to("gone")
    with pytest.raises(LoadError, match="leads nowhere"):
        expand(["of/*/?.py"], str(tmp_path))
    with pytest.raises(LoadError, match="no such hook file"):
        loader.load(expand(["of/*/x.py"], str(tmp_path)))


def test_two_stars_are_refused(tmp_path: Path) -> None:
    """``**`` is refused with the remedy, as it would match one level only."""
    for pattern in ("d/**/*.py", "**"):
        with pytest.raises(LoadError, match=r"\*\* is not supported; name each level"):
            expand([pattern], str(tmp_path))


def test_a_link_to_nowhere_among_the_files_is_a_finding(write: Write, tmp_path: Path) -> None:
    """A dangling link that a glob matches as a file is a finding."""
    (tmp_path / "a.py").symlink_to("gone.py")
    with pytest.raises(LoadError, match=r"gone.py: no such hook file"):
        loader.load(expand(["*.py"], str(tmp_path)))
