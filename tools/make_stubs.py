#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Write the stubs that tell type checkers and editors about attributes that slurmhooks makes from tables.

Usage: make_stubs.py [FOLDER]

FOLDER is the checkout by default. `make venv` and the build of a wheel run this; git ignores what it writes.

A new hook, field, option or item is one row in hooks/points.py, fields, cli_filter/fields.py or spank/fields.py.
Decorators know the arguments, contexts and keywords of their hook; fields know their type, their description, and
whether they can be assigned. Launches import none of the stubs.
"""

import sys
from collections.abc import Iterable, Iterator
from itertools import combinations
from pathlib import Path
from typing import Any, get_args

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from slurmhooks import fields  # noqa: E402
from slurmhooks.cli_filter.fields import FIELDS, OptionFields  # noqa: E402
from slurmhooks.fields.flag_rows import Bit, Enumerated  # noqa: E402
from slurmhooks.fields.rows import Computed, Field, Names, Strings, Truth, rows  # noqa: E402
from slurmhooks.hooks.points import ARGUMENTS, HOOKS, HookSpec  # noqa: E402 - a script has no package
from slurmhooks.spank.fields import ITEMS, Item  # noqa: E402
from slurmhooks.spank.model import READERS  # noqa: E402

HEAD = "# SPDX-License-Identifier: GPL-2.0-or-later\n# Written by tools/make_stubs.py.\n"
NAMED = 3
"""The most arguments of a handler whose names are checked: each subset of them is a class."""

FILTER_JOB = {"job": "Options"}
"""In cli_filter, options are the job."""
POWER = {"nodes": "PowerNodes", "jobs": "tuple[ResumeJob, ...]", "features": "str | None"}
"""Power hooks have no tables."""

ACTING = {"jobs": "Table[int, ActingRecord]", "nodes": "Table[str, ActingNode]"}
"""In periodic handlers, jobs and nodes have actions."""
WHOLE = {"job": "WholeJob", "record": "Record | None"}
"""In hook.job, the job is what it would be, and a submission changes no record."""

IMPORTS = """
from collections.abc import Callable, Iterable, Mapping
from typing import Any, Concatenate, Literal, Protocol, TypeVar, overload

from slurmhooks.burst_buffer.model import BurstBuffer
from slurmhooks.cli_filter.model import Options
from slurmhooks.job_submit.model import Association, Job, License, Node, Partition, Qos, Record, Reservation, Table
from slurmhooks.jobcomp.event import Event
from slurmhooks.hooks.option import Option, Value
from slurmhooks.mail.model import Mail
from slurmhooks.power.model import PowerNodes, ResumeJob
from slurmhooks.node.model import HealthNode
from slurmhooks.scrun.model import Container
from slurmhooks.slurmctld.actions import ActingNode, ActingRecord
from slurmhooks.job_submit.whole import WholeJob
from slurmhooks.spank.model import Spank

R = TypeVar("R", covariant=True)
Mode = Literal["enforce", "warn", "observe", "off"]

"""


def main(folder: Path) -> None:
    """Write the stubs."""
    for name, text in stubs().items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)


def stubs() -> dict[str, str]:
    """Return the texts of all stubs by their paths in a checkout."""
    texts = {
        "slurmhooks/hooks/decorators.pyi": decorators(),
        "slurmhooks/spank/items.pyi": items(),
        "slurmhooks/cli_filter/option_fields.pyi": option_fields(),
    }
    for name, kind in fields.TABLES.items():
        texts[f"slurmhooks/fields/stubs/{name}.pyi"] = view(kind)
    return {path: HEAD + text for path, text in texts.items()}


# Decorators


def decorators() -> str:
    """Return the stub of the decorators."""
    bounds: dict[tuple[tuple[tuple[str, str], ...], str], str] = {}
    taken: dict[str, tuple[tuple[str, str], ...]] = {}
    parts: list[str] = []
    for spec in HOOKS.values():
        arguments = arguments_of(spec)
        key = (arguments, spec.result)
        if key not in bounds:
            bounds[key] = f"{camel(spec.name)}Handler"
            parts.append(handler(bounds[key], arguments, spec.result, taken))
        parts.append(decorator(spec, bounds[key]))
    shapes = "".join(
        f"class {name}(Protocol[R]):\n    def __call__(self{', *' if own else ''}"
        f"{''.join(f', {argument}: {kind}' for argument, kind in own)}) -> R: ...\n"
        for name, own in taken.items()
    )
    return '"""The types of the decorators."""\n' + IMPORTS + shapes + "".join(parts) + groups()


def arguments_of(spec: HookSpec) -> tuple[tuple[str, str], ...]:
    """Return names and types of the arguments of a hook."""
    known = {"record": WHOLE["record"]}
    own = {"cli_filter": FILTER_JOB, "power": POWER, "mail": known, "burst_buffer": known}
    types = {**ARGUMENTS, **own.get(spec.point, {})}
    if spec.is_periodic:
        types |= ACTING
    if spec.runs_in:
        types |= WHOLE
    return tuple((name, types[name]) for name in spec.arguments)


def handler(
    name: str, arguments: tuple[tuple[str, str], ...], result: str, taken: dict[str, tuple[tuple[str, str], ...]]
) -> str:
    """Return a type variable for the handlers of hooks with the same arguments; add the shapes that it needs."""
    kinds = []
    for count in range(min(NAMED, len(arguments)) + 1):
        for own in combinations(arguments, count):
            special = "Options" if ("job", "Options") in own else "Power" if POWER.items() & own else ""
            special += "Acting" if any(kind in ACTING.values() for _, kind in own) else ""
            special += "Whole" if WHOLE.items() & own else ""
            shape = "Takes" + special + "".join(f"_{argument}" for argument, _ in own)
            taken[shape] = own
            kinds.append(f"{shape}[{result}]")
    if len(arguments) > NAMED:  # every subset would be a thousand classes
        kinds.append(f"Callable[Concatenate[{', '.join(['Any'] * (NAMED + 1))}, ...], {result}]")
    return f'{name} = TypeVar("{name}", bound={" | ".join(kinds)})\n'


def decorator(spec: HookSpec, bound: str) -> str:
    """Return the class of a decorator."""
    words = " or ".join(f'"{word}"' for word in spec.on_error)
    keywords = ["order: int = ...", f"on_error: {literal(spec.on_error)} = ..."]
    if spec.contexts:
        keywords.append(f"contexts: {literal(spec.contexts)} | Iterable[{literal(spec.contexts)}] = ...")
    if spec.has_timeout:
        keywords.append("timeout: float = ...")
    if spec.has_requests:
        keywords.append("effects: bool = ...")
    if spec.runs_in:
        keywords.append("admins: bool = ...")
    if spec.has_modes:
        keywords += ["mode: Mode = ...", "percent: float = ...", "users: str | Iterable[str | int] = ..."]
        keywords += ["accounts: str | Iterable[str] = ...", "partitions: str | Iterable[str] = ..."]
        keywords += ["otherwise: Mode = ...", "note: str = ..."]
    if spec.has_terms:
        keywords += ["mode: Mode = ...", "every: float | str = ...", "fails: int = ..."]
    lines = [
        f"class {camel(spec.name)}:",
        f'    """Mark a handler of ``{spec.function}``.',
        "",
        f"    It takes any of these, by name: {', '.join(spec.arguments) or 'nothing'}.",
        f"    on_error: {words}, for a bug in the handler; the first is the default.",
        *([f"    contexts: {', '.join(spec.contexts)}."] if spec.contexts else []),
        '    """',
        *(member(name, other) for other, name in below(spec.name)),
    ]
    if spec.is_periodic:
        given = ", ".join([*keywords, "at_most: int = ..."])
        lines.append(f"    def __call__(self, period: str, /, *, {given}) -> Callable[[{bound}], {bound}]: ...")
        return "\n".join(lines) + "\n"
    lines += [
        "    @overload",
        f"    def __call__(self, function: {bound}, /) -> {bound}: ...",
        "    @overload",
        f"    def __call__(self, /, *, {', '.join(keywords)}) -> Callable[[{bound}], {bound}]: ...",
    ]
    return "\n".join(lines) + "\n"


def literal(words: Iterable[str]) -> str:
    """Return the type of some words."""
    return f"Literal[{', '.join(f'{chr(34)}{word}{chr(34)}' for word in words)}]"


def camel(name: str) -> str:
    """Return the name of the class of a hook, which must not be that of an argument."""
    words = "".join(word.capitalize() for word in name.replace(".", "_").split("_"))
    return f"{words}Rule" if words in ("Job", "Mail") else words


def below(path: str) -> Iterator[tuple[str, str]]:
    """Yield the hooks whose name continues a path by one word, with that word."""
    for name in HOOKS:
        if name.startswith(f"{path}."):
            yield name, name.removeprefix(f"{path}.")


def groups() -> str:
    """Return the classes of ``hook`` and of the hooks below it."""
    text = []
    first_words = list(dict.fromkeys(name.partition(".")[0] for name in HOOKS))
    for group in (word for word in first_words if word not in HOOKS):
        text.append(f'class {camel(group)}Hooks:\n    """``hook.{group}``: the hooks of {group}."""')
        text += [member(name, other) for other, name in below(group)]
        text.append(OPTION if group == "spank" else "")
    text.append('class Hooks:\n    """``hook``: a decorator for each function of Slurm."""')
    for name in first_words:
        text.append(member(name, name))
    return "\n".join(text) + "\n"


def member(name: str, path: str) -> str:
    """Return the property for a hook or a group of hooks; editors show its text."""
    spec = HOOKS.get(path)
    if spec is None:
        kind, doc = f"{camel(path)}Hooks", f"The hooks of {path}."
    else:
        kind, doc = camel(path), f"``{spec.function}``: takes {', '.join(spec.arguments) or 'no argument'}."
    return f'    @property\n    def {name}(self) -> {kind}:\n        """{doc}"""'


def option() -> str:
    """Return the overloads of ``hook.spank.option``, which differ in the type of the value."""
    contexts = literal(("local", "remote", "allocator", "slurmd", "job_script"))
    places = f"contexts: {contexts} | Iterable[{contexts}] = ..."
    doc = '"""Add a command line option to srun, sbatch and salloc; ``usage`` is its text for ``--help``."""'
    forms = [
        ("arginfo: None = None, *, usage: str", "Literal[True]"),
        ("arginfo: None, usage: str, *", "Literal[True]"),
        ("arginfo: str, usage: str, *, optional: Literal[False] = ...", "str"),
        ("arginfo: str, usage: str, *, optional: Literal[False] = ..., type: Callable[[str], Value]", "Value"),
        ("arginfo: str, usage: str, *, optional: Literal[True]", "str | Literal[True]"),
        (
            "arginfo: str, usage: str, *, optional: Literal[True], type: Callable[[str], Value]",
            "Value | Literal[True]",
        ),
    ]
    return "".join(
        f"    @overload\n    def option(self, name: str, {form}, {places}) -> Option[{value}]:\n        {doc}\n"
        for form, value in forms
    )


OPTION = option()


# Views


def view(kind: type) -> str:
    """Return the stub of the fields of a view."""
    lines = []
    enumerations: set[str] = set()
    for name, row in rows(kind).items():
        type_ = type_of(row)
        if isinstance(row, Enumerated):
            enumerations.add(row.kind.__name__)
        since = f" Since Slurm {row.since}." if row.since else ""
        until = f" Until Slurm {row.until}." if row.until else ""
        unit = f" In {row.unit}." if row.unit else ""
        lines += attribute(name, type_, f"{row.doc}{unit}{since}{until}", row.writable)
    known = f"from slurmhooks.fields.constants import {', '.join(sorted(enumerations))}\n" if enumerations else ""
    values = sorted(word for word in ("ExitStatus", "Unlimited") if any(word in line for line in lines))
    known += f"from slurmhooks.values import {', '.join(values)}\n" if values else ""
    first, *more = (kind.__doc__ or "").strip().split("\n")
    doc = "\n".join([first, *more, *(["    "] if more else [])])
    head = f'class {kind.__name__}:\n    """{doc}"""\n'
    return f"{known}\n{head}" + "\n".join(lines) + "\n"


def attribute(name: str, type_: str, text: str, writable: bool) -> list[str]:
    """Return the lines of a property."""
    lines = ["    @property", f"    def {name}(self) -> {type_}:", f'        """{text}"""']
    if writable:
        # Editors that use the last definition of a property show the docstring of this one.
        lines += [f"    @{name}.setter", f"    def {name}(self, value: {type_}) -> None:", f'        """{text}"""']
    return lines


def type_of(row: Field[Any]) -> str:
    """Return the type of a field's value; None is unset."""
    if isinstance(row, Enumerated | Computed):
        kind = row.kind
        text = str(kind) if get_args(kind) else kind.__name__
    elif isinstance(row, Names | Strings):
        text = "list[str]"
    elif isinstance(row, Bit | Truth):
        text = "bool"
    else:
        text = value_of(type(row))
    return text if isinstance(row, Names) or text.startswith("dict") else f"{text} | None"


def value_of(kind: type) -> str:
    """Return the value type that a class of rows declares, as ``Text(Field[str])`` does."""
    for base in getattr(kind, "__orig_bases__", ()):
        for value in get_args(base):
            if not hasattr(value, "__bound__"):  # no type variable
                parts = get_args(value) or (value,)
                return " | ".join(part.__name__ for part in parts)
    return next(value_of(base) for base in kind.__bases__)


def option_fields() -> str:
    """Return the stub of the fields of cli_filter's options."""
    lines = []
    for name, row in FIELDS.items():
        unit = f" In {row.unit}." if row.unit else ""
        text = f"{row.text}{unit} The option --{row.option}; None if it is not given."
        lines += attribute(name, f"{row.kind} | None", text, True)
    head = f'from slurmhooks.values import Unlimited\n\nclass OptionFields:\n    """{OptionFields.__doc__}"""\n'
    return head + "\n".join(lines) + "\n"


def items() -> str:
    """Return the stub of the items of SPANK."""
    lines = []
    for item in ITEMS:
        argument = f", {item.argument}: int" if item.argument else ""
        lines += [
            *([] if item.argument else ["    @property"]),
            f"    def {item.name}(self{argument}) -> {item_type(item)}:",
            f'        """{item.doc}\n\n        Where: {item.where.text}. Source: spank.h {item.item}.\n        """',
        ]
    return (
        'from slurmhooks.values import ExitStatus\n\nclass Items:\n    """The items of ``spank_item_t``."""\n'
        + "\n".join(lines)
        + "\n"
    )


def item_type(item: Item) -> str:
    """Return the type of an item: the return type of its converter or reader, or else the type for the C type."""
    said = READERS.get(item.item, item.convert).__annotations__.get("return", "Any")
    return str(said) if said != "Any" else "str" if item.ctype == "char *" else "int"


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else ROOT)
