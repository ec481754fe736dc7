# SPDX-License-Identifier: GPL-2.0-or-later
"""The generated pages about SPANK."""

import ast
import inspect
from pathlib import Path

from docs.markdown import code, page
from docs.spank_callbacks import PLACES
from docs.spank_functions import FUNCTIONS, SINCE
from slurmhooks.hooks.points import CONTEXTS
from slurmhooks.rules.describe import table
from slurmhooks.spank import fields as spank_fields
from slurmhooks.spank.calls import Where


def spank_page() -> str:
    """Return the page of the items that a SPANK handler can read."""
    types = _types(Path(inspect.getfile(spank_fields)).with_name("items.pyi"))
    return page(
        "# SPANK items\n",
        "Attributes of `spank`; those with parentheses are methods.\n"
        "Reading an item where Slurm does not offer it raises `SpankError`, which says where it is offered.\n",
        table(("name", "type", "what", "where", "spank.h"), (_item(item, types) for item in spank_fields.ITEMS)),
        "## Other attributes\n",
        "```{eval-rst}\n"
        ".. autoclass:: slurmhooks.spank.model.Spank\n"
        "   :members: step_name, prepend_task_argv, symbol_supported\n"
        "\n"
        ".. autoclass:: slurmhooks.values.ExitStatus\n"
        "   :members:\n"
        "```\n",
    )


def _item(item: spank_fields.Item, types: dict[str, str]) -> list[str]:
    if item.argument is None:
        return [f"`{item.name}`", types[item.name], item.doc, item.where.text, f"`{item.item}`"]
    return [f"`{item.name}({item.argument})`", "int", item.doc, item.where.text, f"`{item.item}`"]


def spank_releases_page() -> str:
    """Return the page that says since when, and in which contexts, each part of spank.h works."""
    contexts = [f"`{context}`" for context in CONTEXTS]
    titles = ("in spank.h", "in Python", "since", *contexts)
    return page(
        "# SPANK: releases and contexts\n",
        f"{SINCE} is the oldest release that was examined: its features may be older.\n"
        "If something works only in some callbacks of a context, the cell names these callbacks.\n",
        "## Callbacks\n",
        table(titles, (_callback(name) for name in dict.fromkeys(place.callback for place in PLACES))),
        "## Items\n",
        table(
            titles,
            ([f"`{it.item}`", f"`spank.{_spelled(it)}`", SINCE, *_cells(it.where)] for it in spank_fields.ITEMS),
        ),
        "## Functions\n",
        table(titles, ([f"`{it.name}`", f"`{it.python}`", it.since, *_cells(it.where)] for it in FUNCTIONS)),
    )


def _callback(name: str) -> list[str]:
    places = {place.context for place in PLACES if place.callback == name}
    cells = ["yes" if context in places else "" for context in CONTEXTS]
    return [f"`slurm_spank_{name}`", f"`hook.spank.{name}`", SINCE, *cells]


def _spelled(item: spank_fields.Item) -> str:
    return item.name if item.argument is None else f"{item.name}({item.argument})"


def _cells(where: Where) -> list[str]:
    return [
        "yes" if context in where.places and names is None else code(names or ())
        for context, names in ((context, where.places.get(context)) for context in CONTEXTS)
    ]


def _types(stub: Path) -> dict[str, str]:
    """Return the type of each attribute that a stub declares, in words."""
    nodes = (node for node in ast.walk(ast.parse(stub.read_text())) if isinstance(node, ast.FunctionDef))
    return {node.name: ast.unparse(node.returns).replace(" | ", " or ") for node in nodes if node.returns is not None}
