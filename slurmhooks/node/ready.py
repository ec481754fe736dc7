# SPDX-License-Identifier: GPL-2.0-or-later
"""Makes handlers from the checks that ``[[node.checks]]`` of slurmhooks.toml names.

The keys of a check are the arguments of its function, and those of a decorator.
"""

from __future__ import annotations

from slurmhooks.errors import LoadError
from slurmhooks.handlers.registry import MAX_TIMEOUT, Handler
from slurmhooks.hooks.points import HOOKS
from slurmhooks.hooks.terms import KEYS as TERMS
from slurmhooks.hooks.terms import Terms
from slurmhooks.node import checks
from slurmhooks.node.rows import packed, unpacked

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from pathlib import Path
    from typing import Any

    from slurmhooks.config.model import Config

SPEC = HOOKS["node.health_check"]
KINDS: dict[str, Callable[..., None]] = {function.__name__: function for function in checks.CHECKS}
KEYS = ("check", "name", *TERMS, "timeout", "contexts", "on_error")
"""The keys that all checks have; ``check`` is the name of the function, ``name`` that of the check in messages."""
_TYPES: dict[str, tuple[tuple[type, ...], str]] = {
    "str": ((str,), "a text"),
    "int": ((int,), "a number"),
    "float": ((int, float), "a number"),
    "bool": ((bool,), "true or false"),
    "tuple[str, ...]": ((list, tuple), "a list of texts"),
}


def faults(table: Mapping[str, object]) -> list[str]:
    """Return descriptions of what is wrong with a table of ``[[node.checks]]``."""
    function = KINDS.get(str(table.get("check")))
    if function is None:
        return [f"check must be one of {', '.join(KINDS)}; not {table.get('check')!r}"]
    arguments = _arguments(function)
    texts = [f"{key}: unknown key; {function.__name__} has {', '.join((*arguments, *KEYS))}"
             for key in table if key not in arguments and key not in KEYS]  # fmt: skip
    texts += [
        f"{key}: missing"
        for key in list(arguments)[: len(arguments) - len(function.__defaults__ or ())]
        if key not in table
    ]
    for key, kind in {**arguments, "name": "str", "timeout": "float", "contexts": "tuple[str, ...]"}.items():
        kinds, what = _TYPES[kind]
        value = table.get(key)
        right = isinstance(value, kinds) and not (isinstance(value, bool) and bool not in kinds)
        if kind == "float" and key in arguments:
            right = right and 0 <= value < float("inf")  # type: ignore[operator]
        if isinstance(value, list | tuple):
            right = right and bool(value) and all(type(item) is str for item in value)
        if key in table and not right:
            texts.append(f"{key}: must be {what}, not {value!r}")
    timeout, contexts = table.get("timeout"), table.get("contexts")
    if isinstance(timeout, int | float) and not 0 < timeout <= MAX_TIMEOUT:
        texts.append(f"timeout: must be more than 0 and at most {MAX_TIMEOUT} seconds, not {timeout!r}")
    if isinstance(contexts, list | tuple):
        texts += [f"contexts: may name {', '.join(SPEC.contexts)}; not {each!r}" for each in contexts
                  if each not in SPEC.contexts]  # fmt: skip
    if table.get("on_error", SPEC.on_error[0]) not in SPEC.on_error:
        texts.append(f"on_error: must be {' or '.join(SPEC.on_error)}, not {table['on_error']!r}")
    return texts + _terms(table).faults() + ([] if texts else _wrong_amounts(table, arguments))


def handler(table: Mapping[str, Any], path: str, line: int = 1) -> Handler:
    """Return the handler of a valid table."""
    function = KINDS[table["check"]]
    given = {key: tuple(value) if isinstance(value, list) else value for key, value in table.items() if key not in KEYS}
    first = next((value for value in given.values() if isinstance(value, str)), "")
    label = table.get("name") or f"{function.__name__} {first}".rstrip()
    return Handler(
        lambda: function(**given),
        (),
        SPEC,
        label=label,
        path=path,
        line=line,
        lenient=table.get("on_error") == SPEC.on_error[1],
        contexts=tuple(table.get("contexts", SPEC.contexts)),
        timeout=table.get("timeout"),
        terms=_terms(table),
    )


def of_config(read: Config, path: Path) -> tuple[list[Handler], list[str]]:
    """Return the ready-made checks of a configuration, and findings about them."""
    from slurmhooks.config import headings  # not needed if there is a manifest

    checks, findings = [], []
    lines = headings.lines(str(path), len(read.node.checks), "node", "checks") if read.node.checks else []
    for number, (table, line) in enumerate(zip(read.node.checks, lines, strict=True), 1):
        wrong = [f"{path}: node.checks, number {number}: {fault}" for fault in faults(table)]
        findings += wrong
        checks += [] if wrong else [handler(table, str(path), line)]
    labels = [check.label for check in checks]
    findings += [
        f"{path}: node.checks: two checks are named {label!r}; give one of them a name"
        for label in dict.fromkeys(labels)
        if labels.count(label) > 1
    ]
    return checks, findings


def of_file(link: Path) -> tuple[Config, list[Handler]]:
    """Return a configuration and its ready-made checks.

    Raises:
        ConfigError: it is invalid, or another user could have written it.
        LoadError: a check is invalid.
    """
    from slurmhooks.site import sources as site  # not needed if there is a manifest

    path, read = site.located_config(link)
    checks, findings = of_config(read, path)
    if findings:
        raise LoadError(findings)
    return read, checks


def records(read: Config) -> list[list[str]]:
    """Return the records of the manifest for ``[node]``."""
    health = read.node
    rows = [["health", repr(health.timeout), health.at_most, read.metrics.textfiles or ""]]
    rows += [["check", *words(table)] for table in health.checks]
    return rows + ([["call", SPEC.name.rpartition(".")[2], "63"]] if health.checks else [])


def words(table: Mapping[str, object]) -> list[str]:
    """Return a table as words of the manifest: each key with its value, and a letter for its type."""
    return [word for key, value in table.items() for word in (key, _word(value))]


def table_of(words: Sequence[str]) -> dict[str, object]:
    """Return the table of some words; see :func:`words`.

    Raises:
        ValueError: they are no table.
    """
    return {key: _value(word) for key, word in zip(words[::2], words[1::2], strict=True)}


def _word(value: object) -> str:
    if isinstance(value, list | tuple):
        return "l" + packed(value)[:-1].decode()
    return {bool: "b", int: "i", float: "f"}.get(type(value), "s") + str(value)


def _value(word: str) -> object:
    kind, text = word[:1], word[1:]
    if kind == "l":
        return unpacked(text.encode())
    if kind == "b":
        return text == "True"
    return int(text) if kind == "i" else float(text) if kind == "f" else text


def _arguments(function: Callable[..., None]) -> dict[str, str]:
    return {
        name: str(kind).removesuffix(" | None") for name, kind in function.__annotations__.items() if name != "return"
    }


def _terms(table: Mapping[str, Any]) -> Terms:
    return Terms(**{key: table[key] for key in TERMS if key in table})


def _wrong_amounts(table: Mapping[str, Any], arguments: Mapping[str, str]) -> list[str]:
    """Return findings about sizes, times and paths, which are texts."""
    texts = []
    for key in arguments:
        convert = checks.AMOUNTS.get(key)
        if convert is None or key not in table:
            continue
        try:
            convert(table[key])
        except ValueError as error:
            texts.append(f"{key}: {error}")
    return texts
