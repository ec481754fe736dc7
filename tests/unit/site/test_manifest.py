# SPDX-License-Identifier: GPL-2.0-or-later
from collections.abc import Sequence
from pathlib import Path
from types import SimpleNamespace

from slurmhooks.handlers import loader
from slurmhooks.handlers.loader import Source
from slurmhooks.handlers.registry import Registry
from slurmhooks.log import log
from slurmhooks.site import manifest, manifest_writer
from slurmhooks.site.manifest_writer import ManifestLine, Point


def rendered(lines: list[ManifestLine], points: Sequence[Point] = ()) -> bytes:
    """Return a manifest."""
    return manifest_writer.render(lines, 0x180B05, "", points)


def line_of(args: Sequence[str], sources: list[Source], lua: Sequence[str] = ()) -> ManifestLine:
    """Return a line whose sources all define options."""
    return ManifestLine(args, sources, [], Registry((), (), with_options=[source.name for source in sources]), lua)


def test_arguments_for_handlers_do_not_matter() -> None:
    """A line is known by GLOB and config=; with Lua scripts, whose options may depend on them, by all arguments."""
    words = ["config=c", "failonerror", "x", "1"]
    for lua in ((), ("5.4",)):
        content = rendered([line_of(words, [], lua)])
        alike = (["config=c", "x"], ["failonerror", "config=c", "x", "2"], ["init_failure_mode=job", "config=c", "x"])
        others: tuple[list[str], ...] = (["x", "1"], ["config=d", "x", "1"], ["config=c", "--", "x"], ["config=c"], [])
        assert manifest.records(content, words) is not None
        assert {manifest.records(content, args) is not None for args in alike} == {not lua}
        assert [manifest.records(content, args) for args in others] == [None] * 5


def test_sources_come_back(tmp_path: Path) -> None:
    """The sources of a line are read by its GLOB, whatever bytes their names and contents have."""
    names = [f"{tmp_path}/a b%.py", f"{tmp_path}/ä#\udcff\n.py", f"{tmp_path}/private.py", f"{tmp_path}/nul.py"]
    texts = [b"\nend\nline x\n", b"# \xff\xfe\r\n", b"secret", b"\0"]
    for name, text in zip(names, texts, strict=True):
        Path(name).write_bytes(text)
    Path(names[2]).chmod(0o640)
    sources = [Source(packages="/p q"), *(Source(path=name) for name in names), Source(module="m")]
    content = rendered([line_of(["x", "y z"], sources), line_of([], sources)])
    for args in (["x", "y z"], []):
        read = manifest.sources(manifest.records(content, args) or [])
        assert [source.packages or source.path or source.module for source in read] == ["/p q", *names, "m"]
        assert [source.text for source in read] == [None, *texts[:2], None, None, None]
    assert manifest.records(content, ["config=c", "x"]) is None
    assert b"\nlog " not in content
    assert content.count(texts[0]) == 1
    assert b"secret" not in content
    assert manifest.records(b"slurmhooks-manifest 2 0x180b05\nline x\nsource %zz\nend\n", ["x"]) is None


def test_large_hook_files(tmp_path: Path) -> None:
    """C reads at most 16 MiB, and would start Python in every process: what needs more files opens them."""
    names = [f"{tmp_path}/{name}.py" for name in "abc"]
    for name, size in zip(names, (7 << 20, 12 << 20, 10), strict=True):
        Path(name).write_bytes(b"#" * size)
    content = rendered([line_of([], [Source(path=name) for name in names])])
    assert len(content) < 16 << 20
    read = manifest.sources(manifest.records(content, []) or [])
    assert [source.text and len(source.text) for source in read] == [7 << 20, None, 10]


FILES = {
    "limits": "@hook.job_submit\ndef limits(job): ...\n",
    "greet": "greet = hook.spank.option('greet', usage='greet')\n",
    "imported": "from options_of_site import quota\n",
    "checks": "import options_of_site\n@options_of_site.quota.check\ndef check(value): ...\n",
    "init": "@hook.spank.init\ndef init(spank): ...\n",
    "filter": "@hook.cli_filter.pre_submit\ndef filter(options): ...\n",
    "nothing": "",
    "disk": "@hook.node.health_check\ndef disk(node): ...\n",
    "stage": "@hook.scrun.stage_in\ndef stage(container): ...\n",
}


def test_what_a_launch_does_not_need(tmp_path: Path) -> None:
    """A launch loads the files with a handler for its plugin point, an option, or the check of an option."""
    (tmp_path / "p").mkdir()
    (tmp_path / "p" / "options_of_site.py").write_text(
        "from slurmhooks import hook\nquota = hook.spank.option('quota', 'N', usage='quota')\n"
    )
    sources = [Source(packages=str(tmp_path / "p"))]
    for name, text in FILES.items():
        (tmp_path / f"{name}.py").write_text(f"from slurmhooks import hook\n{text}")
        sources.append(Source(path=f"{tmp_path}/{name}.py"))
    registry = loader.load(sources)
    points = [Point(name, sources, ("info", "500"), registry=registry) for name in manifest.POINTS]
    content = rendered([ManifestLine([], sources, [], registry)], points)
    names: dict[str | None, list[str]] = {}
    for point in (None, *manifest.POINTS):
        read = manifest.sources(manifest.records(content, (), point) or [])
        names[point] = [Path(source.path).stem if source.path else "packages" for source in read]
        assert all((source.text is None) == (point == "node") for source in read if source.path)
    assert names[None] == ["packages", "greet", "imported", "checks", "init"]
    assert [names[point] for point in manifest.POINTS] == [["packages", each] for each in ("stage", "filter", "disk")]
    assert rendered([ManifestLine([], sources, [], Registry((), ()))]).count(b"packages ") == 0


def test_what_scrun_needs() -> None:
    """The records of scrun are separate from those of a line with the argument "scrun"."""
    line = line_of(["scrun"], [Source(module="line")])
    scrun = Point("scrun", [Source(module="scrun")], ("info", "500"), "/a b.lua")
    content = rendered([line], [scrun])
    rows = [["module", "scrun"], ["log", "info", "500"], ["script", "/a b.lua"]]
    assert manifest.records(content, (), "scrun") == rows
    assert manifest.records(content, ["scrun"]) == [["module", "line"]]
    assert manifest.records(rendered([line]), (), "scrun") is None


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
    point = Point("cli_filter", sources, ("info", "500"), registry=loader.load(sources), lua=lua)
    rows = manifest.records(rendered([], [point]), (), "cli_filter") or []
    assert rows == [
        *(["source", str(hooks), hooks.read_text()], ["log", "info", "500"], ["lua", *lua]),
        *(["call", "pre_submit", "13"], ["call", "post_submit", "15"]),
    ]
    assert manifest.of_scripts(rows)[0] == list(lua)


def test_the_limits_of_the_log(said: SimpleNamespace) -> None:
    """Level and limit of the log are applied without reading the configuration."""
    line = ManifestLine([], [], [], Registry((), ()), log=["error", "300"])
    try:
        manifest.sources(manifest.records(rendered([line]), []) or [])
        log.info("dropped")
        log.error("said")
        log.error("x" * 301)
    finally:
        log.limit("debug3")
    first, second = (line for _, line in said.lines)
    assert first == "slurmhooks: said"
    assert len(second) <= 300
