# SPDX-License-Identifier: GPL-2.0-or-later
"""What users write is read as Slurm itself reads it, or refused: random texts, against Slurm's own functions."""

import re
from collections.abc import Callable
from typing import TypeVar

import pytest

from slurmhooks.job_submit.strings import ArraySpec, Dependencies, NotationError, Tres, expand_nodes, mem_str_to_mib
from slurmhooks.job_submit.strings.features import nodes_with_features
from slurmhooks.job_submit.strings.licenses import read_licenses
from slurmhooks.job_submit.strings.times import read_seconds
from slurmhooks.values import Unlimited
from tests.cluster.conftest import Cluster
from tests.cluster.own_readers import ask, build, drawn, seeded
from tests.cluster.reporting import DRAWN

SHORT = 300
NUMBERS = [SHORT, pytest.param(3000, marks=pytest.mark.soak)]
"""How many texts slurmctld reads."""
TEXTS = 20_000
"""How many texts a function of Slurm's library reads."""
REFUSED = "refused"
Value = TypeVar("Value")
Note = Callable[[int, int], None]


def ours(read: Callable[[str], Value], text: str) -> Value | str:
    """Return what slurmhooks reads in a text, or REFUSED."""
    try:
        return read(text)
    except NotationError:
        return REFUSED


# Read by functions of Slurm's library.


@pytest.fixture(scope="module")
def reader(cluster: Cluster) -> str:
    """The program that calls them."""
    return build(cluster, "read")


TRES = ("gres/gpu", "gres/gpu", "gres:gpu", "gres", "gres/", "gresgpu", "license/a", "licensea", "cpu", "x", ":", "=",
        ":", "=", ",", ",", "a100", "1", "2", "04", "2k", "3g.20gb", "+1", " 1", "-1", "/", "shard", "GRES/gpu",
        "Gres:", "gres/GPU", "License/a", "CPU", "2K", "\t", " ")  # fmt: skip


def tres_of(text: str) -> list[tuple[str, str, int]]:
    """Return the GRES and licenses of a list, as the program prints them."""
    return [
        (item.name, item.type or "", item.count)
        for kind in ("gres/", "license/")
        for item in Tres.parse(text)
        if item.name.startswith(kind) and item.count
    ]


def test_tres(cluster: Cluster, reader: str) -> None:
    """In each random list, slurmhooks finds the GRES and licenses that Slurm finds, or refuses it; or finds more."""
    if cluster.version < (23, 2):
        pytest.skip("the function is new in 23.02")
    seed, generator = seeded()
    texts = drawn(generator, TRES, TEXTS)
    accepted = 0
    for text, line in zip(texts, ask(cluster, reader, "tres", texts), strict=True):
        found = ours(tres_of, text)
        if found == REFUSED:
            continue
        theirs = []
        for word in line.replace("refused\x1f", "").split("\x1f"):
            name, *rest = word.split("|")
            # slurmctld knows no TRES without a name, and none with blanks, and refuses them.
            known = rest and not name.endswith("/") and not re.search(r"\s", name + rest[0])
            theirs += [(name, rest[0], int(rest[1]))] if known else []
        accepted += bool(theirs)
        assert [each for each in theirs if each not in found] == [], (seed, text, line, found)
    assert accepted > TEXTS / 50


GRES = ("gpu", "gpu", "gpu:", "gres:gpu", "gres:gpu:", "gres/gpu", "gres", "gpu:tesla:", "tesla", ":", "=", ",", ",",
        "1", "2", "04", "2k", "1M", "0", "+1", " 1", "-1", "x", "none", "4294967297", "GPU", "Gres:", "2K",
        "0x2")  # fmt: skip


def test_gres(cluster: Cluster) -> None:
    """Before 23.02, slurmctld finds no GRES in a random list that slurmhooks does not find, or refuses."""
    if cluster.version >= (23, 2):
        pytest.skip("slurm_get_next_tres() reads them, see test_tres")
    cluster.put("GresTypes=gpu\n", "/etc/slurm/local.conf")
    program = build(cluster, "gres", "-w -I/usr/src/slurm")
    seed, generator = seeded()
    texts = drawn(generator, GRES, TEXTS, 6)
    accepted = 0
    for text, line in zip(texts, ask(cluster, program, "tres", texts), strict=True):
        found = ours(tres_of, text)
        if isinstance(found, str) or line == REFUSED:
            continue
        counts: dict[tuple[str, str], int] = {}
        for name, kind, number in found:
            counts[name, kind] = max(number, counts.get((name, kind), 0))
        for word in filter(None, line.split("\x1f")):
            name, kind, count = word.split("|")
            if "=" not in kind:  # no node has such a type
                assert int(count) <= counts.get((name, kind), 0), (seed, text, line, found)
        accepted += bool(line)
    assert accepted > TEXTS / 100


FEATURES = ("a", "b", "c", "k1", "k2", "&", "&", ",", "|", "|", "[", "]", "(", ")", "*1", "*2", "*3", "*", "0", "-1",
            " ", "*+4", "[a*1&b*2]", "[a*1|b*1]", "(a|b)*2", "*04", "*4294967298", "*4294967295", "*0", "[a|b]",
            "x")  # fmt: skip


def test_features(cluster: Cluster) -> None:
    """Of each list of features that slurmctld accepts, slurmhooks counts as many nodes as slurmctld."""
    if not cluster.has_sources:
        pytest.skip("the function is in slurmctld")
    program = build(cluster, "features", "-w -no-pie -I/usr/src/slurm -Wl,--unresolved-symbols=ignore-all")
    seed, generator = seeded()
    texts = drawn(generator, FEATURES, TEXTS, 9)
    counted = 0
    for text, line in zip(texts, ask(cluster, program, "features", texts), strict=True):
        if line != REFUSED:
            # slurmctld forgets the numbers of changeable features, if there are alternatives.
            assert nodes_with_features(text) == int(line) or ("k" in text and line == "0"), (seed, text, line)
            counted += line != "0"
    assert counted > TEXTS / 50


NODES = ("n", "n", "n0", "gpu1", "a-b", "x", "[", "]", "[1-3]", "[01-10]", "[8-11]", "[0-09]", "[3-1]", "1", "2", "5",
         "10", "007", "-", ",", ",", ",", " ", "+", "[1,3]", "[5]", "[1-", "[1-99]", "[1-70000]", "x[2-", "3]", "n1-2",
         ".", "_", "]]", "[]", "[1-]", "-ib")  # fmt: skip


def node_texts(texts: list[str]) -> list[str]:
    """Leave out lists of more names than Slurm can make in an acceptable time."""
    return [text for text in texts if text.count("[1-99]") + text.count("[01-10]") < 3]


def test_nodes(cluster: Cluster, reader: str) -> None:
    """Each list of nodes has the names that Slurm finds in it, in its order, or is refused.

    Refused are only names with blanks, brackets and signs, which no node has, and lists that are too long.
    """
    seed, generator = seeded()
    texts = node_texts(drawn(generator, NODES, TEXTS))
    several = 0
    for text, line in zip(texts, ask(cluster, reader, "nodes", texts), strict=True):
        found = ours(expand_nodes, text)
        if found == REFUSED:
            usual = re.fullmatch(r"(?:[\w.-]|\[\d+(?:-\d*)?(?:,\d+(?:-\d*)?)*\]|[,\s](?![^\[]*\]))*", text)
            # Slurm ignores a word with several brackets and a range that is too long, or ends before it begins.
            assert line in (REFUSED, "many", "") or not usual or re.search("3-1|70000", text), (seed, text, line)
            continue
        if line == REFUSED and cluster.version < (23, 2) and re.search(r"\][^,\s]", text):
            continue  # before 23.02, nothing could follow a bracket
        assert "".join(f"{name}," for name in found) == line, (seed, text, line)
        several += len(found) > 2
    assert several > TEXTS / 20


TIMES = ("0", "1", "5", "59", "60", "100", "-", "-", ":", ":", ":", "+", " ", "1-2", "2:3", "UNLIMITED", "infinite",
         "-1", "x", "007")  # fmt: skip


def test_times(cluster: Cluster, reader: str) -> None:
    """Each time is as many seconds as Slurm reads, or refused; negative times are refused, which Slurm takes."""
    seed, generator = seeded()
    texts = drawn(generator, TIMES, TEXTS, 6)
    accepted = 0
    for text, line in zip(texts, ask(cluster, reader, "times", texts), strict=True):
        found = ours(read_seconds, text)
        if found == REFUSED:
            assert line == REFUSED or text.startswith("-"), (seed, text, line)
        elif isinstance(found, Unlimited):
            assert line == "-1", (seed, text)
        elif int(found) < 1 << 31:  # Slurm's numbers overflow
            assert str(found) == line, (seed, text, line)
            accepted += 1
    assert accepted > TEXTS / 20


MEMORY = ("0", "1", "5", "1024", "1025", "K", "k", "M", "m", "G", "g", "T", "t", "B", "b", "iB", "P", " ", "+", "-",
          ".", "?", "007")  # fmt: skip


def test_memory(cluster: Cluster, reader: str) -> None:
    """Each amount of memory is what Slurm reads, or refused.

    Slurm takes "-0", and of an amount that is too large some part; both are refused.
    """
    seed, generator = seeded()
    texts = drawn(generator, MEMORY, TEXTS, 5)
    accepted = 0
    for text, line in zip(texts, ask(cluster, reader, "memory", texts), strict=True):
        found = ours(mem_str_to_mib, text)
        large = int(re.sub(r"\D", "", text) or 0) << 20 >= 10**18
        assert str(found) == line or (found == REFUSED and ("-0" in text or large)), (seed, text, line, found)
        accepted += found != REFUSED
    assert accepted > TEXTS / 20


# Read by slurmctld.


@pytest.fixture
def note(record_property: Callable[[str, object], None]) -> Note:
    """Record how many texts a long test has compared."""
    return lambda number, accepted: (
        record_property(DRAWN, f"{number} texts, of which slurmctld accepted {accepted}") if number > SHORT else None
    )


@pytest.fixture(scope="module")
def submitter(cluster: Cluster) -> str:
    """The program that submits jobs, to a cluster with licenses."""
    cluster.put("Licenses=a:0,b:1,c:2,d:7,e:30\n", "/etc/slurm/local.conf")
    cluster.restart()
    return build(cluster, "submit")


ARRAYS = ("0", "1", "2", "5", "7", "10", "100", "1000", "1001", "-", "-", ":", ":", ",", ",", "[", "]", "%", "%3", "%0",
          "1-3", "0-10:2", "+", " ", "-5", "007", "x", "99999999999999999999", "%-1", "%4294967297")  # fmt: skip


def tasks_of(text: str) -> list[int]:
    """Return the task ids in what slurmctld shows: 1-3,5."""
    ids: list[int] = []
    for word in filter(None, text.split(",")):
        numbers, _, step = word.partition(":")
        first, _, last = numbers.partition("-")
        ids += range(int(first), int(last or first) + 1, int(step or 1))
    return ids


@pytest.mark.moved
@pytest.mark.parametrize("number", NUMBERS)
def test_arrays(cluster: Cluster, submitter: str, note: Note, number: int) -> None:
    """Each array has the tasks, and the limit of tasks at once, that slurmctld gives it; or slurmctld refuses it."""
    seed, generator = seeded()
    texts = drawn(generator, ARRAYS, number, 6)
    accepted = 0
    for text, line in zip(texts, ask(cluster, submitter, "arrays", texts), strict=True):
        found = ours(ArraySpec.parse, text)
        if line == REFUSED or re.search(r"\d{19}", text):
            continue  # MaxArraySize is 1001, and can be larger
        job, at_once, tasks, _ = line.split("\t")
        assert isinstance(found, ArraySpec), (seed, text, line)
        assert found.tasks == tasks_of(tasks.partition("%")[0]), (seed, text, line)
        assert (found.limit or 0) == int(at_once), (seed, text, line)
        assert bool(len(found)) == (job != "0"), (seed, text, line)
        accepted += bool(found.tasks)
    note(number, accepted)
    assert accepted > number / 100


LICENSES = ("a", "b", "c", "d", "e", "nosuch", ":", ":", "=", ",", ",", ";", "|", "1", "2", "7", "30", "0", "+", "-",
            " ", "b:1", "e:5", "c=2", "(", "@x", "4294967297", "*", "B:1", "E", "2k", "0x2")  # fmt: skip
HAS = {"a": 0, "b": 1, "c": 2, "d": 7, "e": 30}


@pytest.mark.moved
@pytest.mark.parametrize("number", NUMBERS)
def test_licenses(cluster: Cluster, submitter: str, note: Note, number: int) -> None:
    """slurmctld takes no list that slurmhooks refuses, and no more of a license than slurmhooks has counted."""
    seed, generator = seeded()
    texts = drawn(generator, LICENSES, number, 6)
    accepted = 0
    for text, line in zip(texts, ask(cluster, submitter, "licenses", texts), strict=True):
        found = ours(read_licenses, text)
        wraps = "4294967297" in text or re.search(r"\d{10}", text)
        if isinstance(found, str):
            assert line == REFUSED or wraps, (seed, text, line)
            continue
        counts, _ = found
        # Zero licenses that do not exist are ignored from 25.11 on.
        fits = all(count is not None and count <= HAS.get(name, 0) for name, count in counts.items())
        known = counts.keys() <= HAS.keys()
        if line != REFUSED:
            assert fits, (seed, text, found)
        elif fits and known and counts:
            old = ("|" in text and cluster.version < (25, 5)) or ("=" in text and cluster.version < (23, 2))
            # Zero of a license without a name count as nothing here, and slurmctld refuses them.
            assert old or re.search(r"(?:^|[,;|])[:=]|[:=](?=$|[,;|])", text), (seed, text, found)
        accepted += line != REFUSED and bool(counts)
    note(number, accepted)
    assert accepted > number / 100


DEPENDENCIES = ("afterok", "after", "afterany", "afternotok", "aftercorr", "singleton", "Singleton", "JOB", "JOB",
                "ARRAY", "_1", "_*", "_[1-2]", ":", ":", ":", ":JOB", "afterok:JOB", "afterany:ARRAY_2", ",", ",",
                "?", "+5", "+0", " ", "0", "x")  # fmt: skip


@pytest.mark.moved
@pytest.mark.parametrize("number", NUMBERS)
def test_dependencies(cluster: Cluster, submitter: str, note: Note, number: int) -> None:
    """slurmctld takes no list of dependencies that slurmhooks refuses, and waits for the jobs that it names."""
    command = "sbatch --parsable -H --wrap=true; sbatch --parsable -H -a1-3 --wrap=true"
    job, array = cluster.root("sh", "-ec", command, check=True).stdout.split()
    seed, generator = seeded()
    texts = [text.replace("JOB", job).replace("ARRAY", array) for text in drawn(generator, DEPENDENCIES, number, 5)]
    accepted = 0
    for text, line in zip(texts, ask(cluster, submitter, "dependencies", texts), strict=True):
        found = ours(Dependencies.parse, text)
        if line == REFUSED:
            continue
        shown = line.split("\t")[3]
        if re.search(r"\+\d+[^\d,?:(]|\d{10}|\]\d", text):
            continue  # Slurm ignores letters behind the minutes, and a bracket before digits; job ids wrap around
        assert isinstance(found, Dependencies), (seed, text, line)
        assert found.job_ids == Dependencies.parse(shown).job_ids, (seed, text, shown)
        kinds = {condition.kind for condition in found}
        assert kinds == {condition.kind for condition in Dependencies.parse(shown)}, (seed, text, shown)
        accepted += bool(shown)
    note(number, accepted)
    assert accepted > number / 100
