# SPDX-License-Identifier: GPL-2.0-or-later
import os
from pathlib import Path
from types import SimpleNamespace

from slurmhooks.handlers import loader
from slurmhooks.handlers.loader import Source
from slurmhooks.handlers.registry import Registry
from slurmhooks.log import log
from slurmhooks.site import manifest, manifest_writer


def rows_of(*patterns: object) -> list[str]:
    """Return the records by which a manifest watches patterns."""
    return manifest_writer.render([], [], 0x180B05, map(str, patterns)).split("\n")[2:-2]


def test_a_folder_may_change_if_its_files_do_not(tmp_path: Path) -> None:
    """For a glob, the manifest records the number of matching files, so other files in the folder do not matter."""
    (tmp_path / "a.py").touch()
    before = rows_of(tmp_path / "*.py")
    assert before[0].startswith("glob ")
    assert before[0].endswith(f" 1 {tmp_path}  .py")
    (tmp_path / "a.py~").touch()
    os.utime(tmp_path, (1, 1))
    after = rows_of(tmp_path / "*.py")
    assert before != after
    assert manifest_writer.without_times("\n".join(before)) == manifest_writer.without_times("\n".join(after))
    (tmp_path / "b.py").touch()
    assert manifest_writer.without_times("\n".join(before)) != manifest_writer.without_times(
        "\n".join(rows_of(tmp_path / "*.py"))
    )


def test_patterns_that_only_a_folders_time_can_watch(tmp_path: Path) -> None:
    """For links, and for globs that C does not support, the whole folder is watched."""
    (tmp_path / "a.py").symlink_to(__file__)
    for pattern in ("*.py", "[ab].py", "?.py"):
        assert rows_of(tmp_path / pattern)[0].startswith("file "), pattern
    assert rows_of(tmp_path / "missing" / "*.py") == [f"absent {tmp_path}/missing"]


def test_a_name_is_watched_as_itself(tmp_path: Path) -> None:
    """A file name is watched, not its folder; for a link, the state of its target is recorded."""
    (tmp_path / "a.py").symlink_to(__file__)
    status = os.stat(__file__)
    assert rows_of(tmp_path / "a.py") == [f"file {status.st_ino} {status.st_size} {status.st_mtime_ns} {tmp_path}/a.py"]


def test_arguments_for_handlers_do_not_matter(tmp_path: Path) -> None:
    """A line is known by GLOB and config=; with Lua scripts, whose options may depend on them, by all arguments."""
    path = tmp_path / "slurmhooks.manifest"
    words = ["config=c", "failonerror", "x", "1"]
    for lua in ((), ("5.4",)):
        line = manifest_writer.Line(words, [Source(path="/x")], [], Registry((), ()), lua)
        manifest_writer.write(manifest_writer.render([line], [], 0x180B05), str(path))
        alike = (["config=c", "x"], ["failonerror", "config=c", "x", "2"], ["init_failure_mode=job", "config=c", "x"])
        others: tuple[list[str], ...] = (["x", "1"], ["config=d", "x", "1"], ["config=c", "--", "x"], ["config=c"], [])
        assert manifest.read(words, str(path)) is not None
        assert {manifest.read(args, str(path)) is not None for args in alike} == {not lua}
        assert {manifest.read(args, str(path)) for args in others} == {None}


def test_sources_come_back(tmp_path: Path) -> None:
    """The sources of a line are read by its GLOB, whatever bytes their names have."""
    path = tmp_path / "slurmhooks.manifest"
    names = ["/a b/%.py", "/ä#\udcff\n.py"]
    lines = [
        manifest_writer.Line(
            ["x", "y z"], [*(Source(path=name) for name in names), Source(module="m")], [], Registry((), ())
        ),
        manifest_writer.Line([], [Source(path="/other.py")], [], Registry((), ())),
    ]
    manifest_writer.write(manifest_writer.render(lines, [], 0x180B05), str(path))
    rows = manifest.read(["x", "y z"], str(path))
    assert rows is not None
    assert [source.path or source.module for source in manifest.sources(rows)] == [*names, "m"]
    assert manifest.read(["config=c", "x"], str(path)) is None
    assert "\nlog " not in path.read_text(errors="surrogateescape")
    assert manifest.read(["x"], str(tmp_path / "missing")) is None
    path.write_text("slurmhooks-manifest 2 0x180b05\nline x\nsource %zz\nend\n")
    assert manifest.read(["x"], str(path)) is None


def test_what_scrun_needs(tmp_path: Path) -> None:
    """The records of scrun are separate from those of a line with the argument "scrun"."""
    path = tmp_path / "slurmhooks.manifest"
    line = manifest_writer.Line(["scrun"], [Source(path="/line.py")], [], Registry((), ()))
    scrun = manifest_writer.Point("scrun", [Source(path="/scrun.py")], ("info", "500"), "/a b.lua")
    manifest_writer.write(manifest_writer.render([line], [], 0x180B05, (), [scrun]), str(path))
    assert manifest.read((), str(path), "scrun") == [
        *(["source", "/scrun.py"], ["log", "info", "500"], ["script", "/a b.lua"]),
        *(["end"], [""]),
    ]
    assert (manifest.read(["scrun"], str(path)) or [])[0] == ["source", "/line.py"]
    manifest_writer.write(manifest_writer.render([line], [], 0x180B05), str(path))
    assert manifest.read((), str(path), "scrun") is None


def test_what_cli_filter_needs(tmp_path: Path) -> None:
    """Its functions with handlers, each with the commands as bits, and the Lua of its script."""
    hooks = tmp_path / "hooks.py"
    hooks.write_text(
        "from slurmhooks import hook\n@hook.cli_filter.pre_submit(contexts=['salloc', 'srun'])\ndef a(): ...\n"
        "@hook.cli_filter.pre_submit(contexts='scrontab')\n@hook.cli_filter.post_submit\n@hook.spank.init\n"
        "def b(): ...\n"
    )
    sources = [Source(path=str(hooks))]
    lua = ("5.4", "lupa.lua54", "/lupa.so", "?.lua", "?.so")
    point = manifest_writer.Point("cli_filter", sources, ("info", "500"), registry=loader.load(sources), lua=lua)
    path = tmp_path / "slurmhooks.manifest"
    manifest_writer.write(manifest_writer.render([], [], 0x180B05, (), [point]), str(path))
    rows = manifest.read((), str(path), "cli_filter")
    assert rows is not None
    assert rows[:-2] == [
        *(["source", str(hooks)], ["log", "info", "500"], ["lua", *lua], ["call", "pre_submit", "13"]),
        ["call", "post_submit", "15"],
    ]
    assert manifest.of_scripts(rows)[0] == list(lua)


def test_the_limits_of_the_log(tmp_path: Path, said: SimpleNamespace) -> None:
    """Level and limit of the log are applied without reading the configuration."""
    path = tmp_path / "slurmhooks.manifest"
    line = manifest_writer.Line([], [], [], Registry((), ()), log=["error", "300"])
    manifest_writer.write(manifest_writer.render([line], [], 1), str(path))
    try:
        manifest.sources(manifest.read([], str(path)) or [])
        log.info("dropped")
        log.error("said")
        log.error("x" * 301)
    finally:
        log.limit("debug3")
    first, second = (line for _, line in said.lines)
    assert first == "slurmhooks: said"
    assert len(second) <= 300


def test_packages_come_back(tmp_path: Path) -> None:
    """The folders of packages are among the sources, in their order."""
    path = tmp_path / "slurmhooks.manifest"
    line = manifest_writer.Line([], [Source(packages="/p q"), Source(path="/a.py")], [], Registry((), ()))
    manifest_writer.write(manifest_writer.render([line], [], 0x180B05), str(path))
    rows = manifest.read([], str(path))
    assert rows is not None
    assert [(source.packages, source.path) for source in manifest.sources(rows)] == [("/p q", None), (None, "/a.py")]
