# SPDX-License-Identifier: GPL-2.0-or-later
"""C reads hook manifests that Python writes; the checksum and tests/fuzz/manifest.c are for all others."""

from collections.abc import Iterator
from typing import Any

from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from slurmhooks import identity
from slurmhooks.handlers.loader import Source
from slurmhooks.handlers.registry import Registry
from slurmhooks.hooks import points
from slurmhooks.hooks.option import Option
from slurmhooks.site import manifest, manifest_writer
from tests.native.hosting import Host, Result, Value

# Without shrinking, which would take minutes: the failure message shows the wrong text.
BOUNDED = settings(
    max_examples=30, deadline=None, suppress_health_check=list(HealthCheck), phases=[Phase.explicit, Phase.generate]
)

Lines = list[dict[str, list[Value]]]


def read(host: Host, texts: list[bytes]) -> Iterator[tuple[bool, Lines]]:
    """Let C read some manifests; yield for each whether it is valid, and its lines."""
    for index, text in enumerate(texts):
        (host.folder / f"manifest{index}").write_bytes(text)
    run = host.run("".join(f"read_manifest $dir/manifest{index}\n" for index in range(len(texts))))
    results = iter(run.results)
    result: Result | None = next(results)
    while result is not None:
        assert result.command == "read_manifest"
        valid, lines = result["valid"] == 1, []
        while (result := next(results, None)) is not None and result.command == "manifest_line":
            names = ("argv", "calls", "option", "arginfo", "usage", "has_arg", "contexts", "checked")
            if "point" in result.values:
                point, script = [result["point"]], [result["script"]]
                lines.append({"point": point, "script": script, "calls": result.lists["calls"]})
            else:
                lines.append({name: result.lists[name] for name in names})
        yield valid, lines[::-1]


WORDS = st.text(st.characters(codec="utf-8", exclude_characters="\0"), max_size=12)
OPTIONS = st.builds(
    lambda name, arginfo, usage, optional, kind: Option(name, arginfo, usage, optional, kind, ("local",), 0, "m"),
    *(WORDS.filter(bool), st.none() | WORDS.filter(bool), WORDS, st.booleans(), st.sampled_from([str, int])),
)


def test_reads_what_python_wrote(host: Host) -> None:
    """C and Python read the arguments, options and paths that Python has written."""

    @BOUNDED
    @given(
        st.lists(WORDS.filter(lambda word: "=" not in word), max_size=5),
        st.lists(OPTIONS, max_size=4),
        st.lists(WORDS.filter(bool), max_size=3, unique=True),
    )
    def property_holds(args: list[str], options: list[Any], modules: list[str]) -> None:
        sources = [Source(packages="/a folder of packages"), *(Source(module=name) for name in modules)]
        line = manifest_writer.ManifestLine(args, sources, [], Registry((), options, with_options=modules))
        content = manifest_writer.render([line], host.build.slurm, identity.here())
        ((valid, lines),) = read(host, [content])
        assert valid
        assert lines[0]["argv"] == args
        assert lines[0]["option"] == [option.name for option in options]
        assert lines[0]["arginfo"] == [option.arginfo for option in options]
        assert lines[0]["usage"] == [option.usage for option in options]
        assert lines[0]["has_arg"] == [option.has_arg for option in options]
        assert lines[0]["checked"] == [int(option.checked) for option in options]
        rows = manifest.records(content, args)
        assert rows is not None
        assert [source.module for source in manifest.sources(rows)] == ([None, *modules] if modules else [])

    property_holds()


def test_too_many_options(each_host: Host) -> None:
    """A manifest with more options than there are numbers for is invalid."""
    header = manifest_writer.header(each_host.build.slurm, identity.here())
    most = points.MOST_OPTIONS
    records = [b"line\n" + b"option 0 2 0 o a u\n" * count + b"end\n" for count in (most, most + 1)]
    batch = [manifest_writer.sealed(header, each) for each in records]
    assert [valid for valid, _ in read(each_host, batch)] == [True, False]
