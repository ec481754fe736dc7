# SPDX-License-Identifier: GPL-2.0-or-later
"""C reads hook manifests that Python writes, and rejects all others."""

import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from slurmhooks.handlers.loader import Source
from slurmhooks.handlers.registry import Registry
from slurmhooks.hooks import points
from slurmhooks.hooks.option import Option
from slurmhooks.site import manifest, manifest_writer
from tests.native.hosting import Host, Result, Value

CALLBACKS, FILTERS = points.POINTS["spank"].functions, points.POINTS["cli_filter"].functions
POINTS: dict[str, Value] = {"scrun": -1, "cli_filter": -2}
"""As enum manifest_point numbers them."""
BATCH = 40
"""Number of manifests that one process reads."""

# Without shrinking, which would take minutes: the failure message shows the wrong text.
BOUNDED = settings(
    max_examples=30, deadline=None, suppress_health_check=list(HealthCheck), phases=[Phase.explicit, Phase.generate]
)

Lines = list[dict[str, list[Value]]]


class Reader:
    """A second reader of manifests, to compare with.

    Attributes:
        valid: whether the manifest is valid.
        lines: what it records.
    """

    def __init__(self, text: bytes, version: int) -> None:
        """Read a manifest.

        Args:
            text: its content.
            version: SLURM_VERSION_NUMBER of the build.
        """
        self.lines: Lines = []
        self.valid = False
        if b"\0" in text or b"\n" not in text.rstrip(b"\0"):
            return
        header, _, rest = text.partition(b"\n")
        if not rest or header != f"slurmhooks-manifest 2 {version:#x}".encode():
            return
        rows = rest.split(b"\n")
        for number, row in enumerate(rows):
            if row.startswith(b"#") or not row:
                continue
            words = self._words(row)
            if words is None:
                return
            if words == ["end"]:
                # A manifest without lines counts as invalid.
                self.valid = rows[number + 1 :] in ([], [b""]) and bool(self.lines)
                return
            if not self._take(words):
                return

    @staticmethod
    def _words(row: bytes) -> list[str] | None:
        words = []
        for word in row.split(b" "):
            first, *parts = word.split(b"%")
            raw = first
            for part in parts:
                digits = part[:2].decode("latin-1")
                if len(digits) < 2 or not set(digits) <= set("0123456789ABCDEF") or digits == "00":
                    return None
                raw += bytes([int(digits, 16)]) + part[2:]
            words.append(raw.decode("utf-8", "surrogateescape"))
        return words if len(words) <= points.MOST_WORDS else None

    def _take(self, words: list[str]) -> bool:
        what, *rest = words
        if what == "glob":
            return self._glob(rest)
        if what == "absent":
            return rest == ["/no/such/file"]
        if what == "line":
            self.lines.append({"argv": list(rest), "calls": [0] * len(CALLBACKS), "option": []})
            for name in ("arginfo", "usage", "has_arg", "contexts", "checked"):
                self.lines[-1][name] = []
            return True
        if what in POINTS:
            self.lines.append({"point": [POINTS[what]], "script": [None], "calls": [0] * len(CALLBACKS)})
            return not rest
        if not self.lines:
            return False
        point = self.lines[-1].get("point")
        if point == [POINTS["scrun"]]:
            if what == "script" and len(rest) == 1 and self.lines[-1]["script"] == [None]:
                self.lines[-1]["script"] = list(rest)
                return True
            return what in ("source", "module", "log")
        if what == "call":
            return self._call(rest, FILTERS if point else CALLBACKS)
        if point:
            return what in ("source", "module", "lua", "log")
        if what == "option":
            return self._option(rest)
        return what in ("source", "module", "lua", "log")

    @staticmethod
    def _glob(rest: list[str]) -> bool:
        """Tell whether a record of the folder / is right. Its time is always wrong, so that the entries are counted."""
        if len(rest) != 7 or not all(number(word, (1 << 64) - 1) for word in rest[:3]):
            return False
        folder, start, end = rest[4:]
        if not number(rest[3], (1 << 31) - 1) or folder != "/":
            return False
        return rest[0].lstrip("0") == ROOT_FOLDER and int(rest[3]) == int(entries(start, end))

    def _call(self, rest: list[str], names: Sequence[str]) -> bool:
        if len(rest) != 2 or rest[0] not in names or not number(rest[1], 63):
            return False
        calls = self.lines[-1]["calls"]
        before = calls[names.index(rest[0])]
        assert isinstance(before, int)
        calls[names.index(rest[0])] = before | int(rest[1])
        return True

    def _option(self, rest: list[str]) -> bool:
        line = self.lines[-1]
        if len(rest) != 6 or not all(map(number, rest[:3], (2, 63, 1))) or not rest[3]:
            return False
        if len(line["option"]) == points.MOST_OPTIONS:
            return False
        values: list[Value] = [*map(int, rest[:3]), rest[3], rest[4] or None, rest[5]]
        for name, value in zip(("has_arg", "contexts", "checked", "option", "arginfo", "usage"), values, strict=True):
            line[name].append(value)
        return True


def number(word: str, most: int) -> bool:
    """Tell whether a word is a decimal number of at most ``most``."""
    return word != "" and set(word) <= set("0123456789") and int(word) <= most


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


# Valid and invalid parts of manifests.

WORDS = st.text(st.characters(codec="utf-8", exclude_characters="\0"), max_size=12)
NUMBERS = st.sampled_from(
    ["0", "1", "2", "3", "63", "64", "-1", "", "01", "1x", "0x1", "+1", "18446744073709551616", "9" * 40]
)


def row(*words: str) -> bytes:
    """Return a record as Python writes it."""
    return " ".join(map(manifest_writer._encode, words)).encode()


ROOT_FOLDER = str(os.stat("/").st_ino)


def entries(start: str, end: str) -> str:
    """Return how many entries / has, as shell patterns count them."""
    names = [name for name in os.listdir("/") if name.startswith(start) and name.endswith(end) and name[0] != "."]
    return str(len([name for name in names if len(name) >= len(start + end)]))


RIGHT = st.one_of(
    st.builds(lambda args: row("line", *args), st.lists(WORDS, max_size=4)),
    st.builds(lambda name, bits: row("call", name, str(bits)), st.sampled_from(CALLBACKS), st.integers(0, 63)),
    st.builds(
        lambda has_arg, bits, checked, name, arginfo, usage: row(
            "option", str(has_arg), str(bits), str(checked), name, arginfo, usage
        ),
        *(st.integers(0, 2), st.integers(0, 63), st.integers(0, 1), WORDS.filter(bool), WORDS, WORDS),
    ),
    st.builds(lambda kind, word: row(kind, word), st.sampled_from(["source", "module", "lua", "log", "script"]), WORDS),
    st.sampled_from([b"scrun", b"cli_filter"]),
    st.builds(lambda name, bits: row("call", name, str(bits)), st.sampled_from(FILTERS), st.integers(0, 63)),
    st.sampled_from([b"", b"# a remark", b"absent /no/such/file"]),
    st.builds(
        lambda start, end: row("glob", ROOT_FOLDER, "1", "0", entries(start, end), "/", start, end),
        *(st.sampled_from(["", "u", "us", "usr", "x"]), st.sampled_from(["", "r", "sr", "usr", "*"])),
    ),
)
WRONG = st.one_of(
    st.builds(lambda words: row(*words), st.lists(WORDS | NUMBERS, max_size=8)),
    st.builds(lambda name, bits: row("call", name, bits), st.sampled_from([*CALLBACKS, "fini", ""]), NUMBERS),
    st.builds(lambda words: row("option", *words), st.lists(NUMBERS | WORDS, min_size=4, max_size=8)),
    st.builds(lambda words: row("file", *words), st.lists(NUMBERS, min_size=2, max_size=4)),
    st.builds(lambda count: b"line" + b" x" * count, st.integers(60, 70)),
    st.builds(
        lambda numbers, count, start, end: row("glob", *numbers, count, "/", start, end),
        st.lists(NUMBERS, min_size=2, max_size=4),
        *(NUMBERS, WORDS, WORDS),
    ),
    st.binary(max_size=20).map(lambda raw: raw.replace(b"\n", b"")),
    st.sampled_from([b"absent /", b"absent", b"file", b"%", b"call%", b"call %4", b"end end"]),
    st.sampled_from([b"end ", b"%65nd", b"%00", b"%e4", b" ", b" end", b"lines"]),
)
# Only few records are wrong, so that some manifests with many records are valid.
BODIES = st.lists(st.integers(0, 15).flatmap(lambda dice: WRONG if dice == 0 else RIGHT), max_size=12)
ENDS = st.sampled_from([b"end\n"] * 6 + [b"end", b"", b"end\n\n", b"end\nline\n", b"\n", b"end\0"])


def texts(version: int) -> st.SearchStrategy[list[bytes]]:
    """Return a strategy for batches of manifests."""
    header = f"slurmhooks-manifest 2 {version:#x}\n".encode()
    others = [b"", b"\n", header[:-2] + b"\n", header.upper(), header.replace(b" 2 ", b" 1 ")]
    headers = st.sampled_from([header] * 12 + others)
    one = st.builds(lambda start, rows, end: start + b"".join(row + b"\n" for row in rows) + end, headers, BODIES, ENDS)
    return st.lists(one, min_size=BATCH, max_size=BATCH)


@pytest.mark.slow
def test_reads_as_a_second_reader(each_host: Host) -> None:
    """C accepts only valid manifests, reads their records, and accesses no invalid memory."""
    seen = set()

    @BOUNDED
    @given(texts(each_host.build.slurm))
    def property_holds(batch: list[bytes]) -> None:
        for text, (valid, lines) in zip(batch, read(each_host, batch), strict=True):
            expected = Reader(text, each_host.build.slurm)
            assert valid == expected.valid, text
            if valid:
                assert lines == expected.lines, text
            seen.add(valid)

    property_holds()
    assert seen == {True, False}


OPTIONS = st.builds(
    lambda name, arginfo, usage, optional, kind: Option(name, arginfo, usage, optional, kind, ("local",), 0, "m"),
    *(WORDS.filter(bool), st.none() | WORDS.filter(bool), WORDS, st.booleans(), st.sampled_from([str, int])),
)


def test_reads_what_python_wrote(host: Host, tmp_path: Path) -> None:
    """C and Python read the arguments, options and paths that Python has written."""
    path = tmp_path / "manifest0"

    @BOUNDED
    @given(
        st.lists(WORDS.filter(lambda word: "=" not in word), max_size=5),
        st.lists(OPTIONS, max_size=4),
        st.lists(WORDS.filter(bool), max_size=3),
    )
    def property_holds(args: list[str], options: list[Any], paths: list[str]) -> None:
        sources = [Source(packages="/a folder of packages"), *(Source(path=name) for name in paths)]
        line = manifest_writer.Line(args, sources, [], Registry((), options))
        text = manifest_writer.render([line], ["/no/such/file"], host.build.slurm)
        ((valid, lines),) = read(host, [text.encode("utf-8", "surrogateescape")])
        assert valid
        assert lines[0]["argv"] == args
        assert lines[0]["option"] == [option.name for option in options]
        assert lines[0]["arginfo"] == [option.arginfo for option in options]
        assert lines[0]["usage"] == [option.usage for option in options]
        assert lines[0]["has_arg"] == [option.has_arg for option in options]
        assert lines[0]["checked"] == [int(option.checked) for option in options]
        rows = manifest.read(args, str(path))
        assert rows is not None
        assert [source.path for source in manifest.sources(rows)] == [None, *paths]

    property_holds()


def test_too_many_options(each_host: Host) -> None:
    """A manifest with more options than there are numbers for is invalid."""
    header = f"slurmhooks-manifest 2 {each_host.build.slurm:#x}\nline\n".encode()
    most = points.MOST_OPTIONS
    batch = [header + b"option 0 2 0 o a u\n" * count + b"end\n" for count in (most, most + 1)]
    assert [valid for valid, _ in read(each_host, batch)] == [True, False]
