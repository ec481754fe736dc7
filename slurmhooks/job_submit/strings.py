# SPDX-License-Identifier: GPL-2.0-or-later
"""Slurm's notations as values that one can calculate with, and back.

Pure Python, usable anywhere. Each reads what Slurm reads and raises :class:`NotationError` where Slurm refuses; where
Slurm takes something by accident ("n[1-]", "-5" minutes) it raises, too. None is taken as the empty text, so that a
field's value can be passed as it is: ``Tres.parse(job.tres_per_node)["gres/gpu"]``.
"""

from __future__ import annotations

import heapq
import itertools
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace

from slurmhooks.errors import Reject
from slurmhooks.job_submit import times
from slurmhooks.values import UNLIMITED, Unlimited

__all__ = [
    "ArraySpec",
    "Dependencies",
    "Dependency",
    "JobRef",
    "NotationError",
    "Tres",
    "TresItem",
    "collapse_nodes",
    "expand_nodes",
    "mem_str_to_mib",
    "mib_to_mem_str",
    "mins_to_time_str",
    "time_str2mins",
]


class NotationError(Reject, ValueError):
    """A text that Slurm does not read.

    Most often a user wrote it, so a handler that lets it through refuses the request, and the user reads what is wrong
    with the text. Anywhere else it is a ValueError.

    Attributes:
        code: the one that Slurm itself refuses such a text with.
    """


# Time

TIME = re.compile(r"\d+-(?:\d+(?::\d+){0,2})?|\d+(?::\d+){0,2}", re.ASCII)


def time_str2mins(text: str) -> int | Unlimited:
    """Return a time limit in minutes, rounded up, as ``slurm.time_str2mins`` of job_submit/lua does.

    Args:
        text: ``minutes``, ``minutes:seconds``, ``hours:minutes:seconds``, ``days-hours``, ``days-hours:minutes``,
            ``days-hours:minutes:seconds``; or ``UNLIMITED``, ``INFINITE``, ``-1``.

    Raises:
        NotationError: it is none of these.
    """
    if text.upper() in ("-1", "INFINITE", "UNLIMITED"):
        return UNLIMITED
    total = times.seconds(text) if TIME.fullmatch(text) else None
    if total is None:
        raise NotationError(
            f"not a time: {text!r}; write minutes, hours:minutes:seconds or days-hours:minutes:seconds",
            code="ESLURM_INVALID_TIME_LIMIT",
        )
    return -(-total // 60)


def mins_to_time_str(minutes: int | Unlimited) -> str:
    """Return minutes as Slurm's tools print them: ``1-02:03:00``, ``00:05:00``, ``UNLIMITED``."""
    if isinstance(minutes, Unlimited):
        return "UNLIMITED"
    hours, minutes = divmod(minutes, 60)
    days, hours = divmod(hours, 24)
    return f"{days}-{hours:02d}:{minutes:02d}:00" if days else f"{hours:02d}:{minutes:02d}:00"


# Memory

MEMORY = re.compile(r"(\d+)(?:([kKmMgGtT])[bB]?)?", re.ASCII)
MIB = {"m": 1, "g": 1 << 10, "t": 1 << 20}


def mem_str_to_mib(text: str) -> int:
    """Return an amount of memory in MiB, as ``--mem`` reads it: MiB unless it ends in K, M, G or T; K is rounded up.

    Raises:
        NotationError: it is not an amount of memory.
    """
    match = MEMORY.fullmatch(text)
    if match is None:
        raise NotationError(
            f"not an amount of memory: {text!r}; write a number, with K, M, G or T behind it",
            code="ESLURM_INVALID_TASK_MEMORY",
        )
    number, unit = int(match.group(1)), (match.group(2) or "m").lower()
    return -(-number // 1024) if unit == "k" else number * MIB[unit]


def mib_to_mem_str(mib: int) -> str:
    """Return MiB with the largest unit that keeps it exact: ``8G``, ``1500M``."""
    for unit, size in (("T", 1 << 20), ("G", 1 << 10)):
        if mib and mib % size == 0:
            return f"{mib // size}{unit}"
    return f"{mib}M"


# TRES

OWN_TRES = frozenset({"billing", "cpu", "energy", "mem", "node", "pages", "vmem"})
"""TRES that are no kind of something: no slash, no type."""
TRES_WITH_NAMES = frozenset({"bb", "fs", "gres", "ic", "license", "interconnect"})
COUNT = re.compile(r"(\d+)([kKmMgGtTpP])?([iI]?[bB])?", re.ASCII)
TRES_ITEM = re.compile(r"([^(]*)(?:\(([^()]*)\))?")


@dataclass(frozen=True)
class TresItem:
    """One trackable resource.

    Attributes:
        name: ``cpu``, ``mem``, ``gres/gpu``, ``license/matlab``.
        type: of a GRES: ``a100``; None for any.
        count: how many; of ``mem`` in MiB.
        where: what stands in parentheses behind it, such as ``S:0-1`` or ``IDX:0,2``; None for nothing.
    """

    name: str
    type: str | None = None
    count: int = 1
    where: str | None = None

    @property
    def key(self) -> str:
        """Name and type: ``gres/gpu:a100``."""
        return self.name if self.type is None else f"{self.name}:{self.type}"

    def __str__(self) -> str:
        """Return it as Slurm reads it: ``gres/gpu:a100=4``."""
        count = mib_to_mem_str(self.count) if self.name == "mem" else str(self.count)
        return f"{self.key}={count}" + (f"({self.where})" if self.where is not None else "")


@dataclass(frozen=True)
class Tres:
    """A list of trackable resources, as in tres_per_node, gres, tres_fmt_req_str: ``cpu=4,mem=8G,gres/gpu:a100=2``."""

    items: tuple[TresItem, ...] = ()

    @classmethod
    def parse(cls, text: str | None) -> Tres:
        """Read a list. What has neither a slash nor a name that Slurm knows is a GRES: ``gpu:2`` is ``gres/gpu=2``.

        Raises:
            NotationError: it is none.
        """
        if re.search(r"[()]", re.sub(r"\([^()]*\)", "", text or "")):
            raise NotationError(f"not a list of TRES: {text!r}; parentheses do not match", code="ESLURM_INVALID_TRES")
        # Commas inside parentheses belong to the item.
        words = re.findall(r"(?:[^,(]|\([^()]*\))+", text or "")
        return cls(tuple(_tres_item(word) for word in words))

    def __getitem__(self, key: str) -> int:
        """Return how many there are of a name over all types, or of a name and a type; 0 if it is not in the list."""
        return sum(item.count for item in self.items if key in (item.name, item.key))

    def __contains__(self, key: object) -> bool:
        """Tell whether a name, or a name with a type, is in the list."""
        return any(key in (item.name, item.key) for item in self.items)

    def __iter__(self) -> Iterator[TresItem]:
        """Return the items, in their order."""
        return iter(self.items)

    def __len__(self) -> int:
        """Return how many items there are."""
        return len(self.items)

    def __str__(self) -> str:
        """Return the list as Slurm reads it."""
        return ",".join(map(str, self.items))

    def with_count(self, key: str, count: int) -> Tres:
        """Return the list with another count of a name (with its type, if it has one); 0 takes it out."""
        others = tuple(item for item in self.items if item.key != key)
        if not count:
            return Tres(others)
        if len(others) < len(self.items):
            return Tres(tuple(replace(item, count=count) if item.key == key else item for item in self.items))
        name, _, kind = key.partition(":")
        return Tres((*self.items, TresItem(name, kind or None, count)))


def _tres_item(word: str) -> TresItem:
    match = TRES_ITEM.fullmatch(word.strip())
    if match is None or not match.group(1):
        raise NotationError(f"not a TRES: {word!r}", code="ESLURM_INVALID_TRES")
    text, where = match.groups()
    # As slurm_get_next_tres(): the kind ends at the first of "/", ":" or "=".
    kind, rest = re.fullmatch(r"([^/:=]*)[/:]?(.*)", text, re.DOTALL).groups()  # type: ignore[union-attr]
    if kind in OWN_TRES:
        if text[len(kind) : len(kind) + 1] == "/":
            raise NotationError(f"not a TRES: {word!r}; {kind} has no kinds", code="ESLURM_INVALID_TRES")
        name, type_, amount = kind, None, rest.removeprefix("=") or "1"
    else:
        if kind not in TRES_WITH_NAMES:
            kind, rest = "gres", text
        if "=" in rest:
            rest, _, amount = rest.rpartition("=")
            name, _, type_ = rest.partition(":")
        else:
            parts = rest.split(":")
            amount = parts.pop() if len(parts) > 1 and COUNT.fullmatch(parts[-1]) else "1"
            if len(parts) > 2:
                raise NotationError(f"not a TRES: {word!r}", code="ESLURM_INVALID_TRES")
            name, type_ = parts[0], parts[1] if len(parts) == 2 else None
        if not name or (type_ == "" and ":" in rest) or (type_ or "").count(":"):
            raise NotationError(f"not a TRES: {word!r}", code="ESLURM_INVALID_TRES")
        name, type_ = f"{kind}/{name}", type_ or None
        if type_ is not None and kind != "gres":
            raise NotationError(f"not a TRES: {word!r}; only gres/ have types", code="ESLURM_INVALID_TRES")
    try:
        count = mem_str_to_mib(amount) if name == "mem" else _count(amount)
    except ValueError as error:
        raise NotationError(f"not a TRES: {word!r}; {error}", code="ESLURM_INVALID_TRES") from None
    return TresItem(name, type_, count, where)


def _count(text: str) -> int:
    """Return a count: K, M, G, T, P are powers of 1024, and of 1000 with a B behind them."""
    match = COUNT.fullmatch(text)
    if match is None or (match.group(3) and not match.group(2)):
        raise NotationError(f"not a count: {text!r}", code="ESLURM_INVALID_TRES")
    number, unit, byte = match.groups()
    if not unit:
        return int(number)
    base = 1000 if byte and byte.lower() == "b" else 1024
    return int(number) * int(base ** ("kmgtp".index(unit.lower()) + 1))


# Nodes

NODE_WORD = re.compile(r"(?:[^\s,\[\]]|\[[^\[\]]*\])+")
BRACKET = re.compile(r"\[([^\[\]]*)\]")
RANGE = re.compile(r"(\d+)(?:-(\d+))?", re.ASCII)
NODE_NAME = re.compile(r"(.*?)(\d{0,18})", re.DOTALL | re.ASCII)
MOST_NODES = 64 * 1024
"""MAX_SLURM_NODES of slurm.h."""


def expand_nodes(text: str | None) -> list[str]:
    """Return the names of a node list, in the order of ``scontrol show hostnames``: ``n[01-03,7],gpu1``.

    Raises:
        NotationError: it is none, or has more nodes than Slurm can have (65536).
    """
    text = text or ""
    if re.search(r"[\[\]]", BRACKET.sub("", text)):
        raise NotationError(f"not a node list: {text!r}; brackets do not match", code="ESLURM_INVALID_NODE_NAME")
    names = itertools.chain.from_iterable(map(_expand_word, NODE_WORD.findall(text)))
    found = list(itertools.islice(names, MOST_NODES + 1))
    if len(found) > MOST_NODES:  # users write them, and slurmctld must not make them all
        raise NotationError(f"more than {MOST_NODES} nodes: {text!r}", code="ESLURM_INVALID_NODE_NAME")
    return found


def _expand_word(word: str) -> Iterator[str]:
    parts = BRACKET.split(word)
    fixed, ranges = parts[::2], [_expand_range(body, word) for body in parts[1::2]]
    if not ranges:
        yield word
        return
    # Slurm counts the last bracket fastest, then the first, the second and so on.
    *outer, last = ranges
    for chosen in itertools.product(*reversed(outer)):
        for number in last:
            yield "".join(itertools.chain(*itertools.zip_longest(fixed, [*reversed(chosen), number], fillvalue="")))


def _expand_range(body: str, word: str) -> list[str]:
    found = []
    for item in body.split(","):
        match = RANGE.fullmatch(item)
        first, last = match.groups() if match else ("", "")
        if not match or int(last or first) < int(first) or int(last or first) - int(first) >= MOST_NODES:
            raise NotationError(f"not a node list: {word!r}; {item!r} is no range", code="ESLURM_INVALID_NODE_NAME")
        found += [f"{number:0{len(first)}d}" for number in range(int(first), int(last or first) + 1)]
    return found


def collapse_nodes(names: Iterable[str]) -> str:
    """Return a node list of names, as ``scontrol show hostlist``: neighbours are joined, the order stays."""
    words: list[str] = []
    # A name without a number at its end is a word of its own, also beside one that only adds a number.
    for (prefix, numbered), group in itertools.groupby(map(_node_name, names), lambda name: (name[0], name[1] != "")):
        digits = [number for _, number in group]
        if not numbered:
            words += [prefix] * len(digits)
            continue
        joined = ",".join(first if first == last else f"{first}-{last}" for first, last in _ranges(digits))
        words.append(f"{prefix}{joined}" if len(digits) == 1 else f"{prefix}[{joined}]")
    return ",".join(words)


def _node_name(name: str) -> tuple[str, str]:
    match = NODE_NAME.fullmatch(name)
    assert match is not None  # everything matches
    return match.group(1), match.group(2)


def _ranges(digits: list[str]) -> Iterator[tuple[str, str]]:
    """Join what follows each other; as hostlist.c, of numbers whose widths can be the same."""
    start = end = digits[0]
    for number in digits[1:]:
        if int(number) != int(end) + 1 or not _widths_agree(start, number):
            yield start, end
            start = number
        end = number
    yield start, end


def _widths_agree(one: str, other: str) -> bool:
    """Tell whether two numbers have the same zeros in front when they are written with the same width."""

    def zeros(number: str, width: int) -> int:
        return max(0, width - len(str(int(number))))

    first = zeros(one, len(one)) == zeros(one, len(other))
    return first or zeros(other, len(other)) == zeros(other, len(one))


# Arrays

LAST_TASK = 4_000_000
"""One less than the largest MaxArraySize of slurm.conf(5)."""
ARRAY_ITEM = re.compile(r"(\d+)(?:-(\d+)(?::(\d+))?)?", re.ASCII)


@dataclass(frozen=True)
class ArraySpec:
    """Which tasks a job array has, as in array_inx: ``0-10:2,15%3``.

    Attributes:
        ranges: of task ids, as written.
        limit: most tasks at a time; None for no limit.
    """

    ranges: tuple[range, ...]
    limit: int | None = None

    @classmethod
    def parse(cls, text: str) -> ArraySpec:
        """Read a specification.

        Raises:
            NotationError: it is none.
        """
        body, percent, limit = text.partition("%")
        ranges = []
        for item in re.sub(r"[\[\]]", "", body).split(","):
            match = ARRAY_ITEM.fullmatch(item)
            first, last, step = match.groups() if match else ("", None, None)
            if not match or int(last or first) < int(first) or step == "0" * len(step or ""):
                raise NotationError(
                    f"not an array specification: {text!r}; {item!r} is no range of tasks", code="ESLURM_INVALID_ARRAY"
                )
            if int(last or first) > LAST_TASK:
                raise NotationError(
                    f"not an array specification: {text!r}; the last task that Slurm can have is {LAST_TASK}",
                    code="ESLURM_INVALID_ARRAY",
                )
            ranges.append(range(int(first), int(last or first) + 1, int(step or 1)))
        if percent and not limit.isdecimal():
            raise NotationError(
                f"not an array specification: {text!r}; {limit!r} is no number of tasks", code="ESLURM_INVALID_ARRAY"
            )
        return cls(tuple(ranges), int(limit) or None if percent else None)

    @property
    def tasks(self) -> list[int]:
        """The ids of all tasks, each once, in order: possibly millions, as users write them."""
        return list(self)

    def __iter__(self) -> Iterator[int]:
        """Return the ids of all tasks, each once, in order."""
        return (task for task, _ in itertools.groupby(heapq.merge(*self.ranges)))

    def __len__(self) -> int:
        """Return how many tasks there are."""
        ranges = sorted(set(self.ranges), key=lambda tasks: tasks.start)
        if all(one[-1] < other.start for one, other in itertools.pairwise(ranges)):
            return sum(map(len, ranges))
        # They overlap: a byte for each id between the first and the last, not an object.
        first, last = ranges[0].start, max(tasks[-1] for tasks in ranges)
        marks = bytearray(last - first + 1)
        for tasks in ranges:
            marks[tasks.start - first : tasks[-1] - first + 1 : tasks.step] = b"\1" * len(tasks)
        return marks.count(1)

    def __contains__(self, task: object) -> bool:
        """Tell whether there is a task of that id."""
        return any(task in tasks for tasks in self.ranges)

    def __str__(self) -> str:
        """Return it as Slurm reads it."""
        words = []
        for tasks in self.ranges:
            word = str(tasks.start) if len(tasks) == 1 else f"{tasks.start}-{tasks[-1]}"
            words.append(word + (f":{tasks.step}" if len(tasks) > 1 and tasks.step != 1 else ""))
        return ",".join(words) + (f"%{self.limit}" if self.limit else "")


# Dependencies

KINDS = ("after", "afterany", "afterburstbuffer", "aftercorr", "afternotok", "afterok", "expand")
JOB_REF = re.compile(r"(\d+)(?:_(\d+|\*|\[[-\d,:]+\]))?(?:\+(\d+))?(?:\((\w+)\))?", re.ASCII)
DEPENDENCY = re.compile(r"([a-z]+)(?::([^,?]+)|(?:\((\w+)\))?)", re.ASCII)


@dataclass(frozen=True)
class JobRef:
    """A job that another waits for.

    Attributes:
        job_id: its id.
        task: of a job array: a number, ``*`` for all tasks, or ``[...]`` with task ids; None for the job itself.
        delay: minutes to wait on top; 0 for none.
        state: how Slurm shows whether it is fulfilled: ``unfulfilled``, ``failed``; None where it is asked for.
    """

    job_id: int
    task: str | None = None
    delay: int = 0
    state: str | None = None

    def __str__(self) -> str:
        """Return it as Slurm reads it: ``12_3+5``."""
        text = f"{self.job_id}" + (f"_{self.task}" if self.task is not None else "")
        return text + (f"+{self.delay}" if self.delay else "") + (f"({self.state})" if self.state else "")


@dataclass(frozen=True)
class Dependency:
    """One condition: ``afterok:12:13``, ``singleton``."""

    kind: str
    jobs: tuple[JobRef, ...] = ()
    state: str | None = None

    def __str__(self) -> str:
        """Return it as Slurm reads it."""
        return ":".join([self.kind, *map(str, self.jobs)]) + (f"({self.state})" if self.state else "")


@dataclass(frozen=True)
class Dependencies:
    """What a job waits for, as in dependency: ``afterok:12:13,singleton``.

    Attributes:
        conditions: in their order.
        any: one of them is enough (they are written with "?" between them).
    """

    conditions: tuple[Dependency, ...] = ()
    any: bool = False

    @classmethod
    def parse(cls, text: str | None) -> Dependencies:
        """Read a list of conditions. ``12,13`` is an older spelling of ``afterany:12,afterany:13``, and ``0`` is none.

        Raises:
            NotationError: it is none.
        """
        if text in (None, "", "0"):
            return cls()
        assert text is not None
        conditions = tuple(_dependency(word, text) for word in re.split(r"[,?]", text))
        return cls(conditions, "?" in text)

    @property
    def job_ids(self) -> set[int]:
        """The ids of all jobs that it names."""
        return {job.job_id for condition in self.conditions for job in condition.jobs}

    def __iter__(self) -> Iterator[Dependency]:
        """Return the conditions."""
        return iter(self.conditions)

    def __len__(self) -> int:
        """Return how many conditions there are."""
        return len(self.conditions)

    def __str__(self) -> str:
        """Return it as Slurm reads it."""
        return ("?" if self.any else ",").join(map(str, self.conditions))


def _dependency(word: str, text: str) -> Dependency:
    if word[:1].isdecimal():
        return Dependency("afterany", (_job_ref(word, text),))
    match = DEPENDENCY.fullmatch(word.lower())
    if match is not None:
        kind, jobs, state = match.groups()
        if kind == "singleton" and not jobs:
            return Dependency(kind, (), state)
        if kind in KINDS and jobs and not state:
            return Dependency(kind, tuple(_job_ref(job, text) for job in jobs.split(":")))
    kinds = ", ".join(KINDS)
    raise NotationError(
        f"not a dependency: {text!r}; {word!r} is neither singleton nor one of {kinds} with job ids",
        code="ESLURM_DEPENDENCY",
    )


def _job_ref(word: str, text: str) -> JobRef:
    match = JOB_REF.fullmatch(word)
    if match is None or not int(match.group(1)) or (match.group(3) and not int(match.group(3))):
        raise NotationError(f"not a dependency: {text!r}; {word!r} is no job id", code="ESLURM_DEPENDENCY")
    job_id, task, delay, state = match.groups()
    return JobRef(int(job_id), task, int(delay or 0), state)
