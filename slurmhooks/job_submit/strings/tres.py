# SPDX-License-Identifier: GPL-2.0-or-later
"""Convert lists of trackable resources (TRES)."""

from __future__ import annotations

import re
from collections.abc import Iterator

from slurmhooks.fields.rows import EMPTY_ITEMS
from slurmhooks.job_submit.strings.memory import mem_str_to_mib, mib_to_mem_str
from slurmhooks.job_submit.strings.notation import MAX_AMOUNT, NUMBER, NotationError, Parsed

OWN_TRES = frozenset({"billing", "cpu", "energy", "mem", "node", "pages", "vmem"})
"""TRES without a name after a slash, and without a type."""
TRES_WITH_NAMES = frozenset({"bb", "fs", "gres", "ic", "license", "interconnect"})
"""TRES with a name, such as ``license/matlab``."""
COUNT = re.compile(rf"({NUMBER})([kKmMgGtTpP])?([iI]?[bB])?", re.ASCII)
ANY_COUNT = re.compile(r"\d+[kKmMgGtTpP]?(?:[iI]?[bB])?", re.ASCII)
"""A count, or an invalid one with more digits, which is not a type either: strtoull() skips any number of zeros."""
NOTHING = frozenset(item.decode() for item in EMPTY_ITEMS)
"""Items in which Slurm finds no TRES."""
HIDDEN = re.compile(r"(?<!^)(?:gres|license)|^(?:gres|license)(?![/:])", re.DOTALL)
"""Where slurm_get_next_tres(), which searches the text for a kind of TRES, would find one inside of a word."""
SIGNED = re.compile(r"\s*[+-]?\s*\d+[kKmMgGtTpP]?(?:[iI]?[bB])?", re.ASCII)
"""A count that some releases read by strtoull(), and others take for a type."""
FRACTION = re.compile(r"(\d+)\.(\d{1,2})([kKmMgGtT])", re.ASCII)
"""An amount with a fraction, which Slurm writes but does not read: 1536 MiB are ``1.50G``."""
TYPE = re.compile(r"[^\s,:=/()]+")
"""The type of a GRES, as a handler may write it."""
TRES_ITEM = re.compile(r"([^(]*)(?:\(([^()]*)\))?")


class TresItem(Parsed):
    """One trackable resource.

    Attributes:
        name: ``cpu``, ``mem``, ``gres/gpu``, ``license/matlab``.
        type: type of a GRES, such as ``a100``; None: any type.
        count: the amount; of ``mem`` in MiB.
        where: the text in parentheses after the item, such as ``S:0-1`` or ``IDX:0,2``; None: no parentheses.
    """

    name: str
    type: str | None
    count: int
    where: str | None

    def __init__(self, name: str, type: str | None = None, count: int = 1, where: str | None = None) -> None:
        vars(self).update(name=name, type=type, count=count, where=where)

    @property
    def key(self) -> str:
        """Name and type: ``gres/gpu:a100``."""
        return self.name if self.type is None else f"{self.name}:{self.type}"

    def with_type(self, kind: str | None) -> TresItem:
        """Return a copy with another type: ``gres/gpu=4`` with the type ``a100`` is ``gres/gpu:a100=4``.

        Raises:
            ValueError: the TRES is no GRES, or the type is not one.
        """
        if kind is not None and (not self.name.startswith("gres/") or not TYPE.fullmatch(kind)):
            raise ValueError(f"{self.name} cannot have the type {kind!r}")
        return TresItem(self.name, kind, self.count, self.where)

    def __str__(self) -> str:
        """Return the item in Slurm's notation: ``gres/gpu:a100=4``; fields of ``job`` store it as the release does."""
        count = mib_to_mem_str(self.count) if self.name == "mem" else str(self.count)
        return f"{self.key}={count}" + (f"({self.where})" if self.where is not None else "")


class Tres(Parsed):
    """A list of trackable resources, as in tres_per_node, gres, tres_fmt_req_str: ``cpu=4,mem=8G,gres/gpu:a100=2``."""

    items: tuple[TresItem, ...]

    def __init__(self, items: tuple[TresItem, ...] = ()) -> None:
        vars(self).update(items=items)

    @classmethod
    def parse(cls, text: str | None) -> Tres:
        """Parse a list.

        Memory may have a fraction, as in the texts of records: ``mem=1.50G``.
        An item without a slash whose name is no TRES of Slurm is a GRES: ``gpu:2`` means ``gres/gpu=2``.
        Empty items, and GRES without a name such as ``gres/``, are nothing, as in Slurm.

        Raises:
            NotationError: the text is not a list of TRES. Texts are refused, too, in which Slurm would find a GRES or
                a license inside of another word.
        """
        if not text:
            return NONE
        if re.search(r"[()]", re.sub(r"\([^()]*\)", "", text)):
            raise NotationError(f"not a list of TRES: {text!r}; parentheses do not match", code="ESLURM_INVALID_TRES")
        # Commas inside parentheses belong to the item.
        words = re.findall(r"(?:[^,(]|\([^()]*\))+", text)
        return cls(tuple(_tres_item(word) for word in words if word not in NOTHING))

    def typed(self, name: str, kind: str) -> Tres:
        """Return a copy in which the items of a name, such as ``gres/gpu``, that have no type have one."""
        return Tres(
            tuple(item.with_type(kind) if item.name == name and item.type is None else item for item in self.items)
        )

    def __getitem__(self, key: str) -> int:
        """Return the amount of a name, of all its types, or of a name with a type; 0 if it is not in the list."""
        return sum(item.count for item in self.items if key in (item.name, item.key))

    def __contains__(self, key: object) -> bool:
        """Return whether a name, or a name with a type, is in the list."""
        return any(key in (item.name, item.key) for item in self.items)

    def __iter__(self) -> Iterator[TresItem]:
        """Iterate over the items, in order."""
        return iter(self.items)

    def __len__(self) -> int:
        """Return the number of items."""
        return len(self.items)

    def __str__(self) -> str:
        """Return the list in Slurm's notation."""
        return ",".join(map(str, self.items))

    def with_count(self, key: str, count: int) -> Tres:
        """Return a copy with another amount.

        Args:
            key: a name, or a name with a type.
            count: the amount; of ``mem`` in MiB; 0 removes the item.
        """
        others = tuple(item for item in self.items if item.key != key)
        if not count:
            return Tres(others)
        if len(others) < len(self.items):
            changed = (
                TresItem(item.name, item.type, count, item.where) if item.key == key else item for item in self.items
            )
            return Tres(tuple(changed))
        name, _, kind = key.partition(":")
        return Tres((*self.items, TresItem(name, kind or None, count)))


NONE = Tres()
"""An empty list, which most fields of most requests are."""


def _tres_item(word: str) -> TresItem:
    word = word.strip()
    if re.search(r"\s", word):
        raise NotationError(f"not a TRES: {word!r}; it has blanks", code="ESLURM_INVALID_TRES")
    hidden = HIDDEN.search(word)
    if hidden is not None:
        raise NotationError(f"not a TRES: {word!r}; {hidden[0]} is inside of another word", code="ESLURM_INVALID_TRES")
    match = TRES_ITEM.fullmatch(word.strip())
    if match is None or not match.group(1):
        raise NotationError(f"not a TRES: {word!r}", code="ESLURM_INVALID_TRES")
    text, where = match.groups()
    # As slurm_get_next_tres(): the kind ends at the first of "/", ":" or "=".
    kind, rest = re.fullmatch(r"([^/:=]*)[/:]?(.*)", text, re.DOTALL).groups()  # type: ignore[union-attr]
    if kind in OWN_TRES:
        if text[len(kind) : len(kind) + 1] == "/":
            raise NotationError(f"not a TRES: {word!r}; {kind} has no name after a slash", code="ESLURM_INVALID_TRES")
        name, type_, amount = kind, None, rest.removeprefix("=") or "1"
    else:
        if kind not in TRES_WITH_NAMES:
            kind, rest = "gres", text
        if "=" in rest:
            rest, _, amount = rest.rpartition("=")
            name, _, type_ = rest.partition(":")
        else:
            parts = rest.split(":")
            amount = parts.pop() if len(parts) > 1 and ANY_COUNT.fullmatch(parts[-1]) else "1"
            if len(parts) > 2 or (len(parts) > 1 and SIGNED.fullmatch(parts[-1])):
                raise NotationError(f"not a TRES: {word!r}", code="ESLURM_INVALID_TRES")
            name, type_ = parts[0], parts[1] if len(parts) == 2 else None
        if not name or ANY_COUNT.fullmatch(name) or (type_ == "" and ":" in rest) or (type_ or "").count(":"):
            raise NotationError(f"not a TRES: {word!r}", code="ESLURM_INVALID_TRES")
        name, type_ = f"{kind}/{name}", type_ or None
        if type_ is not None and kind != "gres":
            raise NotationError(f"not a TRES: {word!r}; only gres/ has types", code="ESLURM_INVALID_TRES")
    try:
        count = _memory(amount) if name == "mem" else _count(amount)
    except ValueError as error:
        raise NotationError(f"not a TRES: {word!r}; {error}", code="ESLURM_INVALID_TRES") from None
    return TresItem(name, type_, count, where)


def _memory(text: str) -> int:
    match = FRACTION.fullmatch(text)
    if match is None:
        return mem_str_to_mib(text)
    hundredths = mem_str_to_mib(f"{match[1]}{match[2]:0<2}{match[3]}")
    return -(-hundredths // 100)


def _count(text: str) -> int:
    """Return an amount; the suffixes K, M, G, T, P are powers of 1024, and KB, MB, ... are powers of 1000."""
    match = COUNT.fullmatch(text)
    if match is None or (match.group(3) and not match.group(2)):
        raise NotationError(f"not a count: {text!r}", code="ESLURM_INVALID_TRES")
    number, unit, byte = match.groups()
    base = 1000 if byte and byte.lower() == "b" else 1024
    count = int(number) * int(base ** ("kmgtp".index(unit.lower()) + 1)) if unit else int(number)
    if count > MAX_AMOUNT:
        raise NotationError(f"not a count: {text!r} is too large", code="ESLURM_INVALID_TRES")
    return count
